"""The worker host, or worker pool: it maps slots, and forks a loader's workers.

The host runs none of the user's code, so each worker that it forks is unused.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import multiprocessing.connection
import multiprocessing.reduction
import os
import select
import signal
import socket
import time
import traceback
from typing import Any, Dict, Iterator, List, Optional

from .. import _apart, _fork, _system_error
from . import failure, forked, images, making, seeds, standby, structure, wire
from .making import Stage
from .slots import Slot
from .standby import Standby
from .worker import Batches, First, Rows, Worker, become
from .workers import Workers, reason

_GRACE_SECONDS = 1.0  # the time in which workers may end by themselves
_REAP_MILLISECONDS = 1000
_MOST_DEATHS = 3  # the most deaths that one sample may cause, as in the daemon
_PR_SET_NAME = 15
_TOLD = 90  # the exit status of a child that has answered the trainer


def main(trainer: Any, other_end: Any, stage: Stage, feed: Any, starter: int,
         is_shared: bool) -> None:
    """Serves a trainer and the daemon, until one of them has gone or does not need it
    any more. The process never outlives the trainer, whose memory it has.

    Args:
      trainer: a connection, on which the trainer sends these orders.
        - ("probe", number, seed), or ("probe_image", as_image, seed) if the stage's
          dataset is images.Ops. The answer is ("found", structure or result),
          ("irregular", why), ("failed", text), or ("exhausted", why) if the process
          ends for want of a resource.
        - ("make", task, number): `task` is one of own_samples.py, `number` a worker's.
          The answers are the same, with the task's result.
        - ("rows", structure), ("images", result) or ("batches", source, room, tensors,
          framework). A source of None means the feed. The socket of tasks follows.
        - ("last_end",). The answer is ("found", Workers.last_end).
      other_end: the other end of that connection, which the trainer keeps.
      feed: a Feed of the batches to be made, a RowFeed, or None.
      starter: the trainer's process.
      is_shared: whether its workers may serve other trainers, too. If so, another
        trainer's workers may make the samples, so the first sample's process ends.
    """
    other_end.close()
    # The trainer's garbage is not collected here: finalizers may wait for threads and
    # processes that exist only in the trainer.
    gc.freeze()
    _leave_signals_to_trainer()
    host = _Host(trainer, stage, feed, starter, is_shared)
    try:
        host.run()
    except (EOFError, ConnectionError):
        pass
    except OSError as error:
        if not _system_error.is_exhaustion(error):
            raise
        with contextlib.suppress(OSError):
            trainer.send(("exhausted", _system_error.reason(error)))
    finally:
        host.end()


def _leave_signals_to_trainer() -> None:
    """Ignores the signals that the trainer handles by its own functions. SIGTERM ends
    this process; multiprocessing relies on that when the trainer ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # keeps exit statuses
    for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_IGN)


