"""A data loader for datasets whose samples only their own code makes."""

from __future__ import annotations

import functools
import inspect
import multiprocessing
import os
import weakref
from typing import Any, Dict, Iterator

from .. import (_batch, _daemon, _job, _native, _options, _sampling,
                _torch_arguments, errors)
from .._dataset import DatasetInfo
from .._epoch import Epoch
from .._post_processing import can_pin
from .._progress import Progress
from .._source import Produced
from ..loader import DataLoader
from .run import Plan, Run, default_context
from .worker import Stage

_MAX_WORKERS = 256


class StagedLoader(DataLoader):
    """A DataLoader of such a dataset: workers of the user's own run its
    __getitem__, as the daemon schedules them.

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
        _check(given)
        _torch_arguments.check(given["batch_size"], given["batch_sampler"],
                               given["collate_fn"])
        self.dataset = given["dataset"]
        size = len(self.dataset)
        rank, world_size = given["rank"], given["world_size"]
        self.local_rank = 0
        if given["distributed"]:
            rank, world_size, self.local_rank = _job.distributed_rank()
        sampling = _sampling.read(given["sampler"], size, given["shuffle"],
                                  given["generator"]).completed(
            given["seed"], rank, world_size, given["pad"])
        name = type(self.dataset).__name__
        options = _options.build(
            Produced(name), shuffle=sampling.shuffle, seed=sampling.seed,
            transform=None, rank=sampling.rank, world_size=sampling.world_size,
            pad=sampling.pad, listed=sampling.listed, sharing="off", fields=None,
            extra_roots=(), **{key: given[key] for key in (
                "batch_size", "drop_last", "on_error", "weight", "name", "depth")})
        directory = _native.runtime_dir()
        options["runtime_dir"] = os.fsencode(directory)
        self.sampler = given["sampler"]
        self.batch_size = options["batch_size"]
        self.rank, self.world_size = options["rank"], options["world_size"]
        self.drop_last = bool(given["drop_last"])
        self.timeout = float(given["timeout"])
        self.worker_init_fn = given["worker_init_fn"]
        workers = given["num_workers"]
        self.num_workers = _cpus() if workers is None else workers
        framework = _batch.resolve_framework(given["framework"])
        self._plan = Plan(
            Stage(self.dataset, self.worker_init_fn, max(self.num_workers, 1),
                  options["seed"]),
            size, options, framework,
            (functools.partial(_daemon.ensure_running, directory)
             if given["autostart"] else None),
            _context(given["multiprocessing_context"]), self.timeout,
            given["batch_transform"],
            bool(given["pin_memory"]) and can_pin(framework))
        self._contents = DatasetInfo(name, [], "", size)
        self._progress = Progress(sampling, options, self._contents)
        self._runs: "weakref.WeakSet[Any]" = weakref.WeakSet()
        self._closed = False

    def __len__(self) -> int:
        options = self._plan.options
        samples = _samples_of(len(self._contents), options)
        whole, rest = divmod(samples, options["batch_size"])
        return self._progress.batches(
            whole + (rest > 0 and not options["drop_last"]))

    def set_epoch(self, epoch: int) -> None:
        self._progress.set_epoch(epoch)

    def __iter__(self) -> Iterator[Any]:
        self._check_open()
        position = self._progress.next_position(2)
        if position.first >= self._samples(position):
            # There is no sample to learn from what batches are made of.
            self._progress.begin(position)
            self._progress.end()
            return iter(())
        run = Run(self._plan, position, self._progress.end)
        epoch = Epoch(run, run.connection, position)
        self._runs.add(run)
        self._progress.begin(position)
        return epoch

    def _samples(self, position: Any) -> int:
        """The samples of this rank in the position's epoch."""
        if position.indices is not None:
            return len(position.indices)
        return _samples_of(len(self._contents), self._plan.options)

    def state_dict(self) -> Dict[str, Any]:
        return self._progress.save()

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        self._progress.load(
            state, _samples_of(len(self._contents), self._plan.options))

    def stats(self) -> Dict[str, int]:
        self._check_open()
        total: Dict[str, int] = {}
        for run in list(self._runs):
            if run.connection is not None:
                for name, value in run.connection.stats().items():
                    total[name] = total.get(name, 0) + value
        return total

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        for run in list(self._runs):
            run.close()


def _samples_of(size: int, options: Dict[str, Any]) -> int:
    """The samples of this rank in an epoch."""
    ranks = options["world_size"]
    uneven = options["uneven"]
    if uneven == _native.UNEVEN["drop"]:
        return size // ranks
    if uneven == _native.UNEVEN["wrap"]:
        return -(-size // ranks)
    return len(range(options["rank"], size, ranks))


def _cpus() -> int:
    return min(len(os.sched_getaffinity(0)), _MAX_WORKERS)


def _context(given: Any) -> Any:
    if given is None:
        return default_context()
    if isinstance(given, str):
        return multiprocessing.get_context(given)
    return given


def _check(given: Dict[str, Any]) -> None:
    """Refuses arguments that do not go with such datasets.

    Raises:
      errors.InvalidArgument, errors.Unsupported: one sentence says why.
    """
    name = type(given["dataset"]).__name__
    transform = given["batch_transform"]
    if transform is not None and not callable(transform):
        raise errors.InvalidArgument(
            f"batch_transform must be a function, not {transform!r}")
    if given["transform"] is not None:
        raise errors.Unsupported(
            f"{name} makes its samples by code of its own, where its transforms "
            "belong: transform= is for files that the daemon decodes")
    if given["device"] not in ("cpu", None):
        raise errors.Unsupported(
            f"{name} makes its samples by code of its own, which cannot go to "
            f"{given['device']} yet: use device=\"cpu\" and move the batch")
    if given["order"] != "exact":
        raise errors.Unsupported(
            f'order={given["order"]!r} is for datasets that the daemon reads '
            f"itself, which {name} is not")
    workers = given["num_workers"]
    if workers is not None and (
            isinstance(workers, bool) or not isinstance(workers, int) or
            not 0 <= workers <= _MAX_WORKERS):
        raise errors.InvalidArgument(
            f"num_workers must be 0 to {_MAX_WORKERS}, not {workers!r}")
    if given["timeout"] < 0:
        raise errors.InvalidArgument(
            f"timeout must not be negative, but is {given['timeout']!r}")
