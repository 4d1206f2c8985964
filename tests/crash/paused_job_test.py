"""Pauses jobs whose datasets are the user's code: stops their trainers, hosts and
workers. No other job waits for these processes, and they go on when they are
continued."""

import contextlib
import os
import pathlib
import signal

import pytest

from daemons import serving
from own_processes import hosts, workers
from trouble import (contents, expect_line, memory_used, open_loader, slot_bytes,
                     trainer, until)

HEAD = """
sys.path.insert(0, sys.argv[1])
from paused_trainer import *
note_hosts()
"""


@pytest.fixture
def paused_daemon(tmp_path, monkeypatch):
    """A daemon that takes slots back from idle loaders."""
    config = tmp_path / "config.toml"
    config.write_text("[session]\nidle_seconds = 1\n")
    folder = tmp_path / "daemon"
    folder.mkdir()
    with serving(folder, "--config", config) as daemon:
        monkeypatch.setenv("FOREBAY_RUNTIME_DIR", str(daemon.runtime_dir))
        yield daemon


@contextlib.contextmanager
def job(script, *arguments):
    """Runs a trainer of paused_trainer, and continues and kills it at the end."""
    with trainer(HEAD + script, os.path.dirname(__file__), *arguments) as process:
        try:
            yield process
        finally:
            send(process, signal.SIGCONT)


def processes(process):
    """Returns a trainer, its hosts and their workers."""
    return [process.pid, *hosts(process.pid), *workers(process.pid)]


def send(process, number, found=processes):
    """Sends a signal to the processes of a trainer that `found` returns."""
    for pid in found(process):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def state(pid):
    """Returns the state of a process, as ps shows it."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "X"
    return text.rpartition(")")[2].split()[0]


def stop(process, found=processes):
    """Stops the processes of a trainer that `found` returns, and waits until they have
    stopped."""
    send(process, signal.SIGSTOP, found)
    until(lambda: all(state(pid) in "TZX" for pid in found(process)), "they stop")


def go_on(process):
    process.stdin.write(b"\n")
    process.stdin.flush()


def reads_all(photos, name="native"):
    """Reads all photographs by a job without code of its own."""
    with open_loader(photos, name=name, sharing="off") as loader:
        _, ids = contents(loader)
    assert sorted(ids) == list(range(len(ids)))


def test_others_go_on_while_a_host_is_stopped_before_it_forks(paused_daemon, photos):
    with job("stop_hosts_at_fork()\n"
             "train(loader_of(Noise, 1, workers=16, collate_fn=list_of))") as paused:
        host = until(lambda: [pid for pid in hosts(paused.pid) if state(pid) == "T"],
                     "its host stops")[0]
        for _ in range(3):
            reads_all(photos)
        assert state(host) == "T"
        os.kill(host, signal.SIGCONT)
        expect_line(paused, "epoch")
        go_on(paused)
        # The daemon has waited for the host that was stopped.
        expect_line(paused, "1 hosts")


def test_a_loader_opens_while_many_that_rest_are_paused(paused_daemon, photos):
    with contextlib.ExitStack() as stack:
        resting = [stack.enter_context(job(
            f"train(loader_of(Noise, {key}, persistent_workers=True), epochs=2)"))
            for key in range(9)]
        for process in resting:
            expect_line(process, "epoch")
            stop(process)
        assert slot_bytes(paused_daemon) > 0, "persistent workers keep theirs"
        for _ in range(3):
            reads_all(photos)
        for process in resting:
            send(process, signal.SIGCONT)
        for process in resting:
            go_on(process)
            expect_line(process, "epoch")
            go_on(process)
            expect_line(process, "1 hosts")


EQUAL = "train(loader_of(Noise, 7, share_key='equal'), first_step=True)"


def read_rest(process, batches):
    """Has a trainer read the `batches` batches that its epoch still has."""
    for _ in range(batches):
        go_on(process)
        expect_line(process, "batch")
    go_on(process)
    expect_line(process, "epoch")
    go_on(process)


def test_an_equal_job_goes_on_while_the_owner_of_the_workers_is_paused(
        paused_daemon):
    with job(EQUAL) as owner:
        expect_line(owner, "batch")
        with job(EQUAL) as other:
            expect_line(other, "batch")
            until(lambda: not workers(other.pid), "its own samples are made")
            stop(owner)
            read_rest(other, 14)
            expect_line(other, "1 hosts")  # the host that compared samples
            assert state(owner.pid) == "T"
        send(owner, signal.SIGCONT)
        read_rest(owner, 14)
        expect_line(owner, "1 hosts")


def test_an_equal_job_starts_while_the_owner_of_the_workers_is_paused(
        paused_daemon):
    with job(EQUAL) as owner:
        expect_line(owner, "batch")
        stop(owner)
        with job(EQUAL) as other:
            expect_line(other, "batch")
            read_rest(other, 14)
            other.stdout.readline()
            # A job that starts now shares the workers of `other`, or has workers of its
            # own.
            with job(EQUAL) as third:
                expect_line(third, "batch")
                read_rest(third, 14)
            assert state(owner.pid) == "T"
        send(owner, signal.SIGCONT)
        read_rest(owner, 14)
        expect_line(owner, "1 hosts")


def test_both_go_on_after_both_were_paused(paused_daemon):
    with job(EQUAL) as owner:
        expect_line(owner, "batch")
        with job(EQUAL) as other:
            expect_line(other, "batch")
            stop(owner)
            stop(other)
            memory_used(paused_daemon)
            send(other, signal.SIGCONT)
            send(owner, signal.SIGCONT)
            for process in (owner, other):
                read_rest(process, 14)


def test_a_stopped_worker_is_replaced(paused_daemon):
    with job("train(loader_of(Noise, 8), first_step=True)") as process:
        expect_line(process, "batch")
        stop(process, lambda one: workers(one.pid))
        read_rest(process, 14)
        expect_line(process, "1 hosts")


def test_a_worker_that_hangs_harms_no_other_job(paused_daemon, photos, tmp_path):
    hung = tmp_path / "hung"
    with job(f"train(loader_of(Hanging, {str(hung)!r}, collate_fn=list_of))") as one:
        pid = int(until(lambda: hung.exists() and hung.read_text(), "it hangs"))
        for _ in range(3):
            reads_all(photos)
        with job("train(loader_of(Noise, 9))") as other:
            expect_line(other, "epoch")
            go_on(other)
            expect_line(other, "1 hosts")
        assert state(pid) == "S"
        # The next worker makes the sample.
        os.kill(pid, signal.SIGKILL)
        expect_line(one, "epoch")
