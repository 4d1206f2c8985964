"""The first worker, before the daemon wants one: the process that made the first
sample.

Forking a process that has much memory takes milliseconds, and so does its start. A
worker that exists already saves both on the way to the first batch. Slots can be
mapped for writing only before the daemon seals them, so this process maps each slot
when its worker host does.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from typing import Dict, List, Optional, Tuple

from . import wire
from .slots import Slot
from .workers import Workers

# The time in which the process must map a slot. No user code runs meanwhile, unless it
# has left a thread.
_MOST_SECONDS = 1.0
_DONE = b"."


class Standby:
    """The process that stands by, as its worker host sees it."""

    def __init__(self, pid: int, connection: socket.socket):
        """
        Args:
          pid: of a child of this process, for which no other code waits.
          connection: to the child; becomes this object's.
        """
        self.pid = pid
        self._connection = connection
        connection.settimeout(_MOST_SECONDS)

    def tell(self, message: bytes, fds: List[int]) -> None:
        """Passes on a task of the worker host's: to map or unmap a slot. `has_done` is
        to be called next."""
        with contextlib.suppress(OSError):
            socket.send_fds(self._connection, [message], fds)

    def has_done(self) -> bool:
        """Whether the task is done. Blocks for a second at most."""
        try:
            return self._connection.recv(1) == _DONE
        except OSError:
            return False

    def start(self, message: bytes, fd: int) -> bool:
        """Passes on a task of the worker host's: to fork a worker. The process becomes
        that worker. Returns False if the process is gone.

        Args:
          fd: the worker's socket.
        """
        try:
            socket.send_fds(self._connection, [message], [fd])
        except OSError:
            return False
        self._connection.close()
        return True

    def dismiss(self, workers: Workers, kills: bool = False) -> None:
        """Lets the process end, or kills it if `kills`. The process has not become a
        worker. `workers` waits for its end."""
        if kills:
            os.kill(self.pid, signal.SIGKILL)
        with self._connection as connection:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            workers.add(self.pid, connection.fileno())

    def close(self) -> None:
        """Closes the connection, which a forked child must not keep."""
        self._connection.close()


def wait(host: socket.socket) -> Optional[Tuple[socket.socket, Dict[int, Slot]]]:
    """Waits until this process, which stands by, is to be a worker. Returns the
    worker's socket and its slots, by number. Returns None if the worker host is gone or
    wants no worker, or a slot cannot be mapped.

    Args:
      host: a connection to the worker host, which is closed.
    """
    slots: Dict[int, Slot] = {}
    with host, contextlib.suppress(OSError):
        while True:
            message, fds, _, _ = socket.recv_fds(host, wire.MAX_MESSAGE, 1)
            if not message:
                break
            task = wire.read_task(message)
            if task.command == wire.FORK:
                return socket.socket(fileno=fds[0]), slots
            if task.command == wire.MAP_SLOT:
                slot = Slot.map(fds[0], task.bytes, task.offsets)
                os.close(fds[0])
                slot.keep_from_children()
                slots[task.slot] = slot
            else:
                slots.pop(task.slot).unmap()
            host.send(_DONE)
    return None


def announce(host: socket.socket) -> None:
    """Says that this process will wait.

    Raises:
      ConnectionError: the worker host is gone.
    """
    host.send(_DONE)


def is_announced(connection: socket.socket) -> bool:
    """Whether the process at the other end has called `announce`. Blocks until it
    has called it, or has closed its end."""
    try:
        return connection.recv(1) == _DONE
    except OSError:
        return False


def pair() -> Tuple[Optional[socket.socket], Optional[socket.socket]]:
    """Returns the ends of a connection, the worker host's first; None if no descriptors
    are left."""
    try:
        return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    except OSError:
        return None, None
