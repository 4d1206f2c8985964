"""Batches that workers make as a whole, while workers, hosts and daemons are killed."""

import gc
import os
import random
import signal
import subprocess
import sys

import pytest

import forebay
from own_processes import WorkerKiller, hosts
from stage_batch_test import Several, plain
from stage_test import leaves_nothing, reachable  # noqa: F401


def test_killed_workers_lose_and_double_nothing():
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)
    dataset = Several(lambda number: (number, random.random(), "x" * number),
                      size=600)

    def run(disturb):
        # Samples take no time, so the trainer takes many batches while one waits for a
        # worker.
        killer, made = WorkerKiller(chance, apart=25), []
        with forebay.DataLoader(dataset, 3, collate_fn=plain, seed=5, shuffle=True,
                                num_workers=3) as loader:
            for batch in loader:
                made += batch
                if disturb:
                    killer.note_batch()
        return made

    assert run(True) == run(False)


def test_a_killed_host_and_a_new_daemon_change_nothing(daemon, monkeypatch):
    monkeypatch.setenv("FOREBAY_RUNTIME_DIR", str(daemon.runtime_dir))
    dataset = Several(lambda number: (number, random.random()), size=200)
    with forebay.DataLoader(dataset, 3, collate_fn=plain, seed=5,
                            num_workers=2) as loader:
        expected = list(loader)
        loader.set_epoch(0)
        made = []
        for number, batch in enumerate(loader):
            made.append(batch)
            if number == 10:
                for host in hosts(os.getpid()):
                    os.kill(host, signal.SIGKILL)
            if number == 30:
                daemon.stop(signal.SIGKILL)
                daemon.start()
    assert made == expected


STOPPED = """
import os, signal, sys
import forebay
from own_processes import hosts
from stage_batch_test import Several

loader = forebay.DataLoader(Several(float, size=40), 4, num_workers=2,
                            persistent_workers="persistent" in sys.argv)
batches = iter(loader)
if "amid" in sys.argv:
    next(batches)
else:
    assert len(list(batches)) == 10
for host in hosts(os.getpid()):
    os.kill(host, signal.SIGSTOP)
    print(host)
"""


@pytest.mark.parametrize("when", ["persistent", "amid"])
def test_a_trainer_ends_though_its_host_is_stopped(when):
    done = subprocess.run(
        [sys.executable, "-B", "-c", STOPPED, when], stdout=subprocess.PIPE,
        timeout=100, cwd=os.path.dirname(__file__), check=True)
    for host in done.stdout.split():
        assert not os.path.exists(f"/proc/{int(host)}")


class Garbage:
    """Garbage that stops a process other than its maker when it is collected there.
    Iterators of torch's loaders would then wait for threads that a fork does not
    copy."""

    def __init__(self):
        self.itself = self
        self.starter = os.getpid()

    def __del__(self):
        if os.getpid() != self.starter:
            os.kill(os.getpid(), signal.SIGSTOP)


def test_a_trainers_garbage_is_collected_by_no_other_process():
    def collects(number):
        gc.collect()
        return float(number)

    gc.disable()
    try:
        Garbage()
        with forebay.DataLoader(Several(collects, size=20), 4,
                                num_workers=2) as loader:
            assert len(list(loader)) == 5
    finally:
        gc.enable()
        gc.collect()
