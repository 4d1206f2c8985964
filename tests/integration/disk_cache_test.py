"""The cache on a disk, between a real daemon and a bucket. No byte is requested twice,
even if the daemon is killed meanwhile."""

import os
import random
import signal

import pytest

from daemons import serving
from fault_proxy import FaultProxy
from remote_test import bucket, epoch, open_loader, same
from trouble import ctl, expect_line, read_epochs, trainer, until

assert bucket  # a fixture

SEED = 20240707
CONFIG = """
[memory]
limit = "512MiB"
[cache]
memory = "{memory}"
directory = "{directory}"
disk_size = "64MiB"
[image]
scratch_limit = "8MiB"
"""
TIERS = "memory", "shared", "disk", "source"
# Reads an epoch for each line of standard input.
TRAINER = """
with open_loader(sys.argv[1], shuffle=True, seed=int(sys.argv[2])) as loader:
    print("ready", flush=True)
    while sys.stdin.readline():
        assert sorted(contents(loader)[1]) == list(range(len(loader.dataset)))
        print("read", flush=True)
"""


def configure(folder, memory):
    """Writes a daemon's configuration whose cache has `memory` in memory. Returns its
    path."""
    path = folder / "forebayd.toml"
    path.write_text(CONFIG.format(memory=memory, directory=folder / "ssd"))
    return path


@pytest.fixture
def proxy(fake_gcs):
    with FaultProxy(fake_gcs.url, seed=5) as started:
        yield started


@pytest.fixture
def config(tmp_path):
    return configure(tmp_path, "0")


@pytest.fixture
def daemon(tmp_path, proxy, config, monkeypatch):
    """A daemon for which the proxy is Cloud Storage."""
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", proxy.url)
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    folder = tmp_path / "daemon"
    folder.mkdir()
    with serving(folder, "--config", str(config)) as started:
        yield started


def test_a_bucket_is_read_once_over_restarts(daemon, bucket, proxy, config,
                                             photos):
    with open_loader(photos, shuffle=True) as local:
        expected = [epoch(local) for _ in range(3)]
    with open_loader(bucket, shuffle=True) as loader:
        assert same(epoch(loader), expected[0])
        reads = proxy.asked()["media"]
        assert reads == len(loader.dataset)
        daemon.stop()
        daemon.start("--config", str(config))
        for one in expected[1:]:
            assert same(epoch(loader), one)
    assert proxy.asked()["media"] == reads
    disk = ctl(daemon, "cache")["disk"]
    assert int(disk["hits"]["reads"]) == 2 * reads
    assert int(disk["entries"]) == reads
    assert int(disk.get("damaged", 0)) == 0


def given(traffic):
    """Returns the numbers of reads and bytes, by tier."""
    return {tier: (int(traffic[tier]["reads"]), int(traffic[tier]["bytes"]))
            for tier in TIERS}


def test_each_job_is_told_what_each_tier_gave_it(daemon, bucket, proxy, config,
                                                 photos):
    sizes = [path.stat().st_size for path in photos.glob("*/*.jpg")]
    daemon.stop()
    configure(config.parent, "32KiB")  # room for a few photographs
    daemon.start("--config", str(config))
    with trainer(TRAINER, bucket, 1, FOREBAY_JOB="one") as one:
        expect_line(one, "ready")
        read_epochs(one)
        until(lambda: int(ctl(daemon, "cache")["disk"]["entries"]) ==
              len(sizes), "all is on the disk")
        with trainer(TRAINER, bucket, 2, FOREBAY_JOB="two") as two:
            expect_line(two, "ready")
            read_epochs(one, two)
            read_epochs(one, two)
            cache, jobs = ctl(daemon, "cache"), ctl(daemon, "jobs")["jobs"]
            assert {"memory_bytes_per_second", "disk_bytes_per_second",
                    "source_bytes_per_second"} <= set(
                        ctl(daemon, "top")["jobs"][0])
    assert proxy.asked()["media"] == len(sizes)
    every_byte = len(sizes), sum(sizes)
    assert [job["key"] for job in cache["jobs"]] == ["one", "two"]
    for job, listed, epochs in zip(cache["jobs"], jobs, (3, 2)):
        assert listed["traffic"] == job["traffic"]
        parts = given(job["traffic"])
        # Each read of a job is counted once, in the tier that served it.
        for at, all_read in enumerate(every_byte):
            assert sum(part[at] for part in parts.values()) == (
                epochs * all_read)
        assert parts["source"] == (every_byte if epochs == 3 else (0, 0))
        assert parts["disk"][0] > 0
        assert int(job["bytes_saved"]) == (
            epochs * every_byte[1] - parts["source"][1])
    total = given(cache["total"])
    assert total["source"] == every_byte
    hits = cache["disk"]["hits"]
    assert total["disk"] == (int(hits["reads"]), int(hits["bytes"]))
    assert int(cache["bytes_saved"]) == 4 * every_byte[1]


def test_a_daemon_killed_again_and_again_gives_right_bytes(
        daemon, bucket, proxy, config, photos):
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    with open_loader(photos, shuffle=True) as local:
        expected = [epoch(local) for _ in range(4)]

    def killing(loader, number):
        """Yields an epoch's batches, and kills the daemon after batch `number`."""
        loader.set_epoch(number)
        last = chance.randrange(len(loader))
        for at, batch in enumerate(loader):
            yield batch
            if at == last:
                daemon.stop(signal.SIGKILL)
                daemon.start("--config", str(config))

    with open_loader(bucket, shuffle=True) as loader:
        for number, one in enumerate(expected[:-1]):
            assert same(epoch(killing(loader, number)), one)
        loader.set_epoch(len(expected) - 1)
        assert same(epoch(loader), expected[-1])
    assert int(ctl(daemon, "cache")["disk"]["hits"]["reads"]) > 0
    segments = sum(path.stat().st_size for path in
                   (config.parent / "ssd").glob("segment-*"))
    assert segments <= 64 << 20


def test_a_directory_that_cannot_be_had_is_said_and_done_without(
        tmp_path, bucket, proxy, config, monkeypatch):
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", proxy.url)
    (tmp_path / "ssd").mkdir(mode=0o755)
    os.chmod(tmp_path / "ssd", 0o755)
    folder = tmp_path / "daemon"
    folder.mkdir()
    with serving(folder, "--config", str(config)) as daemon:
        with open_loader(bucket) as loader:
            assert len(epoch(loader)[0]) == len(loader.dataset)
        assert any("open to others" in warning
                   for warning in ctl(daemon, "status")["warnings"])
        assert "disk" not in ctl(daemon, "cache")
