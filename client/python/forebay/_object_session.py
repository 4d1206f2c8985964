"""Sessions by which ranges of files and objects are read.

A session reads from any object. So a file that is opened takes one that is idle,
if there is one, and gives it back when it has what it wants.
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
# Beyond so many, files copy what they read at once rather than keep a session.
MAX_KEPT = 32
_JOB_VARIABLES = ("FOREBAY_JOB", "SLURM_JOB_ID", "MASTER_ADDR", "MASTER_PORT",
                  "TORCHELASTIC_RUN_ID")


@functools.lru_cache(maxsize=4)
def _job_of(process, values):
    """The key and name of this process's job. The arguments are those that it
    depends on."""
    del process, values
    return (os.fsencode(_job.job_key())[:256],
            os.fsencode(_job.job_name())[:256])


class Client:
    """How this process reaches the daemon for one file.

    Attributes:
      directory: str, of the daemon's sockets. Decided once: a client of the
        machine's daemon waits for that daemon.
      start_daemon: starts one there if none listens; None if it must not.
      seconds: how long to wait for what is away; None: as a loader does.
    """

    def __init__(self, autostart: bool, seconds: Optional[float] = None):
        self.seconds = seconds
        self.directory = _native.runtime_dir()
        self.start_daemon = (
            functools.partial(_daemon.ensure_running, self.directory)
            if autostart else None)


class Session:
    """A native reader of objects, connected to one daemon.

    Used by one thread at a time, in the process that created it.
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
        """Asks for a range, to be awaited."""
        asked = self._range
        asked.root, asked.directory = place.root, place.directory
        asked.name = place.object
        asked.version = None if version is None else c.pointer(version)
        asked.offset, asked.length = offset, length
        asked.block_bytes = block_bytes
        _native.check(self._lib.forebay_object_ask(self._handle,
                                                   c.byref(asked)))

    def receive(self) -> _native.ObjectPart:
        """Waits for the range. Its bytes stay as they are until the next is asked
        for; the result belongs to this object."""
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
        # Guards what follows. Reentrant: a collection of garbage at any place
        # may close a file.
        self._lock = threading.RLock()
        self._idle: list[Session] = []
        self._kept = 0

    def take(self, key) -> Optional[Session]:
        """An idle session of that key, or None."""
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
        """Takes back a session that has nothing under way."""
        if not session.is_usable():
            return
        with self._lock:
            # The last one first: the oldest may be of a daemon that has ended.
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
        """Whether one more file may keep a session; `keep` is to follow."""
        with self._lock:
            return self._kept < MAX_KEPT

    def keep(self, change: int) -> None:
        """Counts a session that a file keeps (1), or no longer keeps (-1)."""
        with self._lock:
            self._kept += change


pool = _Pool()


def key_of(client: Client):
    """Sessions with equal keys are as good as each other."""
    values = tuple(os.environ.get(name) for name in _JOB_VARIABLES)
    return client.directory, _job_of(os.getpid(), values)


@contextlib.contextmanager
def borrowed(client: Client) -> Iterator[Session]:
    """A session for one range. The caller gives it to the pool, or keeps it;
    after an exception it is closed, unless the daemon has just refused."""
    key = key_of(client)
    session = pool.take(key) or Session(client, key)
    try:
        yield session
    except errors.PASSING:
        # The others may have lost the same daemon.
        pool.drop(key)
        session.close()
        raise
    except errors.ForebayError:
        pool.give(session)
        raise
    except BaseException:
        session.close()  # an answer may be on its way
        raise
