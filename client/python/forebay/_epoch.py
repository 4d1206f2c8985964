"""The iterators of a data loader."""

from __future__ import annotations

import sys
import threading
from typing import Any, Callable, List, Tuple

from . import _batch, _fork, _user_error, errors


class SizedEpoch:
    """An iterator over the rest of an epoch. It has the whole epoch's length, as
    torch's iterators do."""

    _loader: Any
    _position: Any

    def __iter__(self) -> Any:
        return self

    def __len__(self) -> int:
        """Returns the number of batches in the whole epoch.

        Raises:
          TypeError: the number is not known before the epoch ends.
        """
        # list() asks for the length. An answer from the dataset would count as if the
        # user had asked for its length.
        if self._position.shards is not None:
            raise TypeError("an iterable dataset has no length before its epoch ends")
        return len(self._sized_loader())

    def __bool__(self) -> bool:
        return True  # also without length

    def _sized_loader(self) -> Any:
        """Returns the DataLoader whose epoch this is."""
        return self._loader


class EmptyEpoch(SizedEpoch):
    """An iterator over the rest of an epoch that has no batches left."""

    def __init__(self, loader: Any, position: Any, on_end: Callable[[Any], None]):
        """
        Args:
          on_end: is called with the position once next() has raised StopIteration.
        """
        self._loader = loader
        self._position = position
        self._on_end = on_end

    def __next__(self) -> Any:
        self._on_end(self._position)
        raise StopIteration


class Epoch(SizedEpoch):
    """An iterator over the rest of an epoch."""

    _done = True  # stays so if __init__ fails

    def __init__(self, loader, connection, position):
        self._loader = loader
        self._position = position
        self._view = _batch.View()
        self.read_from(connection)
        self._lock = threading.Lock()
        # The batches that were made but did not reach the user: for each, the numbers
        # of samples before and after the batch, and the batch.
        self._put_back: List[Tuple[int, int, Any]] = []
        self._done = False
        _fork.watch(self)

    def _after_fork(self):
        self._lock = threading.Lock()

    def read_from(self, connection) -> None:
        """Takes further batches from this connection, which has started the position's
        portion."""
        self._connection = connection
        self._batch_reader = connection.batch_reader(self._view.native)
        self._next_memory = self._batch_reader.next
        # The number of samples before the position, as the daemon counts them.
        self._first = self._position.first - self._position.begin
        self._portion = self._position.portion

    def has_portion(self) -> bool:
        """Whether batches come from the position's portion of the epoch."""
        return self._portion is self._position.portion

    def leave_for(self, loader: Any, position: Any, connection: Any) -> None:
        """Goes on at this position of another loader. Batches that were put back are
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
        # This code runs for each batch with cold CPU caches, so the usual case takes
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
                        # A signal handler runs only between calls. No call lies
                        # between these two assignments, so both happen or neither.
                        position.samples = samples
                        self._batch_reader.pending = None
                        counted = before, samples, batch
                except BaseException as error:
                    # A signal handler may raise between two batches. If the
                    # user goes on, so does the epoch, with the pending batch.
                    if isinstance(error, (StopIteration, errors.ForebayError)) and (
                            not _user_error.is_marked(error)):
                        self._done = True
                        self._batch_reader.pending = None
                    raise
            process = loader._post_processing
            return counted[2] if process is None else process(counted[2])
        except BaseException as error:
            # A signal handler may also raise during the unlock and the
            # post-processing: the batch is put back. A batch that fails twice is
            # itself the cause, and is dropped.
            if counted is not None and not (
                    again and isinstance(error, Exception)):
                position.samples = counted[0]
                self._put_back.append(counted)
            raise

    def __del__(self, is_finalizing=sys.is_finalizing):
        # At the interpreter's end, modules may be gone already. The end of the process
        # ends production anyway.
        if not self._done and not is_finalizing():
            self._loader._abandon(self._position)
