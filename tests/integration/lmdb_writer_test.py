"""A program writes to an LMDB environment while jobs read it. The jobs get what one
transaction left, or an error, and nothing else."""

import pathlib
import subprocess
import sys
import tempfile
import threading

import pytest

import forebay
import lmdb_history
from daemons import serving
from fake_gcs import PYPI
from lmdb_files import contents, lmdb, open_entries
from trouble import until

OPTIONS = [{}, {"sync": False}, {"writemap": True},
           {"writemap": True, "sync": False}, {"writemap": True, "map_async": True},
           {"metasync": False}]


class Writer:
    """liblmdb's writer in a process of its own; a context manager."""

    def __init__(self, path, options):
        self._process = subprocess.Popen(
            [sys.executable, lmdb_history.__file__, str(PYPI), str(path),
             repr(options)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.last = 0

    def commit(self, count=1):
        self._process.stdin.write(f"{count}\n")
        self._process.stdin.flush()
        self.last = int(self._process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._process.stdin.close()
        assert self._process.wait(60) == 0
        self._process.stdout.close()


@pytest.fixture(params=["off", "auto"])
def io_uring(request):
    return request.param


@pytest.fixture(params=["0", "64MiB"])
def daemon(request, tmp_path, io_uring):
    path = tmp_path / "forebayd.toml"
    path.write_text(f"cache.memory = '{request.param}'\n"
                    f"storage.io_uring = '{io_uring}'\n")
    with serving(tmp_path, "--config", str(path)) as started:
        yield started


@pytest.fixture(params=["disk", "memory"])
def place(request, tmp_path):
    """A folder on the disk's file system, or in tmpfs."""
    if request.param == "disk":
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield pathlib.Path(folder)


def read_on(batches, values):
    """Adds the values of batches, by sample, to `values`. Returns the error that ended
    the batches, or None."""
    try:
        for batch in batches:
            for number, value in zip(batch.sample_ids.tolist(), batch.value):
                values[number] = bytes(value)
    except forebay.StateError as error:
        return str(error)
    return None


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_commit_in_mid_epoch(place, options):
    with Writer(place / "env", options) as writer:
        writer.commit(3)
        with open_entries(place / "env", shuffle=True, depth=1) as loader:
            before, values = writer.last, {}
            batches = iter(loader)
            read_on([next(batches), next(batches)], values)
            writer.commit(4)
            error = read_on(batches, values)
        # If there was no error, all values may have been cached before the second
        # commit.
        assert lmdb_history.snapshot_of(values, writer.last) == before
        assert error is None or error.endswith(
            "data.mdb: was replaced or changed since the dataset was indexed")
        assert error is not None or len(values) == len(lmdb_history.KEYS)
        with open_entries(place / "env") as loader:
            assert contents(loader)[0] == lmdb_history.latest(writer.last)


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_what_was_cached_is_of_its_transaction(place, options):
    """liblmdb reuses pages, so an extent later holds other values."""
    with Writer(place / "env", options) as writer:
        for count in (2, 1, 3, 5):
            writer.commit(count)
            with open_entries(place / "env") as loader:
                assert contents(loader)[0] == lmdb_history.latest(writer.last)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_an_index_that_is_older_than_its_file(tmp_path, place, options):
    """The index is stored on disk, and no daemon runs during the next commit."""
    with serving(tmp_path) as daemon, Writer(place / "env", options) as writer:
        for count in (3, 1, 2):
            writer.commit(count)
            with open_entries(place / "env") as loader:
                assert contents(loader)[0] == lmdb_history.latest(writer.last)
            daemon.stop()
            writer.commit(1)
            daemon.start()


@pytest.mark.parametrize("options", [{"sync": False},
                                     {"writemap": True, "sync": False}], ids=str)
def test_a_writer_that_never_rests(tmp_path, io_uring, options):
    path = tmp_path / "forebayd.toml"
    path.write_text(f"cache.memory = '8MiB'\nstorage.io_uring = '{io_uring}'\n")
    over = threading.Event()
    with serving(tmp_path, "--config", str(path)), \
            Writer(tmp_path / "env", options) as writer:
        writer.commit(1)

        def write():
            while not over.wait(0.02):
                writer.commit(1)

        thread = threading.Thread(target=write)
        thread.start()
        ends = {"whole": 0, "changed": 0}
        try:
            def tried():
                values = {}
                try:
                    with open_entries(tmp_path / "env", shuffle=True) as loader:
                        error = read_on(iter(loader), values)
                except forebay.ForebayError as refused:
                    error = str(refused)
                    assert "data.mdb: was " in error, error
                ends["changed" if error else "whole"] += 1
                if values:
                    assert lmdb_history.snapshot_of(values, writer.last + 1)
                return sum(ends.values()) >= 40 and ends["changed"] > 0

            until(tried, "forty epochs, and a changed one", lambda: ends)
        finally:
            over.set()
            thread.join()
        with open_entries(tmp_path / "env") as loader:
            assert contents(loader)[0] == lmdb_history.latest(writer.last)


def test_the_writer_is_liblmdb():
    assert lmdb.version() >= (0, 9, 24)
