"""Clients with forks, signals and threads, and with daemons that come and go."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading

import numpy
import pytest
import torch

import forebay
from test_client_batches import open_loader, reference
from trouble import (PATIENCE, expect_line, nothing_left_behind, slot_bytes,
                     trainer)


def in_child(check):
    """Forks. The child runs `check`. Returns the child's exit status."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            check()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def expected_images(photos, first, last):
    return reference(photos)[0][first:last].transpose(0, 3, 1, 2)


def test_parent_and_child_keep_held_batches(daemon, photos):
    expected = expected_images(photos, 0, 8)
    to_child, from_parent = os.pipe()
    with open_loader(photos) as loader:
        iterator = iter(loader)
        batch = next(iterator)

        def check(held=batch):
            os.read(to_child, 1)  # the parent has then read on
            numpy.testing.assert_array_equal(held.image, expected)
            held.image[:] = 1

        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                check()
                status = 0
            finally:
                os._exit(status)
        numpy.testing.assert_array_equal(batch.image, expected)
        del batch, check
        seen = [b.image.copy() for b in iterator]
        more = [b.image.copy() for _ in range(3) for b in loader]
        os.write(from_parent, b"x")
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        whole = expected_images(photos, 0, 48)
        numpy.testing.assert_array_equal(numpy.concatenate(seen), whole[8:])
        numpy.testing.assert_array_equal(
            numpy.concatenate(more), numpy.concatenate([whole] * 3))


def test_releasing_in_the_child_tells_nobody(daemon, photos):
    with open_loader(photos) as loader:
        iterator = iter(loader)
        held = [next(iterator)]

        def check():
            held.clear()
            loader.close()

        assert in_child(check) == 0
        assert loader.stats()["batches_held"] == 1
        numpy.testing.assert_array_equal(held[0].image,
                                         expected_images(photos, 0, 8))
        assert len(list(iterator)) == len(loader) - 1


def test_loader_opens_its_own_session_in_the_child(daemon, photos):
    with open_loader(photos) as loader:
        iterator = iter(loader)
        next(iterator)

        def check():
            with pytest.raises(forebay.StateError, match="forked"):
                next(iterator)
            got = numpy.concatenate([b.image for b in loader])
            numpy.testing.assert_array_equal(got,
                                             expected_images(photos, 0, 48))

        assert in_child(check) == 0
        assert len(list(iterator)) == len(loader) - 1


@pytest.mark.parametrize("kind", ["loader", "dataset"])
def test_a_child_that_lives_keeps_nothing_of_what_its_parent_closes(
        daemon, photos, kind):
    end, tell = os.pipe()
    with nothing_left_behind(daemon) as wait:
        if kind == "loader":
            opened = open_loader(photos)
            list(opened)
        else:
            opened = forebay.Dataset(photos)
            opened.__getitems__(range(48))
        pid = os.fork()
        if pid == 0:
            os.read(end, 1)
            os._exit(0)
        try:
            if kind == "loader":
                opened.close()
            del opened
            wait()
        finally:
            os.write(tell, b"x")
            assert os.waitpid(pid, 0)[1] == 0


EXEC = """
import os
with open_loader(sys.argv[1], batch_size=8) as loader, \\
        open_loader(sys.argv[1], batch_size=8, shuffle=True) as unread:
    iterator, other = iter(loader), iter(unread)
    held = [next(iterator), next(iterator)]
    dataset = forebay.Dataset(sys.argv[1])
    dataset[0]
    print("holds", flush=True)
    sys.stdin.readline()
    os.execv("/bin/sh", ["sh", "-c", "echo lives; read line"])
"""


def test_who_becomes_another_program_keeps_nothing(daemon, photos):
    """After exec, the process runs another program, and has nothing mapped."""
    with nothing_left_behind(daemon) as wait, \
            trainer(EXEC, photos) as process:
        expect_line(process, "holds")
        assert slot_bytes(daemon) > 0
        process.stdin.write(b"go\n")
        process.stdin.flush()
        expect_line(process, "lives")
        wait()
        assert process.poll() is None


def test_fork_while_another_thread_waits_for_a_batch(daemon, photos):
    """The child inherits locks, but not the threads that hold them."""
    with open_loader(photos) as loader:
        iterator = iter(loader)
        read, reading, go_on = (iterator._next_memory, threading.Event(),
                                threading.Event())

        def slowly():
            reading.set()
            assert go_on.wait(PATIENCE)
            return read()

        iterator._next_memory = slowly
        thread = threading.Thread(target=next, args=(iterator,))
        thread.start()
        assert reading.wait(PATIENCE)

        def check():
            signal.alarm(20)  # ends a hang
            with pytest.raises(forebay.StateError, match="forked"):
                next(iterator)
            assert len(list(loader)) == len(loader)

        try:
            assert in_child(check) == 0
        finally:
            go_on.set()
            thread.join()
        iterator._next_memory = read
        assert len(list(iterator)) == len(loader) - 1


