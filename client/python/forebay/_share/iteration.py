"""The batches of an iterable, by number."""

from __future__ import annotations

import pickle
import struct
import sys
import time
from typing import Any, Dict, NamedTuple, Optional, Tuple

from .._stage import failure, payload

# Batches that can be given again: a daemon that ends may have had some.
_KEPT = 4
_STATE_SECONDS = 1.0  # between two states that are saved
# The epoch and the number of a batch, and the batches of all epochs before that one:
# beside its payload.
NUMBERS = struct.Struct("<QQQ")


class Gone:
    """Instead of a batch that nobody has any more."""


class State:
    """How far an iterable had come.

    Attributes:
      epoch: the iteration.
      number: of the batch that comes next.
      value: its own state_dict.
    """

    def __init__(self, epoch: int, number: int, value: Any):
        self.epoch, self.number, self.value = epoch, number, value


class _Made(NamedTuple):
    """The result of a step of an iterable.

    Attributes:
      kind: of the payload: BATCH or FAILED.
      value: the batch, or the description of the failure.
      state: State; or None.
    """

    kind: int
    value: Any
    state: Optional[State] = None


def is_iterable(source: Any) -> bool:
    """Whether it can be iterated itself: a class whose instances can is none."""
    return hasattr(type(source), "__iter__")


class Iteration:
    """Iterates again and again; each iteration is an epoch.

    Attributes:
      source: an iterable, or a function that makes one.
      epoch: the iteration; -1 before the first.
      next: the number of its batch that comes next.
      has_ended: whether there is none.
      has_place: whether the number of its first epoch counts. Otherwise the jobs'
        first question is for what has begun, whatever its epoch: others may have had
        those before from another process.
      first: the batches of all epochs before this one, by which jobs count what they
        have missed. The one who begins an iteration elsewhere than at its start sets
        it.
    """

    def __init__(self, source: Any):
        self.source = source
        self._made: Any = None  # the iterable
        self._iterator: Any = None
        self.epoch, self.next, self.has_ended = -1, 0, False
        self.has_place = True
        self.first = 0
        self._past: Dict[int, Tuple[int, int]] = {}  # batches, and first
        self._kept: Dict[int, _Made] = {}
        self._saved_at = 0.0
        self._has_told = False  # that no state can be saved

    def begin(self, epoch: int, state: Optional[State] = None) -> None:
        """Begins an iteration; with a state of it, where that was saved.

        Raises:
          Exception: that of the user's code.
        """
        if self.epoch >= 0:
            self._past[self.epoch] = self.next, self.first
            self.first += self.next
        self.epoch, self.next, self.has_ended = epoch, 0, False
        self._kept.clear()
        # It may be what was made, which is spent then.
        if self._made is None or self._iterator is self._made:
            self._made = (self.source if is_iterable(self.source) else
                          self.source())
        if (state is not None and state.epoch == epoch and
                hasattr(self._made, "load_state_dict")):
            self._made.load_state_dict(state.value)
            self.next = state.number
        self._iterator = None  # the workers of the one before end first
        self._iterator = iter(self._made)

    def place_at(self, epoch: int) -> None:
        """Gives the present iteration, which has no place, this number."""
        self.has_place = True
        self.epoch = epoch
        for made in self._kept.values():
            if made.state is not None:
                made.state.epoch = epoch

    def give(self, epoch: int, number: int) -> Tuple[int, Any]:
        """As `get`, for the jobs: an iteration that they read ends before the next
        one begins."""
        if not self.has_place:
            self.place_at(epoch)
        if 0 <= self.epoch < epoch:
            # An iterable that only fails may never end.
            while not self.has_ended and self._advance()[0] != payload.FAILED:
                pass
        return self.get(epoch, number)

    def get(self, epoch: int, number: int) -> Tuple[int, Any]:
        """A payload's kind and value, for a batch: (epoch, number, first, state,
        batch). For END: (epoch, batches of the epoch, first, the epoch that comes
        next). The batches are None if another process has had that epoch; `first`
        is then the one of the epoch that comes next."""
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
        """The answer of `get` for an epoch before this one."""
        if epoch in self._past:
            return (epoch, *self._past[epoch], epoch + 1)
        following = min(had for had in (*self._past, self.epoch) if had > epoch)
        first = (self.first if following == self.epoch else
                 self._past[following][1])
        return epoch, None, first, following

    def _answer(self, number: int) -> Tuple[int, Any]:
        """The answer of `get` for a batch that is kept."""
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
        """The state behind the batch that was made last, now and then."""
        now = time.monotonic()
        if (not hasattr(self._made, "state_dict") or
                not hasattr(self._made, "load_state_dict") or
                now - self._saved_at < _STATE_SECONDS):
            return None
        self._saved_at = now
        try:
            value = self._made.state_dict()
            pickle.dumps(value)
        except Exception as error:  # the batch is good all the same
            if not self._has_told:
                self._has_told = True
                print(f"the iterable's state cannot be saved: {error!r}",
                      file=sys.stderr, flush=True)
            return None
        return State(self.epoch, self.next + 1, value)
