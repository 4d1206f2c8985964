"""Warns of an iterable dataset that is longer than its len()."""

from __future__ import annotations

import warnings
from typing import Any


class SaidLength:
    """Counts the batches of an iteration, and compares them with len(dataset)."""

    def __init__(self, dataset: Any, said: int, workers: int):
        """
        Args:
          said: the value of len(dataset) when the trainer asked for len(loader).
          workers: the value of num_workers.
        """
        self._dataset = dataset
        self._said = said
        self._workers = workers
        self._taken = 0

    def note(self, stacklevel: int) -> None:
        """Counts another batch. Warns once if there are more batches than samples in
        len(dataset), as torch does."""
        self._taken += 1
        if self._taken != self._said + 1:
            return
        text = (f"Length of IterableDataset {self._dataset} was reported to be "
                f"{self._said} (when accessing len(dataloader)), but {self._taken} "
                "samples have been fetched. ")
        if self._workers:
            text += ("For multiprocessing data-loading, this could be caused by not "
                     "properly configuring the IterableDataset replica at each "
                     "worker. Please see https://pytorch.org/docs/stable/data.html"
                     "#torch.utils.data.IterableDataset for examples.")
        warnings.warn(text, stacklevel=stacklevel + 1)
