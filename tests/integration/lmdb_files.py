"""LMDB environments for tests, written by liblmdb itself (the package lmdb of PyPI)."""

import sys

import numpy
import pytest

import forebay
from fake_gcs import PYPI

# The path is needed only for the import. A package there is called "proto", as ours is.
sys.path.append(str(PYPI))
try:
    lmdb = pytest.importorskip(
        "lmdb", reason="tools/setup could not install what tools/pypi.txt lists")
finally:
    sys.path.remove(str(PYPI))

MAP = 1 << 26  # bytes


def write(path, entries, *, database=None, **options):
    """Writes entries, by keys as bytes, in one transaction."""
    with lmdb.open(str(path), **{"map_size": MAP, "max_dbs": 8, **options}) as env:
        place = None if database is None else env.open_db(database)
        with env.begin(write=True, db=place) as transaction:
            for key, value in entries.items():
                transaction.put(key, value)
    return path


def entries_of(path, database=None):
    """Returns (key, value) of all entries, as liblmdb reads them."""
    with lmdb.open(str(path), readonly=True, lock=False, max_dbs=8,
                   subdir=path.is_dir()) as env:
        place = None if database is None else env.open_db(database, create=False)
        with env.begin(db=place) as transaction:
            return [(bytes(key), bytes(value))
                    for key, value in transaction.cursor(place)]


def noise(count, *, longest=400, seed=1):
    """Returns entries of random bytes. Few are long, and some are empty."""
    chance = numpy.random.RandomState(seed)
    lengths = chance.randint(0, longest, count)
    lengths[chance.rand(count) < 0.05] = 0
    lengths[chance.rand(count) < 0.05] *= 50
    return {b"%08d" % number: chance.bytes(int(length))
            for number, length in enumerate(lengths)}


def open_entries(dataset, **arguments):
    """Opens a loader of a dataset that forebay.lmdb returned, or would return for a
    path."""
    if not isinstance(dataset, forebay.LMDB):
        dataset = forebay.lmdb(dataset, fields=arguments.pop("fields", "bytes"))
    return forebay.DataLoader(dataset, **{
        "batch_size": 4, "framework": "numpy", "autostart": False, **arguments})


def contents(loader, field="value"):
    """Returns the values of an epoch and the sample numbers, in the same order."""
    values, ids = [], []
    for batch in loader:
        values += list(getattr(batch, field))
        ids += batch.sample_ids.tolist()
    return values, ids
