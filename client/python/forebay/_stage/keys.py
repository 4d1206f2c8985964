"""The keys of a dataset's samples, in the order and the batches in which a loader takes
them."""

from __future__ import annotations

import itertools
from typing import Any, Iterable, Iterator, NamedTuple, Optional

from .._position import Position
from .._sampling import Sampling
from . import batches, drawing
from .feed import Batch
from .listed import Listed


class KeySampling(Sampling):
    """The order of a sampler. Its keys may be anything that the dataset accepts."""

    __slots__ = ()

    def complete(self, position: Position, size: int, batch_size: int) -> None:
        if position.indices is None:
            indices = _array(list(self.sampler), size)
            # The generator's state is set before the indices. If a signal interrupts
            # this between the two, the next call draws again.
            position.generator = self._generator_state()
            position.indices = indices


class BatchSampling(Sampling):
    """The order of a batch sampler."""

    __slots__ = ()

    def complete(self, position: Position, size: int, batch_size: int) -> None:
        if position.indices is None:
            import numpy
            drawn = [list(batch) for batch in self.sampler]
            keys = list(itertools.chain.from_iterable(drawn))
            position.sizes = numpy.fromiter(map(len, drawn), numpy.int64)
            position.generator = self._generator_state()
            position.indices = _array(keys, size)


def _array(keys: Any, size: int) -> Any:
    """Returns keys that are sample numbers as NumPy int64, (M,). Returns all other keys
    as an array of objects."""
    import numpy
    try:
        numbers = numpy.fromiter((key.__index__() for key in keys), numpy.int64)
        if not ((numbers < 0) | (numbers >= size)).any():
            return numbers
    except (AttributeError, TypeError, OverflowError):
        pass
    array = numpy.empty(len(keys), object)
    for place, key in enumerate(keys):
        array[place] = key
    return array


class Keys(NamedTuple):
    """The order and the batches in which a loader takes samples.

    Attributes:
      sampling: the order.
      size: the number of samples in the dataset; None if it has no length.
      batch_size: the number of samples in a batch; None: there is no batching, or the
        sampler makes batches.
      drop_last: whether to leave out a smaller last batch.
      is_batched: whether batches are lists of samples.
      is_iterable: whether the dataset is an iterable, without keys.
      sampler: a sampler of many or unknown keys, whose keys or lists of keys are drawn
        one after the other. None if there is no such sampler.
      by_batches: whether the sampler gives lists of keys.
    """

    sampling: Sampling
    size: Optional[int]
    batch_size: Optional[int]
    drop_last: bool
    is_batched: bool
    is_iterable: bool
    sampler: Optional[Iterable[Any]]
    by_batches: bool

    @property
    def is_counted(self) -> bool:
        """Whether a position holds only the number of keys that were taken."""
        return self.is_iterable or self.sampler is not None

    def counted(self, position: Position) -> Iterator[Batch]:
        """Yields the batches of the sampler, beginning at the position.

        Raises:
          errors.StateError: the position's origin is damaged.
        """
        epoch, first = position.epoch, position.first + position.samples
        origin = position.origin
        if origin is None:
            position.origin = drawing.origin_of(self.sampler)
        return drawing.begun(self.sampler, origin,
                             lambda: self._drawn(epoch, first))

    def _drawn(self, epoch: int, first: int) -> Iterator[Batch]:
        assert self.sampler is not None
        repeats = batches.Repeats()
        if self.by_batches:
            return _without(first, batches.sampled(epoch, self.sampler, repeats))
        keys = drawing.keys_of(self.sampler)
        for portion in drawing.portions(keys, first):
            repeats.pass_over(portion)
        return self._grouped(epoch, keys, repeats)

    def listed(self, indices: Any, sizes: Any, first: int) -> Listed:
        """Returns the batches of a list of keys, beginning at key number `first`."""
        return Listed(indices, first, sizes, self.batch_size, self.drop_last)

    def ordered(self, epoch: int, keys: Iterator[int]) -> Iterator[Batch]:
        """Yields the batches of keys that do not repeat."""
        return self._grouped(epoch, keys, None)

    def _grouped(self, epoch: int, keys: Iterator[Any],
                 repeats: Optional[batches.Repeats]) -> Iterator[Batch]:
        return batches.grouped(epoch, keys, repeats, self.batch_size,
                               self.drop_last)


def _without(first: int, made: Iterator[Batch]) -> Iterator[Batch]:
    """Yields the batches after the first `first` keys."""
    passed = 0
    while passed < first:
        batch = next(made, None)
        if batch is None:
            return
        passed += len(batch.keys)
    yield from made
