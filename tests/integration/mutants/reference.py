"""Runs reference readers on files that may crash them or make them run for ever."""

import os
import pickle
import resource
import select
import signal
import struct

REFUSED, CRASHED, TOO_LARGE = "refused", "crashed", "too large"
PATIENCE = 5.0  # seconds for one file
MOST_MEMORY = 6 << 30  # bytes


class TooLargeError(Exception):
    """The file needs more memory than a test should take."""


class Verdict:
    """How a reference reads a file.

    Attributes:
      value: what the reference reads; None unless `state` is None.
      state: None, or one of the constants above.
      error: str, why the reference refuses the file.
    """

    def __init__(self, value=None, state=None, error=""):
        self.value, self.state, self.error = value, state, error


def _judge(read, item):
    try:
        return Verdict(read(item))
    except TooLargeError as error:
        return Verdict(None, TOO_LARGE, str(error))
    except Exception as error:
        return Verdict(None, REFUSED, f"{type(error).__name__}: {error}"[:200])


def _serve(read, items, out):
    """Reads items in a child process, which ends afterwards."""
    try:
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        with os.fdopen(out, "wb") as pipe:
            for item in items:
                answer = pickle.dumps(_judge(read, item))
                pipe.write(struct.pack("<Q", len(answer)) + answer)
                pipe.flush()
    finally:
        os._exit(0)


def _take(pipe, size):
    """Returns `size` bytes of a pipe, or None if the child has died or hangs."""
    parts = []
    while size:
        if not select.select([pipe], [], [], PATIENCE)[0]:
            return None
        part = os.read(pipe, min(size, 1 << 20))
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _verdicts_of_a_child(read, items):
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(out)
        _serve(read, items, into)
    os.close(into)
    found = []
    try:
        for _ in items:
            head = _take(out, 8)
            answer = head and _take(out, struct.unpack("<Q", head)[0])
            if answer is None:
                break
            found.append(pickle.loads(answer))
    finally:
        os.close(out)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return found


def verdicts(read, items):
    """Reads each item by a reader in child processes.

    Args:
      read: function that takes an item and returns its value, or raises an exception.
      items: list of arguments for `read`.

    Returns:
      A list of one Verdict for each item.
    """
    found = []
    while len(found) < len(items):
        found += _verdicts_of_a_child(read, items[len(found):])
        if len(found) < len(items):
            found.append(Verdict(None, CRASHED))
    return found
