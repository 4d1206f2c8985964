"""Trainers, and a daemon, that die, stop or end early."""

import gc
import os
import shutil
import signal
import threading

import numpy
import pytest

import forebay
from daemons import serving
from trouble import (PATIENCE, contents, ctl, expect_line, neighbour,
                     nothing_left_behind, open_loader, slot_bytes, trainer,
                     until)

HOLD = """
loader = open_loader(sys.argv[1], batch_size=8)
iterator = iter(loader)
held = [next(iterator), next(iterator)]
print("holds", flush=True)
sys.stdin.read()
"""
LOOP = """
loader = open_loader(sys.argv[1], batch_size=8)
print("reads", flush=True)
while True:
    for batch in loader:
        pass
"""
ONE_EPOCH = """
loader = open_loader(sys.argv[1], batch_size=8)
iterator = iter(loader)
begin = contents([next(iterator)])
print("stopped", flush=True)
sys.stdin.readline()
rest = contents(iterator)
assert begin[1] + rest[1] == list(range(48))
print("done", flush=True)
"""


@pytest.fixture(scope="module", autouse=True)
def wait_until_quiet(shared_daemon):
    """Waits until no client is connected and no batch is held."""
    with nothing_left_behind(shared_daemon) as wait:
        yield wait


@pytest.mark.parametrize("script", [HOLD, LOOP], ids=["holding", "reading"])
def test_killed_trainer_gives_everything_back(shared_daemon, photos, script,
                                              wait_until_quiet):
    wait_until_quiet()
    with neighbour(photos):
        for _ in range(3):
            with trainer(script, photos) as process:
                expect_line(process, "holds" if script is HOLD else "reads")
                until(lambda: ctl(shared_daemon, "status")["loaders"] == 2,
                      "both loaders are seen")
                process.send_signal(signal.SIGKILL)
            until(lambda: ctl(shared_daemon, "status")["loaders"] == 1,
                  "the dead trainer's loader is gone")
    wait_until_quiet()
    with open_loader(photos) as loader:
        assert contents(loader)[1] == list(range(48))


def test_killed_while_its_dataset_is_scanned(tmp_path, photos,
                                             wait_until_quiet):
    first = tmp_path / "class0000" / "photo.jpg"
    for number in range(2000):
        path = tmp_path / f"class{number:04d}" / "photo.jpg"
        path.parent.mkdir()
        if path == first:
            shutil.copy(photos / "city" / "000.jpg", first)
        else:
            os.link(first, path)
    with neighbour(photos):
        for _ in range(5):
            with trainer("print('opens', flush=True)\n"
                         "open_loader(sys.argv[1])", tmp_path) as process:
                expect_line(process, "opens")
    wait_until_quiet()


def test_stopped_trainer_stalls_nobody(shared_daemon, photos):
    with trainer(ONE_EPOCH, photos) as process:
        expect_line(process, "stopped")
        process.send_signal(signal.SIGSTOP)
        with open_loader(photos, batch_size=8) as loader:
            for _ in range(5):
                assert contents(loader)[1] == list(range(48))
        process.send_signal(signal.SIGCONT)
        process.stdin.write(b"\n")
        process.stdin.flush()
        expect_line(process, "done")


def test_changing_ones_mind_leaks_no_slot(shared_daemon, photos,
                                          wait_until_quiet):
    wait_until_quiet()
    with open_loader(photos) as loader:
        assert contents(loader)[1] == list(range(48))
        slots = slot_bytes(shared_daemon)
        for number in range(100):
            loader.set_epoch(0)
            iterator = iter(loader)
            for _ in range(number % 4):
                batch = next(iterator)
            if number % 3 == 0:
                iterator = None
            elif number % 3 == 1:
                iterator = iter(loader)
        del batch, iterator
        gc.collect()
        assert slot_bytes(shared_daemon) == slots
        loader.set_epoch(0)
        assert contents(loader)[1] == list(range(48))

        def all_are_free():
            (job,) = ctl(shared_daemon, "queues")["jobs"]
            queues = job["loaders"][0]["queues"]
            return queues["slots_free"] == queues["slots"]

        until(all_are_free, "every slot is free")
    wait_until_quiet()


