"""A data loader for datasets whose samples only their own code makes."""

from __future__ import annotations

import functools
import inspect
import logging
import os
import weakref
from typing import Any, Dict, Iterator, List, Optional

from .. import (_batch, _daemon, _job, _native, _options, _order, _position)
from .._dataset import DatasetInfo
from .._epoch import Epoch
from .._position import Position
from .._post_processing import can_pin
from .._progress import Progress
from .._source import Produced
from ..loader import DataLoader
from . import batches, collation, digest, structure
from .arguments import check, context, length_of, read_keys, workers
from .batch_run import (BatchEpoch, BatchRun, FedRun, IteratedRun, ListedRun,
                        OrderedRun, Room)
from .inline import InlineEpoch
from .listed import Listed
from .making import Stage
from .run import Plan, RowRun, Run

_log = logging.getLogger("forebay")


class StagedLoader(DataLoader):
    """A DataLoader of such a dataset: workers of the user's own run its code, as
    the daemon schedules them.

    Each `iter()` starts workers of its own, which have the dataset as it is then;
    several iterations may be under way at once.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        signature = inspect.signature(DataLoader.__init__)
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        given = dict(bound.arguments)
        del given["self"]
        self._closed = True  # until all is checked
        check(given)
        self._keys = keys = read_keys(given)
        self.dataset = given["dataset"]
        rank, world_size = given["rank"], given["world_size"]
        self.local_rank = 0
        if given["distributed"]:
            rank, world_size, self.local_rank = _job.distributed_rank()
        sampling = keys.sampling.completed(given["seed"], rank, world_size,
                                           given["pad"])
        name = type(self.dataset).__name__
        options = _options.build(
            Produced(name), batch_size=keys.batch_size or 1,
            drop_last=keys.drop_last, shuffle=sampling.shuffle,
            seed=sampling.seed, transform=None, rank=sampling.rank,
            world_size=sampling.world_size, pad=sampling.pad,
            listed=sampling.listed, fields=None, extra_roots=(),
            **{key: given[key] for key in (
                "on_error", "weight", "name", "depth", "sharing")})
        directory = _native.runtime_dir()
        options["runtime_dir"] = os.fsencode(directory)
        self.batch_sampler = given["batch_sampler"]
        self.sampler = (keys.sampling.sampler if given["sampler"] is None
                        else given["sampler"])
        self.batch_size = keys.batch_size
        self.rank, self.world_size = options["rank"], options["world_size"]
        self.drop_last = keys.drop_last
        self.timeout = float(given["timeout"])
        self.worker_init_fn = given["worker_init_fn"]
        self.num_workers = (1 if keys.is_iterable and given["num_workers"] is None
                            else workers(given["num_workers"]))
        framework = _batch.resolve_framework(given["framework"])
        self.collate_fn = given["collate_fn"] or collation.default(
            framework, keys.is_batched)
        self._plan = Plan(
            Stage(self.dataset, self.worker_init_fn, max(self.num_workers, 1),
                  options["seed"], self.collate_fn, keys.is_batched,
                  keys.batch_size, keys.drop_last),
            options, framework,
            (functools.partial(_daemon.ensure_running, directory)
             if given["autostart"] else None),
            context(given["multiprocessing_context"]), self.timeout,
            given["batch_transform"],
            bool(given["pin_memory"]) and can_pin(framework), {})
        self._has_rows = (
            self.num_workers > 0 and not keys.is_counted and
            keys.batch_size is not None and
            collation.is_default(given["collate_fn"]) and
            not hasattr(type(self.dataset), "__getitems__"))
        self._room = Room()
        self._kept: List[Run] = []  # for later epochs
        self._has_told = False  # why nothing is shared
        self._contents = DatasetInfo(name, [], "", keys.size or 0)
        self._progress = Progress(sampling, options, self._contents)
        self._runs: "weakref.WeakSet[Any]" = weakref.WeakSet()
        self._closed = False

    def _look(self) -> None:
        """Learns of a dataset that grew or shrank."""
        size = None if self._keys.is_counted else length_of(self.dataset)
        if size is not None:
            self._contents.size = size

    def __len__(self) -> int:
        self._look()
        keys = self._keys
        if keys.by_batches:
            return len(self.batch_sampler)
        if keys.is_counted:
            whole, rest = divmod(
                len(self.dataset if keys.is_iterable else self.sampler),
                keys.batch_size or 1)
            return whole + (rest > 0 and not keys.drop_last)
        whole, rest = divmod(_samples_of(len(self._contents), self._plan.options),
                             self._plan.options["batch_size"])
        return self._progress.batches(
            whole + (rest > 0 and not self.drop_last))

    def set_epoch(self, epoch: int) -> None:
        self._progress.set_epoch(epoch)

    def __iter__(self) -> Iterator[Any]:
        self._check_open()
        self._look()
        position = self._progress.next_position(2)
        if not self._keys.is_counted and position.first >= self._samples(position):
            # There is no sample to learn from what batches are made of.
            self._progress.begin(position)
            self._progress.end()
            return iter(())
        if self._has_rows and (position.indices is None or
                               position.indices.dtype.kind == "i"):
            epoch: Any = _Rows(self, position)
        else:
            epoch = self._batch_epoch(position)
        self._progress.begin(position, epoch)
        return epoch

    def _row_epoch(self, position: Position) -> Epoch:
        """Begins an epoch whose samples have one structure.

        Raises:
          structure.Irregular: they have not.
        """
        listed = self._listed(position)
        found = self._digest(listed)
        run = self._kept_run(RowRun, found, position)
        if run is None:
            run = RowRun(self._plan, position, len(self._contents), listed, found,
                         self._progress.end)
            self._start(run)
        return Epoch(run, run.connection, position)

    def _batch_epoch(self, position: Position) -> Any:
        """Begins an epoch, or goes on with it, by whole batches."""
        if self.num_workers == 0:
            epoch = InlineEpoch(self._plan, position, self._batches(position), self,
                                self._progress.end)
            self._runs.add(epoch)
            return epoch
        return BatchEpoch(self._batch_run(position), position, self)

    def _batch_run(self, position: Position) -> BatchRun:
        plan, keys = self._plan, self._keys
        last = self._room, self._progress.end
        # Others may join where the order's own batches begin.
        place = position.first + position.samples
        if keys.is_iterable:
            run: BatchRun = IteratedRun(plan, position, None, *last)
        elif position.indices is None and (
                keys.is_counted or position.samples or
                place % (keys.batch_size or 1)):
            fed = self._batches(position)
            assert fed is not None
            run = FedRun(plan, position, fed, *last)
        else:
            listed = self._listed(position)
            found = self._digest(listed)
            kept = self._kept_run(OrderedRun if listed is None else ListedRun,
                                  found, position)
            if kept is not None:
                return kept
            if listed is not None:
                run = ListedRun(plan, position, listed, found, *last)
            else:
                size, options = len(self._contents), plan.options
                draw = functools.partial(_order.draw, options, size,
                                         start_daemon=None)
                run = OrderedRun(
                    plan, position, batches.Ordered(draw, keys.batch_size),
                    _samples_of(size, options), found, *last)
        self._start(run)
        return run

    def _start(self, run: Run) -> None:
        run.start()
        self._runs.add(run)
        if run.digest is not None:
            self._kept.append(run)

    def _kept_run(self, kind: Any, found: Optional[bytes],
                  position: Position) -> Any:
        """A run that has rested, begun at the position; None if there is none.
        Closes those of a dataset that has changed since."""
        # A forked child has none of its parent's.
        self._kept = [run for run in self._kept if run.is_own]
        resting = [run for run in self._kept if run.is_resting]
        chosen = None
        for run in resting:
            if chosen is None and run.digest == found and type(run) is kind:
                chosen = run
            else:
                run.close()
        self._kept = [run for run in self._kept if run.connection is not None]
        if chosen is not None:
            chosen.begin(position)
        return chosen

    def _listed(self, position: Position) -> Optional[Listed]:
        """The keys from the position on, if they are listed."""
        if position.indices is None:
            return None
        return self._keys.listed(position.indices, position.sizes,
                                 position.first + position.samples)

    def _digest(self, listed: Optional[Listed]) -> Optional[bytes]:
        """Equal for loaders that may share; None: this one may with none."""
        options, stage = self._plan.options, self._plan.stage
        if options["sharing"] == _native.SHARING["off"]:
            return None
        collate = None if self._has_rows else stage.collate
        try:
            return digest.of((stage.dataset, stage.worker_init_fn, collate,
                              listed and listed.digest()))
        except digest.Unknown as error:
            if not self._has_told:
                self._has_told = True
                _log.info("%s: shared with no other loader, for it holds %s",
                          self._plan.name, error)
            return None

    def _batches(self, position: Position) -> Optional[Iterator[Any]]:
        """The batches from the position on; None if the dataset is iterated."""
        keys, epoch = self._keys, position.epoch
        first = position.first + position.samples
        if keys.is_iterable:
            return None
        if keys.is_counted:
            return keys.counted(epoch, first)
        listed = self._listed(position)
        if listed is not None:
            return (listed.batch(epoch, number) for number in listed)
        options = self._plan.options
        draw = functools.partial(_order.draw, options, len(self._contents), epoch,
                                 start_daemon=self._plan.start_daemon)
        return keys.ordered(epoch, batches.native_order(
            draw, first, _samples_of(len(self._contents), options)))

    def _samples(self, position: Position) -> int:
        """The samples of this rank in the position's epoch."""
        if position.indices is not None:
            return len(position.indices)
        return _samples_of(len(self._contents), self._plan.options)

    def _samples_per_epoch(self) -> int:
        return _samples_of(len(self._contents), self._plan.options)

    def state_dict(self) -> Dict[str, Any]:
        if not self._keys.is_counted:
            return self._progress.save()
        return _position.save_counted(self._progress.state, self._plan.options)

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        if self._keys.is_counted:
            self._progress.load_counted(state)
        else:
            self._progress.load(state, self._samples_per_epoch())

    def stats(self) -> Dict[str, int]:
        self._check_open()
        total = dict(self._plan.past)
        for run in list(self._runs):
            for name, value in run.stats().items():
                total[name] = total.get(name, 0) + value
        return total

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        for run in list(self._runs):
            run.close()
        self._kept.clear()

    def __del__(self) -> None:
        self.close()


class _Rows:
    """An iterator over the rest of an epoch by rows, and by whole batches from where
    a sample is unlike those before it."""

    def __init__(self, loader: StagedLoader, position: Position):
        self._loader = loader
        self._position = position
        try:
            self._epoch = loader._row_epoch(position)
        except structure.Irregular as error:
            self._go_on(error)

    def __iter__(self) -> _Rows:
        return self

    def __next__(self) -> Any:
        try:
            return next(self._epoch)
        except structure.Irregular as error:
            self._go_on(error)
            return next(self._epoch)

    def _go_on(self, error: structure.Irregular) -> None:
        loader = self._loader
        loader._has_rows = False
        _log.info("%s: workers make batches as a whole, which costs a copy more: "
                  "a batch has %s", loader._plan.name, error)
        self._epoch = loader._batch_epoch(self._position)


def _samples_of(size: int, options: Dict[str, Any]) -> int:
    """The samples of this rank in an epoch."""
    ranks = options["world_size"]
    uneven = options["uneven"]
    if uneven == _native.UNEVEN["drop"]:
        return size // ranks
    if uneven == _native.UNEVEN["wrap"]:
        return -(-size // ranks)
    return len(range(options["rank"], size, ranks))
