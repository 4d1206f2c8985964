"""The cache on a disk, between a real daemon and a bucket: what was read once is
not asked for again, whoever was killed meanwhile."""

import os
import random
import signal

import pytest

from daemons import serving
from fault_proxy import FaultProxy
from remote_test import bucket, epoch, open_loader, same
from trouble import ctl

assert bucket  # a fixture

SEED = 20240707
CONFIG = """
[memory]
limit = "512MiB"
[cache]
memory = "0"
directory = "{directory}"
disk_size = "64MiB"
[image]
scratch_limit = "8MiB"
"""


@pytest.fixture
def proxy(fake_gcs):
    with FaultProxy(fake_gcs.url, seed=5) as started:
        yield started


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "forebayd.toml"
    path.write_text(CONFIG.format(directory=tmp_path / "ssd"))
    return path


@pytest.fixture
def daemon(tmp_path, proxy, config, monkeypatch):
    """A daemon that takes the proxy for Cloud Storage."""
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


def test_a_daemon_killed_again_and_again_gives_right_bytes(
        daemon, bucket, proxy, config, photos):
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    with open_loader(photos, shuffle=True) as local:
        expected = [epoch(local) for _ in range(4)]

    def killing(loader, number):
        """An epoch's batches; behind one of them the daemon is killed."""
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
