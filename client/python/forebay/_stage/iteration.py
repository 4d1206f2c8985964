"""Iterates a dataset that has no numbers, one shard in each worker."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import seeds
from .making import Stage


class Sharded(NamedTuple):
    """A dataset in shards.

    Attributes:
      lanes: how many; batch k is one of shard k % lanes.
    """

    lanes: int


class Exhausted(Exception):
    """There are no more batches in this shard."""


class Shard:
    """The batches of one worker's iterator, by number.

    A number that is behind the iterator makes it begin again; one that is ahead
    makes it pass over the batches between.
    """

    def __init__(self, stage: Stage, worker: int):
        self._stage = stage
        self._worker = worker
        self._epoch = -1
        self._next = 0
        self._iterator: Any = None

    def batch(self, epoch: int, number: int) -> Any:
        """A batch.

        Raises:
          Exhausted: there are fewer.
          Exception: that of the user's code.
        """
        if epoch != self._epoch or number < self._next:
            self._begin(epoch)
        while self._next < number:
            self._pass_over()
        self._next += 1
        return self._stage.collate(self._samples())

    def _begin(self, epoch: int) -> None:
        # Each number names one state of the generators, whoever comes to it.
        seeds.seed_generators(
            seeds.of_sample(self._stage.seed, epoch, self._worker, 0))
        self._iterator = None
        self._epoch, self._next = epoch, 0

    def _pass_over(self) -> None:
        """Makes the next batch in vain: what it draws, and what it changes, is part
        of those after it."""
        self._next += 1
        try:
            self._stage.collate(self._samples())
        except Exhausted:
            raise
        except Exception:
            pass  # it was told of when it was made first

    def _samples(self) -> Any:
        if self._iterator is None:
            self._iterator = iter(self._stage.dataset)
        size = self._stage.batch_size
        if size is None:
            try:
                return next(self._iterator)
            except StopIteration:
                raise Exhausted from None
        samples = []
        for sample in self._iterator:
            samples.append(sample)
            if len(samples) == size:
                return samples
        if not samples or self._stage.drop_last:
            raise Exhausted
        return samples
