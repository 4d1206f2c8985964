"""Storage that cannot be reached in mid-epoch. The epoch goes on once the storage can
be reached, or fails after the time that the user has set."""

import os
import subprocess

import numpy
import pytest

import forebay
from daemons import serving
from examples_test import EXAMPLE
from fault_proxy import FaultProxy
from trouble import PATIENCE, contents, open_loader

SAMPLES = 48
BATCH = 4
SHUFFLED = numpy.random.RandomState(3).permutation(SAMPLES).tolist()


class Cloud(FaultProxy):
    """Cloud Storage that refuses some reads.

    Attributes:
      refused: the range of numbers of the refused reads, counted from 0.
    """

    def __init__(self, upstream):
        self.refused = range(0)
        self._reads = 0
        super().__init__(upstream)
        self.before_each(self._count)

    def _count(self, target):
        if "alt=media" in target:
            self.away = self._reads in self.refused
            self._reads += 1


@pytest.fixture(scope="module")
def bucket(fake_gcs, photos):
    fake_gcs.fill("away", {
        f"train/{path.relative_to(photos)}": path.read_bytes()
        for path in photos.glob("*/*.jpg")})
    return "gs://away/train"


@pytest.fixture
def cloud(fake_gcs, tmp_path, monkeypatch):
    """The proxy that the running daemon uses as Cloud Storage."""
    config = tmp_path / "forebayd.toml"
    config.write_text("cache.memory = '0'\n")
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    monkeypatch.delenv("GCE_METADATA_HOST", raising=False)
    with Cloud(fake_gcs.url) as proxy:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", proxy.url)
        with serving(tmp_path, "--config", str(config)):
            yield proxy


@pytest.mark.parametrize("order", [
    {}, {"sampler": SHUFFLED}, {"shuffle": True, "order": "coordinated"},
    {"shuffle": "block"}], ids=["exact", "listed", "coordinated", "block"])
def test_an_epoch_goes_on_when_storage_is_back(cloud, bucket, photos, caplog,
                                               monkeypatch, order):
    monkeypatch.setenv("FOREBAY_REATTACH_SECONDS", str(PATIENCE))
    with open_loader(photos) as loader:
        expected, _ = contents(loader)
    with open_loader(bucket, batch_size=BATCH, **order) as loader:
        cloud.refused = range(24, 36)
        images, ids = contents(loader)
    assert sorted(ids) == list(range(SAMPLES))
    assert "sampler" not in order or ids == SHUFFLED
    numpy.testing.assert_array_equal(images, expected[ids])
    # Between two refused reads, a batch may come.
    said = [record.getMessage() for record in caplog.records]
    assert 0 < len(said[0::2]) == len(said[1::2])
    for away, back in zip(said[0::2], said[1::2]):
        assert "answers 503" in away and "waiting up to" in away
        assert "goes on after" in back


def test_storage_that_stays_away_is_said_to_be(cloud, bucket, monkeypatch):
    monkeypatch.setenv("FOREBAY_REATTACH_SECONDS", "0.5")
    with open_loader(bucket, batch_size=BATCH) as loader:
        cloud.refused = range(24, 10**9)
        ids = []
        with pytest.raises(forebay.SourceUnavailable,
                           match=f"sample .* of {bucket}: .*, for 0.5 s"):
            for batch in loader:
                ids.extend(int(i) for i in batch.sample_ids)
        assert 0 < len(ids) <= 24 and ids == list(range(len(ids)))
        cloud.refused = range(0)
        _, ids = contents(loader)
        assert ids == list(range(SAMPLES))


@pytest.mark.parametrize("refused", [range(24, 36), range(24, 10**9)],
                         ids=["back", "away"])
def test_c_programs_wait_as_long(cloud, bucket, refused):
    stays = refused.stop > 100
    cloud.refused = refused
    done = subprocess.run(
        [EXAMPLE, bucket], capture_output=True, text=True, timeout=PATIENCE,
        env=dict(os.environ,
                 FOREBAY_REATTACH_SECONDS="0.5" if stays else str(PATIENCE)))
    if stays:
        assert "answers 503" in done.stderr
    else:
        assert "epoch 0: 48 images" in done.stdout, done.stderr
    assert done.returncode == stays
