"""The keys of an epoch whose order is a list."""

from __future__ import annotations

import hashlib
from typing import Any, Iterator, List, Optional

from . import seeds, share_key
from .batches import Repeats
from .feed import Batch


class Listed:
    """A list of keys, how often each key has come before in the list, and the batches
    of these keys.

    Can be passed to other processes by fork and by pickle.

    Attributes:
      keys: the numbers of samples, NumPy int64, (M,); or an array of objects.
      first: the number of keys that were taken before.
    """

    def __init__(self, keys: Any, first: int, sizes: Any,
                 batch_size: Optional[int], drop_last: bool):
        """
        Args:
          keys, first: see the attributes.
          sizes: the sizes of the batches that a batch sampler made of the keys: NumPy
            int64, (B,). None without a batch sampler.
          batch_size: the number of keys in a batch, if there are no sizes; None: each
            key is passed on alone.
          drop_last: whether to leave out a smaller last batch.
        """
        self.keys = keys
        self.first = first
        self._is_single = sizes is None and batch_size is None
        self._ends = _ends(len(keys), first, sizes, batch_size or 1, drop_last)
        self._repeats = _repeats(keys)

    def __len__(self) -> int:
        """Returns the number of batches."""
        return len(self._ends) - 1

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self)))

    def end_of(self, number: int) -> int:
        """Returns the place in the list after batch `number`."""
        return int(self._ends[number + 1])

    def batch(self, epoch: int, number: int) -> Batch:
        """Returns batch `number`."""
        begin, end = self._ends[number:number + 2]
        keys = self.keys[begin:end].tolist()
        repeats: Optional[List[int]] = None
        if self._repeats is not None and self._repeats[begin:end].any():
            repeats = self._repeats[begin:end].tolist()
        return Batch(epoch, keys[0] if self._is_single else keys, repeats)

    def seed(self, loader: int, epoch: int, place: int) -> int:
        """Returns the seed of the sample at `place`. Its key must be a number.

        Args:
          loader: the loader's seed.
        """
        repeat = 0 if self._repeats is None else int(self._repeats[place])
        return seeds.of_sample(loader, epoch, int(self.keys[place]), repeat)

    def digest(self) -> Optional[bytes]:
        """Returns 16 bytes that are equal for equal lists. Returns None if keys are
        objects that cannot be compared between processes."""
        if self.keys.dtype.kind != "O":
            keys = self.keys.tobytes()
        elif share_key.are_plain(self.keys.tolist()):
            keys = repr(self.keys.tolist()).encode(errors="surrogatepass")
        else:
            return None
        made = hashlib.blake2b(digest_size=16)
        for part in (repr((self.first, self._is_single, len(keys))).encode(), keys,
                     self._ends.tobytes()):
            made.update(part)
        return made.digest()


def _ends(count: int, first: int, sizes: Any, batch_size: int,
          drop_last: bool) -> Any:
    """Returns the place where the first batch begins, then the places where the batches
    end: NumPy int64, (B + 1,)."""
    import numpy
    if sizes is None:
        ends = numpy.arange(first, count, batch_size, numpy.int64)
        if not drop_last or (count - first) % batch_size == 0:
            ends = numpy.append(ends, count)
        return ends if len(ends) else numpy.array([first])
    ends = numpy.concatenate(([0], numpy.cumsum(sizes)))
    return ends[int(numpy.searchsorted(ends, first)):]


def _repeats(keys: Any) -> Any:
    """Returns how often each key has come before: NumPy int64, (M,). Returns None if no
    key has come before, or if a key is not hashable."""
    import numpy
    if keys.dtype.kind == "O":
        found = Repeats().of(keys.tolist())
        return None if found is None else numpy.array(found)
    order = numpy.argsort(keys, kind="stable")
    is_new = numpy.diff(keys[order], prepend=-1) != 0
    places = numpy.arange(len(keys))
    repeats = numpy.empty(len(keys), numpy.int64)
    repeats[order] = places - numpy.maximum.accumulate(
        numpy.where(is_new, places, 0))
    return repeats if repeats.any() else None
