"""A lock on a file, which one process at a time holds."""

from __future__ import annotations

import contextlib
import fcntl
import os

from . import _fork


class FileLock:
    """A lock (flock) on a file, which forked children do not hold.

    Another thread may fork while this process holds the lock. The kernel would keep the
    lock until all copies of its descriptor are closed. Therefore `close` unlocks the
    file itself, and a forked child closes its copy. One thread at a time uses it.
    """

    def __init__(self, folder: int, name: str):
        """Opens the file, which is created if it does not exist.

        Args:
          folder: a descriptor.
          name: the file's name in the folder.
        """
        self._descriptor = _fork.Descriptor(os.open(
            name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600, dir_fd=folder))

    def acquire(self) -> None:
        """Takes the lock; waits without a timeout until no other process holds it."""
        fcntl.flock(self._descriptor.number, fcntl.LOCK_EX)

    def try_acquire(self) -> bool:
        """Takes the lock. Returns False if another process holds it."""
        try:
            fcntl.flock(self._descriptor.number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        """Gives the lock up, and closes the file."""
        if self._descriptor.number >= 0:  # a forked child has closed its copy
            with contextlib.suppress(OSError):
                fcntl.flock(self._descriptor.number, fcntl.LOCK_UN)
        self._descriptor.close()
