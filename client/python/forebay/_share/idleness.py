"""The rule by which the process that iterates for all jobs ends when no job needs it
any more."""

from __future__ import annotations

import contextlib
import threading
from typing import Callable, Iterator

LOOK_SECONDS = 0.5  # the time between two looks
_LINGER_SECONDS = 5.0  # the time in which a trainer may still come back
# The time for which the process stays while no daemon listens. A trainer notices the
# daemon's death at its next batch, and continues when another daemon is there.
_AWAY_SECONDS = 60.0
_STEP_SECONDS = 60.0
HANG_SECONDS = 5.0  # a process that takes longer to end is killed


class Idleness:
    """Measures for how long no job has listened to the process that iterates.

    Counts calls of `look`, and not seconds, so that the time in which the process is
    stopped does not count. Thread-safe. `look` checks whether a daemon listens.
    """

    def __init__(self, is_away: Callable[[], bool], patience: float = 0.0):
        """
        Args:
          is_away: a function that tells whether no daemon listens.
          patience: seconds for which trainers wait for a daemon.
        """
        self._is_away = is_away
        self._away_looks = _looks(max(_AWAY_SECONDS, patience))
        self._lock = threading.Lock()
        self._listeners = 0
        self._was_away = False
        self._has_left = False
        self._restart()

    def _restart(self) -> None:
        self._looks = 0
        self._limit = _looks(_LINGER_SECONDS)

    def begin(self) -> None:
        """Counts a new listener: a stream, or a job that waits for an answer."""
        with self._lock:
            self._listeners += 1
            self._was_away = False
            self._restart()

    def end(self) -> None:
        """Counts that a listener has ended."""
        with self._lock:
            self._listeners -= 1
            self._restart()
        # The daemon's death ends its streams. This look can see that the daemon is
        # away; at the next look, another daemon may be there.
        self.look()

    @contextlib.contextmanager
    def listened(self) -> Iterator[None]:
        """Counts as a listener while the block runs."""
        self.begin()
        try:
            yield
        finally:
            self.end()

    def look(self) -> None:
        """Counts a look. Must be called every LOOK_SECONDS."""
        is_away = not self._listeners and self._is_away()
        with self._lock:
            if not self._listeners:
                if is_away != self._was_away:
                    self._was_away, self._looks = is_away, 0
                    self._limit = (self._away_looks if is_away else
                                   _looks(_STEP_SECONDS))
                self._looks += 1

    def leave(self) -> None:
        """Decides that the process ends, even if new listeners come."""
        self._has_left = True

    def has_left(self) -> bool:
        """Whether `leave` was called."""
        return self._has_left

    def is_over(self) -> bool:
        """Whether the process should end."""
        return self._has_left or self._looks > self._limit

    def hangs(self) -> bool:
        """Whether the process should have ended long ago."""
        return not self._has_left and (
            self._looks > self._limit + _looks(HANG_SECONDS))


def _looks(seconds: float) -> int:
    return int(seconds / LOOK_SECONDS)
