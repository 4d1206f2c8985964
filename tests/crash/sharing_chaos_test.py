"""Kills, stops, continues and starts trainers that share streams, and kills the daemon
meanwhile. Each trainer must get the same batches as without others."""

import contextlib
import json
import os
import random
import signal
import time

import pytest

from chaotic_trainer import EPOCHS, epoch_digests, open_chaotic
from daemons import serving
from trouble import (PATIENCE, ctl, memory_used, pause, slot_bytes, trainer,
                     until)

SEED = int(os.environ.get("FOREBAY_CHAOS_SEED", "20261123"))
SECONDS = float(os.environ.get("FOREBAY_CHAOS_SECONDS", "70"))
# The seed and the sharing of each trainer. Trainers with equal pairs share a stream.
CROWD = [("11", "elastic")] * 3 + [("12", "elastic")] * 2 + [
    ("11", "lockstep")] * 2 + [("11", "off")]
# From little more than the trainers' own slots need to enough to keep everything.
LIMITS = ("480MiB", "640MiB", "2GiB")
TRAIN = """
sys.path.insert(0, sys.argv[1])
import chaotic_trainer
chaotic_trainer.train(*sys.argv[2:])
"""


class Crowd:
    """Trainers that start and are killed: at most one for each entry of CROWD."""

    def __init__(self, chance, photos, folder):
        self._chance = chance
        self._photos = photos
        self._expected = folder / "expected"
        self._end = folder / "end"
        self._stack = contextlib.ExitStack()
        self._running = [None] * len(CROWD)
        self._stopped = {}  # place -> time at which to continue it

    def __enter__(self):
        self._expected.write_text(json.dumps({
            seed: self._alone(seed) for seed, _ in CROWD}))
        self._stack.__enter__()
        return self

    def __exit__(self, *exception):
        self._stack.__exit__(*exception)

    def _alone(self, seed):
        with open_chaotic(self._photos, int(seed), "off") as loader:
            return [epoch_digests(loader, epoch) for epoch in range(EPOCHS)]

    def start(self, place):
        """Starts the trainer with the index `place` in CROWD, which is not running."""
        self._running[place] = self._stack.enter_context(trainer(
            TRAIN, os.path.dirname(__file__), self._photos, self._expected,
            self._end, *CROWD[place], self._chance.randrange(1 << 30)))

    def kill(self, place):
        """Kills a trainer, whether it is stopped or not."""
        process = self._running[place]
        self._running[place] = None
        self._stopped.pop(place, None)
        process.kill()
        process.wait()

    def stop(self, place, seconds):
        """Stops a trainer for a while."""
        self._running[place].send_signal(signal.SIGSTOP)
        self._stopped[place] = time.monotonic() + seconds

    def go_on(self, whatever=False):
        """Continues the trainers that were stopped for long enough, or all if
        `whatever`."""
        for place, end in list(self._stopped.items()):
            if whatever or time.monotonic() >= end:
                self._running[place].send_signal(signal.SIGCONT)
                del self._stopped[place]

    def check(self):
        """Checks that no trainer has ended by itself."""
        for process, kind in zip(self._running, CROWD):
            assert process is None or process.poll() is None, kind

    def disturb(self):
        """Starts, kills or stops a random trainer."""
        place = self._chance.randrange(len(CROWD))
        what = self._chance.random()
        if self._running[place] is None:
            self.start(place)
        elif what < 0.3:
            self.kill(place)
        elif place not in self._stopped:
            self.stop(place, self._chance.choice([0.05, 0.5, 3]))

    def finish(self):
        """Lets all trainers finish their epochs. Returns [batches, whole epochs] of
        each."""
        self.go_on(whatever=True)
        for place, process in enumerate(self._running):
            if process is None:
                self.start(place)
        self._end.touch()
        read = []
        for process, kind in zip(self._running, CROWD):
            assert process.wait(timeout=2 * PATIENCE) == 0, kind
            read.append([int(n) for n in process.stdout.read().split()])
        return read


def configured(folder, limit):
    """Writes a configuration by which only batches take memory. Returns its path."""
    path = folder / f"{limit}.toml"
    path.write_text(f"[memory]\nlimit = '{limit}'\n[cache]\nmemory = '0'\n"
                    "[image]\nscratch_limit = '16MiB'\n"
                    "[session]\nidle_seconds = 1\n[cpu]\nworkers = 2\n")
    return path


@pytest.fixture
def patient(monkeypatch):
    """Lets trainers wait for a daemon so long that none gives up on a slow machine."""
    monkeypatch.setenv("FOREBAY_REATTACH_SECONDS", str(PATIENCE))


def test_everybody_gets_what_a_trainer_alone_gets(patient, photos, tmp_path):
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    configs = [configured(tmp_path, limit) for limit in LIMITS]
    config = configs[0]
    with serving(tmp_path, "--config", config) as daemon, \
            Crowd(chance, photos, tmp_path) as crowd:
        for place in range(len(CROWD) - 2):
            crowd.start(place)
        end = time.monotonic() + SECONDS
        next_death = time.monotonic() + SECONDS / 6
        while time.monotonic() < end:
            pause(chance.uniform(0, 0.6))
            crowd.check()
            crowd.go_on()
            crowd.disturb()
            if time.monotonic() > next_death:
                daemon.stop(signal.SIGKILL)
                config = chance.choice(configs)
                daemon.start("--config", config)
                next_death += SECONDS / 6
        print("batches and whole epochs read:", crowd.finish())
        until(lambda: ctl(daemon, "status")["sessions"] == 0, "all are gone")
        until(lambda: slot_bytes(daemon) == 0, "no slot is left")
        check_as_new(daemon, config)


def check_as_new(daemon, config):
    """Checks that the daemon uses no more memory than a new daemon."""
    left = memory_used(daemon)
    assert daemon.stop() == 0, daemon.log()
    daemon.start("--config", config)
    assert left == memory_used(daemon)
