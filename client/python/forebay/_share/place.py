"""Finds the process that iterates over an iterable, and starts one if there is none."""

from __future__ import annotations

import contextlib
import hashlib
import multiprocessing.connection
import multiprocessing.reduction
import os
import socket
import struct
import threading
import time
from typing import Any, ContextManager, Iterator, Optional, Tuple

from .. import _apart, _daemon, _file_lock, _fork, _system_error, errors
from . import iterator_process
from .deadline import Deadline, Missed
from .iteration import State

_PROBE_SECONDS = 0.25  # the time between checks whether the process lives
_LOCK_SECONDS = 0.05  # the time between tries to take the lock
_TIME = struct.Struct("@ll")  # struct timeval: seconds and microseconds


class ProcessConnection:
    """A connection to the process that iterates. If the process fails to answer, or
    does not answer by the deadline, the connection is closed. After a missed deadline,
    methods raise Missed."""

    def __init__(self, connection: Any, folder: str, log: str, deadline: Deadline):
        """
        Args:
          folder: the folder of the process's socket, for messages.
          log: the file of the process's output, for messages.
        """
        self._connection = connection
        self._folder = folder
        self._log = log
        self._deadline = deadline

    def prepare(self, epoch: Optional[int], number: int, first: int,
                state: Optional[State]) -> Tuple[int, int, int, int]:
        """Asks for the place of a batch; see "prepare" in iterator_process.main."""
        return self._ask(("prepare", epoch, number, first, state), -1)

    def serve(self, room: int, tasks: int) -> None:
        """Makes the process serve the daemon.

        Args:
          tasks: the descriptor of the socket of tasks. The caller still owns it.
        """
        self._ask(("serve", room), tasks)

    def _ask(self, order: Tuple[Any, ...], descriptor: int) -> Any:
        try:
            answer = self._answer(order, descriptor)
        except BaseException as error:
            self.close()
            if isinstance(error, (EOFError, OSError)):
                raise errors.StateError(
                    "the process that iterates has ended: its output is in "
                    f"{self._log}") from None
            raise
        if isinstance(answer, errors.ForebayError):
            raise answer
        return answer

    def _answer(self, order: Tuple[Any, ...], descriptor: int) -> Any:
        with _exhaustion(self._folder):
            try:
                self._connection.send(order)
                if descriptor >= 0:
                    multiprocessing.reduction.send_handle(self._connection, descriptor,
                                                          None)
            except BlockingIOError:
                raise Missed from None
            while not self._connection.poll(min(_PROBE_SECONDS,
                                                self._deadline.left())):
                pass
            return self._connection.recv()

    def close(self) -> None:
        _fork.end(self._connection)


class Place:
    """The folder in which this user's jobs with one key find each other. Methods with a
    deadline raise Missed when the deadline has passed."""

    def __init__(self, key: str, directory: str):
        """
        Args:
          directory: the directory of the daemon's sockets.
        """
        self._directory = directory
        self._folder = _folder_of(directory)
        digest = hashlib.blake2b(f"{os.path.abspath(directory)}\0{key}".encode(),
                                 digest_size=12).hexdigest()
        self._name = f"share-{digest}"
        self._log = f"{self._folder}/{self._name}.log"

    @contextlib.contextmanager
    def locked(self, deadline: Deadline) -> Iterator[int]:
        """Keeps other jobs out of the folder while the block runs. Yields a descriptor
        of the folder."""
        with contextlib.ExitStack() as opened:
            with _exhaustion(self._folder):
                folder = opened.enter_context(_daemon.private_folder(
                    self._folder, "nothing is shared"))
                lock = opened.enter_context(contextlib.closing(
                    _file_lock.FileLock(folder, f"{self._name}.lock")))
            if not deadline.exists():
                lock.acquire()
            else:
                while not lock.try_acquire():
                    time.sleep(min(_LOCK_SECONDS, deadline.left()))
            yield folder

    def find(self, folder: int, deadline: Deadline) -> Optional[ProcessConnection]:
        """Connects to the running process. Returns None if none runs.

        Args:
          folder: the descriptor that `locked` yields.
        """
        with _exhaustion(self._folder):
            client = socket.socket(socket.AF_UNIX)
        try:
            if deadline.exists():
                # If the process is stopped, it takes no connections.
                client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO,
                                  _timeval(deadline.left()))
            client.connect(self._socket(folder))
        except BlockingIOError:
            client.close()
            raise Missed from None
        except OSError:
            client.close()
            return None
        except Missed:
            client.close()
            raise
        return ProcessConnection(
            multiprocessing.connection.Connection(client.detach()), self._folder,
            self._log, deadline)

    def start(self, folder: int, source: Any, deadline: Deadline) -> ProcessConnection:
        """Starts a process.

        Args:
          folder: the descriptor that `locked` yields.
          source: an iterable, or a function that makes one.

        Raises:
          errors.StateError: the process has ended at its start.
          errors.ResourceExhausted: the system has no descriptor, process or disk space
            left.
        """
        with _exhaustion(self._folder), _fork.without_interruption():
            return self._started(folder, source, deadline)

    def _started(self, folder: int, source: Any,
                 deadline: Deadline) -> ProcessConnection:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{self._name}.sock", dir_fd=folder)
        log = os.open(f"{self._name}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC |
                      os.O_CLOEXEC, 0o600, dir_fd=folder)
        with _Listener() as listener:
            listener.bind(self._socket(folder))
            listener.listen(16)
            try:
                _apart.Process(iterator_process.main,
                               (listener, source, self._directory, log), (folder,))
            except ChildProcessError:
                pass  # no process listens
            finally:
                os.close(log)
        found = self.find(folder, deadline)
        if found is None:
            raise errors.StateError(
                f"the process that iterates has ended at its start: see {self._log}")
        return found

    def _socket(self, folder: int) -> str:
        # The folder's own path may be too long for a socket address (unix(7)).
        return f"/proc/self/fd/{folder}/{self._name}.sock"


class _Listener(socket.socket):
    """A socket that the process inherits from the thread that starts it. A child that
    another thread forks closes its copy: clients that connect to that copy would wait
    for ever."""

    def __init__(self) -> None:
        super().__init__(socket.AF_UNIX)
        self._thread = threading.get_ident()
        _fork.watch(self)

    def _after_fork(self) -> None:
        if threading.get_ident() != self._thread:
            self.close()


def _timeval(seconds: float) -> bytes:
    # A timeout of zero would mean no limit (socket(7), SO_SNDTIMEO).
    return _TIME.pack(int(seconds), max(1, int(seconds % 1 * 1e6)))


def _exhaustion(folder: str) -> ContextManager[None]:
    return _system_error.exhaustion_of(f"nothing is shared in {folder}")


def _folder_of(directory: str) -> str:
    """Returns a folder that belongs to this user: the daemon's, unless the daemon is
    the machine's."""
    with contextlib.suppress(OSError):
        if os.stat(directory).st_uid == os.geteuid():
            return directory
    session = os.environ.get("XDG_RUNTIME_DIR")
    # A container may inherit the variable but lack the directory.
    return (os.path.join(session, "forebay") if session and os.path.exists(session)
            else f"/tmp/forebay-{os.getuid()}")
