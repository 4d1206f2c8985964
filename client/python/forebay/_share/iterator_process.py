"""The process that iterates over an iterable for all jobs.

Its main thread runs the user's code; other threads serve the daemon and listen to
clients. The process is not a child of the trainer that started it, so it outlives the
trainer.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import errno
import gc
import mmap
import multiprocessing.connection
import multiprocessing.reduction
import os
import queue
import signal
import socket
import struct
import threading
import time
import weakref
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from .. import _apart, _fork, _native, _retry, _system_error, errors
from .._stage import failure, payload, wire
from .idleness import HANG_SECONDS, LOOK_SECONDS, Idleness
from .iteration import NUMBERS, Iteration, State


def main(listener: Any, source: Any, directory: str, log: int) -> None:
    """Serves clients until nobody has listened for some seconds.

    Args:
      listener: a listening socket. Clients send two messages on its connections. The
        first is ("prepare", epoch, number, first, state); an epoch of None means the
        iterable's present place. The answer is (epoch, number, first, bytes): the place
        of a batch (see Iteration), and the size of its payload. The epoch stays None if
        this process has begun nothing. The second is ("serve", room), followed by the
        socket of tasks. The answer is None.
      source: an iterable, or a function that makes one.
      directory: the directory of the daemon's sockets.
      log: a descriptor, to which all output goes.
    """
    gc.freeze()  # finalizers of the starter's garbage may wait for its threads
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, place in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(descriptor, place)
    _apart.leave_to_starter((listener.fileno(),))
    _IteratorProcess(listener, source, directory).run()
    # When Python ends, it waits for threads and processes of the user's code, which may
    # never end.
    end = threading.Timer(HANG_SECONDS, _end_group)
    end.daemon = True
    end.start()


def _end_group() -> None:
    """Ends this process and its children, which are the whole process group."""
    os.killpg(0, signal.SIGTERM)
    os._exit(1)


class _Slot(NamedTuple):
    """A slot's memory, to which a thread of this process writes.

    Attributes:
      memory: mmap.mmap.
      offsets: the fields' offsets.
    """

    memory: Any
    offsets: Tuple[int, ...]


class _IteratorProcess:

    def __init__(self, listener: Any, source: Any, directory: str):
        self._listener = listener
        self._directory = directory
        self._iteration = Iteration(source)
        self._work: "queue.Queue[Tuple[Any, Callable[[], Any]]]" = queue.Queue()
        self._idleness = Idleness(self._is_away, _patience())
        # Connections that children close. If a child kept one open, clients would not
        # notice this process's death.
        self._connections: "weakref.WeakSet[Any]" = weakref.WeakSet([listener])
        _fork.watch(self)

    def run(self) -> None:
        """Does, in this thread, the work for which other threads ask."""
        for target in (self._listen, self._watch):
            threading.Thread(target=target, daemon=True).start()
        while not self._idleness.is_over():
            try:
                future, work = self._work.get(timeout=LOOK_SECONDS)
            except queue.Empty:
                continue
            if not future.set_running_or_notify_cancel():
                continue  # the client that asked has gone
            try:
                future.set_result(work())
            except BaseException as error:
                future.set_exception(error)
        self._idleness.leave()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes its thread
        self._listener.close()  # clients that wait to be accepted get an error

    def _watch(self) -> None:
        """Ends this process and its children if no job needs them any more but the
        user's code hangs."""
        while not self._idleness.has_left():
            time.sleep(LOOK_SECONDS)
            self._idleness.look()
            if self._idleness.hangs():
                _end_group()

    def _is_away(self) -> bool:
        try:
            return not _native.ping(self._directory)
        except Exception:
            return True

    def _do(self, work: Callable[[], Any], client: Any = None) -> Any:
        """Makes the main thread do `work`, and returns the result.

        Args:
          client: the connection of the client that waits for the work; None: there is
            no client.

        Raises:
          EOFError: the client has closed its connection, or this process ends.
        """
        future: "concurrent.futures.Future[Any]" = concurrent.futures.Future()
        self._work.put((future, work))
        while True:
            try:
                return future.result(LOOK_SECONDS)
            except concurrent.futures.TimeoutError:
                if future.done():
                    return future.result()
            is_gone = client is not None and client.poll()
            if is_gone or self._idleness.is_over():
                future.cancel()
                raise EOFError

    def keep_from_children(self, connection: Any) -> None:
        """Closes a connection in all children that are forked from now on."""
        self._connections.add(connection)

    def _after_fork(self) -> None:
        for connection in list(self._connections):
            connection.close()

    # --- Clients.

    def _listen(self) -> None:
        while not self._idleness.has_left():
            try:
                accepted, _ = self._listener.accept()
                client = multiprocessing.connection.Connection(accepted.detach())
                self.keep_from_children(client)
                threading.Thread(target=self._talk, args=(client,),
                                 daemon=True).start()
            except (OSError, RuntimeError) as error:
                if self._idleness.has_left():
                    return
                # The process may have no descriptor or thread left at present.
                os.write(2, f"a job cannot be answered: {error}\n".encode())
                time.sleep(LOOK_SECONDS)

    def _talk(self, client: Any) -> None:
        try:
            with client:
                while True:
                    order = client.recv()
                    with self._idleness.listened():
                        if order[0] == "prepare":
                            client.send(self._do(lambda: self._prepare(*order[1:]),
                                                 client))
                        else:
                            client.send(self._serve_by(client, order[1]))
        except (EOFError, OSError):
            pass  # the client has its answer, or has gone

    def _serve_by(self, client: Any, room: int) -> Optional[errors.ForebayError]:
        """Receives a stream's socket from the client, and serves that stream. Returns
        the error if that fails."""
        try:
            tasks = _tasks_of(client)
        except errors.ResourceExhausted as error:
            return error
        self._serve(tasks, room)
        return None

    def _prepare(self, epoch: Optional[int], number: int, first: int,
                 state: Optional[State]) -> Tuple[Optional[int], int, int, int]:
        iteration = self._iteration
        knows = epoch is not None
        if epoch is None:
            epoch, number = iteration.epoch, iteration.next
            if epoch < 0 or iteration.has_ended:
                epoch, number = epoch + 1, 0
        is_fresh = iteration.epoch < 0
        if is_fresh and state is not None:
            try:
                iteration.begin(epoch, state)
            except Exception:
                iteration = self._iteration = Iteration(iteration.source)
        if is_fresh:
            iteration.first = first
        elif knows and not iteration.has_place:
            iteration.place_at(epoch)
            iteration.first = first
        # A job may continue with a later iteration than the one that other jobs still
        # read.
        kind, value = (iteration.give if knows else iteration.get)(epoch, number)
        if epoch == iteration.epoch:
            first = iteration.first
        # Jobs that had batches from an earlier process know the epoch's number.
        if is_fresh:
            iteration.has_place = knows
        place = epoch if iteration.has_place else None
        return place, number, first, payload.size(kind, value)

    # --- The daemon.

    def _serve(self, tasks: socket.socket, room: int) -> None:
        self._idleness.begin()
        self.keep_from_children(tasks)
        try:
            _Stream(self, tasks, room).start()
        except RuntimeError:  # no further thread can be started
            self.over()
            raise

    def over(self) -> None:
        """Counts that a stream has ended."""
        self._idleness.end()

    def make(self, memory: memoryview, epoch: int, number: int) -> int:
        """Makes the batch with this number in `memory`.

        Returns:
          0, or the number of bytes that the batch needs if the memory is too small.
        """
        return self._do(lambda: self._write(memory, epoch, number))

    def _write(self, memory: memoryview, epoch: int, number: int) -> int:
        kind, value = self._iteration.give(epoch, number)
        numbers = NUMBERS.pack(epoch, number, self._iteration.first)
        try:
            payload.write(memory, kind, value, numbers)
        except Exception as error:
            payload.write(memory, payload.FAILED, failure.describe(error), numbers)
        return payload.needed(memory)


