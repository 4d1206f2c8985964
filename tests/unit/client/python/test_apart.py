"""Processes that are not children of this process."""

import multiprocessing
import os
import pathlib
import signal
import socket
import sys
import threading

import pytest

from forebay import _apart, _fork, errors


def started(work, *arguments, **options):
    """Starts a process that does `work`. Returns its id, and the descriptor on which it
    writes "done"."""
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
    # The session is that of its short-lived parent.
    assert session not in (os.getsid(0), pid)
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
    _apart._run(_fork.Descriptor(write), (sys.stdout, sys.stderr), pytest.fail,
                ("it ran",))
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


def test_multiprocessing_lets_it_start_processes():
    def work(write):
        import multiprocessing
        made = multiprocessing.get_context("fork").Process(target=int)
        try:
            made.start()
            made.join()
            os.write(write, b"yes")
        except AssertionError:
            os.write(write, b"no ")

    process, read = started(work)
    assert os.read(read, 3) == b"yes"
    wait_for(process, read)


class Broken:
    """A stream to which nothing can be written, as on a full disk."""

    def flush(self):
        raise OSError("no space left")

    def write(self, text):
        raise OSError("no space left")


@pytest.mark.parametrize("stream", [None, object(), Broken()])
def test_it_needs_no_stream_to_write_to(stream, monkeypatch):
    monkeypatch.setattr(sys, "stdout", stream)
    wait_for(*started(lambda write: None))


def test_it_starts_where_children_are_not_waited_for():
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        process, read = started(lambda write: None)
    finally:
        signal.signal(signal.SIGCHLD, before)
    wait_for(process, read)


def test_a_daemonic_process_says_why_it_starts_none():
    def work():
        with pytest.raises(errors.StateError, match="daemonic"):
            started(lambda write: None)

    process = multiprocessing.get_context("fork").Process(target=work, daemon=True)
    process.start()
    process.join()
    assert process.exitcode == 0


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def children():
    """Returns the process ids of this process's children, including ended ones."""
    return {pid for path in pathlib.Path("/proc/self/task").glob("*/children")
            for pid in path.read_text().split()}


def test_a_signal_while_it_starts_leaves_nothing(monkeypatch):
    """A signal handler raises an exception at each step of a start."""
    before, others = descriptors(), children()
    for name in ("fork", "waitpid", "pidfd_open"):
        genuine = getattr(os, name)

        def interrupted(*arguments, genuine=genuine, starter=os.getpid()):
            made = genuine(*arguments)
            if os.getpid() == starter:
                signal.raise_signal(signal.SIGINT)
            return made

        with monkeypatch.context() as patch:
            patch.setattr(os, name, interrupted)
            with pytest.raises(KeyboardInterrupt):
                _apart.Process(int, ())
        assert children() == others, "there is no zombie"
        assert descriptors() == before
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_handlers_run_once_when_an_interruption_is_let_through():
    came = []
    before = signal.signal(signal.SIGUSR1, lambda number, _: came.append(number))
    try:
        with _fork.without_interruption():
            with _fork.without_interruption():
                signal.raise_signal(signal.SIGUSR1)
            assert not came
        assert came == [signal.SIGUSR1]
        signal.raise_signal(signal.SIGUSR1)
        assert came == [signal.SIGUSR1] * 2
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_fork_by_another_thread_does_not_hide_a_failed_start(monkeypatch):
    children, raised = [], []
    fork = os.fork

    def fork_a_child():
        child = fork()
        if child == 0:
            while True:
                signal.pause()
        children.append(child)

    def fork_twice():
        thread = threading.Thread(target=fork_a_child)
        thread.start()
        thread.join()
        monkeypatch.undo()
        return fork()

    def start():
        try:
            _apart.Process(lambda: None, (), unwanted=(-1,))
        except ChildProcessError as error:
            raised.append(error)

    monkeypatch.setattr(os, "fork", fork_twice)
    starter = threading.Thread(target=start)
    starter.start()
    starter.join(5)
    has_ended = not starter.is_alive()
    os.kill(children[0], signal.SIGKILL)
    os.waitpid(children[0], 0)
    starter.join()
    assert has_ended and raised
