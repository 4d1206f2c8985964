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
    """An iterable that one process iterates for all jobs of this user that ask for
    its key. See `share`."""

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
        """Totals: batches_delivered, batches_missed because others were too far
        ahead, wait_nanos that next() slept."""
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
    """Lets one process iterate, and every job of this user on the host that asks
    for the key have each batch from where it joins.

    The first job starts the process, which has the iterable as it is then, and may
    have worker processes of its own. It outlives that job, and ends when nobody has
    listened for some seconds. Its output goes to share-*.log beside the daemon's
    socket. If it dies, the next job's takes over: it loads the iterable's state
    (state_dict, load_state_dict), or passes over what was delivered.

    Each `iter()` joins where the others are; the iteration ends with the
    iterable's, and the next one begins the next. Tensors and arrays of a batch are
    views of memory that all jobs share, writable and private to each.

    Args:
      iterable: of batches: anything that can be pickled. Or a function that makes
        one, called in that process; again for each iteration, if it makes
        iterators.
      key: tells what is shared; jobs with one key must mean the same.
      sharing: "elastic": a job that falls behind by more batches than memory holds
        misses some, which `stats()` counts; no job waits for another. "lockstep":
        all wait for the slowest, and none misses any.
      timeout: seconds to wait for a batch, the first one in `iter()`; 0: without
        end.
      depth, weight, name, autostart: as DataLoader's.

    Raises:
      errors.ForebayError: of the fitting class; one sentence says why.
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
