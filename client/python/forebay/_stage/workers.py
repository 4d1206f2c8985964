"""The workers that a worker host has forked."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import time
from typing import Any, Dict, NamedTuple

_FAULTS = (signal.SIGSEGV, signal.SIGBUS)
_KILLED_SECONDS = 2.0  # a killed worker may hang in the kernel so long


class _Worker(NamedTuple):
    """A worker.

    Attributes:
      descriptor: a pidfd, readable when the worker has ended; -1 if there is none.
      tasks: the worker's socket, which its own children may keep open.
    """

    descriptor: int
    tasks: socket.socket


class Workers:
    """The workers of a worker host. When a worker ends, closes its socket, so that the
    daemon notices.

    Attributes:
      last_end: how the last worker ended that was killed or failed. If there was none,
        how the first worker ended; "" if none has ended.
    """

    def __init__(self, poll: Any):
        """
        Args:
          poll: a select.poll, which should wake when a worker has ended.
        """
        self._poll = poll
        self._workers: Dict[int, _Worker] = {}
        self.last_end = ""

    def add(self, pid: int, tasks: int) -> int:
        """Adds a worker. Returns its pidfd, which this object owns; -1 if there is
        none.

        Args:
          tasks: a descriptor of the worker's socket, which the caller owns.
        """
        try:
            descriptor = os.pidfd_open(pid)
            self._poll.register(descriptor, 1)
        except OSError:  # without a pidfd, the worker's end is noticed later
            descriptor = -1
        self._workers[pid] = _Worker(descriptor, socket.socket(fileno=os.dup(tasks)))
        return descriptor

    def reap(self) -> None:
        """Reaps the workers that have ended."""
        for pid in list(self._workers):
            try:
                ended, status = os.waitpid(pid, os.WNOHANG)
                if not ended:
                    continue
                if status or not self.last_end:
                    self.last_end = reason(status)
                _tell_of_fault(pid, status)
            except ChildProcessError:
                pass
            worker = self._workers.pop(pid)
            if worker.descriptor >= 0:
                self._poll.unregister(worker.descriptor)
            with contextlib.suppress(OSError):
                worker.tasks.shutdown(socket.SHUT_RDWR)
            _close(worker)

    def dismiss(self) -> None:
        """Lets each worker end when it has done its present task."""
        for worker in self._workers.values():
            with contextlib.suppress(OSError):
                worker.tasks.shutdown(socket.SHUT_RD)

    def kill(self) -> None:
        for pid in self._workers:
            os.kill(pid, signal.SIGKILL)

    def end(self, seconds: float) -> None:
        """Waits until all workers have ended. Kills those that have not ended after
        `seconds`."""
        self._await(seconds)
        self.kill()
        self._await(_KILLED_SECONDS)

    def _await(self, seconds: float) -> None:
        """Waits until all workers have ended, at most `seconds`."""
        deadline = time.monotonic() + seconds
        self.reap()
        while self._workers and time.monotonic() < deadline:
            time.sleep(0.005)
            self.reap()

    def forget(self) -> None:
        """Closes the descriptors that a forked child must not keep."""
        for worker in self._workers.values():
            _close(worker)
        self._workers.clear()


def _close(worker: _Worker) -> None:
    worker.tasks.close()
    if worker.descriptor >= 0:
        os.close(worker.descriptor)


def _tell_of_fault(pid: int, status: int) -> None:
    """Tells the user if a fault, such as SIGSEGV, has ended a worker. No batch is
    lost."""
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in _FAULTS:
        print(f"forebay: worker process {pid} was {reason(status)}, and is "
              "replaced. Its code may have written into a batch that it was not "
              "asked to make, or after it had made it.", file=sys.stderr,
              flush=True)


def reason(status: int) -> str:
    """Returns how a process ended, from the status of os.waitpid."""
    if os.WIFEXITED(status):
        return f"exit status {os.WEXITSTATUS(status)}"
    number = os.WTERMSIG(status)
    if number == signal.SIGKILL:
        return "killed by SIGKILL, perhaps because memory ran out"
    try:
        return f"killed by {signal.Signals(number).name}"
    except ValueError:  # a real-time signal
        return f"killed by signal {number}"
