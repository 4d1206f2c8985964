"""The states of the iterators over an iterable dataset, if it has states.

Like in torchdata's StatefulDataLoader, the state is that of the iterator that
iter(dataset) made, and that of the dataset if it is another object. Only objects with
`state_dict` and `load_state_dict` have a state.
"""

from __future__ import annotations

import os
import pickle
import reprlib
import struct
from typing import Any, Dict, List, Mapping, NamedTuple, Optional

from .. import errors
from . import seeds

_HEAD = struct.Struct("<QQQ")  # the epoch, batches made, bytes of the state
_ROOM_BITS = 40  # a state has less than 2**40 bytes
_PLACES = 2  # the number of places for the states of one worker


class ShardState(NamedTuple):
    """The state of a worker's iterator.

    Attributes:
      epoch: the number of the epoch.
      batches: the number of the epoch's batches that the iterator has made.
      is_over: whether the iterator has no more batches.
      has_begun: whether the iterator exists.
      dataset: the result of the dataset's state_dict(), or None.
      iterator: the result of the iterator's state_dict(), or None.
      generators: the state of the random generators, as seeds.State.plain returns it;
        None: their state at an epoch's beginning.
    """

    epoch: int
    batches: int
    is_over: bool
    has_begun: bool
    dataset: Any
    iterator: Any
    generators: Any

    def to_bytes(self) -> bytes:
        """Returns the state as bytes, for `of_bytes`. Later changes of objects in the
        state do not change the bytes.

        Raises:
          Exception: the result of state_dict() cannot be pickled.
        """
        return pickle.dumps(tuple(self), 5)


def of_bytes(data: bytes) -> ShardState:
    """Returns the state for bytes that `to_bytes` made."""
    return ShardState(*pickle.loads(data))


def can_tell(thing: Any) -> bool:
    """Whether `thing`, a dataset or an iterator, has a state."""
    return hasattr(thing, "state_dict") and hasattr(thing, "load_state_dict")


class States:
    """The states of a loader's workers. Each state is the one after that batch of the
    worker which next() returned last."""

    def __init__(self, known: Optional[Dict[int, bytes]] = None):
        """
        Args:
          known: states by the worker's number.
        """
        self._known = dict(known or {})

    def by_worker(self) -> Dict[int, bytes]:
        """Returns the states that are known, by the worker's number."""
        return dict(self._known)

    def to_load(self) -> Dict[int, bytes]:
        """Returns the states from which new workers continue, by the worker's
        number."""
        return self.by_worker()

    def get(self, worker: int) -> Optional[bytes]:
        return self._known.get(worker)

    def put(self, worker: int, state: Optional[bytes]) -> None:
        """Sets a worker's state; None if it is unknown."""
        if state is None:
            self._known.pop(worker, None)
        else:
            self._known[worker] = state

    def copy(self) -> "States":
        return States(self._known)

    def behind_epoch(self) -> "States":
        """Returns the states that still matter after the epoch: those of the
        datasets."""
        made = States()
        for worker, data in self._known.items():
            state = of_bytes(data)
            if state.dataset is not None:
                made.put(worker, state._replace(iterator=None,
                                                generators=None).to_bytes())
        return made


class Kept:
    """The last two states of each worker, in memory that all workers share. A worker
    that replaces a dead one continues from these."""

    def __init__(self) -> None:
        self._memory = os.memfd_create("forebay-shard-states")

    def put(self, worker: int, epoch: int, batches: int, state: bytes) -> None:
        """Adds a state, in place of the oldest one."""
        place = self._place(worker, batches)
        # The head makes the state valid, so it is written last: a worker may die
        # between any two writes.
        os.pwrite(self._memory, bytes(_HEAD.size), place)
        os.pwrite(self._memory, state, place + _HEAD.size)
        os.pwrite(self._memory, _HEAD.pack(epoch, batches, len(state)), place)

    def of(self, worker: int) -> List[bytes]:
        """Returns the states of a worker."""
        found = []
        for number in range(_PLACES):
            place = self._place(worker, number)
            head = os.pread(self._memory, _HEAD.size, place)
            if len(head) == _HEAD.size:
                size = _HEAD.unpack(head)[2]
                if size:
                    found.append(os.pread(self._memory, size, place + _HEAD.size))
        return found

    @staticmethod
    def _place(worker: int, batches: int) -> int:
        return (worker * _PLACES + batches % _PLACES) << _ROOM_BITS


def to_plain(states: Dict[int, bytes], workers: int) -> Dict[str, Any]:
    """Returns the workers' part of a state_dict.

    Args:
      workers: the number of workers.
    """
    saved: Dict[str, Any] = {"workers": workers}
    if states:
        saved["worker_states"] = [
            of_bytes(states[worker])._asdict() if worker in states else None
            for worker in range(workers)]
    return saved


def of_plain(saved: Mapping[str, Any], epoch: int, first: int,
             workers: int) -> Dict[int, bytes]:
    """Reads the part of a state_dict that `to_plain` made. Returns the states by the
    worker's number.

    Args:
      epoch, first: those of the position; `first` counts batches.
      workers: the number of workers.

    Raises:
      errors.StateError: the state is damaged, or the number of workers was another one.
    """
    before = saved.get("workers", workers)
    if before != workers:
        raise errors.StateError(
            f"the state was saved with {reprlib.repr(before)} workers, each with a "
            f"part of the dataset, but num_workers is {workers}")
    given = saved.get("worker_states", [None] * workers)
    if not isinstance(given, list) or len(given) != workers:
        raise errors.StateError(
            "the state is damaged: its worker_states are not a list of "
            f"{workers} states")
    return {worker: _checked(one, worker, epoch, max(
        0, -(-(first - worker) // workers))).to_bytes()
            for worker, one in enumerate(given) if one is not None}


def _checked(one: Any, worker: int, epoch: int, most: int) -> ShardState:
    try:
        state = ShardState(**one)
        if state.generators is not None:
            with seeds.Kept():
                seeds.set_generators(state.generators)
        if (0 <= state.epoch < epoch or
                state.epoch == epoch and 0 <= state.batches <= most):
            return state
    except Exception:
        pass  # unpickling values of unknown origin may raise any exception
    raise errors.StateError(
        f"the state is damaged: that of worker {worker} does not fit its position")
