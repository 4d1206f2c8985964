"""A process that stands by to be the first worker."""

import fcntl
import os
import select
import signal
import socket
import struct

import pytest

from forebay._stage import standby, wire
from forebay._stage.standby import Standby
from forebay._stage.workers import Workers

F_ADD_SEALS, F_SEAL_FUTURE_WRITE = 1033, 0x10
SIZE = 4096


def task(command, slot):
    return struct.pack("<IIQQII", command, slot, SIZE, 0, 0, 0)


def has_done(process, message, fds):
    process.tell(message, fds)
    return process.has_done()


def write_in_each(tasks, slots):
    """Writes its number into each slot, when a task asks for that."""
    tasks.recv(1)
    for number, slot in slots.items():
        slot.protect(writable=True)
        slot.memory[0] = number
    tasks.send(bytes(slots))


@pytest.fixture
def process():
    """A process that stands by, and then writes into its slots."""
    ours, theirs = standby.pair()
    pid = os.fork()
    if pid == 0:
        try:
            ours.close()
            standby.announce(theirs)
            wanted = standby.wait(theirs)
            if wanted is not None:
                write_in_each(*wanted)
        finally:
            os._exit(0)
    theirs.close()
    assert standby.is_announced(ours)
    return Standby(pid, ours)


@pytest.fixture
def workers():
    made = Workers(select.poll())
    yield made
    made.end(5)


@pytest.fixture
def memory():
    fd = os.memfd_create("slot", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, SIZE)
    yield fd
    os.close(fd)


def test_it_writes_slots_that_were_sealed_since(process, workers, memory):
    assert has_done(process, task(wire.MAP_SLOT, 7), [memory])
    assert has_done(process, task(wire.MAP_SLOT, 8), [memory])
    assert has_done(process, task(wire.UNMAP_SLOT, 8), [])
    fcntl.fcntl(memory, F_ADD_SEALS, F_SEAL_FUTURE_WRITE)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        assert process.start(task(wire.FORK, 0), theirs.fileno())
        workers.add(process.pid, theirs.fileno())
        ours.send(b".")
        assert ours.recv(8) == b"\7"
    assert os.pread(memory, 1, 0) == b"\7"


def test_one_that_is_not_wanted_ends(process, workers):
    process.dismiss(workers)
    workers.end(5)
    assert workers.last_end == "exit status 0"


def test_one_that_is_gone_does_nothing(process, workers, memory):
    os.kill(process.pid, signal.SIGKILL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert not has_done(process, task(wire.MAP_SLOT, 1), [memory])
    assert not process.start(task(wire.FORK, 0), memory)
    process.dismiss(workers, kills=True)


def test_one_that_stands_still_is_not_waited_for(process, workers, memory):
    os.kill(process.pid, signal.SIGSTOP)
    assert not has_done(process, task(wire.MAP_SLOT, 1), [memory])
    process.dismiss(workers, kills=True)
    workers.end(5)
    assert "SIGKILL" in workers.last_end


def test_one_that_cannot_map_a_slot_ends(process, workers):
    read, write = os.pipe()
    try:
        assert not has_done(process, task(wire.MAP_SLOT, 1), [read])
    finally:
        os.close(read)
        os.close(write)
    process.dismiss(workers)
    workers.end(5)
    assert workers.last_end == "exit status 0"
