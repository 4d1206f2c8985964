"""Batches that one process makes for all jobs of a user."""

from __future__ import annotations

import functools
import hashlib
import multiprocessing
import os
from typing import Any, Callable, Dict, Iterable, Iterator, Optional, Union

from .. import _daemon, _native, _options, errors
from .._source import Produced
from .._stage import share_key
from .._stage.arguments import check_timeout
from .._stage.making import Stage
from .._stage.plan import Plan
from .iteration import is_iterable
from .place import Place
from .shared_run import SharedRun, closed


class Shared:
    """An iterable over which one process iterates, for all jobs of this user that use
    the same key. See `share`."""

    def __init__(self, source: Any, plan: Plan, place: Place, identity: bytes):
        self._closed = False
        self._source = source
        self._run = SharedRun(source, plan, place, identity)

    def __iter__(self) -> Iterator[Any]:
        if self._closed:
            raise closed()
        return self._run.epoch(self)

    def __len__(self) -> int:
        return len(self._source)

    def stats(self) -> Dict[str, int]:
        """Returns totals: batches_delivered; batches_missed, because other jobs were
        too far ahead; and wait_nanos, for which next() slept."""
        run = self._run
        return {"batches_delivered": run.taken, "batches_missed": run.missed,
                "wait_nanos": sum(found.get("wait_nanos", 0)
                                  for found in (run._plan.past, run.stats()))}

    def close(self) -> None:
        """Ends this job's part; batches in use stay valid."""
        if not self._closed:
            self._closed = True
            self._run.close()

    def __enter__(self) -> Shared:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):
            self.close()


def share(iterable: Union[Iterable[Any], Callable[[], Iterable[Any]]], key: str, *,
          sharing: str = "elastic", timeout: float = 0,
          depth: Optional[int] = None, weight: float = 1.0,
          name: Optional[str] = None, autostart: bool = True) -> Shared:
    """Lets one process iterate for several jobs: for all jobs of this user on this host
    that use the same key. Each job gets every batch from the place where it joins.

    The first job starts the process. The process has the iterable as it is at that
    moment, and may have its own worker processes. The process outlives that job, and
    ends when no job has listened for some seconds. Its output goes to share-*.log
    beside the daemon's socket. If it dies, another job starts a new process, which
    loads the iterable's state (state_dict, load_state_dict), or skips the batches that
    were delivered.

    Each `iter()` joins the present iteration at the other jobs' place, and ends when
    that iteration ends. The next `iter()` begins the next iteration. Tensors and arrays
    of a batch are views of memory that all jobs share. They are writable, and each
    job's writes are private to it.

    Args:
      iterable: an iterable of batches; a batch is anything that can be pickled. Or a
        function that makes such an iterable; the process calls it. If the function
        makes iterators, it is called again for each iteration.
      key: the name of what is shared. All jobs with this key must mean the same
        iterable.
      sharing: "elastic": a job that falls behind by more batches than memory holds
        misses some, which `stats()` counts; no job waits for another. "lockstep":
        all jobs wait for the slowest, and none misses a batch.
      timeout: the seconds to wait for a batch; `iter()` waits for the first batch. 0:
        without end.
      depth, weight, name, autostart: see DataLoader.

    Raises:
      errors.ForebayError: an error of a fitting class; its message is one sentence that
        says why.
    """
    if not (is_iterable(iterable) or callable(iterable)):
        raise errors.InvalidArgument(
            f"share takes an iterable or a function that makes one, not {iterable!r}")
    if not isinstance(key, str) or not key:
        raise errors.InvalidArgument(f"key must be a text, not {key!r}")
    check_timeout(timeout)
    options = _options.build(
        Produced(key), batch_size=1, drop_last=False, shuffle=False, seed=0,
        transform=None, rank=0, world_size=1, pad="none", listed=False, fields=None,
        extra_roots=(), on_error="raise", weight=weight, name=name, depth=depth,
        sharing="elastic" if sharing == "off" else sharing)
    directory = _native.runtime_dir()
    options["runtime_dir"] = os.fsencode(directory)
    start_daemon = (functools.partial(_daemon.ensure_running, directory)
                    if autostart else None)
    stage = Stage(None, None, 1, 0, tuple, False)
    plan = Plan(stage, options, "numpy", start_daemon,
                multiprocessing.get_context("fork"), timeout, None, False, {})
    told = f"{share_key.VERSION}\0{key}"
    identity = hashlib.blake2b(told.encode(), digest_size=16).digest()
    return Shared(iterable, plan, Place(told, directory), identity)
