"""Measures tar shards that nobody has read yet, shuffled in blocks and in full.

A sample is as large as an image; its bytes are delivered undecoded. The WebDataset
shards lie in a bucket, and on a local disk with none of them in the page cache. The
bucket is a real fake-gcs-server behind a link that adds 30 ms to each request and
carries 100 MB/s. A daemon whose cache is empty reads an epoch with shuffle="block", and
another one with shuffle=True. The rows give the samples per second, and the number of
requests for each sample that the bucket got.
"""

import io
import os
import pathlib
import sys
import tarfile
import tempfile

import photos
from bench_gcs import DELAY_MS, MEGABYTES, link
from daemon import daemon
from figures import in_turns, row
from readers import call

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cloud"))
from fake_gcs import FakeGcs, missing  # noqa: E402

ROUNDS = 3
# FOREBAY_BENCH_SHARDS sets the number of shards.
SHARDS = int(os.environ.get("FOREBAY_BENCH_SHARDS", "12"))
SHARD_SAMPLES, SAMPLE_BYTES = 900, 46_000
BUCKET = "shards"
CONFIG = '[cache]\nmemory = "512MiB"\n'


def _fill(folder):
    """Writes the shards."""
    for shard in range(SHARDS):
        with tarfile.open(folder / f"{shard:03}.tar", "w") as tar:
            for sample in range(SHARD_SAMPLES):
                info = tarfile.TarInfo(f"{shard:03}{sample:06}.bin")
                info.size = SAMPLE_BYTES
                tar.addfile(info, io.BytesIO(os.urandom(SAMPLE_BYTES)))


def _forget(folder):
    """Drops the shards from the page cache."""
    for path in folder.iterdir():
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class _Reader:
    """Reads each epoch by a new daemon, and sums up the requests of all epochs."""

    def __init__(self, place, shuffle, environment=None, before=lambda: None):
        self._uri = f"{place}/*.tar"
        self._shuffle = shuffle
        self._environment = environment
        self._before = before
        self.samples = 0
        self.requests = 0

    def rate(self):
        """Returns the samples per second of one epoch."""
        self._before()
        with daemon(CONFIG, self._environment) as server:
            found = call("read_shards.py", server.environment, uri=self._uri,
                         shuffle=self._shuffle)
        self.samples += found["samples"]
        self.requests += found["requests"]
        return found["samples"] / found["seconds"]


def run():
    """Returns the rows: samples from a bucket, requests per sample, samples from a
    disk."""
    if missing():
        raise RuntimeError(missing())
    home = photos.folder(photos.DEFAULT_COUNT, photos.DEFAULT_SEED).parent
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home) as temporary:
        folder = pathlib.Path(temporary) / BUCKET
        folder.mkdir()
        _fill(folder)
        with FakeGcs(temporary) as server, link(server) as (url, _):
            remote = {"STORAGE_EMULATOR_HOST": url}
            block = _Reader(f"gs://{BUCKET}", "block", remote)
            full = _Reader(f"gs://{BUCKET}", True, remote)
            of_bucket = in_turns(ROUNDS, block.rate, full.rate)
        of_disk = in_turns(ROUNDS, *[
            _Reader(str(folder), shuffle, before=lambda: _forget(folder)).rate
            for shuffle in ("block", True)])
    megabytes = SAMPLE_BYTES / 1e6
    return [
        row("blocks", f"bucket {DELAY_MS} ms away: in blocks / in full",
            *of_bucket, "samples/s"),
        row("blocks", "the same / what the link carries",
            of_bucket[0] * megabytes, MEGABYTES, "MB/s"),
        row("blocks", "requests a sample, in blocks / in full",
            block.requests / block.samples, full.requests / full.samples,
            "requests"),
        row("blocks", "local disk: in blocks / in full", *of_disk,
            "samples/s"),
        row("blocks", "the same, as bytes", of_disk[0] * megabytes,
            of_disk[1] * megabytes, "MB/s"),
    ]
