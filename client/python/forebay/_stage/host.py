"""The host process of a loader's workers: maps slots and forks.

It runs none of the user's code itself, so that it is always there to fork another
worker, as it was when it began.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing.connection
import multiprocessing.reduction
import os
import select
import signal
import socket
import time
import traceback
from typing import Any, Dict, List, Optional

from .. import _apart, _fork
from . import failure, forked, images, making, seeds, structure, wire
from .feed import Feed
from .making import Stage
from .slots import Slot
from .worker import Batches, Rows, Worker, become
from .workers import Workers, reason

_GRACE_SECONDS = 1.0  # that workers have to end by themselves
_REAP_MILLISECONDS = 1000
_MOST_DEATHS = 3  # of one sample, as the daemon counts them
_PR_SET_NAME = 15


def main(trainer: Any, other_end: Any, stage: Stage, feed: Optional[Feed],
         starter: int) -> None:
    """Serves a trainer and the daemon; returns when either is gone or has no use for
    this. The process never outlives the trainer, whose memory and locks it has.

    Args:
      trainer: a connection. Comes ("probe", number, seed), or ("probe_image",
        as_image, seed) if the stage's dataset is images.Ops: answered with
        ("found", structure or result), ("irregular", why) or ("failed", text).
        Comes ("make", task, number), where the task is of own_samples.py, and the
        number that of a worker: answered likewise, with what the task makes.
        Comes ("rows", structure, batch_size, listed), ("images", result) or
        ("batches", source, room, tensors, framework), where None is the feed, and
        then the socket of tasks. Comes ("last_end",): answered with ("found",
        Workers.last_end).
      other_end: of that connection, which the trainer keeps.
      feed: of the batches to be made, if any.
      starter: the trainer's process.
    """
    other_end.close()
    _leave_signals_to_trainer()
    # For people who look at processes.
    ctypes.CDLL(None).prctl(_PR_SET_NAME, f"host-of-{starter}".encode())
    _apart.leave_to_starter(())
    host = _Host(trainer, stage, feed, starter)
    try:
        host.run()
    except (EOFError, ConnectionError):
        pass
    finally:
        host.end()


def _leave_signals_to_trainer() -> None:
    """Does nothing where the trainer's own functions handle signals. SIGTERM ends
    this process, as multiprocessing relies on when the trainer ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_IGN)


