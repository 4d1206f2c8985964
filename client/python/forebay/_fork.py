"""Objects that a forked child must repair.

In a forked child, the threads that may have held a lock do not exist.
"""

from __future__ import annotations

import os
import weakref
from typing import Any

_objects: "weakref.WeakSet[Any]" = weakref.WeakSet()


def watch(thing: Any) -> None:
    """Calls `thing._after_fork()` in each forked child, while `thing` lives."""
    _objects.add(thing)


def _after_fork() -> None:
    for thing in _objects:
        thing._after_fork()


os.register_at_fork(after_in_child=_after_fork)
