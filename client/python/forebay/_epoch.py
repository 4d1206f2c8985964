"""The iterators of a data loader."""

from __future__ import annotations

import sys
import threading
from typing import Any, Callable, List, Tuple

from . import _batch, _fork, _user_error, errors


class SizedEpoch:
    """An iterator over the rest of an epoch. Its length is that of the whole epoch, as
    for torch's iterators."""

    _loader: Any
    _position: Any

    def __iter__(self) -> Any:
        return self

    def __len__(self) -> int:
        """Returns the number of batches in the whole epoch.

        Raises:
          TypeError: the number is not known before the epoch ends.
        """
        # list() asks for the length. The dataset's own length must not be asked for
        # here: that would count as a call by the user.
        if self._position.shards is not None:
            raise TypeError("an iterable dataset has no length before its epoch ends")
        return len(self._sized_loader())

    def __bool__(self) -> bool:
        return True  # even if the length is unknown

    def _sized_loader(self) -> Any:
        """Returns the DataLoader whose epoch this is."""
        return self._loader


class EmptyEpoch(SizedEpoch):
    """An iterator over the rest of an epoch that has no batches left."""

    def __init__(self, loader: Any, position: Any, on_end: Callable[[Any], None]):
        """
        Args:
          on_end: a function that is called with the position when next() raises
            StopIteration.
        """
        self._loader = loader
        self._position = position
        self._on_end = on_end

    def __next__(self) -> Any:
        self._on_end(self._position)
        raise StopIteration


class Epoch(SizedEpoch):
    """An iterator over the rest of an epoch."""

    _done = True  # remains True if __init__ fails

    def __init__(self, loader, connection, position):
        self._loader = loader
        self._position = position
        self._view = _batch.View()
        self.read_from(connection)
        self._lock = threading.Lock()
        # Batches that were made but did not reach the user. Each entry has the numbers
        # of samples before and after the batch, and the batch.
        self._put_back: List[Tuple[int, int, Any]] = []
        self._done = False
        _fork.watch(self)

    def _after_fork(self):
        self._lock = threading.Lock()

    def read_from(self, connection) -> None:
        """Takes further batches from `connection`, which has started the position's
        portion of the epoch."""
        self._connection = connection
        self._batch_reader = connection.batch_reader(self._view.native)
        self._next_memory = self._batch_reader.next
        # The number of samples before the position, as the daemon counts them.
        self._first = self._position.first - self._position.begin
        self._portion = self._position.portion

    def has_portion(self) -> bool:
        """Whether this iterator reads the portion of the epoch at which the position
        is."""
        return self._portion is self._position.portion

    def leave_for(self, loader: Any, position: Any, connection: Any) -> None:
        """Continues at `position` with another loader. Batches that were put back are
        made again."""
        self._put_back.clear()
        self._loader, self._position = loader, position
        self.read_from(connection)

    def reads_from(self, connection) -> bool:
        return self._connection is connection

    def end(self) -> None:
        """Marks the epoch as over: there are no more batches."""
        self._done = True

    def __next__(self) -> Any:
        # This code runs for each batch with cold CPU caches, so the common path takes
        # few steps.
        loader, position = self._loader, self._position
        counted, again = None, False
        try:
            with self._lock:
                if self._done:
                    raise StopIteration
                try:
                    if loader._current is not position:
                        loader._leave(self)
                        loader, position = self._loader, self._position
                    if self._put_back:
                        counted, again = self._put_back[0], True
                        del self._put_back[0]
                        position.samples = counted[1]
                    else:
                        memory = self._next_memory()
                        if memory.__class__ is int:
                            memory = loader._await(self, memory)
                            loader, position = self._loader, self._position
                        batch = loader._wrapper.wrap(memory, self._view)
                        before = position.samples
                        samples = memory.next_sample - self._first
                        if position.seen is not None:
                            position.settle()
                            position.last = samples, batch.sample_ids
                        # A signal handler runs only between calls. There is no call
                        # between these two assignments, so either both happen or
                        # neither does.
                        position.samples = samples
                        self._batch_reader.pending = None
                        counted = before, samples, batch
                except BaseException as error:
                    # A signal handler may raise between two batches. If the user then
                    # continues, the epoch continues with the pending batch.
                    if isinstance(error, (StopIteration, errors.ForebayError)) and (
                            not _user_error.is_marked(error)):
                        self._done = True
                        self._batch_reader.pending = None
                    raise
            process = loader._post_processing
            return counted[2] if process is None else process(counted[2])
        except BaseException as error:
            # A signal handler may also raise during the unlock or the post-processing.
            # The batch is then put back. If the same batch fails again, the batch
            # itself is the cause, and is dropped.
            if counted is not None and not (
                    again and isinstance(error, Exception)):
                position.samples = counted[0]
                self._put_back.append(counted)
            raise

    def __del__(self, is_finalizing=sys.is_finalizing):
        # At the interpreter's end, modules may be gone already. The daemon stops making
        # batches when the process ends.
        if not self._done and not is_finalizing():
            self._loader._abandon(self._position)
