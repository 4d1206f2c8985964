"""Kills, upgrades or stops the daemon in mid-epoch. Trainers notice only a pause, and
log a line."""

import logging
import os
import random
import signal
import threading
import traceback

import numpy
import pytest

import forebay
from daemons import FOREBAYD
from forebay import _native
from test_client_autostart import daemons_of
from trouble import (PATIENCE, contents, expect_line, open_loader, trainer,
                     until)
from forebay import transforms as T

SEED = 20261122
KILLS = 20
AUGMENTED = T.Compose([T.RandomResizedCrop(64), T.RandomHorizontalFlip(),
                       T.ToImage(), T.ToDtype("float32", scale=True)])

# Reads epoch 0 again and again, and prints a line after each time.
OTHER_JOB = """
import hashlib
loader = open_loader(sys.argv[1], shuffle=True, seed=3, batch_size=7,
                     transform=T.RandomResizedCrop(80))
def digest():
    loader.set_epoch(0)
    seen = hashlib.sha256()
    for batch in loader:
        seen.update(batch.image.tobytes())
        seen.update(batch.sample_ids.tobytes())
    return seen.digest()
first = digest()
print("reads", flush=True)
sys.stdin.readline()
for _ in range(3):
    assert digest() == first
print("read", flush=True)
sys.stdin.readline()
"""


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Lets trainers wait for a daemon so long that none gives up on a slow machine."""
    monkeypatch.setenv("FOREBAY_REATTACH_SECONDS", str(PATIENCE))


def open_augmented(photos, **arguments):
    return open_loader(photos, shuffle=True, seed=11, batch_size=2,
                       transform=AUGMENTED, **arguments)


class Supervisor:
    """Starts a daemon again whenever it ends, as systemd does."""

    def __init__(self, daemon):
        self._daemon = daemon
        self._done = threading.Event()
        self._lives = 1
        self._thread = threading.Thread(target=self._watch)

    def _watch(self):
        while True:
            self._daemon.process.wait()
            if self._done.is_set():
                return
            self._daemon.launch()
            self._lives += 1

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exception):
        self._done.set()
        self._daemon.process.kill()
        self._thread.join()
        self._daemon.start()  # needed for the checks at the end

    def kill(self):
        """Kills the daemon, which may still be starting. Returns a function that tells
        whether the next daemon has been launched."""
        lives = self._lives
        self._daemon.process.kill()
        return lambda: self._lives > lives


def read_disturbed(loader, disturb):
    """Reads epoch 0, and calls `disturb()` after each of the first KILLS batches.
    Returns all batches, which it holds until the end, and a copy of each."""
    loader.set_epoch(0)
    held, copies = [], []
    for number, batch in enumerate(loader):
        held.append(batch)
        copies.append(numpy.array(batch.image))
        if number < KILLS:
            disturb()
    assert len(held) > KILLS
    return held, copies


def check_equal(held, copies, expected):
    """Checks that the batches are those of an undisturbed run, and that batches did not
    change while they were held."""
    images, ids = expected
    got, got_ids = contents(held)
    assert got_ids == ids
    numpy.testing.assert_array_equal(got, images)
    numpy.testing.assert_array_equal(numpy.concatenate(copies), images)


def lines(caplog, word):
    return [record.getMessage() for record in caplog.records
            if record.name == "forebay" and word in record.getMessage()]


def check_log(caplog):
    """Checks that the log has one line about the end of the daemon, and one about its
    return."""
    away, back = lines(caplog, "waiting up to"), lines(caplog, "goes on after")
    assert len(away) == len(back) <= KILLS
    assert away, "the trainer has not noticed at all"


def test_killed_again_and_again_in_an_epoch(daemon, photos, caplog):
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    caplog.set_level(logging.INFO, "forebay")
    with open_augmented(photos) as loader, \
            trainer(OTHER_JOB, photos) as other:
        expected = contents(loader)
        expect_line(other, "reads")
        with Supervisor(daemon) as supervisor:
            other.stdin.write(b"go on\n")
            other.stdin.flush()

            def disturb():
                restarted = supervisor.kill()
                if chance.random() < 0.5:
                    until(restarted, "the supervisor starts it again")

            held, copies = read_disturbed(loader, disturb)
            check_equal(held, copies, expected)
            expect_line(other, "read")
    check_log(caplog)


def test_the_autostarted_daemon_is_started_again(photos, tmp_path, monkeypatch,
                                                 caplog):
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "forebayd").symlink_to(FOREBAYD)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.delenv("FOREBAY_RUNTIME_DIR", raising=False)
    for name in ("XDG_RUNTIME_DIR", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    directory = tmp_path / "forebay"
    caplog.set_level(logging.INFO, "forebay")

    def kill():
        for pid in daemons_of(directory):
            os.kill(pid, signal.SIGKILL)

    try:
        with forebay.DataLoader(photos, batch_size=2, shuffle=True, seed=11,
                                transform=AUGMENTED,
                                framework="numpy") as loader:
            expected = contents(loader)
            check_equal(*read_disturbed(loader, kill), expected)
            assert len(daemons_of(directory)) == 1
        check_log(caplog)
    finally:
        kill()
    until(lambda: not daemons_of(directory), "the daemon leaves")


def test_upgraded_in_mid_epoch(daemon, photos, caplog):
    with open_augmented(photos) as loader:
        expected = contents(loader)
        upgrades = iter(range(3))

        def disturb():
            if next(upgrades, None) is not None:
                assert daemon.stop(signal.SIGTERM) == 0
                daemon.start()

        check_equal(*read_disturbed(loader, disturb), expected)
    check_log(caplog)


def test_a_daemon_that_stays_away_is_said_so(daemon, photos, monkeypatch):
    with open_augmented(photos) as loader:
        images, ids = contents(loader)
        loader.set_epoch(0)
        iterator = iter(loader)
        held = [next(iterator)]
        daemon.stop(signal.SIGKILL)
        monkeypatch.setenv("FOREBAY_REATTACH_SECONDS", "0.4")
        with pytest.raises(forebay.DaemonUnavailable,
                           match=r"no Forebay daemon listens.*for 0\.4 s"
                           ) as said:
            held += iterator
        # The trainer gets one error, which does not show the errors that caused it.
        assert "During handling" not in "".join(
            traceback.format_exception(said.value))
        del said
        numpy.testing.assert_array_equal(contents(held)[0],
                                         images[:2 * len(held)])
        state = loader.state_dict()
        # The trainer goes on if the user starts a daemon at last.
        daemon.start()
        loader.load_state_dict(state)
        assert contents(loader)[1] == ids[2 * len(held):]


def test_a_dataset_that_changed_meanwhile_is_refused(daemon, photos, tmp_path):
    folder = tmp_path / "data"
    for picture in photos.rglob("*.jpg"):
        (folder / picture.parent.name).mkdir(parents=True, exist_ok=True)
        (folder / picture.parent.name / picture.name).symlink_to(picture)
    with open_loader(folder, extra_roots=[photos], batch_size=2) as loader:
        iterator = iter(loader)
        next(iterator)
        daemon.stop(signal.SIGKILL)
        next(folder.rglob("*.jpg")).unlink()
        daemon.start()
        with pytest.raises(forebay.StateError, match="has changed since"):
            list(iterator)


def test_closing_ends_the_wait(daemon, photos):
    loader = open_augmented(photos)
    iterator = iter(loader)
    next(iterator)
    daemon.stop(signal.SIGKILL)
    ended = []

    def read():
        try:
            list(iterator)
        except forebay.StateError as error:
            ended.append(str(error))

    reading = threading.Thread(target=read)
    reading.start()
    until(lambda: not _native.lib.forebay_loader_is_attached(
        loader._attachment.connection._handle), "the trainer's library notices")
    loader.close()
    reading.join(PATIENCE)
    assert ended == ["the loader is closed"]
    daemon.start()