def _sum_of(photos, result):
    with open_loader(photos) as loader:
        result.put(sum(int(b.image.sum()) for b in loader))


def test_multiprocessing_fork(daemon, photos):
    context = multiprocessing.get_context("fork")
    with open_loader(photos) as loader:
        batch = next(iter(loader))
        result = context.Queue()
        child = context.Process(target=_sum_of, args=(photos, result))
        child.start()
        total = result.get(timeout=PATIENCE)
        child.join()
        assert child.exitcode == 0
        assert total == int(reference(photos)[0].sum())
        assert batch.image.shape == (8, 3, 72, 96)


class _Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return index


def test_torch_workers_start_while_batches_are_held(daemon, photos):
    with open_loader(photos, framework="torch") as loader:
        for batch in loader:
            before = batch.image.clone()
            workers = torch.utils.data.DataLoader(_Numbers(), num_workers=2)
            assert sorted(int(n) for n in workers) == list(range(8))
            assert torch.equal(batch.image, before)


SPIN = """
import sys, forebay
from forebay import transforms as T
try:
    with forebay.DataLoader(sys.argv[1], batch_size=8, framework="numpy",
                            transform=T.CenterCrop(64)) as loader:
        print("ready", flush=True)
        held = []
        while True:
            for batch in loader:
                pass
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(130)
"""


def test_interrupt_ends_cleanly(daemon, photos):
    with subprocess.Popen([sys.executable, "-c", SPIN, str(photos)],
                          stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as trainer:
        assert trainer.stdout.readline() == b"ready\n"
        trainer.send_signal(signal.SIGINT)
        try:
            out, err = trainer.communicate(timeout=PATIENCE)
        finally:
            trainer.kill()
        assert (trainer.returncode, out, err) == (130, b"interrupted\n", b"")


WAIT_IN_VAIN = """
import forebay
from forebay import transforms as T
loader = forebay.DataLoader(sys.argv[1], batch_size=1, framework="numpy",
                            transform=T.CenterCrop(64))
try:
    iterator = iter(loader)
    next(iterator)
    print("reads", flush=True)
    input()
    for batch in iterator:
        pass
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_interrupt_beside_a_daemon_that_stands_still(daemon, photos):
    """The trainer leaves, although nobody answers it."""
    with trainer(WAIT_IN_VAIN, photos) as process:
        expect_line(process, "reads")
        daemon.process.send_signal(signal.SIGSTOP)
        try:
            process.stdin.write(b"go\n")
            process.stdin.flush()
            process.send_signal(signal.SIGINT)
            # Other calls would wait 30 s for an answer.
            assert process.wait(20) == 130
        finally:
            daemon.process.send_signal(signal.SIGCONT)


def test_interrupt_while_waiting(daemon, photos):
    """A signal handler that raises ends next()'s wait even while no batch comes."""
    class Rang(Exception):
        pass

    def ring(*_):
        raise Rang

    with open_loader(photos) as loader:
        iterator = iter(loader)
        daemon.process.send_signal(signal.SIGSTOP)
        old = signal.signal(signal.SIGALRM, ring)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with pytest.raises(Rang):
                while True:
                    next(iterator, None)
        finally:
            signal.signal(signal.SIGALRM, old)
            daemon.process.send_signal(signal.SIGCONT)
        assert len(list(loader)) == len(loader)


def test_threads_share_an_epoch(daemon, photos):
    with open_loader(photos, batch_size=2) as loader:
        iterator, seen = iter(loader), []

        def work():
            for batch in iterator:
                seen.extend(int(i) for i in batch.sample_ids)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(seen) == list(range(48))


def test_goes_on_with_a_restarted_daemon(daemon, photos):
    with open_loader(photos, shuffle=True) as loader:
        whole = [int(i) for b in loader for i in b.sample_ids]
        loader.set_epoch(0)
        iterator = iter(loader)
        held = next(iterator)
        kept = held.image.copy()
        seen = [int(i) for i in held.sample_ids]
        daemon.stop(signal.SIGKILL)
        daemon.start()
        for batch in iterator:
            seen += [int(i) for i in batch.sample_ids]
        assert seen == whole
        numpy.testing.assert_array_equal(held.image, kept)


def test_no_daemon_is_said_so(tmp_path, photos, monkeypatch):
    monkeypatch.setenv("FOREBAY_RUNTIME_DIR", str(tmp_path))
    os.chmod(tmp_path, 0o700)
    with pytest.raises(forebay.DaemonUnavailable, match="no Forebay daemon"):
        open_loader(photos)


def test_directory_that_others_may_write_to_is_refused(tmp_path, photos,
                                                       monkeypatch):
    monkeypatch.setenv("FOREBAY_RUNTIME_DIR", str(tmp_path))
    os.chmod(tmp_path, 0o777)
    with pytest.raises(forebay.PermissionDenied, match="written by other users"):
        open_loader(photos)
