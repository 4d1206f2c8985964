"""Deadlines for a job that waits to join other jobs."""

from __future__ import annotations

import time


class Missed(Exception):
    """A deadline has passed."""


class Deadline:
    """The time at which waits end. The time may be infinite."""

    def __init__(self, seconds: float):
        """
        Args:
          seconds: the seconds until the deadline; 0: waits never end.
        """
        self._end = time.monotonic() + seconds if seconds else float("inf")

    def exists(self) -> bool:
        """Whether the deadline is finite."""
        return self._end < float("inf")

    def left(self) -> float:
        """Returns the seconds that are left.

        Raises:
          Missed: the deadline has passed.
        """
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise Missed
        return seconds
