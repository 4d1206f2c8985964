"""A data loader for datasets whose samples only the user's code can make."""

from __future__ import annotations

import functools
import logging
import os
import weakref
from typing import Any, Dict, Iterator, List, Optional

from .. import (_batch, _daemon, _device, _effects, _fork, _job, _native, _options,
                _order, _position, _stats)
from .._dataset import DatasetInfo
from .._epoch import EmptyEpoch, Epoch
from .._position import Position
from .._post_processing import can_pin
from .._progress import Progress
from .._source import Produced
from ..loader import DataLoader
from . import batches, collation, datapipes, drawing, shard_state, share_key
from .arguments import check, context, kind_of, read_keys, workers
from .batch_epoch import BatchEpoch
from .batch_run import BatchRun, FedRun, ListedRun, OrderedRun
from .inline import InlineEpoch
from .iterated_run import IteratedRun
from .listed import Listed
from .making import Stage, all_at_once
from .plan import Plan
from .room import Room
from .row_epoch import Rows
from .row_run import RowRun
from .run import Run, ender
from .said_length import SaidLength
from .shard_state import States


_log = logging.getLogger("forebay")


class StagedLoader(DataLoader):
    """A DataLoader of a dataset whose samples only the user's code can make. Worker
    processes of the user run that code. The daemon decides when.

    Each `iter()` starts new workers, which have the dataset as it is then. Several
    iterations may be under way at once. Persistent workers stay for all iterations, so
    a new iteration ends the previous one.
    """

    _is_staged = True

    def __init__(self, **given: Any):
        """
        Args:
          given: all of DataLoader's arguments.
        """
        self._closed = True  # until all arguments are checked
        check(given)
        self._keys = keys = read_keys(given)
        self.dataset = given["dataset"]
        if datapipes.is_iterable(self.dataset) and given["shuffle"] is not None:
            self.dataset = datapipes.with_shuffle(self.dataset,
                                                  bool(given["shuffle"]))
        framework = _batch.resolve_framework(given["framework"])
        gpu = _device.choose("cpu" if given["device"] is None else given["device"],
                             bool(given["static_buffers"]), framework)
        rank, world_size = given["rank"], given["world_size"]
        self.local_rank = 0
        if given["distributed"]:
            rank, world_size, self.local_rank = _job.distributed_rank()
        sampling = keys.sampling.completed(given["seed"], rank, world_size,
                                           given["pad"])
        name = type(self.dataset).__name__
        options = _options.build(
            Produced(name), drop_last=keys.drop_last, shuffle=sampling.shuffle,
            batch_size=1 if keys.batch_size is None else keys.batch_size,
            seed=sampling.seed, transform=None, rank=sampling.rank,
            world_size=sampling.world_size, pad=sampling.pad,
            listed=sampling.listed, fields=None, extra_roots=(),
            device=None if gpu is None else gpu.ordinal,
            **{key: given[key] for key in (
                "on_error", "weight", "name", "depth", "sharing")})
        directory = _native.runtime_dir()
        options["runtime_dir"] = os.fsencode(directory)
        by_batches = given["batch_sampler"] is not None
        self.batch_size = None if by_batches else keys.batch_size
        self.rank, self.world_size = options["rank"], options["world_size"]
        self.drop_last = keys.drop_last and not by_batches
        self.num_workers = (1 if keys.is_iterable and given["num_workers"] is None
                            else workers(given["num_workers"]))
        collate = given["collate_fn"] or collation.default(framework, keys.is_batched)
        self._plan = Plan(
            Stage(self.dataset, given["worker_init_fn"], max(self.num_workers, 1),
                  options["seed"], collate, keys.is_batched, keys.batch_size,
                  keys.drop_last),
            options, framework,
            (functools.partial(_daemon.ensure_running, directory)
             if given["autostart"] else None),
            context(given["multiprocessing_context"]), float(given["timeout"]),
            given["batch_transform"],
            gpu is None and bool(given["pin_memory"]) and can_pin(framework),
            _stats.none(), bool(given["persistent_workers"]), gpu,
            _batch.Wrapper(framework, gpu))
        self._has_rows = (
            self.num_workers > 0 and not keys.is_counted and
            keys.batch_size is not None and
            collation.is_default(given["collate_fn"]) and
            not all_at_once(self.dataset))
        self._room = Room(gpu is not None)
        self._kept: List[Run] = []  # runs that rest, to be used for later epochs
        self._share_key = share_key.take(name, given["share_key"], share_key.obstacle(
            given["sharing"], self.num_workers, keys.is_iterable))
        self._lacks_share_key = False
        if self._share_key is not None:
            self._plan = self._plan._replace(share_key=self._share_key.text)
        elif self.num_workers > 0 and given["sharing"] != "off":
            self._lacks_share_key = True
            _log.info("%s: %s", name, share_key.advice(keys.is_iterable))
        self._said_length: Optional[int] = None  # the length of an iterable dataset
        self._contents = DatasetInfo(name, [], "", keys.size or 0)
        self._progress = Progress(sampling, options, self._contents)
        self._progress.keeps_shards = (self._plan.are_persistent or
                                       self.num_workers == 0)
        self._runs: "weakref.WeakSet[Any]" = weakref.WeakSet()
        self._on_end = ender(self)
        _fork.watch(self)
        self._closed = False
        self._show_order(given, keys.batch_size, self.drop_last,
                         keys.sampling.sampler)
        self._show(given, self.num_workers > 0, collate, self._plan.context)
        _effects.warn(kind_of(given), self.dataset, given, 5)

    def _look(self) -> None:
        """Checks whether the dataset has grown or shrunk, unless persistent workers use
        its earlier state."""
        if self.persistent_workers and self._kept:
            return
        size = None if self._keys.is_counted else drawing.length_of(self.dataset)
        if size is not None:
            self._contents.size = size

    def __len__(self) -> int:
        self._look()
        keys = self._keys
        if keys.by_batches:
            return len(self.batch_sampler)
        if keys.is_counted:
            size = len(self.dataset if keys.is_iterable else keys.sampler)
            if keys.is_iterable:
                self._said_length = size
            whole, rest = divmod(size, keys.batch_size or 1)
            return whole + (rest > 0 and not keys.drop_last)
        whole, rest = divmod(batches.samples_of(len(self._contents),
                                                self._plan.options),
                             self._plan.options["batch_size"])
        return self._progress.batches(
            whole + (rest > 0 and not keys.drop_last))

    def _draw(self) -> Iterator[int]:
        return _order.whole(
            self._plan.options, len(self._contents), self._progress.coming_epoch,
            self._samples_per_epoch(), self._plan.start_daemon)

    def set_epoch(self, epoch: int) -> None:
        with self._lock:
            self._progress.set_epoch(epoch)

    def __iter__(self) -> Iterator[Any]:
        with self._lock:
            self._check_open()
            self._look()
            self._plan = self._plan._replace(
                stage=datapipes.of_rank(self._plan.stage))
            position = self._progress.next_position(2)
            if self._keys.is_iterable and position.shards is None:
                position.shards = States()
            if not self._keys.is_counted and not self._progress.batches_behind(
                    position, self._samples_per_epoch()):
                # The daemon refuses a dataset without batches.
                epoch: Any = EmptyEpoch(self, position, self._on_end)
            elif self._has_rows and (position.indices is None or
                                     position.indices.dtype.kind == "i"):
                epoch = Rows(self, position)
            else:
                epoch = self._batch_epoch(position)
            self._progress.begin(position, epoch)
            return epoch

    def _row_epoch(self, position: Position) -> Epoch:
        """Begins an epoch whose samples have one structure.

        Raises:
          structure.Irregular: the samples differ in structure.
        """
        listed, found = self._listed(position), None
        if listed is None or not self.persistent_workers:
            found = self._share_id(position, listed)
        else:
            listed = None  # the daemon has the list, and workers stay
        run = self._kept_run(RowRun, found)
        if run is not None:
            run.begin(position)
        else:
            run = RowRun(self._plan, position, len(self._contents), listed, found,
                         self._on_end)
            self._start(run)
        return Epoch(run, run.connection, position)

    def _batch_epoch(self, position: Position) -> Any:
        """Begins or continues an epoch by whole batches."""
        said = (None if self._said_length is None else SaidLength(
            self.dataset, self._said_length, self.num_workers))
        if self.num_workers == 0:
            epoch = InlineEpoch(self._plan, position, self._batches(position), self,
                                self._on_end, said)
            self._runs.add(epoch)
            return epoch
        return BatchEpoch(self._batch_run(position), position, self, said)

    def _batch_run(self, position: Position) -> BatchRun:
        plan, keys = self._plan, self._keys
        last = self._room, self._on_end
        # Other loaders can join only at places where batches of the order begin.
        place = position.first + position.samples
        if keys.is_iterable:
            kept = self._kept_run(IteratedRun, None)
            if kept is not None:
                kept.begin(position)
                return kept
            run: BatchRun = IteratedRun(plan, position, None, *last)
        elif (keys.is_counted if position.indices is None else
              self.persistent_workers) or (position.indices is None and (
                  position.samples or place % (keys.batch_size or 1))):
            fed = self._batches(position)
            assert fed is not None
            kept = self._kept_run(FedRun, None)
            if kept is not None:
                kept.feed(fed)
                kept.begin(position)
                return kept
            run = FedRun(plan, position, fed, *last)
        else:
            listed = self._listed(position)
            found = self._share_id(position, listed)
            kept = self._kept_run(OrderedRun if listed is None else ListedRun,
                                  found)
            if kept is not None:
                kept.begin(position)
                return kept
            if listed is not None:
                run = ListedRun(plan, position, listed, found, *last)
            else:
                size = len(self._contents)
                draw = functools.partial(_order.draw, plan.options, size)
                run = OrderedRun(
                    plan, position, batches.Ordered(draw, keys.batch_size),
                    batches.samples_of(size, plan.options), found, *last)
        self._start(run)
        return run

    def _start(self, run: Run) -> None:
        run.start()
        self._plan.wrapper.warn_of_refusal(run.connection.refusal, 5)
        self._runs.add(run)
        if run.stays:
            self._kept.append(run)

    def _kept_run(self, kind: Any, found: Optional[bytes]) -> Any:
        """Returns a resting run, which the caller begins; None if there is none. Closes
        runs whose dataset has changed."""
        # A forked child cannot use its parent's runs.
        self._kept = [run for run in self._kept if run.is_own]
        if self.persistent_workers:
            for run in self._kept:
                run.abandon()
        resting = [run for run in self._kept if run.is_resting]
        chosen = None
        for run in resting:
            if chosen is None and run.share_id == found and type(run) is kind:
                chosen = run
            else:
                run.close()
        self._kept = [run for run in self._kept if run.connection is not None]
        return chosen

    def _listed(self, position: Position) -> Optional[Listed]:
        """Returns the keys, beginning at the position; None if the order is not a
        list."""
        if position.indices is None:
            return None
        return self._keys.listed(position.indices, position.sizes,
                                 position.first + position.samples)

    def _share_id(self, position: Position,
                  listed: Optional[Listed]) -> Optional[bytes]:
        """Returns an id that is equal for loaders that share workers; None if this
        loader does not share. Workers have the dataset as it was at one iter(), so they
        serve only that epoch, unless they are persistent."""
        order = None if listed is None else listed.digest()
        if self._share_key is None or (listed is not None and order is None):
            return None
        stage = self._plan.stage
        return self._share_key.identity(
            None if self.persistent_workers else position.epoch, order,
            len(self._contents), share_key.name_of(type(stage.dataset)),
            share_key.name_of(stage.worker_init_fn),
            None if self._has_rows else share_key.name_of(stage.collate))

    def _batches(self, position: Position) -> Optional[Iterator[Any]]:
        """Returns the batches, beginning at the position; None if the dataset is an
        iterable."""
        keys, epoch = self._keys, position.epoch
        first = position.first + position.samples
        if keys.is_iterable:
            return None
        if keys.is_counted:
            return keys.counted(position)
        listed = self._listed(position)
        if listed is not None:
            return (listed.batch(epoch, number) for number in listed)
        options = self._plan.options
        draw = functools.partial(_order.draw, options, len(self._contents), epoch,
                                 start_daemon=self._plan.start_daemon)
        return keys.ordered(epoch, _order.from_place(
            draw, first, batches.samples_of(len(self._contents), options)))

    def _samples_per_epoch(self) -> int:
        self._look()
        if self._keys.is_iterable:
            raise TypeError("an iterable dataset has no order, and its sampler no "
                            "length")
        return batches.samples_of(len(self._contents), self._plan.options)

    def state_dict(self) -> Dict[str, Any]:
        with self._lock:
            return (self._counted_state() if self._keys.is_counted else
                    self._progress.save())

    def _counted_state(self) -> Dict[str, Any]:
        position = self._progress.state
        state = _position.save_counted(position, self._plan.options)
        if self._keys.sampler is not None:
            state["generators"] = (drawing.own_of(self._keys.sampler)
                                   if position.origin is None else position.origin)
        if self._keys.is_iterable:
            shards = position.shards or States()
            state.update(shard_state.to_plain(shards.by_worker(),
                                              self._plan.stage.workers))
        return state

    def _seed_anew(self, stacklevel: int) -> None:
        for run in self._kept:
            run.close()
        plan, seed = self._plan, self._given["seed"]
        self._plan = plan._replace(options={**plan.options, "seed": seed},
                                   stage=plan.stage._replace(seed=seed))
        self._progress.set_options(self._plan.options)

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        with self._lock:
            self._load(state, lambda: self._load_counted(state)
                       if self._keys.is_counted else self._progress.load(
                           state, self._samples_per_epoch()), 2)

    def _load_counted(self, state: Dict[str, Any]) -> None:
        position = _position.load_counted(state, self._plan.options)
        if self._keys.sampler is not None and position.origin is not None:
            drawing.restore_own(self._keys.sampler, position.origin)
            if "python" not in position.origin:
                position.origin = None  # the epoch had not begun
        if self._keys.is_iterable:
            position.shards = States(shard_state.of_plain(
                state, position.epoch, position.first, self._plan.stage.workers))
            for run in self._kept:
                run.close()  # the run's workers are at another place of the order
            self._kept.clear()
        self._progress.go_to(position)

    def stats(self) -> Dict[str, int]:
        self._check_open()
        total = dict(self._plan.past)
        for run in list(self._runs):
            _stats.add(total, run.stats())
        total["lacks_share_key"] = int(self._lacks_share_key)
        return total

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        for run in list(self._runs):
            run.close()
        self._kept.clear()
        self._plan.wrapper.close()

    def __del__(self) -> None:
        self.close()
