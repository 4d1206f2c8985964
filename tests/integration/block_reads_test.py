"""The reads that are needed for shards shuffled in blocks."""

import io
import random
import tarfile

import pytest

import forebay
from daemons import serving
from trouble import ctl

SHARDS, EACH = 4, 300
SAMPLES = SHARDS * EACH


def content_of(number):
    """Returns 5 to 9 KB of content that no other sample has."""
    chance = random.Random(number)
    return chance.randbytes(5_000 + chance.randrange(4_000))


def shard(number):
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as tar:
        for sample in range(number * EACH, (number + 1) * EACH):
            content = content_of(sample)
            info = tarfile.TarInfo(f"{sample:06}.bin")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return whole.getvalue()


@pytest.fixture(scope="module")
def shards():
    """The content of each shard, by the shard's name."""
    return {f"{number:03}.tar": shard(number) for number in range(SHARDS)}


@pytest.fixture(scope="module")
def sample_bytes():
    return sum(len(content_of(number)) for number in range(SAMPLES))


@pytest.fixture
def folder(tmp_path, shards):
    place = tmp_path / "shards"
    place.mkdir()
    for name, content in shards.items():
        (place / name).write_bytes(content)
    return place


@pytest.fixture
def bucket(fake_gcs, shards, monkeypatch):
    fake_gcs.fill("blocks", shards)
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", fake_gcs.url)
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    return "gs://blocks"


def open_loader(place, **arguments):
    return forebay.DataLoader(f"{place}/*.tar", fields=("bin",), batch_size=40,
                              framework="numpy", autostart=False, **arguments)


def read(loader):
    """Reads an epoch. Checks each sample's bytes, and returns the sample
    numbers."""
    seen = []
    for batch in loader:
        for number, content in zip(batch.sample_ids, batch[0]):
            assert bytes(content) == content_of(int(number))
            seen.append(int(number))
    return seen


def configured(tmp_path, memory):
    path = tmp_path / "forebayd.toml"
    path.write_text(f"cache.memory = '{memory}'\n")
    return ["--config", str(path)]


def gets(daemon):
    """Returns how many requests for bytes the bucket got, for all jobs."""
    return sum(int(job.get("remote_requests", {}).get("reads", 0))
               for job in ctl(daemon, "jobs")["jobs"])


def bytes_read(daemon):
    """Returns the bytes read from the source so far, indexing included."""
    return int(ctl(daemon, "cache")["total"]["source"]["bytes"])


def test_a_bucket_is_asked_for_blocks(tmp_path, bucket, sample_bytes):
    with serving(tmp_path, *configured(tmp_path, "64MiB")) as daemon:
        with open_loader(bucket, shuffle="block", seed=3) as loader:
            asked, indexed = gets(daemon), bytes_read(daemon)
            assert sorted(read(loader)) == list(range(SAMPLES))
            # Blocks have 4 MiB and shards 2 MiB, so a few requests suffice for a shard.
            assert gets(daemon) - asked <= 8 * SHARDS
            assert bytes_read(daemon) - indexed == sample_bytes


def test_what_lies_side_by_side_is_read_so(tmp_path, bucket):
    with serving(tmp_path, *configured(tmp_path, "64MiB")) as daemon:
        with open_loader(bucket) as loader:
            asked = gets(daemon)
            assert read(loader) == list(range(SAMPLES))
            assert gets(daemon) - asked <= SAMPLES / 8


def test_without_a_cache_all_is_right_too(tmp_path, bucket):
    with serving(tmp_path, *configured(tmp_path, "0")):
        with open_loader(bucket, shuffle="block", seed=3) as loader:
            assert sorted(read(loader)) == list(range(SAMPLES))


@pytest.mark.parametrize("memory", ["64MiB", "2MiB"])
def test_shards_on_the_own_disk(tmp_path, folder, memory, sample_bytes):
    with serving(tmp_path, *configured(tmp_path, memory)) as daemon:
        with open_loader(folder, shuffle="block", seed=5) as loader:
            indexed = bytes_read(daemon)
            for _ in range(2):
                assert sorted(read(loader)) == list(range(SAMPLES))
            found = bytes_read(daemon) - indexed
        if memory == "64MiB":
            assert found == sample_bytes
        else:
            assert sample_bytes < found <= 2.05 * sample_bytes


def test_two_jobs_read_every_byte_once(tmp_path, folder, sample_bytes,
                                       monkeypatch):
    with serving(tmp_path, *configured(tmp_path, "64MiB")) as daemon:
        loaders = []
        for seed in (1, 2):
            monkeypatch.setenv("FOREBAY_JOB", f"job-{seed}")
            loaders.append(open_loader(folder, shuffle="block", seed=seed))
        indexed = bytes_read(daemon)
        both = [iter(loader) for loader in loaders]
        seen = [[], []]
        for batches in zip(*both):
            for mine, batch in zip(seen, batches):
                mine += [int(number) for number in batch.sample_ids]
        for mine in seen:
            assert sorted(mine) == list(range(SAMPLES))
        assert bytes_read(daemon) - indexed == sample_bytes
        assert int(ctl(daemon, "cache")["bytes_saved"]) == sample_bytes
        for loader in loaders:
            loader.close()


def test_ranks_read_every_byte_once(tmp_path, bucket, sample_bytes):
    with serving(tmp_path, *configured(tmp_path, "64MiB")) as daemon:
        ranks = [open_loader(bucket, shuffle="block", seed=9, rank=rank,
                             world_size=3) for rank in range(3)]
        indexed = bytes_read(daemon)
        seen = []
        for batches in zip(*[iter(loader) for loader in ranks]):
            for batch in batches:
                seen += [int(number) for number in batch.sample_ids]
        assert sorted(seen) == list(range(SAMPLES))
        assert bytes_read(daemon) - indexed == sample_bytes
        for loader in ranks:
            loader.close()
