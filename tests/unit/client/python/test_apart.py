"""Processes that are nobody's child."""

import os
import signal
import socket

import pytest

from forebay import _apart


def started(work, *arguments, **options):
    """A process that does the work, and the descriptor that it says "done" on."""
    read, write = os.pipe()

    def run():
        os.close(read)
        work(write, *arguments)
        os.write(write, b"done")

    process = _apart.Process(run, (), **options)
    os.close(write)
    return process, read


def wait_for(process, read):
    assert os.read(read, 4) == b"done"
    os.close(read)
    process.join(20)
    assert not process.is_alive()


def test_it_is_nobodys_child_and_has_a_session_of_its_own():
    def work(write):
        os.write(write, f"{os.getpid()} {os.getsid(0)} {os.getppid()}".encode())

    process, read = started(work)
    pid, session, parent = map(int, os.read(read, 100).split(b"done")[0].split())
    os.close(read)
    assert pid == process.pid
    assert session not in (os.getsid(0), pid)  # that of its short-lived parent
    assert parent != os.getpid() or os.getpid() == 1


def test_it_can_be_killed():
    process, read = started(lambda write: signal.pause())
    assert process.is_alive()
    process.kill()
    process.join(20)
    assert not process.is_alive()
    process.kill()
    os.close(read)


def test_nothing_is_run_for_a_starter_that_was_interrupted():
    read, write = os.pipe()
    os.close(read)
    _apart._run(write, pytest.fail, ("it ran",))
    os.close(write)


def test_a_port_that_the_starter_listens_on_is_free_when_it_closes_it():
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    ready, told = os.pipe()

    def work(write):
        del write
        _apart.leave_to_starter(())
        os.write(told, b"left")
        os.read(go, 1)

    go, end = os.pipe()
    process, read = started(work)
    assert os.read(ready, 4) == b"left"
    listener.close()
    socket.create_server(("127.0.0.1", port)).close()
    os.write(end, b".")
    wait_for(process, read)
    for descriptor in (ready, told, go, end):
        os.close(descriptor)


def test_what_connected_the_starter_ends_with_it():
    ours, theirs = socket.socketpair()
    pipe, other_end = os.pipe()
    memory = os.memfd_create("kept")
    go, end = os.pipe()

    def work(write):
        os.close(end)
        _apart.outlive_starter((write, go))
        os.read(go, 1)
        os.write(memory, b"kept")
        theirs.close()  # its number is taken still: nothing else is closed
        os.write(other_end, b"to nobody")

    process, read = started(work)
    theirs.close()
    os.close(other_end)
    assert ours.recv(1) == b""
    assert os.read(pipe, 1) == b""
    os.close(end)
    wait_for(process, read)
    assert os.pread(memory, 4, 0) == b"kept"
    for descriptor in (pipe, memory, go):
        os.close(descriptor)


@pytest.mark.parametrize("has_children", [False, True])
def test_multiprocessing_lets_it_start_processes_or_not(has_children):
    def work(write):
        import multiprocessing
        made = multiprocessing.get_context("fork").Process(target=int)
        try:
            made.start()
            made.join()
            os.write(write, b"yes")
        except AssertionError:
            os.write(write, b"no ")

    process, read = started(work, has_children=has_children)
    assert os.read(read, 3) == (b"yes" if has_children else b"no ")
    wait_for(process, read)
