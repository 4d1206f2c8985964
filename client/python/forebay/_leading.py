"""The part of a loader that controls its iterators."""

from __future__ import annotations

import contextlib
import threading
from typing import Any, Optional

from . import _native, errors
from ._position import Position


class Leading:
    """Starts iterations at the daemon, and waits for their batches.

    The iterator that began last reads from the loader's own connection. Each earlier
    iterator gets its own connection when it is used again.
    """

    _attachment: Any
    _check_open: Any
    _closed: bool
    _contents: Any
    _current: Optional[Position]  # the current iterator's position; guarded by _lock
    _detached_type: Any
    _lock: threading.RLock
    _progress: Any
    _detached: Any
    _wrapper: Any

    def _start(self, position):
        try:
            self._attachment.start(position, self._progress.is_new)
        finally:
            self._contents.version = self._attachment.version

    def _leave(self, epoch):
        """Gives an iterator its own connection, because a later iteration has begun.
        Returns the loader that has this connection."""
        with self._lock:
            self._check_open()
            if self._attachment.is_inherited():
                raise errors.StateError(
                    "this iteration belongs to the process that this one was "
                    "forked from: call iter() again")
            if not self._progress.goes_on(epoch._position):
                raise errors.StateError(
                    "a state was loaded, or the dataset object has changed, since "
                    "this iteration began: call iter() again")
            return self._detached.take(self, epoch)

    def _await(self, epoch, status):
        """Waits for the memory of an iterator's next batch, after its batch reader has
        returned `status` and no memory. Raises StopIteration at the epoch's end."""
        retry = None
        while status != _native.END_OF_EPOCH and epoch.has_portion():
            if self._current is not epoch._position:
                return self._leave(epoch)._await(epoch, _native.INTERRUPTED)
            try:
                if status not in (_native.INTERRUPTED, _native.TIMEOUT):
                    _native.check(status)
            except errors.PASSING as error:
                if retry is None:
                    retry = self._attachment.retry()
                retry.wait(error)
            except errors.StateError as error:
                self._reopen(epoch, error)
                if retry is not None:
                    retry.done()
                    retry = None  # the retry belongs to the last connection
            status = epoch._next_memory()
            if status.__class__ is not int:
                break
        if retry is not None:
            retry.done()
            self._wrapper.warn_of_refusal(self._attachment.connection.refusal, 3)
        if status.__class__ is not int:
            return status
        return self._next_portion(epoch)

    def _next_portion(self, epoch):
        """Waits for the memory of the first batch of the epoch's next portion. Raises
        StopIteration at the epoch's end."""
        if self._moves_on(epoch):
            return epoch._loader._await(epoch, _native.INTERRUPTED)
        self._end(epoch)
        raise StopIteration

    def _moves_on(self, epoch):
        """Starts the epoch's next portion, if there is one, or a portion whose start
        was interrupted. Returns whether further batches may come."""
        with self._lock:
            position = epoch._position
            if self._current is not position:  # another iteration has begun
                if epoch.has_portion() and position.is_in_last_portion:
                    return False
                self._leave(epoch)
                return True
            if epoch.has_portion() and not self._progress.move_on(position):
                return False
            self._start(position)
            epoch.read_from(self._attachment.connection)
            return True

    def _end(self, epoch):
        """Ends the epoch, which is complete."""
        with self._lock:
            if self._current is epoch._position:
                self._progress.end(epoch._position)
                epoch.end()
                self._current = None

    def _reopen(self, epoch, error):
        """Lets `epoch` go on with the dataset's present version. Raises StateError if
        a sample was returned before, a state was loaded, or the samples differ."""
        with self._lock:
            position = epoch._position
            if self._current is not position:
                return  # another iteration has begun
            if not self._progress.is_new:
                raise error
            # An interrupted call may have opened another connection.
            if epoch.reads_from(self._attachment.connection):
                self._attachment.give_up(error)
            self._start(position)
            epoch.read_from(self._attachment.connection)
            self._progress.set_reopened()

    def _abandon(self, position):
        """Stops making batches for an iterator that was dropped."""
        with self._lock:
            if (self._closed or self._current is not position or
                    self._attachment.is_inherited()):
                return
            self._current = None
            with contextlib.suppress(errors.ForebayError):  # the next iter() raises it
                self._attachment.connection.stop_epoch()
