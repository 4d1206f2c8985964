"""Iterators that continue although a later iterator of the same loader has begun."""

from __future__ import annotations

import threading
import weakref
from typing import Any, Dict

from . import _fork, _stats, errors


class DetachedLoaders:
    """The detached loaders of one loader. Each has taken over one iterator of that
    loader.

    Used by one thread at a time.
    """

    def __init__(self) -> None:
        self._living: "weakref.WeakSet[Any]" = weakref.WeakSet()
        self._past: Dict[str, int] = {}  # the stats of detached loaders that are closed

    def take(self, loader: Any, epoch: Any) -> Any:
        """Moves an iterator to a new loader, which this object keeps. Returns the new
        loader.

        Raises:
          errors.ForebayError: the daemon has no room for another loader, or the dataset
            has changed.
        """
        position = epoch._position.rest()
        detached = object.__new__(loader._detached_type())
        vars(detached).update(vars(loader))
        detached._closed = True  # until it is open
        detached._lock = threading.RLock()
        detached._detached = DetachedLoaders()
        detached._wrapper = loader._wrapper.another()
        detached._progress = loader._progress.branch(position)
        detached._current = position
        detached._attachment = loader._attachment.another()
        detached._closed = False
        _fork.watch(detached)
        self._living.add(detached)
        weakref.finalize(detached, self._note, detached._attachment).atexit = False
        detached._start(position)
        epoch.leave_for(detached, position, detached._attachment.connection)
        return detached

    def _note(self, attachment: Any) -> None:
        if not attachment.is_inherited():
            _stats.add_past(self._past, _of(attachment))

    def stats(self, attachment: Any) -> Dict[str, int]:
        """Returns the stats of the loader's own attachment and of all detached loaders,
        summed."""
        total = attachment.stats()
        _stats.add(total, self._past)
        for detached in list(self._living):
            _stats.add(total, _of(detached._attachment))
        return total

    def close(self) -> None:
        """Closes all detached loaders."""
        for detached in list(self._living):
            detached.close()


def _of(attachment: Any) -> Dict[str, int]:
    """Returns the stats of an attachment; an empty dict if its connection is closed."""
    try:
        return attachment.stats()
    except errors.StateError:
        return {}
