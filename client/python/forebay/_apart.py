"""Processes that are nobody's child, so that they may outlive their starter."""

from __future__ import annotations

import multiprocessing
import os
import select
import signal
import socket
import stat
import struct
from typing import Any, Callable, Iterable

from . import _fork

_PID = struct.Struct("<q")


class Process:
    """A forked process with a session of its own, which its starter need not wait
    for."""

    def __init__(self, target: Callable[..., None], arguments: Iterable[Any],
                 unwanted: Iterable[int] = (), has_children: bool = True):
        """Starts it.

        Args:
          target: what it runs; it ends when that returns.
          unwanted: descriptors that it must not keep.
          has_children: whether multiprocessing lets it start processes.

        Raises:
          ChildProcessError: it has ended at its start.
        """
        read, write = os.pipe()
        _fork.flush_output()
        pid = os.fork()
        if pid == 0:
            try:
                os.close(read)
                for descriptor in unwanted:
                    os.close(descriptor)
                os.setsid()
                multiprocessing.get_context("fork").Process(
                    target=_run, args=(write, target, arguments),
                    daemon=not has_children).start()
            finally:
                os._exit(0)
        os.close(write)
        try:
            os.waitpid(pid, 0)
            told = os.read(read, _PID.size)
        finally:
            os.close(read)
        if len(told) != _PID.size:
            raise ChildProcessError("a process has ended at its start")
        self.pid = _PID.unpack(told)[0]
        self._pidfd = os.pidfd_open(self.pid)

    def is_alive(self) -> bool:
        return not self._has_ended(0)

    def join(self, seconds: float) -> None:
        """Waits until it has ended, but no longer than this."""
        self._has_ended(seconds)

    def kill(self) -> None:
        """Ends it, if it has not ended."""
        try:
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def _has_ended(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self._pidfd, select.POLLIN)
        return bool(poll.poll(1000 * seconds))

    def __del__(self) -> None:
        descriptor = getattr(self, "_pidfd", -1)
        if descriptor >= 0:
            os.close(descriptor)


def _run(write: int, target: Callable[..., None],
         arguments: Iterable[Any]) -> None:
    try:
        os.write(write, _PID.pack(os.getpid()))
    except BrokenPipeError:
        return  # the starter was interrupted
    os.close(write)
    target(*arguments)


def leave_to_starter(own: Iterable[int]) -> None:
    """Closes what only the starter can use, and would stay in use if it died: its
    GPUs, and sockets that listen.

    Args:
      own: descriptors that this process keeps.
    """
    kept = frozenset(own)
    _replace(lambda descriptor, mode: descriptor not in kept and (
        _is_gpu(descriptor, mode) or
        stat.S_ISSOCK(mode) and _listens(descriptor)))


def outlive_starter(own: Iterable[int]) -> None:
    """Closes all that connected the starter with others: pipes, sockets, terminals,
    devices.

    Args:
      own: descriptors that this process keeps.
    """
    kept = frozenset(own)
    _replace(lambda descriptor, mode: descriptor not in kept and (
        stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)))


def _replace(is_unwanted: Callable[[int, int], bool]) -> None:
    """Puts /dev/null in the place of descriptors: objects that have their numbers
    may close them later."""
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for name in os.listdir("/proc/self/fd"):
        descriptor = int(name)
        try:
            mode = os.fstat(descriptor).st_mode
        except OSError:
            continue  # that of the listing
        if descriptor != nothing and is_unwanted(descriptor, mode):
            os.dup2(nothing, descriptor, inheritable=descriptor <= 2)
    os.close(nothing)


def _is_gpu(descriptor: int, mode: int) -> bool:
    return stat.S_ISCHR(mode) and os.readlink(
        f"/proc/self/fd/{descriptor}").startswith("/dev/nvidia")


def _listens(descriptor: int) -> bool:
    with socket.socket(fileno=os.dup(descriptor)) as found:
        return bool(found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
