"""Iterators over rows. They can continue by whole batches."""

from __future__ import annotations

import logging
from typing import Any

from .._epoch import SizedEpoch
from .._position import Position
from . import structure

_log = logging.getLogger("forebay")


class Rows(SizedEpoch):
    """An iterator over the rest of an epoch, at first by rows. From the first sample
    with another structure on, it continues by whole batches."""

    def __init__(self, loader: Any, position: Position):
        """
        Args:
          loader: a StagedLoader.
        """
        self._loader = loader
        self._position = position
        self._epoch: Any = None
        # The next epoch is begun outside of the except clauses: it forks workers, whose
        # exceptions should not have this exception as context.
        try:
            self._epoch = loader._row_epoch(position)
        except structure.Irregular as error:
            why = str(error)
        if self._epoch is None:
            self._go_on(why)

    def __next__(self) -> Any:
        try:
            return next(self._epoch)
        except structure.Irregular as error:
            why = str(error)
        self._go_on(why)
        return next(self._epoch)

    def _go_on(self, why: str) -> None:
        loader = self._loader
        loader._has_rows = False
        _log.info("%s: workers make batches as a whole, which costs a copy more: "
                  "a batch has %s", loader._plan.name, why)
        self._epoch = loader._batch_epoch(self._position)