class _Host:

    def __init__(self, trainer: Any, stage: Stage, feed: Optional[Feed],
                 starter: int):
        self._trainer = trainer
        # Others that the trainer has forked may keep its end of the connection open.
        self._starter = -1  # a pidfd, if the system has one left
        with contextlib.suppress(OSError):
            self._starter = os.pidfd_open(starter)
        self._stage = stage
        self._feed = feed
        self._tasks: Optional[socket.socket] = None
        self._maker: Any = None
        self._slots: Dict[int, Slot] = {}
        self._poll = select.poll()
        self._workers = Workers(self._poll)
        self._own_pidfds: List[int] = []  # one, if the system has one left
        with contextlib.suppress(OSError):
            self._own_pidfds.append(os.pidfd_open(os.getpid()))

    def run(self) -> None:
        poll = self._poll
        trainer = self._trainer.fileno()
        poll.register(trainer, select.POLLIN)
        if self._starter >= 0:
            poll.register(self._starter, select.POLLIN)
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

    def end(self) -> None:
        """Ends the workers, though the daemon may have work for them still: that of
        other trainers, one of which takes over."""
        self._workers.dismiss()
        self._workers.end(_GRACE_SECONDS)
        if self._tasks is not None:
            self._tasks.close()

    def _obey(self, order: Any) -> None:
        if order[0] in ("probe", "probe_image", "make"):
            self._probe(*order)
            return
        if order[0] == "last_end":
            self._trainer.send(("found", self._workers.last_end))
            return
        if order[0] == "rows":
            self._maker = Rows(*order[1:])
        elif order[0] == "images":
            self._maker = images.Images(*order[1:])
        else:
            known = self._feed if order[1] is None else order[1]
            assert known is not None
            self._maker = Batches(known, *order[2:])
        handle = multiprocessing.reduction.recv_handle(self._trainer)
        self._tasks = socket.socket(fileno=handle)

    def _probe(self, kind: str, which: Any, seed: int) -> None:
        """Makes samples in a process of its own: what the user's code opens on
        the way must not be shared by the workers. One that is killed is made again,
        as workers' are."""
        for _ in range(_MOST_DEATHS):
            _fork.flush_output()
            pid = os.fork()
            if pid == 0:
                _in_child(lambda: self._describe(kind, which, seed))
            status = self._await_child(pid)
            if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL:
                break
        if status != 0:
            made = (f"sample {which}" if kind == "probe" else which.name
                    if kind == "make" else "the first image")
            self._trainer.send((
                "failed", f"it ended while it made {made} ({reason(status)})"))

    def _await_child(self, pid: int) -> int:
        """Waits until a child has ended. Returns its status, as os.waitpid does.

        Raises:
          EOFError: the trainer has gone first; the child is killed.
        """
        try:
            child = os.pidfd_open(pid)
        except OSError:  # no descriptor is left
            return os.waitpid(pid, 0)[1]
        try:
            poll = select.poll()
            poll.register(child, select.POLLIN)
            # The next order may come before the child has ended: only the end of the
            # connection counts.
            poll.register(self._trainer.fileno(), 0)
            if self._starter >= 0:
                poll.register(self._starter, select.POLLIN)
            if child not in [descriptor for descriptor, _ in poll.poll()]:
                os.kill(pid, signal.SIGKILL)
                raise EOFError
        finally:
            os.close(child)
        return os.waitpid(pid, 0)[1]

    def _describe(self, kind: str, which: Any, seed: int) -> None:
        number = seed if kind == "make" else 0
        become(number, self._stage)
        dataset = self._stage.dataset
        said: Any
        doing = "running worker_init_fn"
        try:
            making.initialize(self._stage, number)
            seeds.seed_generators(seed)
            if kind == "make":
                said = "found", which.make(self._stage)
            elif kind == "probe":
                doing = f"making sample {which}"
                made = dataset[which]
                forked.end_child()
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
        # This process may be killed once the trainer has its answer.
        _fork.flush_output()
        self._trainer.send(said)

    def _answer(self) -> bool:
        """Does a task of the daemon's; False if it has hung up."""
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
            sent = self._do(wire.read_task(message), fds)
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

    def _do(self, task: wire.Task, fds: List[int]) -> List[int]:
        """Does a task; nothing if the command is another, as one that only asks
        whether this process answers. Returns the descriptors that go with the
        answer."""
        if task.command == wire.MAP_SLOT:
            self._slots[task.slot] = Slot.map(fds[0], task.bytes, task.offsets)
            return self._own_pidfds
        if task.command == wire.FORK:
            return self._fork(task.slot, fds[0])
        if task.command == wire.UNMAP_SLOT:
            self._slots.pop(task.slot).unmap()
        return []

    def _fork(self, number: int, fd: int) -> List[int]:
        """Forks a worker. Returns its pidfd, if the system has one left."""
        _fork.flush_output()
        pid = os.fork()
        if pid == 0:
            assert self._tasks is not None
            self._workers.forget()
            self._tasks.close()
            self._trainer.close()  # perhaps for the second time
            worker = Worker(socket.socket(fileno=fd), self._stage, self._maker,
                            self._slots)
            _in_child(lambda: worker.run(number))
        pidfd = self._workers.add(pid, fd)
        return [pidfd] if pidfd >= 0 else []


def _in_child(work: Any) -> None:
    """Does the work, and ends the process, without what its parent would do at
    its end."""
    status = 1
    try:
        work()
        status = 0
    except (ConnectionError, EOFError):
        status = 0  # the daemon has ended
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            _fork.flush_output()
        finally:
            os._exit(status)