def _patience() -> float:
    """Returns the seconds for which trainers wait for a daemon."""
    try:
        return _retry.reattach_seconds()
    except errors.InvalidArgument:
        return 0.0  # the trainer reports the variable's error


def _tasks_of(client: Any) -> socket.socket:
    """Receives the socket of tasks.

    Raises:
      errors.ResourceExhausted: there is no descriptor left for the socket.
    """
    with _system_error.exhaustion_of("the process that iterates cannot serve"):
        try:
            return socket.socket(fileno=multiprocessing.reduction.recv_handle(client))
        except RuntimeError:  # the kernel has dropped the descriptor
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE)) from None


class _Stream:
    """Serves the daemon for one stream, which sees a worker pool and one worker; both
    are threads.

    A batch that is larger than the stream's memory ends the stream. The jobs read all
    batches before that batch, and continue in a stream with more memory.
    """

    def __init__(self, process: _IteratorProcess, tasks: socket.socket, room: int):
        self._process = process
        self._tasks = tasks
        self._room = room
        self._slots: Dict[int, _Slot] = {}
        self._workers: List[socket.socket] = []
        self._needed = 0  # the bytes that a batch needed; 0 if the memory was enough

    def start(self) -> None:
        """Starts the threads that serve."""
        threading.Thread(target=self._host, daemon=True).start()

    def _host(self) -> None:
        try:
            while self._answer_host():
                pass
        except OSError:
            pass
        finally:
            for worker in self._workers:
                with contextlib.suppress(OSError):
                    worker.shutdown(socket.SHUT_RDWR)  # wakes its thread
                worker.close()
            self._process.over()

    def _answer_host(self) -> bool:
        message, fds, lost = wire.receive_task(self._tasks)
        if not message:
            return False
        failures = []
        try:
            if lost is not None:
                raise lost
            task = wire.read_task(message)
            if task.command == wire.MAP_SLOT:
                self._slots[task.slot] = _Slot(mmap.mmap(fds[0], task.bytes),
                                               task.offsets)
            elif task.command == wire.UNMAP_SLOT:
                del self._slots[task.slot]
            elif task.command == wire.FORK:
                worker = socket.socket(fileno=os.dup(fds[0]))
                self._process.keep_from_children(worker)
                self._workers.append(worker)
                threading.Thread(target=self._worker, args=(worker,),
                                 daemon=True).start()
        except Exception as error:
            failures.append((0, wire.failure_of(
                "the process that iterates", error)))
        finally:
            for fd in fds:
                os.close(fd)
        self._tasks.send(wire.answer(0, failures))
        return True

    def _worker(self, worker: socket.socket) -> None:
        try:
            while True:
                message = worker.recv(wire.MAX_MESSAGE)
                if not message:
                    return
                began = time.process_time_ns()
                try:
                    task = wire.read_task(message)
                    slots = [self._slots[sample.slot] for sample in task.samples]
                except (struct.error, KeyError) as error:
                    os.write(2, f"the daemon's task is damaged: {error!r}\n".encode())
                    return
                for sample, slot in zip(task.samples, slots):
                    begin = slot.offsets[0]
                    memory = memoryview(slot.memory)[begin:begin + self._room]
                    if self._needed:
                        payload.refuse(memory, self._needed)
                    else:
                        self._needed = self._process.make(memory, task.epoch,
                                                          sample.id)
                worker.send(wire.answer(time.process_time_ns() - began))
        except (EOFError, OSError):
            pass  # the stream has ended
        finally:
            # When the socket ends, the daemon stops waiting for an answer.
            with contextlib.suppress(OSError):
                worker.shutdown(socket.SHUT_RDWR)
