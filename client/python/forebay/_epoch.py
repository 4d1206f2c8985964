"""The iterator of a data loader."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, List, Tuple

from . import _batch, errors

# A forked child has none of the threads that may have held a lock.
_epochs: "weakref.WeakSet[Epoch]" = weakref.WeakSet()


def _renew():
    for epoch in _epochs:
        epoch._lock = threading.Lock()


os.register_at_fork(after_in_child=_renew)


class Epoch:
    """An iterator over the rest of one epoch."""

    _done = True  # of one that was not made to the end

    def __init__(self, loader, connection, position):
        self._loader = loader
        self._position = position
        self._view = _batch.View()
        self.read_from(connection)
        self._lock = threading.Lock()
        # Batches that were made and did not come to the user: the samples
        # before and after each, and the batch.
        self._put_back: List[Tuple[int, int, Any]] = []
        self._done = False
        _epochs.add(self)

    def read_from(self, connection) -> None:
        """The batches come from this connection from now on."""
        self._connection = connection
        self._taker = connection.taker(self._view.native)
        self._take = self._taker.take

    def reads_from(self, connection) -> bool:
        return self._connection is connection

    def end(self) -> None:
        """There are no more batches."""
        self._done = True

    def __iter__(self) -> Epoch:
        return self

    def __next__(self) -> Any:
        # Runs for each batch, with cold caches: what is usual takes few steps.
        loader, position = self._loader, self._position
        counted, again = None, False
        try:
            with self._lock:
                if self._done:
                    raise StopIteration
                try:
                    if loader._current is not position:
                        loader._say_why_over()
                    if self._put_back:
                        counted, again = self._put_back[0], True
                        del self._put_back[0]
                        position.samples = counted[1]
                    else:
                        memory = self._take()
                        if memory.__class__ is int:
                            memory = loader._await(self, memory)
                        batch = loader._wrapper.wrap(memory, self._view)
                        before = position.samples
                        samples = memory.next_sample - position.first
                        if position.seen is not None:
                            position.settle()
                            position.last = samples, batch.sample_ids
                        # All or nothing: nothing is called between.
                        position.samples = samples
                        self._taker.kept = None
                        counted = before, samples, batch
                except BaseException as error:
                    # A signal handler may raise between two batches: the epoch
                    # goes on if the user does, with the batch that was taken.
                    if isinstance(error, (StopIteration, errors.ForebayError)):
                        self._done = True
                        self._taker.kept = None
                    raise
            finish = loader._trainer_side
            return counted[2] if finish is None else finish(counted[2])
        except BaseException as error:
            # Likewise while the lock is let go, and the trainer works on it; but
            # where it fails twice, it is the batch that is to blame.
            if counted is not None and not (
                    again and isinstance(error, Exception)):
                position.samples = counted[0]
                self._put_back.append(counted)
            raise

    def __del__(self):
        if not self._done:
            self._loader._abandon(self._position)
