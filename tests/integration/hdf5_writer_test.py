"""HDF5 files that another process has open, or whose writer has ended in the middle."""

import contextlib
import os
import subprocess
import sys

import h5py
import numpy
import pytest

import forebay
from hdf5_test import write
from tfrecord_test import epoch, open_records
from trouble import refusing

pytestmark = pytest.mark.usefixtures("shared_daemon")
refusal = refusing(open_records)
LOCKED = (
    "is open for writing, and rows that are not written yet would be zeros: close "
    "the file in its writer first")
FLAGGED = (
    "is marked as open for writing: close the file in its writer, or, if its writer "
    "ended without closing it, run `h5clear -s` on it")
SWMR = (
    "is marked as open for SWMR writing, during which it cannot be read here: close "
    "the file in its writer, or, if its writer ended without closing it, run "
    "`h5clear -s` on it")
# Writes half of the rows, and the other half when standard input ends.
WRITER = """
import sys, h5py
path, libver, swmr = sys.argv[1:]
with h5py.File(path, "w", libver=libver) as file:
    rows = file.create_dataset("x", (400,), "int32", chunks=(50,))
    if swmr:
        file.swmr_mode = True
    rows[:200] = range(1, 201)
    file.flush()
    print("flushed", flush=True)
    sys.stdin.read()
    rows[200:] = range(201, 401)
"""


@contextlib.contextmanager
def writing(path, libver, swmr=False, locking="TRUE"):
    """Runs a process that has written half of a file."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), libver, "swmr" if swmr else ""],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "HDF5_USE_FILE_LOCKING": locking})
    with process:
        assert process.stdout.readline() == "flushed\n"
        yield process


def all_rows(path):
    with open_records(path) as loader:
        found = epoch(loader)
    return [found[number][0] for number in range(len(found))]


@pytest.mark.parametrize("libver", ["earliest", "v108", "latest"])
def test_a_file_that_is_open_for_writing_is_refused(tmp_path, libver):
    path = tmp_path / "a.h5"
    with writing(path, libver):
        assert refusal(forebay.StateError, path) == f"{tmp_path}: a.h5: {LOCKED}"
    assert all_rows(path) == list(range(1, 401))


def test_a_later_file_that_is_open_for_writing_is_refused(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = numpy.arange(10, dtype="int32")
    with writing(tmp_path / "b.h5", "earliest"):
        assert refusal(forebay.StateError, tmp_path / "*.h5") == (
            f"{tmp_path}: b.h5: {LOCKED}")
    assert all_rows(tmp_path / "*.h5") == [*range(10), *range(1, 401)]


@pytest.mark.parametrize("libver", ["v108", "latest"])
def test_a_file_whose_writer_locks_nothing_is_refused(tmp_path, libver):
    path = tmp_path / "a.h5"
    with writing(path, libver, locking="FALSE"):
        assert refusal(forebay.StateError, path) == f"{tmp_path}: a.h5: {FLAGGED}"
    assert all_rows(path) == list(range(1, 401))


def test_a_file_that_is_open_for_swmr_writing_is_refused(tmp_path):
    path = tmp_path / "a.h5"
    with writing(path, "latest", swmr=True):
        assert refusal(forebay.StateError, path) == f"{tmp_path}: a.h5: {SWMR}"
    assert all_rows(path) == list(range(1, 401))


def test_a_file_whose_writer_was_killed_is_refused(tmp_path):
    path = tmp_path / "a.h5"
    with writing(path, "latest") as process:
        process.kill()
        process.wait()
    assert refusal(forebay.StateError, path) == f"{tmp_path}: a.h5: {FLAGGED}"


def test_a_file_that_is_open_for_reading_is_read(tmp_path):
    path = write(tmp_path / "a.h5")
    with h5py.File(path) as file, open_records(path, fields=("labels",)) as loader:
        assert len(epoch(loader)) == len(file["labels"])


def test_an_open_dataset_holds_no_lock(tmp_path):
    path = write(tmp_path / "a.h5")
    with open_records(path, fields=("images",)) as loader:
        next(iter(loader))
        with h5py.File(path, "r+") as file:
            assert file.mode == "r+"
