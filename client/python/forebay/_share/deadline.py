"""How long a job waits to join a share."""

from __future__ import annotations

import time


class Missed(Exception):
    """A deadline has passed."""


class Deadline:
    """A moment at which waits end, or none."""

    def __init__(self, seconds: float):
        """
        Args:
          seconds: from now; 0: there is no such moment.
        """
        self._end = time.monotonic() + seconds if seconds else float("inf")

    def exists(self) -> bool:
        """Whether waits end at all."""
        return self._end < float("inf")

    def left(self) -> float:
        """Seconds that are left.

        Raises:
          Missed: none are.
        """
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise Missed
        return seconds
