"""The iterator over batches that the user's code makes as a whole."""

from __future__ import annotations

from typing import Any, Optional

from .. import _user_error, errors
from .._epoch import Epoch
from .._position import Position
from .batch_run import BatchRun, Made
from .said_length import SaidLength


class BatchEpoch(Epoch):
    """An iterator over the rest of an epoch of batches of any structure."""

    def __init__(self, run: BatchRun, position: Position, loader: Any,
                 said_length: Optional[SaidLength] = None):
        """
        Args:
          loader: the loader, which the iterator keeps alive.
          said_length: a SaidLength, which counts the batches; or None.
        """
        self._said_length = said_length
        self._owner = loader
        self._made: Optional[Made] = None  # a batch that has not reached the user yet
        self._has_failed = False  # whether an exception has kept _made from the user
        super().__init__(run, run.connection, position)

    def _sized_loader(self) -> Any:
        return self._owner

    def drop_pending(self) -> None:
        """Drops the memory that was read last."""
        self._batch_reader.pending = None

    def __next__(self) -> Any:
        run, position = self._loader, self._position
        made: Optional[Made] = None
        try:
            with self._lock:
                if self._done:
                    raise StopIteration
                if run._current is not position:
                    run._leave(self)
                made = self._made
                if made is None:
                    try:
                        # If a signal comes before the assignment, the memory stays
                        # pending.
                        made = self._made = run.take(self)
                    except (StopIteration, errors.ForebayError) as error:
                        self._done = not _user_error.is_marked(error)
                        raise
                self.drop_pending()
                position.samples = made.after
                if made.states is not None:
                    position.shards.put(made.states[0], made.states[2])
                run.passed(made.number, made.after - made.before)
            if made.error is None:
                if self._said_length is not None and not self._has_failed:
                    self._said_length.note(2)
                batch = run._plan.finish(made.batch)
                self._made, self._has_failed = None, False
                return batch
            self._made = None
            raise made.error
        except BaseException as error:
            # If the same batch fails again, the batch itself is the cause, and is
            # dropped.
            if made is not None and error is not made.error:
                if self._has_failed and isinstance(error, Exception):
                    self._made, self._has_failed = None, False
                else:
                    self._made = made
                    position.samples = made.before
                    if made.states is not None:
                        position.shards.put(*made.states[:2])
                    self._has_failed = isinstance(error, Exception)
            raise
        finally:
            made = None  # the error's traceback would keep the error alive
