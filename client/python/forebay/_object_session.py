"""Sessions with the daemon that read ranges of files and objects.

A session can read any object. A file takes an idle session, if there is one, and gives
the session back once it has its bytes.
"""

from __future__ import annotations

import contextlib
import ctypes as c
import functools
import os
import threading
from typing import Iterator, Optional

from . import _daemon, _fork, _job, _native, errors
from ._connection import SLICE_SECONDS, _wait
from ._place import Place

_MAX_IDLE = 4
# The largest number of files that keep a session. All others copy the bytes that they
# read, and give the session back.
MAX_KEPT = 32
_JOB_VARIABLES = ("FOREBAY_JOB", "SLURM_JOB_ID", "MASTER_ADDR", "MASTER_PORT",
                  "TORCHELASTIC_RUN_ID")


@functools.lru_cache(maxsize=4)
def _job_of(process, values):
    """Returns the key and name of this process's job. The arguments serve only as the
    key of the cache: if they change, so do the results."""
    del process, values
    return (os.fsencode(_job.job_key())[:256],
            os.fsencode(_job.job_name())[:256])


class Client:
    """The way in which this process reaches the daemon for one file.

    Attributes:
      directory: str, the directory of the daemon's sockets. It is determined only once:
        clients of the machine's daemon wait for that daemon.
      start_daemon: a function that starts a daemon there if none listens; None if this
        process must not start one.
      seconds: how long to wait for a daemon, or for storage, that is away; None: as
        long as a loader waits.
    """

    def __init__(self, autostart: bool, seconds: Optional[float] = None):
        self.seconds = seconds
        self.directory = _native.runtime_dir()
        self.start_daemon = (
            functools.partial(_daemon.ensure_running, self.directory)
            if autostart else None)


class Session:
    """A native reader of objects, connected to one daemon.

    A single thread at a time uses it, in the process that created it.
    """

    def __init__(self, client: Client, key):
        self._lib = _native.lib
        self._handle = c.c_void_p()  # null until it is open
        self._pid = os.getpid()
        self.key = key
        if client.start_daemon is not None:
            client.start_daemon()
        job_key, job_name = key[1]
        options = {"runtime_dir": os.fsencode(client.directory),
                   "job_key": job_key, "job_name": job_name}
        _native.check(self._lib.forebay_object_reader_open(
            c.byref(_native.loader_options(options)), c.byref(self._handle)))
        self._range = _native.ObjectRange()
        self._part = _native.ObjectPart()

    def ask(self, place: Place, version: Optional[_native.ObjectVersion],
            offset: int, length: int, block_bytes: int) -> None:
        """Asks for a range, which `receive` then awaits."""
        asked = self._range
        asked.root, asked.directory = place.root, place.directory
        asked.name = place.object
        asked.version = None if version is None else c.pointer(version)
        asked.offset, asked.length = offset, length
        asked.block_bytes = block_bytes
        _native.check(self._lib.forebay_object_ask(self._handle,
                                                   c.byref(asked)))

    def receive(self) -> _native.ObjectPart:
        """Waits for the range. The bytes do not change until `ask` is called again. The
        result belongs to this object."""
        part, seconds = c.byref(self._part), c.c_double(SLICE_SECONDS)
        _wait(lambda: self._lib.forebay_object_await(self._handle, seconds,
                                                     part))
        return self._part

    def is_usable(self) -> bool:
        """False in a forked child."""
        return self._pid == os.getpid()

    def close(self) -> None:
        handle, self._handle = self._handle, c.c_void_p()
        if handle:
            self._lib.forebay_object_reader_free(handle)

    def __del__(self):
        self.close()


class _Pool:
    """The sessions of this process. Thread-safe."""

    def __init__(self):
        self._after_fork()
        _fork.watch(self)

    def _after_fork(self):
        # Guards the attributes below. The lock is reentrant, because garbage collection
        # may close a file at any point.
        self._lock = threading.RLock()
        self._idle: list[Session] = []
        self._kept = 0

    def take(self, key) -> Optional[Session]:
        """Takes an idle session of that key; None if there is none."""
        with self._lock:
            for session in list(self._idle):
                if session.key == key:
                    self._idle.remove(session)
                    return session
        return None

    def has(self, key) -> bool:
        """Whether there is an idle session of that key."""
        with self._lock:
            return any(session.key == key for session in self._idle)

    def give(self, session: Session) -> None:
        """Takes back a session that has no request under way."""
        if not session.is_usable():
            return
        with self._lock:
            # The newest session is used first: the oldest may belong to a daemon that
            # has ended.
            self._idle.insert(0, session)
            dropped = self._idle[_MAX_IDLE:]
            del self._idle[_MAX_IDLE:]
        for session in dropped:
            session.close()

    def drop(self, key) -> None:
        """Closes the idle sessions of that key."""
        with self._lock:
            dropped = [one for one in self._idle if one.key == key]
            self._idle = [one for one in self._idle if one.key != key]
        for session in dropped:
            session.close()

    def may_keep(self) -> bool:
        """Whether one more file may keep a session. If so, the caller calls `keep`."""
        with self._lock:
            return self._kept < MAX_KEPT

    def keep(self, change: int) -> None:
        """Counts a session that a file keeps (1), or no longer keeps (-1)."""
        with self._lock:
            self._kept += change


pool = _Pool()


def key_of(client: Client):
    """Returns a key that is equal for sessions that can replace each other."""
    values = tuple(os.environ.get(name) for name in _JOB_VARIABLES)
    return client.directory, _job_of(os.getpid(), values)


@contextlib.contextmanager
def borrowed(client: Client) -> Iterator[Session]:
    """Yields a session for one range. The caller gives it to the pool, or keeps it.
    After an exception, the session is closed, unless the exception is only the daemon's
    refusal."""
    key = key_of(client)
    session = pool.take(key) or Session(client, key)
    try:
        yield session
    except errors.PASSING:
        # The other idle sessions may belong to the same lost daemon.
        pool.drop(key)
        session.close()
        raise
    except errors.ForebayError:
        pool.give(session)
        raise
    except BaseException:
        session.close()  # an answer may be on its way
        raise
