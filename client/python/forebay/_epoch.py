"""The iterator of a data loader."""

from __future__ import annotations

import threading
from typing import Any

from . import _batch, errors


class Epoch:
    """An iterator over the rest of one epoch."""

    def __init__(self, loader, connection, position):
        self._loader = loader
        self._position = position
        self._connection = connection
        self._view = _batch.View()
        self._take = connection.taker(self._view.native).take
        self._lock = threading.Lock()
        self._done = False

    def __iter__(self) -> Epoch:
        return self

    def __next__(self) -> Any:
        # Runs for each batch, with cold caches: what is usual takes few steps.
        with self._lock:
            if self._done:
                raise StopIteration
            loader, position = self._loader, self._position
            try:
                if loader._current is not position:
                    loader._say_why_over()
                memory = self._take()
                if memory.__class__ is int:
                    memory = loader._await(self, memory)
                batch = loader._wrapper.wrap(memory, self._view)
                position.samples += memory.samples
                if position.seen is not None:
                    position.seen.add(batch.sample_ids)
                loader._progress.state = position
            except BaseException as error:
                # A signal handler may raise between two batches: the epoch goes
                # on if the user does.
                self._done = isinstance(error,
                                        (StopIteration, errors.ForebayError))
                raise
        finish = loader._trainer_side
        return batch if finish is None else finish(batch)

    def __del__(self):
        if not self._done:
            self._loader._abandon(self._position)
