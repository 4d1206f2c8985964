"""The rule by which the process that iterates ends when no job needs it any more."""

from __future__ import annotations

import contextlib
import threading
from typing import Callable, Iterator

LOOK_SECONDS = 0.5  # between two looks
_LINGER_SECONDS = 5.0  # the time for which a trainer may still go on
# The time for which the process stays while no daemon listens. A trainer notices with
# its next batch that the daemon has died, and goes on when another daemon is there.
_AWAY_SECONDS = 60.0
_STEP_SECONDS = 60.0
HANG_SECONDS = 5.0  # the time to end in, after which the process is killed


class Idleness:
    """The time for which no job has listened to the process that iterates.

    Looks are counted rather than a clock's seconds: a process that was stopped has
    not lingered meanwhile. Thread-safe; `look` asks for the daemon.
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
        """Notes a listener: of a stream, or of an answer."""
        with self._lock:
            self._listeners += 1
            self._was_away = False
            self._restart()

    def end(self) -> None:
        """Notes that a listener has ended."""
        with self._lock:
            self._listeners -= 1
            self._restart()
        # The daemon's death ends its streams. The look notes that it is away, as
        # another daemon may be there at the next look.
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
        """Counts a look; to be called every LOOK_SECONDS."""
        is_away = not self._listeners and self._is_away()
        with self._lock:
            if not self._listeners:
                if is_away != self._was_away:
                    self._was_away, self._looks = is_away, 0
                    self._limit = (self._away_looks if is_away else
                                   _looks(_STEP_SECONDS))
                self._looks += 1

    def leave(self) -> None:
        """Notes that the process ends even if listeners come."""
        self._has_left = True

    def has_left(self) -> bool:
        """Whether the process ends even if listeners come."""
        return self._has_left

    def is_over(self) -> bool:
        """Whether the process is to end."""
        return self._has_left or self._looks > self._limit

    def hangs(self) -> bool:
        """Whether the process should have ended long ago."""
        return not self._has_left and (
            self._looks > self._limit + _looks(HANG_SECONDS))


def _looks(seconds: float) -> int:
    return int(seconds / LOOK_SECONDS)
