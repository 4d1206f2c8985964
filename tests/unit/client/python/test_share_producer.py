"""The process that iterates for all jobs, as the daemon sees it."""

import socket
import struct

import pytest

from forebay._share import producer
from forebay._stage import wire

_TASK = struct.Struct("<IIQQII")


def pair():
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in ends:
        end.settimeout(10)
    return ends


class Fails:
    """Iterates in vain."""

    def make(self, memory, epoch, number):
        raise SystemExit

    def over(self):
        pass


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("message", [
    b"?", _TASK.pack(wire.MAKE, 0, 0, 0, 1, 0) + struct.pack("<QQII", 1, 1, 9, 0)],
    ids=["no task", "no slot"])
def test_a_worker_that_fails_hangs_up(message):
    tasks, theirs = pair()
    theirs.settimeout(None)
    worker, its = pair()
    its.settimeout(None)
    producer._Stream(Fails(), theirs, 1024).start()
    socket.send_fds(tasks, [_TASK.pack(wire.FORK, 0, 0, 0, 0, 0)], [its.fileno()])
    its.close()
    assert tasks.recv(wire.MAX_MESSAGE) == wire.answer(0)
    worker.send(message)
    assert worker.recv(wire.MAX_MESSAGE) == b""
    tasks.close()
