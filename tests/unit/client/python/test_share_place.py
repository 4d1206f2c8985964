"""Where the jobs that share an iterable meet: the lock, and the requests of jobs."""

import socket
import threading

import pytest

import forebay
from forebay._share import place
from forebay._share.deadline import Deadline, Missed
from forebay._share.place import Place
from thread_forks import end, fork_in_a_thread


@pytest.fixture
def folder(tmp_path):
    """A daemon's folder."""
    made = tmp_path / "run"
    made.mkdir(mode=0o700)
    return made


def test_a_fork_by_another_thread_keeps_no_job_away(folder):
    came = threading.Event()

    def join():
        with Place("k", str(folder)).locked(Deadline(0)):
            came.set()

    with Place("k", str(folder)).locked(Deadline(0)):
        child = fork_in_a_thread()
    another = threading.Thread(target=join, daemon=True)
    another.start()
    try:
        assert came.wait(5)
    finally:
        end(child)
        another.join()


def test_a_fork_by_another_thread_does_not_listen(folder, monkeypatch):
    children = []

    def ends_at_once(*_):
        children.append(fork_in_a_thread())
        raise ChildProcessError

    monkeypatch.setattr(place._apart, "Process", ends_at_once)
    at = Place("k", str(folder))
    try:
        with at.locked(Deadline(0)) as locked, pytest.raises(forebay.StateError):
            at.start(locked, [1], Deadline(0))
    finally:
        end(children[0])


def test_no_job_waits_longer_than_it_may_for_others(folder):
    with Place("k", str(folder)).locked(Deadline(0)):
        with pytest.raises(Missed):
            with Place("k", str(folder)).locked(Deadline(0.2)):
                pass
    with Place("k", str(folder)).locked(Deadline(0.2)):
        pass


def test_no_job_waits_longer_than_it_may_for_a_process_that_is_stopped(folder):
    at = Place("k", str(folder))
    with at.locked(Deadline(0)) as locked, \
            socket.socket(socket.AF_UNIX) as listener:
        listener.bind(at._socket(locked))
        listener.listen(1)
        # Three cases fail: there is no answer, nobody reads more bytes than a socket
        # holds, and the queue of connections is full.
        with pytest.raises(Missed):
            at.find(locked, Deadline(0.2)).prepare(None, 0, 0, None)
        with pytest.raises(Missed):
            at.find(locked, Deadline(0.2)).prepare(None, 0, 0, bytes(1 << 23))
        with pytest.raises(Missed):
            at.find(locked, Deadline(0.2))
