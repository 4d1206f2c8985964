"""Kills trainers whose datasets are the user's code, their hosts, their workers and the
daemon at random. Each trainer gets the same samples as undisturbed."""

import contextlib
import json
import os
import pathlib
import random
import signal
import time

from own_processes import hosts, workers
from staged_trainer import KINDS, undisturbed
from trouble import PATIENCE, ctl, pause, slot_bytes, trainer, until

SEED = int(os.environ.get("FOREBAY_KILL_SEED", "20261125"))
SECONDS = float(os.environ.get("FOREBAY_KILL_SECONDS", "60"))
CROWD = ["rows", "rows", "rows", "batches", "batches", "sampler", "sampler",
         "alone"]
TRAIN = """
sys.path.insert(0, sys.argv[1])
import staged_trainer
staged_trainer.train(*sys.argv[2:])
"""


class Crowd:
    """Trainers, one for each entry of CROWD. A trainer that was killed starts again."""

    def __init__(self, chance, folder):
        self._chance = chance
        self._expected = folder / "expected"
        self._end = folder / "end"
        self._stack = contextlib.ExitStack()
        self._running = [None] * len(CROWD)
        self.pids = []  # process ids of all trainers that were ever started

    def __enter__(self):
        self._expected.write_text(json.dumps(
            {kind: undisturbed(kind) for kind in KINDS}))
        self._stack.__enter__()
        for place in range(len(CROWD)):
            self._start(place)
        return self

    def __exit__(self, *exception):
        self._stack.__exit__(*exception)

    def _start(self, place):
        process = self._stack.enter_context(trainer(
            TRAIN, os.path.dirname(__file__), self._expected, self._end,
            CROWD[place], self._chance.randrange(1 << 30)))
        self._running[place] = process
        self.pids.append(process.pid)

    def check(self):
        """Checks that no trainer has ended by itself."""
        for process, kind in zip(self._running, CROWD):
            assert process.poll() is None, kind

    def kill_trainer(self):
        """Kills a trainer, and starts it again."""
        place = self._chance.randrange(len(CROWD))
        self._running[place].kill()
        self._running[place].wait()
        self._start(place)

    def kill_one_of(self, find):
        """Kills one of the processes that `find` returns for the process id of a
        trainer."""
        found = [pid for trainer in self.pids for pid in find(trainer)]
        if not found:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._chance.choice(found), signal.SIGKILL)
        return True

    def finish(self):
        """Lets all trainers finish their epochs, and returns the number of epochs of
        each."""
        self._end.touch()
        for process, kind in zip(self._running, CROWD):
            assert process.wait(timeout=2 * PATIENCE) == 0, kind
        return [int(process.stdout.read()) for process in self._running]


def memfds(pid):
    """Returns how many memfds a process has open."""
    count = 0
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            count += os.readlink(entry).startswith("/memfd:")
    return count


def test_each_gets_what_it_gets_undisturbed(daemon, tmp_path, monkeypatch):
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    monkeypatch.setenv("FOREBAY_RUNTIME_DIR", str(daemon.runtime_dir))
    # No trainer gives up waiting for a daemon, however slow the machine is.
    monkeypatch.setenv("FOREBAY_REATTACH_SECONDS", str(PATIENCE))
    before = memfds(daemon.process.pid)
    killed = dict.fromkeys(["worker", "host", "trainer", "daemon"], 0)
    with Crowd(chance, tmp_path) as crowd:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            pause(chance.uniform(0, 0.8))
            crowd.check()
            victim = chance.choice(["worker"] * 6 + ["host"] * 4 +
                                   ["trainer", "daemon"])
            if victim == "daemon":
                daemon.stop(signal.SIGKILL)
                daemon.start()
            elif victim == "trainer":
                crowd.kill_trainer()
            elif not crowd.kill_one_of(workers if victim == "worker" else hosts):
                continue
            killed[victim] += 1
        print("killed:", killed, "whole epochs read:", crowd.finish())
        assert all(killed.values())
        until(lambda: not any(hosts(pid) for pid in crowd.pids), "no host is left")
        until(lambda: ctl(daemon, "status")["sessions"] == 0, "all are gone")
        until(lambda: slot_bytes(daemon) == 0, "no slot is left")
        until(lambda: memfds(daemon.process.pid) <= before, "no memfd is left")
