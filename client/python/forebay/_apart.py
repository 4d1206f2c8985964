"""Processes that are not children of their starter, so that they may outlive it."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import select
import signal
import socket
import stat
import struct
import sys
from typing import Any, Callable, Iterable, Tuple

from . import _fork, errors

_PID = struct.Struct("<q")


class Process:
    """A forked process in a new session (setsid). Its starter need not wait for it."""

    def __init__(self, target: Callable[..., None], arguments: Iterable[Any],
                 unwanted: Iterable[int] = ()):
        """Starts the process.

        Args:
          target: the function that the process runs; the process ends when `target`
            returns.
          unwanted: descriptors that the process must not keep.

        Raises:
          ChildProcessError: the process ended before it had started.
          errors.StateError: this process may not start processes.
        """
        if multiprocessing.current_process().daemon:
            raise errors.StateError(
                "a daemonic process of multiprocessing is not allowed to have "
                "children, and so no worker processes: start it with daemon=False")
        self._pidfd = -1  # -1: the process has ended
        _fork.flush_output()
        with _fork.without_interruption():
            self.pid = _forked(target, arguments, unwanted)
            with contextlib.suppress(ProcessLookupError):
                self._pidfd = os.pidfd_open(self.pid)

    def is_alive(self) -> bool:
        return not self._has_ended(0)

    def join(self, seconds: float) -> None:
        """Waits until the process has ended, at most `seconds`."""
        self._has_ended(seconds)

    def kill(self) -> None:
        """Kills the process, if it has not ended."""
        if self._pidfd >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def _has_ended(self, seconds: float) -> bool:
        if self._pidfd < 0:
            return True
        poll = select.poll()
        poll.register(self._pidfd, select.POLLIN)
        return bool(poll.poll(1000 * seconds))

    def __del__(self) -> None:
        descriptor = getattr(self, "_pidfd", -1)
        if descriptor >= 0:
            os.close(descriptor)


def _forked(target: Callable[..., None], arguments: Iterable[Any],
            unwanted: Iterable[int]) -> int:
    read, number = os.pipe()
    # If another thread forks, its child must not inherit this end, which would keep the
    # pipe open.
    write = _fork.Descriptor(number, passes_on=True)
    try:
        try:
            pid = os.fork()
            if pid == 0:
                try:
                    os.close(read)
                    for descriptor in unwanted:
                        os.close(descriptor)
                    os.setsid()
                    streams = sys.stdout, sys.stderr
                    # multiprocessing would flush these streams, which may fail.
                    sys.stdout = sys.stderr = None  # type: ignore[assignment]
                    multiprocessing.get_context("fork").Process(
                        target=_run, args=(write, streams, target, arguments)).start()
                finally:
                    os._exit(0)
        finally:
            write.close()
        with contextlib.suppress(ChildProcessError):  # the trainer ignores SIGCHLD
            os.waitpid(pid, 0)
        told = os.read(read, _PID.size)
    finally:
        os.close(read)
    if len(told) != _PID.size:
        raise ChildProcessError("a process has ended at its start")
    return int(_PID.unpack(told)[0])


def _run(write: _fork.Descriptor, streams: Tuple[Any, Any], target: Callable[..., None],
         arguments: Iterable[Any]) -> None:
    sys.stdout, sys.stderr = streams
    try:
        os.write(write.number, _PID.pack(os.getpid()))
    except BrokenPipeError:
        return  # the starter was interrupted
    write.close()
    target(*arguments)


def leave_to_starter(own: Iterable[int]) -> None:
    """Closes descriptors that only the starter can use: GPUs, and sockets that listen.
    If they stayed open here, the GPUs and addresses would be in use after the starter's
    death.

    Args:
      own: descriptors that this process keeps.
    """
    kept = frozenset(own)
    _replace(lambda descriptor, mode: descriptor not in kept and (
        _is_gpu(descriptor, mode) or
        stat.S_ISSOCK(mode) and _listens(descriptor)))


def _replace(is_unwanted: Callable[[int, int], bool]) -> None:
    """Replaces descriptors by /dev/null. Does not close them, because objects that hold
    their numbers may close these numbers later."""
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for name in os.listdir("/proc/self/fd"):
        descriptor = int(name)
        try:
            mode = os.fstat(descriptor).st_mode
        except OSError:
            continue  # the descriptor of the listing itself
        if descriptor != nothing and is_unwanted(descriptor, mode):
            os.dup2(nothing, descriptor, inheritable=descriptor <= 2)
    os.close(nothing)


def _is_gpu(descriptor: int, mode: int) -> bool:
    return stat.S_ISCHR(mode) and os.readlink(
        f"/proc/self/fd/{descriptor}").startswith("/dev/nvidia")


def _listens(descriptor: int) -> bool:
    with socket.socket(fileno=os.dup(descriptor)) as found:
        return bool(found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
