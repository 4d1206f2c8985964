"""Actions before, during and after a fork.

A forked child lacks the threads that may hold a lock. Text in buffers exists in both
processes.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
import weakref
from typing import Any, Dict, Iterator, List, Tuple

_objects: "weakref.WeakSet[Any]" = weakref.WeakSet()


def watch(thing: Any) -> None:
    """Calls `thing._after_fork()` in each forked child, while `thing` lives."""
    _objects.add(thing)


class Descriptor:
    """A file descriptor that only this process keeps. Forked children close their
    copies, because a copy would keep the file or socket open.

    Attributes:
      number: int; -1 once it is closed.
    """

    def __init__(self, number: int, passes_on: bool = False):
        """
        Args:
          passes_on: whether children that this thread forks keep their copy.
        """
        self.number = number
        self._heir = threading.get_ident() if passes_on else None
        watch(self)

    def close(self) -> None:
        number, self.number = self.number, -1
        if number >= 0:
            os.close(number)

    def _after_fork(self) -> None:
        if threading.get_ident() != self._heir:
            self.close()


def end(connection: Any) -> None:
    """Closes a multiprocessing.connection.Connection over a socket. The process at the
    other end notices it, although a child of this process may have inherited a copy."""
    if connection.closed:
        return
    with contextlib.suppress(OSError):  # the other end is closed already
        with socket.socket(fileno=os.dup(connection.fileno())) as ours:
            ours.shutdown(socket.SHUT_RDWR)
    connection.close()


def flush_output() -> None:
    """Writes out text in the buffers of stdout and stderr, so that a forked child does
    not write the text again. Skips a stream that is closed, missing or cannot be
    flushed."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


# The handlers, by signal, that `without_interruption` has replaced.
_handlers: Dict[int, Any] = {}


@contextlib.contextmanager
def without_interruption() -> Iterator[None]:
    """Puts off Python's signal handlers, such as that of KeyboardInterrupt, until the
    block has ended. Without this, an exception between a fork and the next line could
    leave a process that nobody knows of. The block should take milliseconds."""
    if _handlers or threading.current_thread() is not threading.main_thread():
        yield  # handlers are put off already, or run in another thread
        return
    came: List[Tuple[int, Any]] = []
    raised: List[BaseException] = []

    def note(number: int, frame: Any) -> None:
        came.append((number, frame))

    try:
        for each in signal.valid_signals():
            handler = signal.getsignal(each)
            if callable(handler):
                # The handler is stored first, because a signal may come before signal()
                # returns.
                _handlers[each] = handler
                signal.signal(each, note)
        yield
    finally:
        while _handlers:
            try:
                _restore_handlers()
            except BaseException as error:  # raised by a handler that is restored
                raised.append(error)
        for number, frame in came:
            handler = signal.getsignal(number)
            if callable(handler):
                handler(number, frame)
        if raised:
            raise raised[0]


def _restore_handlers() -> None:
    for number, handler in list(_handlers.items()):
        signal.signal(number, handler)
        del _handlers[number]


def _after_fork() -> None:
    if _handlers:
        _restore_handlers()
    for thing in _objects:
        thing._after_fork()


os.register_at_fork(after_in_child=_after_fork)
