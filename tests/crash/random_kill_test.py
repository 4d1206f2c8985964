"""Kills the daemon or a trainer at random times. The other side goes on."""

import concurrent.futures
import itertools
import json
import os
import random
import signal
import threading
import time

import numpy
import pytest

from forebay import transforms as T
from trouble import (PATIENCE, contents, ctl, expect_line, open_loader, trainer,
                     until)

SEED = 20240613
SECONDS = 8.0  # of killing, for each test
AUGMENTED = T.Compose([T.RandomResizedCrop(64), T.RandomHorizontalFlip(),
                       T.ToImage(), T.ToDtype("float32", scale=True)])

# Opens and closes loaders, breaks epochs off, and holds batches, as fast as it can.
RESTLESS = """
import json
import os
import random
from forebay import transforms as T
chance = random.Random(int(sys.argv[2]))
held = []
print("begins", flush=True)
while True:
    loader = open_loader(sys.argv[1], shuffle=True, depth=chance.randrange(1, 4),
                         batch_size=chance.randrange(1, 16),
                         transform=T.RandomResizedCrop(96))
    for _ in range(chance.randrange(4)):
        for number, batch in enumerate(loader):
            if chance.random() < 0.2:
                held = held[-5:] + [batch]
            if chance.random() < 0.05:
                break
    if chance.random() < 0.5:
        loader.close()
"""


def open_steady(photos):
    return open_loader(photos, shuffle=True, seed=11, batch_size=5,
                       transform=AUGMENTED)


class Steady:
    """A trainer that compares epoch after epoch with an undisturbed run."""

    EPOCHS = 3

    def __init__(self, photos):
        self.batches = 0  # number of batches read so far
        with open_steady(photos) as loader:
            self._expected = [contents(loader) for _ in range(self.EPOCHS)]

    def read(self, loader):
        """Reads all epochs once through `loader`."""
        for epoch, (images, ids) in enumerate(self._expected):
            loader.set_epoch(epoch)
            got, got_ids = contents(self._counted(loader))
            assert got_ids == ids
            numpy.testing.assert_array_equal(got, images)

    def _counted(self, loader):
        for batch in loader:
            self.batches += 1
            yield batch


def test_trainers_killed_at_random(daemon, photos):
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    steady = Steady(photos)
    end = time.monotonic() + SECONDS
    with open_steady(photos) as loader:
        while time.monotonic() < end:
            crowd = [trainer(RESTLESS, photos, chance.randrange(1 << 30))
                     for _ in range(2)]
            entered = [one.__enter__() for one in crowd]
            try:
                for one in entered:
                    expect_line(one, "begins")
                moment = time.monotonic() + chance.uniform(0.1, 1.2)
                while time.monotonic() < moment:
                    steady.read(loader)
                assert all(one.poll() is None for one in entered)
            finally:
                for one in crowd:
                    one.__exit__(None, None, None)
        steady.read(loader)
    until(lambda: ctl(daemon, "status")["loaders"] == 0, "the dead are gone")
    status = ctl(daemon, "status")
    assert status["memory_slots"] == "0"
    until(
        lambda: ctl(daemon, "status")["sessions"] == 0, "no session is left")


def test_daemon_killed_at_random(daemon, photos, monkeypatch):
    """A trainer that is not killed gets every batch once, in order."""
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    steady = Steady(photos)
    monkeypatch.setenv("FOREBAY_REATTACH_SECONDS", str(PATIENCE))
    done = threading.Event()

    def kill_again_and_again():
        for life in itertools.count():
            if done.wait(chance.uniform(0.05, 0.8)):
                return
            daemon.stop(signal.SIGKILL)
            daemon.start()
            # Lets the trainer read a batch, so that it makes progress even on a slow
            # machine.
            if life % 2 == 1:
                before = steady.batches
                until(lambda: steady.batches > before or done.is_set(),
                      "a batch from the new daemon")

    with open_steady(photos) as loader, \
            concurrent.futures.ThreadPoolExecutor(1) as threads:
        killing = threads.submit(kill_again_and_again)
        try:
            end = time.monotonic() + SECONDS
            while time.monotonic() < end:
                steady.read(loader)
        finally:
            done.set()
            killing.result()
    with open_steady(photos) as loader:
        steady.read(loader)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_daemon_restarted_between_epochs(daemon, photos, how):
    steady = Steady(photos)
    with open_steady(photos) as loader:
        for _ in range(3):
            steady.read(loader)
            daemon.stop(how)
            daemon.start()
        steady.read(loader)


def test_state_survives_both(daemon, photos):
    """A trainer that was killed in mid-epoch resumes, although its daemon was killed,
    too."""
    script = """
from random_kill_test import open_steady
loader = open_steady(sys.argv[1])
iterator = iter(loader)
for _ in range(3):
    batch = next(iterator)
print(json.dumps(loader.state_dict()), flush=True)
sys.stdin.read()
"""
    with open_steady(photos) as loader:
        images, ids = contents(loader)
    with trainer(f"sys.path.insert(0, {os.path.dirname(__file__)!r})\n" + script,
                 photos) as process:
        state = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
    daemon.stop(signal.SIGKILL)
    daemon.start()
    with open_steady(photos) as loader:
        loader.load_state_dict(state)
        rest, rest_ids = contents(loader)
    assert rest_ids == ids[15:]
    numpy.testing.assert_array_equal(rest, images[15:])
