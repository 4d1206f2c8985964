"""Finds the process that iterates an iterable, and starts it."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import multiprocessing.connection
import multiprocessing.reduction
import os
import socket
from typing import Any, ContextManager, Iterator, Optional, Tuple

from .. import _apart, _daemon, _fork, _system_error, errors
from . import producer
from .iteration import State

_PROBE_SECONDS = 0.25  # between looks whether it lives


class Producer:
    """A connection to that process."""

    def __init__(self, connection: Any, folder: str):
        """
        Args:
          folder: of its socket, for messages.
        """
        self._connection = connection
        self._folder = folder

    def prepare(self, epoch: Optional[int], number: int,
                state: Optional[State]) -> Tuple[int, int, int]:
        """As producer.main says."""
        return self._ask(("prepare", epoch, number, state), -1)

    def serve(self, room: int, tasks: int) -> None:
        """Lets it serve the daemon.

        Args:
          tasks: a descriptor, which stays the caller's.
        """
        self._ask(("serve", room), tasks)

    def _ask(self, order: Tuple[Any, ...], descriptor: int) -> Any:
        try:
            with _exhaustion(self._folder):
                self._connection.send(order)
                if descriptor >= 0:
                    multiprocessing.reduction.send_handle(self._connection, descriptor,
                                                          None)
                while not self._connection.poll(_PROBE_SECONDS):
                    pass
                answer = self._connection.recv()
        except (EOFError, OSError):
            raise errors.StateError(
                "the process that iterates has ended") from None
        if isinstance(answer, errors.ForebayError):
            raise answer
        return answer

    def close(self) -> None:
        self._connection.close()


class Place:
    """Where the jobs of this user that share by one key meet."""

    def __init__(self, key: str, directory: str):
        """
        Args:
          directory: of the daemon.
        """
        self._directory = directory
        self._folder = _folder_of(directory)
        digest = hashlib.blake2b(f"{os.path.abspath(directory)}\0{key}".encode(),
                                 digest_size=12).hexdigest()
        self._name = f"share-{digest}"

    @contextlib.contextmanager
    def locked(self) -> Iterator[Tuple[int, int]]:
        """Keeps other jobs away; descriptors of the folder and the lock."""
        with contextlib.ExitStack() as opened:
            with _exhaustion(self._folder):
                folder = opened.enter_context(_daemon.private_folder(
                    self._folder, "nothing is shared"))
                lock = os.open(f"{self._name}.lock",
                               os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600,
                               dir_fd=folder)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield folder, lock
            finally:
                os.close(lock)

    def find(self, locked: Tuple[int, int]) -> Optional[Producer]:
        """The process that runs; None if there is none.

        Args:
          locked: as that yields.
        """
        with _exhaustion(self._folder):
            client = socket.socket(socket.AF_UNIX)
        try:
            client.connect(self._socket(locked[0]))
        except OSError:
            client.close()
            return None
        return Producer(multiprocessing.connection.Connection(client.detach()),
                        self._folder)

    def start(self, locked: Tuple[int, int], source: Any) -> Producer:
        """Starts one.

        Args:
          locked: as `find`'s.
          source: an iterable, or a function that makes one.

        Raises:
          errors.StateError: it has ended.
          errors.ResourceExhausted: there is no descriptor, process or space left.
        """
        with _exhaustion(self._folder), _fork.without_interruption():
            return self._started(locked, source)

    def _started(self, locked: Tuple[int, int], source: Any) -> Producer:
        folder = locked[0]
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{self._name}.sock", dir_fd=folder)
        log = os.open(f"{self._name}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC |
                      os.O_CLOEXEC, 0o600, dir_fd=folder)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self._socket(folder))
            listener.listen(16)
            try:
                _apart.Process(producer.main,
                               (listener, source, self._directory, log), locked)
            except ChildProcessError:
                pass  # nobody listens
            finally:
                os.close(log)
        found = self.find(locked)
        if found is None:
            raise errors.StateError(
                "the process that iterates has ended at its start: see "
                f"{self._folder}/{self._name}.log")
        return found

    def _socket(self, folder: int) -> str:
        # A path of its own may be longer than sockets take.
        return f"/proc/self/fd/{folder}/{self._name}.sock"


def _exhaustion(folder: str) -> ContextManager[None]:
    return _system_error.exhaustion_of(f"nothing is shared in {folder}")


def _folder_of(directory: str) -> str:
    """A folder of this user's own: the daemon's, unless that is the machine's."""
    with contextlib.suppress(OSError):
        if os.stat(directory).st_uid == os.geteuid():
            return directory
    session = os.environ.get("XDG_RUNTIME_DIR")
    # A container may have the variable without the directory.
    return (os.path.join(session, "forebay") if session and os.path.exists(session)
            else f"/tmp/forebay-{os.getuid()}")
