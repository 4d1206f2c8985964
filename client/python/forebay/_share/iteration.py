"""The batches of an iterable, by number."""

from __future__ import annotations

import pickle
import struct
import sys
import time
from typing import Any, Dict, NamedTuple, Optional, Tuple

from .._stage import failure, payload

# The number of batches that are kept, to be given again. A daemon that has ended may
# have had batches that no job got.
_KEPT = 4
_STATE_SECONDS = 1.0  # the time between two saved states
# The numbers that come with a batch's payload: the epoch, the batch's number in the
# epoch, and the number of batches in all earlier epochs.
NUMBERS = struct.Struct("<QQQ")


class Gone:
    """Stands for a batch that is not kept any more."""


class State:
    """The state of an iterable.

    Attributes:
      epoch: the number of the iteration.
      number: the number of the batch that comes next.
      value: the iterable's own state_dict.
    """

    def __init__(self, epoch: int, number: int, value: Any):
        self.epoch, self.number, self.value = epoch, number, value


class _Made(NamedTuple):
    """The result of a step of an iterable.

    Attributes:
      kind: the payload's kind: BATCH or FAILED.
      value: the batch, or the description of the failure.
      state: State; or None.
    """

    kind: int
    value: Any
    state: Optional[State] = None


def is_iterable(source: Any) -> bool:
    """Whether `source` itself can be iterated over; a class of iterables cannot."""
    return hasattr(type(source), "__iter__")


class Iteration:
    """Iterates over an iterable again and again. Each iteration is an epoch.

    Attributes:
      source: an iterable, or a function that makes one.
      epoch: the number of the iteration; -1 before the first.
      next: the number of the epoch's batch that comes next.
      has_ended: whether the epoch has no further batch.
      has_place: whether the iteration that has begun has its final epoch number. If
        not, the first request of a job gives it one: jobs may have had earlier epochs
        from another process.
      first: the number of batches in all epochs before this one, from which jobs
        compute how many batches they have missed. A caller that begins in the middle of
        an iteration sets it.
    """

    def __init__(self, source: Any):
        self.source = source
        self._made: Any = None  # the iterable
        self._iterator: Any = None
        self.epoch, self.next, self.has_ended = -1, 0, False
        self.has_place = True
        self.first = 0
        self._past: Dict[int, Tuple[int, int]] = {}  # past epochs' batches and `first`
        self._kept: Dict[int, _Made] = {}
        self._saved_at = 0.0
        self._has_told = False  # whether a log line has said that no state can be saved

    def begin(self, epoch: int, state: Optional[State] = None) -> None:
        """Begins an iteration. With a state, begins at the place where the state was
        saved.

        Raises:
          Exception: an exception of the user's code.
        """
        if self.epoch >= 0:
            self._past[self.epoch] = self.next, self.first
            self.first += self.next
        self.epoch, self.next, self.has_ended = epoch, 0, False
        self._kept.clear()
        # An iterable that is its own iterator is used up, and must be made again.
        if self._made is None or self._iterator is self._made:
            self._made = (self.source if is_iterable(self.source) else
                          self.source())
        if (state is not None and state.epoch == epoch and
                hasattr(self._made, "load_state_dict")):
            self._made.load_state_dict(state.value)
            self.next = state.number
        self._iterator = None  # the last iterator's workers end first
        self._iterator = iter(self._made)

    def place_at(self, epoch: int) -> None:
        """Gives the present iteration, which has no place yet, the number `epoch`."""
        self.has_place = True
        self.epoch = epoch
        for made in self._kept.values():
            if made.state is not None:
                made.state.epoch = epoch

    def give(self, epoch: int, number: int) -> Tuple[int, Any]:
        """Returns what `get` returns, for requests of jobs. Before an iteration begins,
        this brings the previous one to its end."""
        if not self.has_place:
            self.place_at(epoch)
        if 0 <= self.epoch < epoch:
            # Stops at a failure, because an iterable that always fails may never end.
            while not self.has_ended and self._advance()[0] != payload.FAILED:
                pass
        return self.get(epoch, number)

    def get(self, epoch: int, number: int) -> Tuple[int, Any]:
        """Returns a payload's kind and value. A batch's value is (epoch, number, first,
        state, batch). That of END is (epoch, batches of the epoch, first, the next
        epoch). If another process has made that epoch, the number of batches is None,
        and `first` is that of the next epoch."""
        if epoch < self.epoch:
            return payload.END, self._end_of(epoch)
        if epoch > self.epoch:
            try:
                self.begin(epoch)
            except BaseException as error:
                self.has_ended, self.next = True, number + 1
                self._kept[number] = _Made(payload.FAILED, failure.describe(error))
        if number in self._kept:
            return self._answer(number)
        if number < self.next:
            return payload.BATCH, (epoch, number, self.first, None, Gone())
        while not self.has_ended:
            made = self._advance()
            if self.next > number:
                return made
        return payload.END, (epoch, self.next, self.first, epoch + 1)

    def _end_of(self, epoch: int) -> Tuple[int, Optional[int], int, int]:
        """Returns the value of END for an earlier epoch."""
        if epoch in self._past:
            return (epoch, *self._past[epoch], epoch + 1)
        following = min(had for had in (*self._past, self.epoch) if had > epoch)
        first = (self.first if following == self.epoch else
                 self._past[following][1])
        return epoch, None, first, following

    def _answer(self, number: int) -> Tuple[int, Any]:
        """Returns the answer of `get` for a batch that is kept, or a Gone."""
        made = self._kept[number]
        if made.kind == payload.FAILED:
            return made.kind, made.value
        return made.kind, (self.epoch, number, self.first, made.state, made.value)

    def _advance(self) -> Tuple[int, Any]:
        number = self.next
        try:
            batch = next(self._iterator)
            made = _Made(payload.BATCH, batch, self._state())
        except StopIteration:
            self.has_ended = True
            return payload.END, (self.epoch, number, self.first, self.epoch + 1)
        except BaseException as error:
            made = _Made(payload.FAILED, failure.describe(error))
        self.next += 1
        self._kept[number] = made
        self._kept.pop(number - _KEPT, None)
        return self._answer(number)

    def _state(self) -> Optional[State]:
        """Returns the state after the batch that was made last. Returns None if the
        iterable has no state, or if the last state is younger than _STATE_SECONDS."""
        now = time.monotonic()
        if (not hasattr(self._made, "state_dict") or
                not hasattr(self._made, "load_state_dict") or
                now - self._saved_at < _STATE_SECONDS):
            return None
        self._saved_at = now
        try:
            value = self._made.state_dict()
            pickle.dumps(value)
        except Exception as error:  # the batch can be used without a state
            if not self._has_told:
                self._has_told = True
                print(f"the iterable's state cannot be saved: {error!r}",
                      file=sys.stderr, flush=True)
            return None
        return State(self.epoch, self.next + 1, value)
