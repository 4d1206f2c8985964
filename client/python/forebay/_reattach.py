"""What a loader does while its daemon is away.

The library keeps what it takes to go on: where the daemon listens, the dataset's
folders, the position. Here somebody waits, starts a daemon where that is this
package's business, and says so in the log.
"""

from __future__ import annotations

import logging
import os
import random
import time
from typing import Callable, Iterator, List, Optional, TypeVar

from . import errors

_log = logging.getLogger("forebay")
_VARIABLE = "FOREBAY_REATTACH_SECONDS"
_USUAL_SECONDS = 60.0
_FIRST_PAUSE, _LAST_PAUSE = 0.05, 5.0
_LAST_RETRY_PAUSE = 1.0  # as the library's own
_Result = TypeVar("_Result")


def patience() -> float:
    """Seconds for which no batch may come: $FOREBAY_REATTACH_SECONDS, else 60.

    Raises:
      errors.InvalidArgument: the variable is no number of seconds.
    """
    given = os.environ.get(_VARIABLE)
    if not given:
        return _USUAL_SECONDS
    try:
        seconds = float(given)
    except ValueError:
        seconds = -1.0
    if not seconds >= 0:
        raise errors.InvalidArgument(
            f"${_VARIABLE} must be a number of seconds, not {given!r}")
    return seconds


def pauses(chance: Callable[[], float] = random.random,
           last: float = _LAST_PAUSE) -> Iterator[float]:
    """Pauses between tries, in seconds: twice as long each time, and a random
    part of that: not all trainers of a host try at once.

    Args:
      chance: draws from [0, 1).
      last: no pause is longer.
    """
    longest = _FIRST_PAUSE
    while True:
        yield longest * (0.5 + 0.5 * chance())
        longest = min(2 * longest, last)


def patiently(what: str, attempt: Callable[[], _Result],
              start_daemon: Optional[Callable[[], None]]) -> _Result:
    """What `attempt()` returns; while it raises what may pass, it is tried again,
    as an CircuitBreaker has it.

    Args:
      what, start_daemon: see CircuitBreaker.

    Raises:
      errors.DaemonUnavailable, errors.SourceUnavailable: for `patience()`
        seconds no try succeeded.
    """
    try:
        return attempt()
    except errors.PASSING as error:
        why = type(error)(str(error))  # without frames, as in CircuitBreaker.ride
    found: List[_Result] = []
    waits = pauses(last=_LAST_RETRY_PAUSE)

    def attach() -> bool:
        time.sleep(next(waits))
        found.append(attempt())
        return True

    outage = CircuitBreaker(what, attach, start_daemon)
    outage.ride(why)
    outage.over()
    return found[0]


class CircuitBreaker:
    """A time in which no batch comes, since the daemon is away, or cannot reach
    the dataset.

    One line in the log says so, and one more that it is over. Used by one thread
    at a time.
    """

    def __init__(self, what: str, attach: Callable[[], bool],
                 start_daemon: Optional[Callable[[], None]]):
        """
        Args:
          what: is read, for people.
          attach: tries for a moment to go on: True if it does, False to be
            called again; one of errors.PASSING if nothing goes on yet.
          start_daemon: starts one where none listens; None: that is somebody
            else's business.
        """
        self._what = what
        self._attach = attach
        self._start_daemon = start_daemon
        self._pauses = pauses()
        self._next_start = 0.0
        self._seconds = patience()
        self._began: Optional[float] = None

    def ride(self, error: errors.ForebayError) -> None:
        """Returns when the loader goes on; `error` is why it did not.

        Raises:
          errors.DaemonUnavailable, errors.SourceUnavailable: for `patience()`
            seconds no batch came.
          errors.ForebayError: the daemon that came cannot go on, for good.
        """
        # Words, and no exception, are kept: those know the frames that they
        # came through, and so the batches that somebody holds there.
        kind, why = type(error), str(error)
        del error
        if self._began is None:
            self._began = time.monotonic()
            if self._seconds > 0:
                _log.warning("%s: %s: waiting up to %g s to go on", self._what,
                             why, self._seconds)
        while True:
            # Also for who goes on at once, and is interrupted again and again.
            if time.monotonic() - self._began >= self._seconds:
                raise self._given_up(kind, why) from None  # it says why
            try:
                self._start()
                while not self._attach():
                    pass
                return
            except errors.PASSING as again:
                kind, why = type(again), str(again)

    def _given_up(self, kind, why):
        if self._seconds > 0:
            why = (f"{self._what}: {why}, for {self._seconds:g} s by now: see "
                   f"${_VARIABLE}")
        return kind(why)

    def _start(self):
        if self._start_daemon is None or time.monotonic() < self._next_start:
            return
        try:
            self._start_daemon()
        finally:
            # One that ends at once is not started all the time.
            self._next_start = time.monotonic() + next(self._pauses)

    def over(self) -> None:
        """A batch has come again."""
        if self._began is not None:
            _log.warning("%s: goes on after %.1f s", self._what,
                         time.monotonic() - self._began)
