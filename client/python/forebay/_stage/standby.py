"""The process that made the first sample. It stands by to become the first worker when
the daemon wants one.

If a process has much memory, forking it and starting the child each take milliseconds.
A worker that exists already saves both before the first batch. Slots can be mapped for
writing only before the daemon seals them, so this process maps each slot at the same
time as its worker host.
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

# The time in which the process must map a slot. No user code runs meanwhile, unless
# that code has left a thread.
_MOST_SECONDS = 1.0
_DONE = b"."


class Standby:
    """The worker host's side of the process that stands by."""

    def __init__(self, pid: int, connection: socket.socket):
        """
        Args:
          pid: the process id of a child, for whose end no other code waits.
          connection: the connection to the child. This object owns it from now on.
        """
        self.pid = pid
        self._connection = connection
        connection.settimeout(_MOST_SECONDS)

    def tell(self, message: bytes, fds: List[int]) -> None:
        """Passes on a task of the worker host: to map or unmap a slot. The caller must
        call `has_done` next."""
        with contextlib.suppress(OSError):
            socket.send_fds(self._connection, [message], fds)

    def has_done(self) -> bool:
        """Waits until the task is done, at most a second. Returns whether it is
        done."""
        try:
            return self._connection.recv(1) == _DONE
        except OSError:
            return False

    def start(self, message: bytes, fd: int) -> bool:
        """Passes on a task of the worker host: to fork a worker. The process becomes
        that worker. Returns False if the process has gone.

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
        """Lets the process end, or kills it if `kills` is true. The process must not
        have become a worker. `workers` waits for its end."""
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
    """Waits, in the process that stands by, until it should become a worker. Returns
    the worker's socket and its slots by number. Returns None if the worker host has
    gone or wants no worker, or if a slot cannot be mapped.

    Args:
      host: the connection to the worker host. This function closes it.
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
    """Tells the worker host that this process will wait.

    Raises:
      ConnectionError: the worker host has gone.
    """
    host.send(_DONE)


def is_announced(connection: socket.socket) -> bool:
    """Waits until the process at the other end calls `announce` or closes its end.
    Returns whether it has called `announce`."""
    try:
        return connection.recv(1) == _DONE
    except OSError:
        return False


def pair() -> Tuple[Optional[socket.socket], Optional[socket.socket]]:
    """Returns the two ends of a connection; the first is the worker host's. Both are
    None if no descriptors are left."""
    try:
        return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    except OSError:
        return None, None
