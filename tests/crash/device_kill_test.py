"""Kills trainers on GPUs, and their daemon, at random moments."""

import os
import random
import signal

import pytest

import gpus
from trouble import PATIENCE, ctl, expect_line, until

pytestmark = pytest.mark.skipif(gpus.missing() != "", reason=gpus.missing())

SEED = 20251123
KILLS = int(os.environ.get("FOREBAY_KILLS", "8"))
GPUS = 2

# Compares epoch after epoch with an undisturbed run until a line comes.
STEADY = """
import hashlib, threading
uri, device = sys.argv[1:]
loader = forebay.DataLoader(
    uri, batch_size=5, shuffle=True, seed=11, device=device,
    transform=T.Compose([T.RandomResizedCrop(32), T.ToDtype("float16", scale=True)]))

def read(epoch):
    seen, ids = hashlib.sha256(), []
    loader.set_epoch(epoch)
    for batch in loader:
        seen.update(batch.image.cpu().numpy().tobytes())
        seen.update(batch.label.cpu().numpy().tobytes())
        ids += batch.sample_ids.tolist()
    assert sorted(ids) == list(range(len(loader.dataset))), "lost or doubled"
    return ids, seen.hexdigest()

told = threading.Event()
threading.Thread(target=lambda: (sys.stdin.readline(), told.set())).start()
expected = [read(epoch) for epoch in range(3)]
print("begins", flush=True)
rounds = 0
while not told.is_set():
    assert [read(epoch) for epoch in range(3)] == expected
    rounds += 1
    print("round", flush=True)
print(json.dumps(rounds))
"""

# Opens and closes loaders, breaks epochs off, and holds batches.
RESTLESS = """
import random
chance = random.Random(int(sys.argv[2]))
held = []
print("begins", flush=True)
while True:
    try:
        loader = forebay.DataLoader(
            sys.argv[1], shuffle=True, batch_size=chance.randrange(1, 16),
            device=f"cuda:{chance.randrange(torch.cuda.device_count())}",
            depth=chance.randrange(1, 4), transform=T.RandomResizedCrop(48))
    except forebay.DaemonUnavailable:
        continue  # it was killed just now
    for _ in range(chance.randrange(4)):
        for batch in loader:
            if chance.random() < 0.2:
                held = held[-2:] + [batch]
            if chance.random() < 0.05:
                break
    del held[:]
    if chance.random() < 0.5:
        loader.close()
"""


class Crowd:
    """Two restless trainers, which the test may kill at any time."""

    def __init__(self, host, photos, chance):
        self._host, self._photos, self._chance = host, photos, chance
        self._trainers = [self._start(), self._start()]

    def _start(self):
        return self._host.start(RESTLESS, self._photos,
                                self._chance.randrange(1 << 30))

    def kill_one(self):
        """Kills the older trainer, and starts a new one."""
        trainer = self._trainers.pop(0)
        expect_line(trainer, "begins")
        trainer.kill()
        _, error = trainer.communicate()
        assert trainer.returncode == -signal.SIGKILL, error.decode()
        self._trainers.append(self._start())

    def end(self):
        for trainer in self._trainers:
            trainer.kill()
            trainer.communicate()


def test_killed_at_random(tmp_path, photos, monkeypatch):
    print(f"seed {SEED}, {KILLS} kills")
    chance = random.Random(SEED)
    host = gpus.Host(tmp_path, count=GPUS)
    whole = [host.free_bytes(gpu) for gpu in range(GPUS)]
    monkeypatch.setenv("FOREBAY_REATTACH_SECONDS", str(PATIENCE))
    with host.serving(config="[session]\nidle_seconds = 0",
                      delay_micros=300) as daemon:
        steady = [host.start(STEADY, photos, f"cuda:{gpu}", delay_micros=300)
                  for gpu in range(GPUS)]
        crowd = Crowd(host, photos, chance)
        try:
            for trainer in steady:
                expect_line(trainer, "begins")
            for _ in range(KILLS):
                if chance.random() < 0.5:
                    crowd.kill_one()
                else:
                    daemon.stop(signal.SIGKILL)
                    daemon.start("--config", str(tmp_path / "forebayd.toml"))
                # Meanwhile all other trainers go on.
                for trainer in steady:
                    expect_line(trainer, "round")
        finally:
            crowd.end()
        for trainer in steady:
            assert gpus.result_of(trainer, b"\n") >= KILLS
        until(lambda: ctl(daemon, "status")["loaders"] == 0, "the dead are gone")
        until(lambda: [host.free_bytes(gpu) for gpu in range(GPUS)] == whole,
              "the GPUs' memory")
        assert ctl(daemon, "status")["memory_slots"] == "0"
