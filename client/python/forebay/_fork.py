"""Work before a fork and after it.

In a forked child, the threads that may have held a lock do not exist. Text in buffers
exists twice.
"""

from __future__ import annotations

import contextlib
import os
import sys
import weakref
from typing import Any

_objects: "weakref.WeakSet[Any]" = weakref.WeakSet()


def watch(thing: Any) -> None:
    """Calls `thing._after_fork()` in each forked child, while `thing` lives."""
    _objects.add(thing)


def flush_output() -> None:
    """Writes out what was printed: else a forked child writes it, too. A stream that
    is closed, or was taken away, has nothing."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()


def _after_fork() -> None:
    for thing in _objects:
        thing._after_fork()


os.register_at_fork(after_in_child=_after_fork)
