"""The trainer's side of a loader's worker host (worker pool)."""

from __future__ import annotations

import multiprocessing.connection
import multiprocessing.reduction
import multiprocessing.util
import os
import select
import time
import weakref
from typing import Any, Set, Tuple

from .. import _fork, _system_error, errors
from . import failure, host, structure
from .making import Stage

_PROBE_SECONDS = 0.25  # the time between checks whether the worker host lives


class _Connection(multiprocessing.connection.Connection):
    """A connection that is closed only once. Garbage collection may finalize it before
    the object that closes it. With multiprocessing's own class, that object would then
    close the descriptor again, although it may belong to another file by then."""

    def __del__(self) -> None:
        self.close()


_running: "weakref.WeakSet[HostProcess]" = weakref.WeakSet()
_exits: Set[int] = set()  # processes that end their worker hosts when they exit


def _end_at_exit() -> None:
    """Makes this process end its worker hosts when it exits, before multiprocessing
    waits for them. A host that a signal has stopped would not end by itself."""
    if os.getpid() not in _exits:
        _exits.add(os.getpid())
        multiprocessing.util.Finalize(None, _end_all, exitpriority=0)


def _end_all() -> None:
    for process in [each for each in _running if each.is_own]:
        process.end()


class HostProcess:
    """A process that runs host.main, and ends with this one."""

    def __init__(self, name: str, context: Any, stage: Stage, feed: Any,
                 is_shared: bool, timeout: float):
        """Starts the process.

        Args:
          name: the dataset's name, for people.
          context: the context of multiprocessing.
          feed, is_shared: see host.main.
          timeout: seconds to wait for a probe; 0: without end.
        """
        self._name = name
        self._timeout = timeout
        self._has_served = False
        self._method = context.get_start_method()
        with _system_error.exhaustion_of(
                f"no process can be started that runs the code of {name}"):
            self._start(context, stage, feed, is_shared)

    def _start(self, context: Any, stage: Stage, feed: Any, is_shared: bool) -> None:
        ours, theirs = context.Pipe()
        # The process ends when the connection ends. As it is daemonic, it also ends
        # with the trainer.
        self._process = context.Process(
            target=host.main, args=(theirs, ours, stage, feed, os.getpid(), is_shared),
            daemon=True)
        self._process.start()
        theirs.close()
        self._connection = _Connection(os.dup(ours.fileno()))
        ours.close()
        self._starter = os.getpid()
        _running.add(self)
        _end_at_exit()

    @property
    def is_own(self) -> bool:
        """Whether this process itself started the worker host, and not its parent."""
        return self._starter == os.getpid()

    def probe(self, number: int, seed: int) -> Any:
        """Returns the structure of a sample.

        Raises:
          structure.Irregular: batches cannot have such samples.
          RuntimeError: the code took longer than the timeout.
          Exception: an exception of the user's code.
        """
        return self._answer_to(("probe", number, seed), f"sample {number}",
                               self._timeout)

    def make(self, task: Any, worker: int) -> Any:
        """Makes, in a new process, the samples that a task of own_samples.py describes.

        Args:
          worker: the number of the worker whose role the process takes.

        Raises:
          RuntimeError: the code took longer than the timeout.
          errors.SourceUnavailable: the worker host was killed.
          Exception: an exception of worker_init_fn.
        """
        return self._answer_to(("make", task, worker), task.name,
                               self._timeout * getattr(task, "rounds", 1))

    def probe_image(self, as_image: bool, seed: int) -> Any:
        """Returns the _code.Result of the stage's images.Ops.

        Args:
          as_image: see images.describe.

        Raises:
          structure.Irregular: the result is not an array.
          RuntimeError: the code took longer than the timeout.
          Exception: an exception of the user's code.
        """
        return self._answer_to(("probe_image", as_image, seed), "the first image",
                               self._timeout)

    def _answer_to(self, order: Tuple[Any, ...], what: str, timeout: float) -> Any:
        answer = self._ask(order, timeout)
        if answer is None:
            raise RuntimeError(
                f"DataLoader timed out after {timeout:g} seconds: "
                f"{self._name} has not made {what}")
        kind, said = answer
        if kind == "exhausted":
            raise errors.ResourceExhausted(
                f"no process can run the code of {self._name}: {said}")
        if kind == "irregular":
            raise structure.Irregular(said)
        if kind == "failed":
            raise failure.restore(said, f"worker process of {self._name}")
        return said

    def _ask(self, order: Tuple[Any, ...], timeout: float = 0) -> Any:
        """Sends an order. Returns the answer, or None if there is none after `timeout`
        seconds (0: no timeout)."""
        began = time.monotonic()
        try:
            self._connection.send(order)
            while not self._connection.poll(_PROBE_SECONDS):
                if not self._process.is_alive():
                    raise EOFError
                if timeout and time.monotonic() - began > timeout:
                    return None
            return self._connection.recv()
        except (EOFError, OSError):
            self._has_ended(5)
            # A forked worker host ends by itself only when its trainer ends.
            if (self._process.exitcode or 0) < 0:
                raise errors.SourceUnavailable(
                    f"the process that runs the code of {self._name} was killed"
                ) from None
            raise errors.StateError(
                f"the process that runs the code of {self._name} has ended at its "
                f'start: multiprocessing_context="{self._method}" runs the script '
                'again, which must do its work below if __name__ == "__main__"'
            ) from None

    def restore(self, text: str, where: str) -> Exception:
        """Returns the exception of failure.restore. If workers have ended, its message
        also says how."""
        if not failure.is_described(text) and " ended while " in text:
            try:
                said = self._ask(("last_end",))[1]
                text += f" ({said})" if said else ""
            except errors.ForebayError:
                pass  # the worker host has gone, so the reason is unknown
        return failure.restore(text, where)

    def serve(self, order: Tuple[Any, ...], tasks: int) -> None:
        """Makes the worker host serve the daemon.

        Args:
          order: see host.main.
          tasks: the descriptor of the socket of tasks. This method closes it.
        """
        self._has_served = True
        try:
            self._connection.send(order)
            multiprocessing.reduction.send_handle(
                self._connection, tasks, self._process.pid)
        except OSError:
            pass  # the daemon notices that the socket is closed
        finally:
            os.close(tasks)

    def may_serve(self) -> bool:
        """Whether the worker host lives and `serve` was not called yet."""
        return not self._has_served and self._process.is_alive()

    def end(self) -> None:
        """Ends the process and its workers, and waits until they have ended. Workers
        that make samples for other trainers may take a second."""
        _running.discard(self)
        _fork.end(self._connection)
        if not self._has_ended(5):
            self._process.kill()
            self._has_ended(5)

    def _has_ended(self, seconds: float) -> bool:
        """Waits until the process has ended, at most `seconds`. multiprocessing's join
        waits for the end of a pipe, which children of workers may keep open."""
        try:
            descriptor = os.pidfd_open(self._process.pid)
        except ProcessLookupError:
            return True
        try:
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            return bool(poll.poll(1000 * seconds))
        finally:
            os.close(descriptor)
            self._process.is_alive()  # reaps the process
