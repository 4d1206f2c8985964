"""The process that iterates for all jobs, from the daemon's side."""

import contextlib
import errno
import mmap
import os
import socket
import struct
import threading

import pytest

from forebay._share import iterator_process
from forebay._stage import payload, wire

_TASK = struct.Struct("<IIQQII")


def pair():
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in ends:
        end.settimeout(10)
    return ends


class Fails:
    """An iterable that raises an error."""

    def make(self, memory, epoch, number):
        raise SystemExit

    def over(self):
        pass

    def keep_from_children(self, connection):
        pass


@pytest.mark.parametrize("message", [
    b"?", _TASK.pack(wire.MAKE, 0, 0, 0, 1, 0) + struct.pack("<QQII", 1, 1, 9, 0)],
    ids=["no task", "no slot"])
def test_a_worker_that_gets_a_damaged_task_hangs_up(message, monkeypatch, capfd):
    uncaught = []
    monkeypatch.setattr(threading, "excepthook", uncaught.append)
    tasks, theirs = pair()
    theirs.settimeout(None)
    worker, its = pair()
    its.settimeout(None)
    iterator_process._Stream(Fails(), theirs, 1024).start()
    socket.send_fds(tasks, [_TASK.pack(wire.FORK, 0, 0, 0, 0, 0)], [its.fileno()])
    its.close()
    assert tasks.recv(wire.MAX_MESSAGE) == wire.answer(0)
    worker.send(message)
    assert worker.recv(wire.MAX_MESSAGE) == b""
    tasks.close()
    assert not uncaught
    assert capfd.readouterr().err.startswith("the daemon's task is damaged: ")


def test_it_listens_on_when_it_has_no_descriptor_to_spare():
    ours, theirs = socket.socketpair()
    answers = [OSError(errno.EMFILE, "too many"), (theirs, ""), SystemExit()]

    class Listener:
        def accept(self):
            answer = answers.pop(0)
            if isinstance(answer, BaseException):
                raise answer
            return answer

    with pytest.raises(SystemExit):
        iterator_process._IteratorProcess(Listener(), [1], "nowhere")._listen()
    assert not answers
    ours.close()


class Grows:
    """An iterable of batches of 100 bytes, except for one."""

    def __init__(self):
        self.asked = []

    def make(self, memory, epoch, number):
        self.asked.append(number)
        payload.write(memory, payload.BATCH, bytes(5000 if number == 2 else 100))
        return payload.needed(memory)

    def over(self):
        pass

    def keep_from_children(self, connection):
        pass


def test_a_batch_that_is_too_large_is_the_last_of_its_stream():
    tasks, theirs = pair()
    theirs.settimeout(None)
    worker, its = pair()
    its.settimeout(None)
    made = Grows()
    iterator_process._Stream(made, theirs, 1024).start()
    slot = os.memfd_create("slot")
    os.truncate(slot, 4096)
    for order, descriptor in ((
            _TASK.pack(wire.MAP_SLOT, 1, 4096, 0, 1, 0) + struct.pack("<Q", 64),
            slot), (_TASK.pack(wire.FORK, 0, 0, 0, 0, 0), its.fileno())):
        socket.send_fds(tasks, [order], [descriptor])
        assert tasks.recv(wire.MAX_MESSAGE) == wire.answer(0)
    its.close()
    kinds = []
    with mmap.mmap(slot, 4096) as memory:
        for number in range(5):
            worker.send(_TASK.pack(wire.MAKE, 0, 0, 0, 1, 0) +
                        struct.pack("<QQII", number, 0, 1, 0))
            worker.recv(wire.MAX_MESSAGE)
            found = payload.read(memory[64:64 + 1024])
            kinds.append(found.kind)
            if found.kind == payload.TOO_LARGE:
                assert found.value[0] > 5000
    assert kinds == [payload.BATCH] * 2 + [payload.TOO_LARGE] * 3
    assert made.asked == [0, 1, 2]  # later batches are for the next stream
    tasks.close()
    worker.close()
    os.close(slot)


@pytest.fixture
def process():
    """A process that iterates over numbers, without clients."""
    with socket.socket() as listener:
        yield iterator_process._IteratorProcess(listener, lambda: iter(range(10)),
                                                "nowhere")


def test_a_job_keeps_its_place_though_another_began_the_process(process):
    assert process._prepare(None, 0, 0, None)[:3] == (None, 0, 0)
    assert process._prepare(3, 0, 150, None)[:3] == (3, 0, 150)
    for number in range(10):
        made = process._iteration.give(3, number)[1]
        assert made[:3] == (3, number, 150) and made[4] == number
    assert process._iteration.give(3, 10) == (payload.END, (3, 10, 150, 4))


def test_what_a_job_goes_on_with_cuts_no_iteration_of_others(process):
    assert process._prepare(0, 3, 0, None)[:3] == (0, 3, 0)
    assert process._iteration.give(0, 3)[1][4] == 3
    assert process._prepare(1, 2, 10, None)[:3] == (1, 2, 10)
    assert process._iteration.give(0, 4) == (payload.END, (0, 10, 0, 1))


def test_who_comes_while_it_ends_is_turned_away(tmp_path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        listener.listen()
        clients = []
        for _ in range(3):
            client = socket.socket(socket.AF_UNIX)
            client.settimeout(5)
            client.connect(str(tmp_path / "socket"))
            clients.append(client)
        ending = iterator_process._IteratorProcess(listener, [1], "nowhere")
        ending._idleness.leave()
        ending.run()
        for client in clients:
            with client, contextlib.suppress(ConnectionResetError):
                assert client.recv(1) == b""
