"""ArrayRecord files for tests, written by the package array_record (PyPI)."""

import gzip
import itertools
import pathlib
import sys

import numpy
import pytest

from fake_gcs import PYPI

# The path is needed only for the import. A package there is called "proto", as ours is.
sys.path.append(str(PYPI))
try:
    module = pytest.importorskip(
        "array_record.python.array_record_module",
        reason="tools/setup could not install what tools/pypi.txt lists")
finally:
    sys.path.remove(str(PYPI))

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "array_record"
CODECS = ("uncompressed", "brotli", "zstd", "snappy")
OPTIONS = [f"group_size:{group},{codec}"
           for codec, group in itertools.product(CODECS, (1, 3, 1000))]
BLOCK = 1 << 16


def write(path, records, options="group_size:1"):
    writer = module.ArrayRecordWriter(str(path), options)
    for record in records:
        writer.write(record)
    writer.close()
    return path


def records_of(path):
    """Returns all records, as array_record reads them."""
    return module.ArrayRecordReader(str(path)).read_all()


def golden(folder, name):
    """Unpacks a golden file into a folder."""
    path = folder / f"{name}.array_record"
    path.write_bytes(gzip.decompress((GOLDEN / f"{path.name}.gz").read_bytes()))
    return path


def golden_names():
    return [line.split()[1] for line in (GOLDEN / "golden.txt").read_text().split("\n")
            if line.startswith("file")]


def noise(count, *, longest=400, seed=1):
    """Returns records of random bytes. Few are long, and some are empty."""
    chance = numpy.random.RandomState(seed)
    lengths = chance.randint(0, longest, count)
    lengths[chance.rand(count) < 0.05] = 0
    lengths[chance.rand(count) < 0.05] *= 50
    return [chance.bytes(int(length)) for length in lengths]
