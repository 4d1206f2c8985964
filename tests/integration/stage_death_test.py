"""Batches that are made whole, while workers, hosts and daemons are killed."""

import os
import random
import signal

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
        # Samples take no time: many batches are taken while one waits for a worker.
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
