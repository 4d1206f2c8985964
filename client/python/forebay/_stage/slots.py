"""The daemon's slots in a worker process. A slot is writable only while a task names
it.

A worker inherits the read-only mappings of its worker host. If user code writes into a
batch too late, or into another batch, its worker ends by SIGSEGV and spoils no data.
This guards against mistakes, but not against code that changes the protection.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import time
from typing import (Any, Callable, Dict, Iterable, NamedTuple, Set,
                    Tuple)

_HUGE_PAGE = 2 << 20
_PROT_NONE = 0
_MAP_FIXED, _MAP_NORESERVE = 0x10, 0x4000
_FAILED = ctypes.c_void_p(-1).value
# The largest share of a worker's time that protecting slots may take. For a large slot
# without huge pages, changing the page tables can take longer than making a sample.
_MOST_COST = 0.02

_libc = ctypes.CDLL(None, use_errno=True)
_mmap = _libc.mmap
_mmap.restype = ctypes.c_void_p
_mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                  ctypes.c_int, ctypes.c_long]
_munmap = _libc.munmap
_munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_mprotect = _libc.mprotect
_mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_madvise = _libc.madvise
_madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def _failure() -> OSError:
    error = ctypes.get_errno()
    return OSError(error, os.strerror(error))


def _map(fd: int, size: int) -> int:
    """Maps memory read-only, and returns the address. The address allows huge pages,
    which need only small page tables."""
    extra = _HUGE_PAGE if size >= _HUGE_PAGE else 0
    reserved = _mmap(None, size + extra, _PROT_NONE, mmap.MAP_PRIVATE |
                     mmap.MAP_ANONYMOUS | _MAP_NORESERVE, -1, 0)
    if reserved == _FAILED:
        raise _failure()
    before = -reserved % _HUGE_PAGE if extra else 0
    address = _mmap(reserved + before, size, mmap.PROT_READ,
                    mmap.MAP_SHARED | _MAP_FIXED, fd, 0)
    if address == _FAILED:
        error = _failure()
        _munmap(reserved, size + extra)
        raise error
    if before:
        _munmap(reserved, before)
    if extra > before:
        _munmap(address + size, extra - before)
    return address


class Slot(NamedTuple):
    """A slot's memory, to which workers write.

    Attributes:
      memory: a memoryview of bytes, which are writable while a Guard opens the slot.
      offsets: the fields' offsets.
      address, size: the mapping's range, in whole pages.
    """

    memory: Any
    offsets: Tuple[int, ...]
    address: int
    size: int

    @staticmethod
    def map(fd: int, size: int, offsets: Tuple[int, ...]) -> "Slot":
        """Maps a memfd that is not sealed against writing yet.

        Raises:
          OSError: the kernel has no memory for the mapping.
        """
        size = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
        address = _map(fd, size)
        array = (ctypes.c_char * size).from_address(address)
        return Slot(memoryview(array).cast("B"), offsets, address, size)

    def unmap(self) -> None:
        """Unmaps the memory, which must not be used afterwards."""
        self.memory.release()
        _munmap(self.address, self.size)

    def keep_from_children(self) -> None:
        """Keeps the mapping out of children that this process forks from now on."""
        if _madvise(self.address, self.size, mmap.MADV_DONTFORK) != 0:
            raise _failure()

    def protect(self, writable: bool) -> None:
        """Makes the memory writable or read-only.

        Raises:
          OSError: the kernel refuses the change.
        """
        access = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
        if _mprotect(self.address, self.size, access) != 0:
            raise _failure()


class Guard:
    """Keeps a worker's slots read-only except while a task names them.

    If protecting slots takes more than _MOST_COST of the worker's time, slots stay
    writable for some further tasks, or until the worker is idle.
    """

    def __init__(self, slots: Dict[int, Slot],
                 clock: Callable[[], float] = time.perf_counter):
        """
        Args:
          slots: the slots by number. All of them are read-only.
          clock: a function that returns seconds.
        """
        self._slots = slots
        self._clock = clock
        self._open: Set[int] = set()
        self._cost = 0.0  # the seconds that protecting has taken
        self._spent = 0.0  # the seconds that tasks have taken
        self._began = 0.0

    @property
    def is_open(self) -> bool:
        """Whether any slot is writable."""
        return bool(self._open)

    def begin(self, numbers: Iterable[int]) -> None:
        """Begins a task that writes into the slots `numbers`.

        Raises:
          KeyError: a slot does not exist.
          OSError: the kernel cannot make a slot writable.
        """
        self._began = self._clock()
        for number in numbers:
            if number not in self._open:
                self._slots[number].protect(writable=True)
                self._open.add(number)
        self._cost += self._clock() - self._began

    def end(self) -> None:
        """Ends a task."""
        now = self._clock()
        self._spent += now - self._began
        if self._cost <= self._spent * _MOST_COST:
            self.close()
            self._cost += self._clock() - now

    def close(self) -> None:
        """Makes all slots read-only."""
        while self._open:
            self._slots[self._open.pop()].protect(writable=False)
