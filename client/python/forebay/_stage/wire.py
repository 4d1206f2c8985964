"""Reads and writes the messages that proto/worker_socket.h describes."""

from __future__ import annotations

import errno
import os
import socket
import struct
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

from .. import _system_error

MAX_MESSAGE = 64 * 1024
MAX_ERROR = 1900  # kMaxWorkerError: the largest number of bytes of a text
MAP_SLOT, UNMAP_SLOT, FORK, MAKE, MAKE_ON_DEVICE = range(1, 6)

_TASK = struct.Struct("<IIQQII")
_SAMPLES = {MAKE: struct.Struct("<QQII"),
            MAKE_ON_DEVICE: struct.Struct("<QQIIII")}
_ANSWER = struct.Struct("<QII")
_FAILURE = struct.Struct("<II")


class Sample(NamedTuple):
    """A sample to be made.

    Attributes:
      id: the sample's number in the dataset.
      seed: 64 bits that seed the random generators for the sample.
      slot: the number of the slot.
      row: the sample's place in the batch.
      device: the number of the memory in which the slot's device part is made; None if
        all fields lie in the slot.
    """

    id: int
    seed: int
    slot: int
    row: int
    device: Optional[int] = None


class Task(NamedTuple):
    """A task that the daemon has sent.

    Attributes:
      command: MAP_SLOT, UNMAP_SLOT, FORK, MAKE or MAKE_ON_DEVICE.
      slot: the slot's number, or the number of the worker to fork.
      bytes: the size of the slot.
      epoch: the epoch of the samples.
      offsets: the fields' offsets, each in the part of the slot in which the field
        lies.
      samples: the samples to be made.
    """

    command: int
    slot: int
    bytes: int
    epoch: int
    offsets: Tuple[int, ...]
    samples: List[Sample]


def receive_task(tasks: socket.socket) -> Tuple[bytes, List[int], Optional[OSError]]:
    """Receives a task. Its message is empty if the daemon has hung up.

    Returns:
      The message, its descriptors, and an error if a descriptor was lost.
    """
    message, fds, flags, _ = socket.recv_fds(tasks, MAX_MESSAGE, 1)
    lost = flags & socket.MSG_CTRUNC
    return message, fds, (OSError(errno.EMFILE, os.strerror(errno.EMFILE)) if lost
                          else None)


def read_task(message: bytes) -> Task:
    """Reads a task.

    Raises:
      struct.error: the message is too short for a task.
    """
    command, slot, size, epoch, count, _ = _TASK.unpack_from(message)
    offsets: Tuple[int, ...] = ()
    samples: List[Sample] = []
    if command == MAP_SLOT:
        offsets = struct.unpack_from(f"<{count}Q", message, _TASK.size)
    elif command in _SAMPLES:
        one = _SAMPLES[command]
        behind = message[_TASK.size:_TASK.size + count * one.size]
        samples = [Sample(*values[:5]) for values in one.iter_unpack(behind)]
    return Task(command, slot, size, epoch, offsets, samples)


def answer(cpu_nanos: int,
           failures: Sequence[Tuple[int, str]] = ()) -> bytes:
    """Makes an answer.

    Args:
      failures: for each sample that failed, its place in the task and the reason.
    """
    parts: List[Any] = [_ANSWER.pack(cpu_nanos, len(failures), 0)]
    room = MAX_MESSAGE - _ANSWER.size - len(failures) * _FAILURE.size
    for index, why in failures:
        text = _shortened(why.encode(errors="replace"), min(MAX_ERROR, room))
        room -= len(text)
        parts += (_FAILURE.pack(index, len(text)), text)
    return b"".join(parts)


def failure_of(process: str, error: Exception) -> str:
    """Returns a text that says why a process failed in a task other than making
    samples."""
    return f"{process}: " + (
        _system_error.reason(error) if isinstance(error, OSError) else
        f"{type(error).__name__}: {error}")


def _shortened(text: bytes, most: int) -> bytes:
    """Leaves out the middle of a traceback. The beginning says where the call began,
    and the end has the exception."""
    if len(text) <= most:
        return text
    head = min(most // 4, 400)
    tail = most - head - 5
    if tail <= 0:
        return text[:most]
    return text[:head] + b"\n...\n" + text[len(text) - tail:]
