"""Objects that show the order of a loader's epochs, like torch's samplers."""

from __future__ import annotations

import itertools
import operator
import weakref
from typing import Any, Callable, Iterator, List, Optional


class EpochOrder:
    """The `sampler` of a loader without a sampler argument: the numbers of the samples
    that its process sees, in the order of the epoch that iter() begins next.

    Attributes:
      epoch: the epoch of the last call of set_epoch, as for DistributedSampler. None if
        set_epoch was not called; each iter() then begins the next epoch. Training
        frameworks call set_epoch.
    """

    def __init__(self) -> None:
        self.epoch: Optional[int] = None
        self._loader: Callable[[], Any] = lambda: None

    def set_epoch(self, epoch: int) -> None:
        self.epoch = operator.index(epoch)

    def follow(self, loader: Any) -> None:
        """Shows the order of `loader` from now on, to which it keeps a weak
        reference."""
        self._loader = weakref.ref(loader)

    def _the_loader(self) -> Any:
        loader = self._loader()
        if loader is None:
            raise TypeError("the order of no loader has neither length nor samples: "
                            "keep the loader")
        return loader

    def __len__(self) -> int:
        return self._the_loader()._samples_per_epoch()

    def __iter__(self) -> Iterator[int]:
        return self._the_loader()._draw()

    def __reduce__(self) -> Any:
        return _copy, (self.epoch,)


def _copy(epoch: Optional[int]) -> EpochOrder:
    made = EpochOrder()
    made.epoch = epoch
    return made


class BatchOrder:
    """The `batch_sampler` of a loader without a batch_sampler argument: the sample
    numbers of each batch.

    Attributes:
      sampler, batch_size, drop_last: those of the loader.
    """

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool):
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __len__(self) -> int:
        whole, rest = divmod(len(self.sampler), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)

    def __iter__(self) -> Iterator[List[Any]]:
        keys = iter(self.sampler)
        while True:
            batch = list(itertools.islice(keys, self.batch_size))
            if not batch or (self.drop_last and len(batch) < self.batch_size):
                return
            yield batch