class _Host:

    def __init__(self, trainer: Any, stage: Stage, feed: Any, starter: int,
                 is_shared: bool):
        self._trainer = trainer
        self._starter_pid = starter
        # Other children of the trainer may keep its end of the connection open.
        self._starter = -1  # the trainer's pidfd, if there is a descriptor left
        self._is_settled = False
        self._is_shared = is_shared
        self._stage = stage
        self._feed = feed
        self._tasks: Optional[socket.socket] = None
        self._maker: Any = None
        self._slots: Dict[int, Slot] = {}
        self._poll = select.poll()
        self._workers = Workers(self._poll)
        self._standby: Optional[Standby] = None
        self._own_pidfds: List[int] = []  # a pidfd of this process, or nothing

    def run(self) -> None:
        poll = self._poll
        trainer = self._trainer.fileno()
        poll.register(trainer, select.POLLIN)
        if not poll.poll(0):
            with contextlib.suppress(OSError):  # the first answer has the error
                self._settle()
        while True:
            ready = [fd for fd, _ in poll.poll(_REAP_MILLISECONDS)]
            self._workers.reap()
            if self._starter in ready:
                return
            if self._tasks is not None and self._tasks.fileno() in ready:
                if not self._answer():
                    return
            elif trainer in ready:
                self._obey(self._trainer.recv())
                if self._tasks is not None:
                    poll.register(self._tasks.fileno(), select.POLLIN)

    def _settle(self) -> None:
        """Does preparations for which the first sample need not wait."""
        if self._is_settled:
            return
        # Gives the process a name, for people who list processes.
        ctypes.CDLL(None).prctl(_PR_SET_NAME, f"host-of-{self._starter_pid}".encode())
        _apart.leave_to_starter(())
        self._is_settled = True
        # The pidfd comes last, because this process can do without it.
        with contextlib.suppress(OSError):
            self._starter = os.pidfd_open(self._starter_pid)
            self._poll.register(self._starter, select.POLLIN)
            self._own_pidfds.append(os.pidfd_open(os.getpid()))

    def end(self) -> None:
        """Ends the workers, even if the daemon has work of other trainers for them.
        Another trainer's host then does that work."""
        self._dismiss_standby()
        self._workers.dismiss()
        self._workers.end(_GRACE_SECONDS)
        if self._tasks is not None:
            self._tasks.close()

    def _obey(self, order: Any) -> None:
        if order[0] in ("probe", "probe_image", "make"):
            self._probe(*order)
            return
        self._settle()
        if order[0] == "last_end":
            self._trainer.send(("found", self._workers.last_end))
            return
        if order[0] == "rows":
            self._maker = Rows(order[1], self._feed)
        elif order[0] == "images":
            self._maker = images.Images(*order[1:])
        else:
            known = self._feed if order[1] is None else order[1]
            assert known is not None
            self._maker = Batches(known, *order[2:])
        handle = multiprocessing.reduction.recv_handle(self._trainer)
        self._tasks = socket.socket(fileno=handle)

    def _probe(self, kind: str, which: Any, seed: int) -> None:
        """Makes a sample in a new process, so that workers do not share files that the
        user's code opens. If it is killed, another process makes the sample. Unless
        workers are shared, the process of the first sample becomes the first worker."""
        self._dismiss_standby()
        stands_by = kind == "probe" and not self._is_shared
        for _ in range(_MOST_DEATHS):
            _fork.flush_output()
            ours, theirs = standby.pair() if stands_by else (None, None)
            pid = os.fork()
            if pid == 0:
                if ours is not None:
                    ours.close()
                _in_child(lambda: self._describe(kind, which, seed, theirs), _TOLD)
            if theirs is not None:
                theirs.close()
            self._settle()
            status = self._await_child(pid, ours)
            if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL:
                break
        if status != _TOLD << 8:
            made = (f"sample {which}" if kind == "probe" else which.name
                    if kind == "make" else "the first image")
            self._trainer.send((
                "failed", f"it ended while it made {made} ({reason(status)})"))

    def _await_child(self, pid: int, connection: Optional[socket.socket]) -> int:
        """Waits until a child has ended, or stands by.

        Args:
          connection: leads to the child, if it may stand by; this object then owns it.

        Returns:
          The child's status, as from os.waitpid; that of _TOLD if it stands by.

        Raises:
          EOFError: the trainer ended first; the child was killed.
        """
        try:
            child = os.pidfd_open(pid)
        except OSError:  # no descriptor is left for a pidfd
            if connection is not None:
                connection.close()  # the child then does not stand by
            return os.waitpid(pid, 0)[1]
        poll = select.poll()
        poll.register(child, select.POLLIN)
        # Only the connection's end matters here: the next order may come before the
        # child ends.
        poll.register(self._trainer.fileno(), 0)
        try:
            if self._starter >= 0:
                poll.register(self._starter, select.POLLIN)
            if connection is not None and self._stands_by(poll, connection):
                self._standby = Standby(pid, connection)
                return _TOLD << 8
            if child not in [descriptor for descriptor, _ in poll.poll()]:
                os.kill(pid, signal.SIGKILL)
                raise EOFError
        finally:
            os.close(child)
        return os.waitpid(pid, 0)[1]

    @staticmethod
    def _stands_by(poll: Any, connection: socket.socket) -> bool:
        """Waits until a child stands by, or `poll` has another event. Returns whether
        the child stands by; closes the connection if it does not."""
        poll.register(connection.fileno(), select.POLLIN)
        if connection.fileno() in [descriptor for descriptor, _ in poll.poll()]:
            if standby.is_announced(connection):
                return True
        poll.unregister(connection.fileno())
        connection.close()
        return False

    def _describe(self, kind: str, which: Any, seed: int,
                  host: Optional[socket.socket]) -> None:
        number = seed if kind == "make" else 0
        become(number, self._stage)
        dataset = self._stage.dataset
        said: Any
        first: Optional[First] = None
        doing = "running worker_init_fn"
        try:
            making.initialize(self._stage, number)
            seeds.seed_generators(seed)
            if kind == "make":
                said = "found", which.make(self._stage)
            elif kind == "probe":
                doing = f"making sample {which}"
                began = time.monotonic_ns()
                made = dataset[which]
                forked.end_child()
                first = First(which, seed, made, time.monotonic_ns() - began)
                said = "found", structure.describe(made)
            else:
                doing = "making the first image"
                said = "found", images.probe(dataset, bool(which))
        except structure.Irregular as error:
            said = "irregular", str(error)
        except BaseException as error:
            forked.end_child(error)
            said = "failed", failure.describe(error, doing)
        forked.end_child()
        # Once the trainer has its answer, this process may be killed.
        _fork.flush_output()
        self._trainer.send(said)
        if host is not None and first is not None and said[0] == "found":
            self._stand_by(host, said[1], first)

    def _stand_by(self, host: socket.socket, layout: Any, first: First) -> None:
        """Makes this process, which has made a sample, the first worker when the daemon
        wants one."""
        self._trainer.close()
        standby.announce(host)
        _apart.leave_to_starter(())
        wanted = standby.wait(host)
        if wanted is not None:
            tasks, slots = wanted
            Worker(tasks, self._stage, Rows(layout, self._feed, first),
                   slots).run_from(first)

    def _answer(self) -> bool:
        """Does one task of the daemon. Returns False if the daemon has hung up."""
        assert self._tasks is not None
        message, fds, lost = wire.receive_task(self._tasks)
        if not message:
            return False
        began = time.process_time_ns()
        failures = []
        sent: List[int] = []
        try:
            if lost is not None:
                raise lost
            sent = self._do(wire.read_task(message), message, fds)
        except Exception as error:
            failures.append((0, wire.failure_of(
                "the process that forks workers", error)))
        finally:
            for fd in fds:
                os.close(fd)
        answer = wire.answer(time.process_time_ns() - began, failures)
        if sent:
            socket.send_fds(self._tasks, [answer], sent)
        else:
            self._tasks.send(answer)
        return True

    def _do(self, task: wire.Task, message: bytes, fds: List[int]) -> List[int]:
        """Does a task. Does nothing for other commands, such as kPing. Returns the
        descriptors that go with the answer.

        Args:
          message, fds: the task's message and descriptors.
        """
        if task.command == wire.MAP_SLOT:
            with self._told_standby(message, fds):
                self._slots[task.slot] = Slot.map(fds[0], task.bytes, task.offsets)
            return self._own_pidfds
        if task.command == wire.FORK:
            chosen = self._standby
            if task.slot == 0 and chosen is not None:
                if chosen.start(message, fds[0]):
                    self._standby = None
                    return self._note(chosen.pid, fds[0])
                self._dismiss_standby()
            return self._fork(task.slot, fds[0])
        if task.command == wire.UNMAP_SLOT:
            with self._told_standby(message, fds):
                self._slots.pop(task.slot).unmap()
        return []

    @contextlib.contextmanager
    def _told_standby(self, message: bytes, fds: List[int]) -> Iterator[None]:
        """Lets the process that stands by map or unmap a slot while the block does the
        same. If that process fails, ends it."""
        told = self._standby
        if told is not None:
            told.tell(message, fds)
        try:
            yield
        finally:
            if told is not None and not told.has_done():
                self._dismiss_standby(kills=True)

    def _dismiss_standby(self, kills: bool = False) -> None:
        dismissed, self._standby = self._standby, None
        if dismissed is not None:
            dismissed.dismiss(self._workers, kills)

    def _fork(self, number: int, fd: int) -> List[int]:
        """Forks a worker; returns what `_note` does."""
        _fork.flush_output()
        pid = os.fork()
        if pid == 0:
            assert self._tasks is not None
            self._workers.forget()
            if self._standby is not None:
                self._standby.close()
            self._tasks.close()
            self._trainer.close()  # it may be closed already
            worker = Worker(socket.socket(fileno=fd), self._stage, self._maker,
                            self._slots)
            _in_child(lambda: worker.run(number))
        return self._note(pid, fd)

    def _note(self, pid: int, fd: int) -> List[int]:
        """Records a worker with this socket. Returns its pidfd, if there is a
        descriptor left."""
        pidfd = self._workers.add(pid, fd)
        return [pidfd] if pidfd >= 0 else []


def _in_child(work: Any, done: int = 0) -> None:
    """Does the work, and ends the process without running its parent's exit handlers.
    The exit status is `done` if the work succeeded."""
    status = 1
    try:
        work()
        status = done
    except (ConnectionError, EOFError):
        status = 0  # the daemon has closed the socket
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            _fork.flush_output()
        finally:
            os._exit(status)
