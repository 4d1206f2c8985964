"""Files that are not datasets of rows, and files that change meanwhile."""

import os

import numpy
import pytest

import forebay
from npy_test import contents, numbers, open_rows, same
from stale_files_test import (chmodded, linked, renamed, rewritten,
                              set_to_its_own_time)
from trouble import run_until_error


pytestmark = pytest.mark.usefixtures("shared_daemon")


@pytest.fixture
def good(tmp_path):
    """A good file, which is opened together with a bad one."""
    numpy.save(tmp_path / "a.npy", numbers(3, (2, 3)))
    return tmp_path / "a.npy"


def refusal(error, dataset, **arguments):
    with pytest.raises(error) as caught:
        with open_rows(dataset, **arguments) as loader:
            list(loader)
    return str(caught.value)


def of_pair(good, array, error):
    """Returns the error that refuses a file beside a good one, without the file's
    name."""
    numpy.save(good.with_name("b.npy"), array, allow_pickle=True)
    text = refusal(error, good.with_name("{a,b}.npy"))
    start = f"{good.parent}: b.npy: "
    assert text.startswith(start), text
    return text[len(start):]


@pytest.mark.parametrize("array, says", [
    (numpy.float32(1), "is a .npy file of a single value, which has no rows"),
    (numpy.ones((1,) * 7), "is a .npy file of 7 dimensions, of which at most 6 "
     "can be read"),
    (numpy.ones((3, 0)), "has rows without elements: its shape is (3, 0)"),
    (numpy.asfortranarray(numpy.ones((3, 4))), "is a .npy file in Fortran's "
     "order, of which only C's can be read"),
    (numpy.ones(3, ">f4"), "is a big-endian .npy file, of which only "
     "little-endian ones can be read"),
    (numpy.ones(3, "complex64"), "is a .npy file of complex numbers, which "
     "cannot be read"),
    (numpy.array([{}, None]), 'is a .npy file of items of the type "|O", of '
     "which only plain numbers can be read"),
    (numpy.zeros(3, [("x", "<f4"), ("y", "u1")]), "is a .npy file of records, "
     "of which only plain numbers can be read"),
    (numpy.array(["a", "bc"]), 'is a .npy file of items of the type "<U2", of '
     "which only plain numbers can be read")])
def test_arrays_that_have_no_rows_of_numbers(good, array, says):
    assert of_pair(good, array, forebay.Unsupported) == says


@pytest.mark.parametrize("array, has", [
    (numpy.ones((3, 2, 3)), "float64 (2, 3)"),
    (numpy.ones((0, 2, 2), "float32"), "float32 (2, 2)"),
    (numpy.ones(3, "float32"), "float32 ()"),
    (numpy.ones((3, 2), "int8"), "int8 (2,)")])
def test_files_with_other_rows_are_named(good, array, has):
    assert of_pair(good, array, forebay.InvalidArgument) == (
        f"has rows of {has}, but those of a.npy are float32 (2, 3)")


def test_files_that_are_not_as_long_as_they_say(good):
    content = good.read_bytes()
    good.write_bytes(content[:-1])
    assert refusal(forebay.DataError, good) == (
        f"{good.parent}: a.npy: is truncated: it has 71 of 72 bytes of data")
    good.write_bytes(content + b"more")
    assert refusal(forebay.DataError, good) == (
        f"{good.parent}: a.npy: has 4 bytes behind its last row")
    good.write_bytes(content[:50])
    assert refusal(forebay.DataError, good) == (
        f"{good.parent}: a.npy: has a damaged .npy header")
    good.write_bytes(b"")
    assert refusal(forebay.DataError, good) == (
        f"{good.parent}: a.npy: is not a .npy file")


def test_a_file_that_says_it_is_enormous(good):
    """A sparse file has rows of a terabyte. No batch has room for one."""
    header = (b"{'descr': '|u1', 'fortran_order': False, 'shape': (2, %d), }"
              % (1 << 40))
    good.write_bytes(b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") +
                     header)
    size = good.stat().st_size + (2 << 40)
    try:
        os.truncate(good, size)
    except OSError:
        pytest.skip("the file system has no such files")
    text = refusal(forebay.ResourceExhausted, good, batch_size=1)
    assert str(good.parent) in text


def test_files_without_rows_are_no_dataset(good):
    numpy.save(good, numbers(0))
    assert "the dataset has no samples" in refusal(forebay.InvalidArgument, good)
    assert len(forebay.Dataset(good, autostart=False)) == 0


def test_what_is_missing_is_named(good):
    assert refusal(forebay.NotFound, good.with_name("x-*.npy")) == (
        f"{good.parent}: x-*.npy: no file fits this pattern")
    text = refusal(forebay.NotFound, good.with_name("{a,c}.npy"))
    assert text.startswith(f"{good.parent}: c.npy: ")


def test_arguments_that_are_for_others(good):
    assert refusal(forebay.InvalidArgument, good, fields=("npy",)) == (
        "fields are of tar shards; samples of .npy files have the one field "
        '"array"')
    assert refusal(forebay.InvalidArgument, good,
                   transform=forebay.transforms.CenterCrop(3)) == (
        f"{good.parent}: there is a transform, but no field that is an image")


@pytest.mark.parametrize("change", [renamed, rewritten])
def test_a_file_of_equal_size_and_time_is_read_anew(good, change):
    """The new file's header describes other rows."""
    other = numbers(6, (3,))
    numpy.save(good.with_name("other.npy"), other)
    content = good.with_name("other.npy").read_bytes()
    assert len(content) == good.stat().st_size
    with open_rows(good) as loader:
        contents(loader)
        change(good, content)
        with open_rows(good) as later:
            assert same(contents(later)[0], other)
        with pytest.raises(forebay.StateError):
            contents(loader)


def test_elements_that_are_written_over_are_read_anew(good):
    """The header stays the same; only the ctime shows the change."""
    with open_rows(good) as loader:
        before, _ = contents(loader)
        numpy.save(good.with_name("other.npy"), before + 1)
        rewritten(good, good.with_name("other.npy").read_bytes())
        after, _ = contents(loader)
    assert same(after, before + 1)


@pytest.mark.parametrize("touch", [chmodded, linked, set_to_its_own_time])
def test_a_file_that_is_touched_in_mid_epoch_is_no_error(tmp_path, touch):
    path = tmp_path / "a.npy"
    numpy.save(path, numbers(400))
    with open_rows(path, shuffle=True) as loader:
        rows, ids = contents(loader)
        loader.set_epoch(0)
        batches = iter(loader)
        first = contents([next(batches)])
        touch(path)
        rest = contents(batches)
    assert first[1] + rest[1] == ids
    assert same(numpy.concatenate([first[0], rest[0]]), rows)


def test_a_file_that_is_replaced_in_mid_epoch_is_an_error(tmp_path):
    path = tmp_path / "a.npy"
    numpy.save(path, numbers(4000))
    with open_rows(path, shuffle=True) as loader:
        batches = iter(loader)
        next(batches)
        numpy.save(path, numbers(3000))
        text, _ = run_until_error(batches, forebay.StateError)
        assert str(tmp_path) in text and "a.npy" in text
    with open_rows(path) as loader:
        assert len(loader.dataset) == 3000


def test_a_file_that_is_replaced_before_the_first_batch_is_opened_anew(tmp_path):
    path = tmp_path / "a.npy"
    numpy.save(path, numbers(40))
    with open_rows(path) as loader:
        after = numbers(40, dtype="int16")  # other rows, but the same number
        numpy.save(path, after)
        assert same(contents(loader)[0], after)
