"""Files of rows that change while their largest array is read from the file and the
others are in memory. Both come from one revision of the file, or there is an error."""

import numpy
import pytest

import forebay
from npz_test import open_npz
from stale_files_test import (chmodded, linked, renamed, rewritten,
                              set_to_its_own_time)

pytestmark = pytest.mark.usefixtures("shared_daemon")
ROWS = 1 << 16
ROW_BYTES = 1 << 10  # makes the array so large that it stays in its file


def save(path, x=1, y=1):
    """Writes a file with two arrays, each filled with one value."""
    numpy.savez(path, x=numpy.full((ROWS, ROW_BYTES), x, "uint8"),
                y=numpy.full(ROWS, y, "uint8"))
    return path


def open_pairs(path):
    return open_npz(path, batch_size=256, shuffle=True)


def pairs(batches):
    """Returns the set of pairs of values that rows have in the two arrays."""
    found = set()
    for batch in batches:
        assert (batch.x == batch.x[:, :1]).all()
        found |= set(zip(batch.x[:, 0].tolist(), batch.y.tolist()))
    return found


@pytest.mark.parametrize("values", [{"x": 2, "y": 2}, {"y": 2}])
@pytest.mark.parametrize("change", [renamed, rewritten])
def test_another_file_of_equal_size_and_time_is_an_error(tmp_path, change, values):
    path = save(tmp_path / "a.npz")
    content = save(tmp_path / "other.npz", **values).read_bytes()
    with open_pairs(path) as loader:
        assert pairs(loader) == {(1, 1)}
        change(path, content)
        found = []
        with pytest.raises(forebay.StateError, match="a.npz: was re"):
            for batch in loader:
                found += pairs([batch])
        assert found == []
    with open_pairs(path) as later:
        assert pairs(later) == {(values.get("x", 1), values["y"])}


@pytest.mark.parametrize("touch", [chmodded, linked, set_to_its_own_time])
def test_a_file_that_is_touched_in_mid_epoch_is_no_error(tmp_path, touch):
    path = save(tmp_path / "a.npz")
    with open_pairs(path) as loader:
        batches = iter(loader)
        next(batches)
        touch(path)
        assert pairs(batches) == {(1, 1)}
        assert pairs(loader) == {(1, 1)}
