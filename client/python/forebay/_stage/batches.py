"""The batches of an epoch, as lists of samples' keys."""

from __future__ import annotations

import collections
import contextlib
import itertools
from typing import Any, Callable, Counter, Dict, Iterable, Iterator, List, Optional

from .. import _native
from .feed import Batch

_DRAWN_AT_ONCE = 4096  # samples


class Repeats:
    """Counts how often each key has come, for orders that repeat keys."""

    def __init__(self) -> None:
        self._counts: Counter[Any] = collections.Counter()

    def pass_over(self, keys: List[Any]) -> None:
        """Counts keys that were taken earlier."""
        with contextlib.suppress(TypeError):
            self._counts.update(keys)

    def of(self, keys: List[Any]) -> Optional[List[int]]:
        """Returns how often each key has come before. Returns None if no key has come
        before, or if a key is not hashable."""
        counts = self._counts
        found = []
        try:
            for key in keys:
                count = counts.get(key, 0)
                counts[key] = count + 1
                found.append(count)
        except TypeError:
            return None
        return found if any(found) else None


def _repeats(repeats: Optional[Repeats], keys: List[Any]) -> Optional[List[int]]:
    return None if repeats is None else repeats.of(keys)


class Ordered:
    """The batches of the daemon's order, by number.

    Attributes:
      batch_size: the number of keys in a batch; None: each key is passed on alone.
    """

    def __init__(self, draw: Callable[[int, int, int], List[int]],
                 batch_size: Optional[int]):
        """
        Args:
          draw: a function of (epoch, first, count) that returns `count` samples of the
            order, or fewer at the order's end.
        """
        self._draw = draw
        self.batch_size = batch_size
        self._drawn: Dict[Any, List[int]] = {}  # the last samples drawn, by place

    def batch(self, epoch: int, number: int) -> Batch:
        """Returns the keys of a batch.

        Raises:
          errors.ForebayError: the daemon does not answer.
        """
        size = self.batch_size or 1
        some = max(1, _DRAWN_AT_ONCE // size)  # the batches drawn at once
        place = epoch, number // some
        if place not in self._drawn:
            self._drawn = {place: self._draw(epoch, place[1] * some * size,
                                             some * size)}
        begin = number % some * size
        keys = self._drawn[place][begin:begin + size]
        return Batch(epoch, keys if self.batch_size else keys[0])


def grouped(epoch: int, keys: Iterator[Any], repeats: Optional[Repeats],
            batch_size: Optional[int], drop_last: bool) -> Iterator[Batch]:
    """Yields the batches of keys, in their order.

    Args:
      batch_size: None: each key is passed on alone.
      drop_last: whether to leave out a smaller last batch.
    """
    if batch_size is None:
        for key in keys:
            yield Batch(epoch, key, _repeats(repeats, [key]))
        return
    while True:
        batch = list(itertools.islice(keys, batch_size))
        if not batch or (drop_last and len(batch) < batch_size):
            return
        yield Batch(epoch, batch, _repeats(repeats, batch))


def sampled(epoch: int, batches: Iterable[Any],
            repeats: Repeats) -> Iterator[Batch]:
    """Yields the batches of a batch sampler."""
    for batch in batches:
        keys = list(batch)
        yield Batch(epoch, keys, repeats.of(keys))


def samples_of(size: int, options: Dict[str, Any]) -> int:
    """Returns the number of samples of this rank in an epoch."""
    ranks = options["world_size"]
    uneven = options["uneven"]
    if uneven == _native.UNEVEN["drop"]:
        return size // ranks
    if uneven == _native.UNEVEN["wrap"]:
        return -(-size // ranks)
    return len(range(options["rank"], size, ranks))