def test_closing_in_mid_epoch_many_times(photos, wait_until_quiet):
    for number in range(50):
        loader = open_loader(photos)
        iterator = iter(loader)
        for _ in range(number % 3):
            next(iterator)
        loader.close()
    del iterator
    wait_until_quiet()


def test_held_batches_keep_their_slots_and_no_others(shared_daemon, photos,
                                                     wait_until_quiet):
    loader = open_loader(photos)
    iterator = iter(loader)
    held = [next(iterator), next(iterator)]
    expected = [numpy.array(batch.image) for batch in held]
    loader.close()
    with open_loader(photos) as other:
        contents(other)
    for batch, image in zip(held, expected):
        numpy.testing.assert_array_equal(batch.image, image)
    assert slot_bytes(shared_daemon) > 0
    del held, batch, iterator
    gc.collect()
    wait_until_quiet()


def test_killed_daemon_is_told_to_who_waits(tmp_path, photos, monkeypatch):
    monkeypatch.setenv("FOREBAY_REATTACH_SECONDS", "0.2")
    with serving(tmp_path) as daemon:
        loader = open_loader(photos)
        iterator = iter(loader)
        held = next(iterator)
        expected = numpy.array(held.image)
        daemon.process.send_signal(signal.SIGSTOP)
        errors = []

        def wait():
            try:
                while True:
                    next(iterator)
            except forebay.DaemonUnavailable as error:
                errors.append(str(error))

        waiting = threading.Thread(target=wait)
        waiting.start()
        daemon.process.kill()
        daemon.process.wait()
        waiting.join(PATIENCE)
        assert not waiting.is_alive()
        assert len(errors) == 1 and "daemon" in errors[0]
        numpy.testing.assert_array_equal(held.image, expected)
        held.image[:] = 0
        loader.close()


def test_terminated_daemon_leaves_at_once(tmp_path, photos):
    """`stop` waits for the daemon's end, and `serving` checks the exit status."""
    with serving(tmp_path) as daemon:
        with trainer(LOOP, photos) as one, trainer(LOOP, photos) as two:
            expect_line(one, "reads")
            expect_line(two, "reads")
            until(lambda: ctl(daemon, "status")["loaders"] == 2, "both read")
            assert daemon.stop() == 0
        assert "forebayd leaves" in daemon.log()


def test_idle_slots_go_back(tmp_path, photos):
    config = tmp_path / "config.toml"
    config.write_text("[session]\nidle_seconds = 0.2\n")
    with serving(tmp_path, "--config", str(config)) as daemon:
        with open_loader(photos) as loader:
            for _ in range(2):
                assert contents(loader)[1] == list(range(48))
                until(lambda: slot_bytes(daemon) == 0, "idle slots go back")
            iterator = iter(loader)
            held = next(iterator)
            expected = numpy.array(held.image)
            contents(iterator)
            # The daemon takes no slot back while a batch is held or an epoch runs.
            other = iter(loader)
            next(other)
            assert slot_bytes(daemon) > 0
            numpy.testing.assert_array_equal(held.image, expected)


def resident(daemon):
    """Returns the bytes of the daemon's anonymous memory."""
    with open(f"/proc/{daemon.process.pid}/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status
                    if line.startswith("RssAnon:"))


def test_memory_is_steady(tmp_path, photos):
    with serving(tmp_path) as daemon:
        with open_loader(photos, shuffle=True) as loader:
            for _ in range(20):
                contents(loader)
            before = resident(daemon)
            for _ in range(100):
                contents(loader)
            for _ in range(20):
                with open_loader(photos) as other:
                    contents(other)
            assert resident(daemon) - before < 4 << 20
