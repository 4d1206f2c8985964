"""Iterations of one loader at a time that another one is current."""

from __future__ import annotations

import threading
import weakref
from typing import Any, Dict

from . import _fork, errors


class Twins:
    """Loaders beside one loader, each with one iteration that began there.

    Used by one thread at a time.
    """

    def __init__(self) -> None:
        self._living: "weakref.WeakSet[Any]" = weakref.WeakSet()
        self._past: Dict[str, int] = {}  # the stats of those that are gone

    def take(self, loader: Any, epoch: Any) -> Any:
        """Moves an iterator of the loader to a loader of its own, which it keeps.
        Returns that.

        Raises:
          errors.ForebayError: the daemon has no room for it, or the dataset has
            changed.
        """
        position = epoch._position.rest()
        twin = object.__new__(loader._kind_of_twins())
        vars(twin).update(vars(loader))
        twin._closed = True  # until it is open
        twin._lock = threading.RLock()
        twin._twins = Twins()
        twin._wrapper = loader._wrapper.another()
        twin._progress = loader._progress.branch(position)
        twin._current = position
        twin._attachment = loader._attachment.another()
        twin._closed = False
        _fork.watch(twin)
        self._living.add(twin)
        weakref.finalize(twin, self._note, twin._attachment).atexit = False
        twin._start(position)
        epoch.leave_for(twin, position, twin._attachment.connection)
        return twin

    def _note(self, attachment: Any) -> None:
        if not attachment.is_inherited():
            _add(self._past, {**_of(attachment), "batches_held": 0})

    def stats(self, connection: Any) -> Dict[str, int]:
        """Those of the loader's own connection and of all twins."""
        total = connection.stats()
        _add(total, self._past)
        for twin in list(self._living):
            _add(total, _of(twin._attachment))
        return total

    def close(self) -> None:
        """Ends all."""
        for twin in list(self._living):
            twin.close()


def _of(attachment: Any) -> Dict[str, int]:
    """The stats of a connection; none if it is closed."""
    try:
        return attachment.connection.stats()
    except errors.StateError:
        return {}


def _add(total: Dict[str, int], stats: Dict[str, int]) -> None:
    for name, value in stats.items():
        total[name] = total.get(name, 0) + value
