"""Writes compressed files of compressible samples, and tells where each sample lies in
the decompressed file."""

import gzip
import io
import random
import struct
import subprocess
import tarfile

from containers import masked, once

SAMPLES = 2000
SAMPLE_BYTES = 100_000


def _samples():
    """Yields samples that compress to a third of their size."""
    chance = random.Random(1)
    for _ in range(SAMPLES):
        words = [b"%d " % chance.randrange(5000) for _ in range(SAMPLE_BYTES // 4)]
        yield b"".join(words)[:SAMPLE_BYTES].ljust(SAMPLE_BYTES)


def _put_members(file):
    with tarfile.open(fileobj=file, mode="w") as tar:
        for number, content in enumerate(_samples()):
            info = tarfile.TarInfo(f"{number:06}.bin")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))


_MEMBERS = [(number * (512 + 100_352) + 512, SAMPLE_BYTES)
            for number in range(SAMPLES)]


def _write_tar(place):
    with gzip.open(place / "a.tar.gz", "wb", 6) as packed:
        _put_members(packed)


def tar():
    """Returns the path of a .tar.gz, and the offset and length of each member's
    data."""
    return str(once("tar_gz", _write_tar) / "a.tar.gz"), list(_MEMBERS)


def _write_zstd_tar(place):
    with open(place / "a.tar", "wb") as file:
        _put_members(file)
    subprocess.run(["pzstd", "-q", "--rm", place / "a.tar", "-o",
                    place / "a.tar.zst"], check=True)


def zstd_tar():
    """Returns the same for a .tar.zst, which has frames of 8 MiB."""
    return str(once("tar_zst", _write_zstd_tar) / "a.tar.zst"), list(_MEMBERS)


def _write_tfrecord(place):
    with gzip.open(place / "a.tfrecord.gz", "wb", 6) as packed:
        for content in _samples():
            length = struct.pack("<Q", len(content))
            packed.write(length + masked(length) + content + masked(content))


def tfrecord():
    """Returns the path of a .tfrecord.gz, and the offset and length of each frame."""
    path = once("tfrecord_gz", _write_tfrecord) / "a.tfrecord.gz"
    frame = SAMPLE_BYTES + 16
    return str(path), [(number * frame, frame) for number in range(SAMPLES)]
