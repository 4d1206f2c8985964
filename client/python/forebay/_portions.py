"""The samples of a long sampler, portion by portion.

A sampler may list more samples than memory should hold, or may never end. The daemon
then gets an epoch in portions. A portion is drawn when all batches of the previous
portion were taken. No batch has samples of two portions.

A state of such an epoch has the number of samples that were taken, and the states of
the random generators before the first sample. To go on, the loader draws the same
samples again, and skips them.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from . import errors
from ._stage import drawing

PORTION = 1 << 20  # the most samples of a portion


class Portion(NamedTuple):
    """A part of an epoch.

    Attributes:
      start: the number of the epoch's samples before the portion.
      indices: the portion's samples: NumPy int64, (M,); None before they are drawn.
      is_last: whether the epoch ends with this portion.
      source: the PortionSource that draws the next portion; None before that.
    """

    start: int
    indices: Any = None
    is_last: bool = False
    source: Any = None

    @property
    def end(self) -> int:
        return self.start + len(self.indices)


class _Numbers:
    """Reads an iterator of arrays as one sequence of numbers."""

    def __init__(self, arrays: Iterator[Any]):
        self._arrays = arrays
        self._held: List[Any] = []  # next arrays, in reverse order

    def take(self, count: int) -> Any:
        """Returns the next `count` numbers, or fewer at the end, in a new array."""
        import numpy
        pieces = [numpy.empty(0, numpy.int64)]
        while count > 0 and not self.is_over():
            array = self._held.pop()
            pieces.append(array[:count])
            if len(array) > count:
                self._held.append(array[count:])
            count -= len(pieces[-1])
        return numpy.concatenate(pieces)

    def put_back(self, numbers: Any) -> None:
        """Makes `numbers` the next numbers."""
        if len(numbers):
            self._held.append(numbers)

    def pass_over(self, count: int) -> int:
        """Drops the next `count` numbers; returns how many there were."""
        passed = 0
        while passed < count and not self.is_over():
            array = self._held.pop()
            rest = array[count - passed:]
            if len(rest):
                self._held.append(rest)
            passed += len(array) - len(rest)
        return passed

    def is_over(self) -> bool:
        while not self._held:
            array = next(self._arrays, None)
            if array is None:
                return True
            if len(array):
                self._held.append(array)
        return False


class PortionSource:
    """Draws the portions of one epoch.

    A single thread at a time uses it.

    Attributes:
      origin: the states of the random generators before the first sample: see
        drawing.origin_of.
    """

    def __init__(self, sampler: Any, check: Callable[[Any], Any],
                 origin: Optional[Dict[str, Any]]):
        """
        Args:
          sampler: an iterable of samples of a dataset, by number.
          check: a function that checks an array of such numbers, and returns it in the
            form that the daemon takes.
          origin: the origin of an epoch that has begun before; None: a new epoch.
        """
        self._sampler = sampler
        self._check = check
        self._has_begun = origin is not None
        self.origin = drawing.origin_of(sampler) if origin is None else origin
        self._drawn: Iterator[Tuple[Any, bool]] = iter(())
        self._at = -1  # the number of the next sample; -1: unknown
        self._count = 0  # the number of samples to draw

    def draw(self, start: int, first: int, batch_size: int) -> Portion:
        """Draws the portion that contains the epoch's sample number `first`, the next
        sample to be taken. From that sample on, the portion consists of whole batches,
        unless it is the last portion. An epoch that can be listed as a whole is one
        portion.

        Args:
          start: the number of the portion's first sample. If that portion has less than
            a batch left, draws the next portion.

        Raises:
          errors.StateError: the sampler lists fewer samples than were taken.
          errors.InvalidArgument: the sampler lists something other than the dataset's
            samples.
        """
        if PORTION - (first - start) < batch_size:
            start = first
        batches = (PORTION - (first - start)) // batch_size
        self._count = first - start + batches * batch_size
        if self._at != start:
            self._begin(start)
        self._at = -1  # unknown until the end: a signal handler may raise
        indices, is_last = next(self._drawn)
        self._check_length(start + len(indices), first)
        self._at = start + len(indices)
        return Portion(start, indices, is_last, self)

    def _begin(self, start: int) -> None:
        origin = self.origin if self._has_begun else None
        self._has_begun = True
        self._drawn = drawing.begun(self._sampler, origin,
                                    lambda: self._portions(start))

    def _portions(self, start: int) -> Iterator[Tuple[Any, bool]]:
        """Yields the samples of each portion, and whether the portion is the last."""
        numbers = _Numbers(drawing.arrays_of(self._sampler))
        if start:
            self._check_length(numbers.pass_over(start), start)
        else:
            whole = numbers.take(_most_at_once(drawing.length_of(self._sampler)))
            if numbers.is_over():
                yield self._check(whole), True
                return
            numbers.put_back(whole)
        while True:
            indices = self._check(numbers.take(self._count))
            yield indices, numbers.is_over()

    def _check_length(self, listed: int, taken: int) -> None:
        if listed < taken:
            raise errors.StateError(
                f"the state was saved after sample {taken} of an epoch, but the "
                f"{type(self._sampler).__name__} lists {listed}: load it with the "
                "sampler with which it was saved")


def _most_at_once(length: Optional[int]) -> int:
    """Returns the largest number of samples of an epoch that is listed as a whole."""
    if length is None:
        return PORTION
    return 0 if drawing.is_long(length, False) else drawing.MOST_LISTED
