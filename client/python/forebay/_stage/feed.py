"""Sends the keys of coming batches from the trainer to workers."""

from __future__ import annotations

import ctypes
import multiprocessing.reduction
import os
import pickle
import struct
from typing import Any, Dict, List, NamedTuple, Optional

# An entry of the table. A batch's entry is offset * 2**24 + bytes; 0 if the batch was
# not put yet. The first entry is 1 more than the number at which the epoch ends; 0 if
# that number is not known yet. The second entry is the number at which the epoch
# begins.
_ENTRY = struct.Struct("<Q")
_HEAD = 2  # the number of entries before those of batches
_GAP = 1 << 20  # the gap between the numbers of two epochs: more than workers are ahead
_LENGTH_BITS = 24
_PUNCH_HOLE_KEEP_SIZE = 3  # FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE
_FREED_AT_ONCE = 1 << 20

_libc = ctypes.CDLL(None, use_errno=True)
_libc.fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64,
                            ctypes.c_int64)


class Batch(NamedTuple):
    """The keys of a batch to be made.

    Attributes:
      epoch: the number of the epoch.
      keys: the samples' keys, for the dataset's __getitem__: a list, or a single key if
        there is no batching.
      repeats: for each key, how often the epoch has had it before; None if it has had
        no key before.
    """

    epoch: int
    keys: Any
    repeats: Optional[List[int]] = None


class Feed:
    """Batches, by number, in memory that the trainer writes and workers read.

    The trainer uses begin, put, drop_before and close, on one thread at a time. A Feed
    can be passed to child processes by fork and by multiprocessing's pickle. Never
    blocks.
    """

    def __init__(self) -> None:
        self._table = self._data = -1
        self._pid = os.getpid()
        self._table = os.memfd_create("forebay-feed-table")
        self._data = os.memfd_create("forebay-feed")
        self._end = 0
        self._freed = 0
        self.first = 0  # the number of the epoch's first batch
        self.count = 0  # the number of the next batch

    def __getstate__(self) -> Dict[str, Any]:
        return {"fds": [multiprocessing.reduction.DupFd(fd)
                        for fd in (self._table, self._data)]}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self._table, self._data = (fd.detach() for fd in state["fds"])
        self._pid = 0

    def begin(self) -> None:
        """Begins another epoch. Its batches have larger numbers than those of all
        earlier epochs."""
        self.first = self.count = self.count + _GAP
        os.pwrite(self._table, _ENTRY.pack(self.first), _ENTRY.size)
        os.pwrite(self._table, _ENTRY.pack(0), 0)

    def put(self, batch: Optional[Batch]) -> None:
        """Adds the next batch. None ends the epoch.

        Raises:
          ValueError: the batch's keys need 16 MiB or more.
        """
        if batch is None:
            os.pwrite(self._table, _ENTRY.pack(self.count + 1), 0)
            return
        data = pickle.dumps(batch, 5)
        if len(data) >= 1 << _LENGTH_BITS:
            raise ValueError(f"the keys of a batch have {len(data)} bytes")
        os.pwrite(self._data, data, self._end)
        # The entry is written after the data, by one write. A worker that sees the
        # entry can therefore read the whole batch.
        os.pwrite(self._table,
                  _ENTRY.pack(self._end << _LENGTH_BITS | len(data)),
                  (self.count + _HEAD) * _ENTRY.size)
        self._end += len(data)
        self.count += 1

    def get(self, number: int) -> Any:
        """Returns batch `number`, or None if the epoch ends there.

        Raises:
          LookupError: the batch was not put yet.
        """
        word = self._word(number + _HEAD)
        if not word:
            end, first = self._word(0), self._word(1)
            if number < first or (end and number >= end - 1):
                return None
            raise LookupError
        return pickle.loads(os.pread(self._data, word & (1 << _LENGTH_BITS) - 1,
                                     word >> _LENGTH_BITS))

    def _word(self, place: int) -> int:
        entry = os.pread(self._table, _ENTRY.size, place * _ENTRY.size)
        return _ENTRY.unpack(entry)[0] if len(entry) == _ENTRY.size else 0

    def drop_before(self, number: int) -> None:
        """Frees the memory of the batches before batch `number`. Frees many batches at
        a time."""
        offset = self._word(number + _HEAD) >> _LENGTH_BITS
        if offset - self._freed >= _FREED_AT_ONCE:
            _libc.fallocate(self._data, _PUNCH_HOLE_KEEP_SIZE, 0, offset)
            begin = _HEAD * _ENTRY.size
            _libc.fallocate(self._table, _PUNCH_HOLE_KEEP_SIZE, begin,
                            number * _ENTRY.size)
            self._freed = offset

    def close(self) -> None:
        """Closes the memory in this process. May be called several times."""
        if self._pid in (0, os.getpid()):
            for descriptor in (self._table, self._data):
                if descriptor >= 0:
                    os.close(descriptor)
        self._table = self._data = -1

    def __del__(self) -> None:
        self.close()
