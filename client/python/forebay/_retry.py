"""Waits while a loader's daemon or dataset cannot be reached.

The library keeps what it needs to continue: the socket's directory, the dataset's
folders and the position. This module waits, starts a daemon if this package may do
that, and logs what it does.
"""

from __future__ import annotations

import logging
import os
import random
import time
from typing import Callable, Iterator, List, Optional, Tuple, Type, TypeVar

from . import _native, _user_error, errors

_log = logging.getLogger("forebay")
_VARIABLE = "FOREBAY_REATTACH_SECONDS"
_DEFAULT_SECONDS = 60.0
_FIRST_PAUSE, _LAST_PAUSE = 0.05, 5.0
_LAST_RETRY_PAUSE = 1.0  # as in the library
_MAX_SOCKET_PATH = 107  # bytes; sockaddr_un has 108, one for a zero (unix(7))
_Result = TypeVar("_Result")
Errors = Tuple[Type[errors.ForebayError], ...]


def reattach_seconds() -> float:
    """Returns for how many seconds to wait for a batch: $FOREBAY_REATTACH_SECONDS, or
    60 if that is not set.

    Raises:
      errors.InvalidArgument: the variable is not a number of seconds.
    """
    given = os.environ.get(_VARIABLE)
    if not given:
        return _DEFAULT_SECONDS
    try:
        seconds = float(given)
    except ValueError:
        seconds = -1.0
    if not seconds >= 0:
        raise errors.InvalidArgument(
            f"${_VARIABLE} must be a number of seconds, not {given!r}")
    return seconds


def backoff(chance: Callable[[], float] = random.random,
            last: float = _LAST_PAUSE) -> Iterator[float]:
    """Yields pauses between tries, in seconds. The step doubles each time. Each pause
    is a random part of its step, so that a host's trainers do not all try at
    once.

    Args:
      chance: a function that draws from [0, 1).
      last: the longest pause.
    """
    longest = _FIRST_PAUSE
    while True:
        yield longest * (0.5 + 0.5 * chance())
        longest = min(2 * longest, last)


def until_available(what: str, attempt: Callable[[], _Result],
                    start_daemon: Optional[Callable[[], None]],
                    seconds: Optional[float] = None,
                    passing: Errors = errors.PASSING) -> _Result:
    """Returns what `attempt()` returns. Calls it again, as Retry does, while it raises
    an error that may pass.

    Args:
      what, start_daemon, seconds, passing: see Retry.

    Raises:
      errors.DaemonUnavailable, errors.SourceUnavailable: no try has succeeded in
        `seconds`.
    """
    try:
        return attempt()
    except passing as error:
        if _user_error.is_marked(error):
            raise
        why = type(error)(str(error))  # a copy without frames, as in Retry.wait
    if isinstance(why, errors.DaemonUnavailable):
        _check_directory(why)
    found: List[_Result] = []
    waits = backoff(last=_LAST_RETRY_PAUSE)

    def attach() -> bool:
        time.sleep(next(waits))
        found.append(attempt())
        return True

    retry = Retry(what, attach, start_daemon, seconds, passing)
    retry.wait(why)
    retry.done()
    return found[0]


def _check_directory(why: errors.DaemonUnavailable) -> None:
    """Raises the error again if waiting is useless: no daemon was ever started in the
    directory, or none can listen there."""
    directory = _native.runtime_dir()
    bytes_of_path = len(os.fsencode(os.path.join(directory, "session.sock")))
    if bytes_of_path > _MAX_SOCKET_PATH:
        raise errors.DaemonUnavailable(
            f"{why}: a socket's path has at most {_MAX_SOCKET_PATH} bytes, but this "
            f"one has {bytes_of_path}: choose a shorter $FOREBAY_RUNTIME_DIR")
    if not os.path.exists(os.path.join(directory, "forebayd.lock")):
        raise why


class Retry:
    """Tries to continue while no batch comes because the daemon is away or cannot reach
    the dataset.

    Logs a line when the waiting begins, and another when it ends. One thread at a time
    may use it.
    """

    def __init__(self, what: str, attach: Callable[[], bool],
                 start_daemon: Optional[Callable[[], None]],
                 seconds: Optional[float] = None,
                 passing: Errors = errors.PASSING):
        """
        Args:
          what: the name of what is read, for messages.
          attach: a function that tries briefly to continue. It returns True if it
            succeeded, and False if it should be called again at once. It raises one of
            `passing` if it should be called again after a pause.
          start_daemon: a function that starts a daemon if none listens; None if this
            process must not start one.
          seconds: how long to wait; None: `reattach_seconds()`.
          passing: the errors that may pass. All other errors are final, as are errors
            of the user's own code.
        """
        self._what = what
        self._attach = attach
        self._start_daemon = start_daemon
        self._pauses = backoff()
        self._next_start = 0.0
        self._seconds = reattach_seconds() if seconds is None else seconds
        self._passing = passing
        self._began: Optional[float] = None

    def wait(self, error: errors.ForebayError) -> None:
        """Waits until the loader can continue. `error` is the reason why it stopped.

        Raises:
          errors.DaemonUnavailable, errors.SourceUnavailable: no batch came for
            `reattach_seconds()`.
          errors.ForebayError: the next daemon cannot continue. This error is final.
        """
        # This object keeps the error's message, and not the exception. An exception
        # would keep its frames alive, and with them batches.
        kind, why = type(error), str(error)
        del error
        if self._began is None:
            self._began = time.monotonic()
            if self._seconds > 0:
                _log.warning("%s: %s: waiting up to %g s to go on", self._what,
                             why, self._seconds)
        while True:
            # The time also runs out for a loader that continues each time, but always
            # stops again.
            if time.monotonic() - self._began >= self._seconds:
                raise self._given_up(kind, why) from None  # its message has the cause
            try:
                self._start()
                while not self._attach():
                    pass
                return
            except self._passing as again:
                if _user_error.is_marked(again):
                    raise
                kind, why = type(again), str(again)

    def _given_up(self, kind, why):
        if self._seconds > 0:
            why = (f"{self._what}: {why}, for {self._seconds:g} s by now: see "
                   f"${_VARIABLE}")
        return kind(why)

    def _start(self):
        if self._start_daemon is None or time.monotonic() < self._next_start:
            return
        try:
            self._start_daemon()
        finally:
            # If a daemon exits at once, the next one is started only after a pause.
            self._next_start = time.monotonic() + next(self._pauses)

    def done(self) -> None:
        """Logs that a batch has come again."""
        if self._began is not None:
            _log.warning("%s: goes on after %.1f s", self._what,
                         time.monotonic() - self._began)
