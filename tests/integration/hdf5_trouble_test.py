"""HDF5 files that cannot be read, and files that change meanwhile."""

import os
import re

import h5py
import numpy
import pytest

import forebay
from hdf5_test import check, read, write, write_photos
from memory_limit_test import LIMIT, Watch, limited
from stale_files_test import (chmodded, linked, renamed, rewritten,
                              set_to_its_own_time)
from tfrecord_test import epoch, open_records
from trouble import refusing

pytestmark = pytest.mark.usefixtures("shared_daemon")
FIELDS = ("labels", "images")


@pytest.fixture
def good(tmp_path):
    return write(tmp_path / "a.h5", compression="gzip")


refusal = refusing(open_records)


def test_what_is_missing_is_named(good):
    start = f"{good.parent}: a.h5: "
    assert refusal(forebay.NotFound, good, fields=("nope",)) == (
        f"{start}nope: is not there: the file has group, images, labels, names, "
        "scores")
    assert refusal(forebay.NotFound, good, fields=("group/table/y",)) == (
        f"{start}group/table/y: is not there: group/table has no such member")
    assert refusal(forebay.NotFound, good, fields=("group",)) == (
        f"{start}group: is a group, of table; a dataset is wanted")
    assert refusal(forebay.NotFound, good.with_name("*.hdf5")) == (
        f"{good.parent}: *.hdf5: no file fits this pattern")


def test_types_that_rows_do_not_have(good):
    start = f"{good.parent}: a.h5: "
    assert refusal(forebay.InvalidArgument, good, fields={"labels": "float32"}) == (
        f'{start}labels: has rows of int32, which are not "float32"')
    assert refusal(forebay.InvalidArgument, good, fields={"scores": "image"}) == (
        f'{start}scores: has rows of float32 (3), which are not "image"')
    assert '"jpgg" is not a type' in refusal(
        forebay.InvalidArgument, good, fields={"images": "jpgg"})


@pytest.mark.parametrize("fields", ["images", (), {}, {"images": 3}, 5])
def test_fields_that_are_none(good, fields):
    with pytest.raises(forebay.InvalidArgument):
        open_records(good, fields=fields)


def test_a_dataset_of_another_length_is_left_out(good):
    with h5py.File(good, "a") as file:
        file["anchors"] = numpy.zeros((9, 4))
    with open_records(good) as loader:
        assert "anchors" not in next(iter(loader))._fields
    assert refusal(forebay.InvalidArgument, good, fields=("anchors", "labels")) == (
        f"{good.parent}: a.h5: labels: has 40 rows, but anchors has 9")


def test_files_with_other_datasets_are_named(good):
    with h5py.File(good.with_name("b.h5"), "w") as file:
        file["labels"] = numpy.arange(3, dtype="int16")
    assert refusal(forebay.InvalidArgument, good.with_name("{a,b}.h5"),
                   fields=("labels",)) == (
        f"{good.parent}: b.h5: labels: has rows of int16, unlike the first file")
    assert "b.h5: images: is not there" in refusal(
        forebay.NotFound, good.with_name("{a,b}.h5"), fields=("images",))


def test_files_that_are_damaged_are_named(good):
    whole = good.read_bytes()
    start = f"{good.parent}: a.h5: "
    good.write_bytes(b"")
    assert refusal(forebay.DataError, good) == (
        f"{start}is not an HDF5 file: it has no superblock")
    good.write_bytes(whole[:-1])
    assert refusal(forebay.DataError, good) == (
        f"{start}is truncated: it has {len(whole) - 1} of {len(whole)} bytes")
    good.write_bytes(whole.replace(b"TREE", b"TREF"))
    assert "is damaged: " in refusal(forebay.DataError, good)


def test_a_chunk_with_a_wrong_checksum_is_an_error(tmp_path):
    path = write(tmp_path / "a.h5", fletcher32=True)
    whole = bytearray(path.read_bytes())
    row = read([path], "images")[20]
    whole[whole.index(row.tobytes())] ^= 1
    path.write_bytes(whole)
    text = refusal(forebay.DataError, path, fields=FIELDS)
    assert "a.h5" in text and "is damaged: its checksum is" in text
    with open_records(path, fields=FIELDS, on_error="substitute") as loader:
        assert len([batch for batch in loader]) == 10


def test_files_without_rows_are_no_dataset(tmp_path):
    path = write(tmp_path / "a.h5", rows=0)
    assert "the dataset has no samples" in refusal(forebay.InvalidArgument, path)


def test_one_row(tmp_path):
    path = write_photos(tmp_path / "a.h5", rows=1)
    with open_records(path, fields={"photos": "bytes", "labels": ""}) as loader:
        assert epoch(loader)[0] == [read([path], "photos")[0].tobytes(), 0]


def test_a_file_that_says_it_is_enormous(tmp_path):
    """Rows that were never written: some have a terabyte each, others are too many."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", (3, 1 << 40), "u1", chunks=(1, 1 << 20))
    refusal(forebay.ResourceExhausted, tmp_path / "a.h5", batch_size=1)
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file.create_dataset("x", (1 << 45, 100), "u1", chunks=(1, 100))
    refusal(forebay.ResourceExhausted, tmp_path / "b.h5", batch_size=1)


def test_references_of_another_size(tmp_path):
    """A file of a kilobyte claims millions of references, which would lie in no row."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", libver="earliest") as file:
        file.create_dataset("names", (6_000_000,), h5py.string_dtype())
    content = bytearray(path.read_bytes())
    found = re.search(rb"\x19[\x00-\xff]{3}\x10\0\0\0", content)
    content[found.start() + 4] = 1
    path.write_bytes(content)
    assert refusal(forebay.DataError, path, fields=("names",)) == (
        f"{tmp_path}: a.h5: names: is damaged: its datatype contradicts itself")


def test_chunks_are_unpacked_in_scratch(tmp_path):
    """Chunks that do not fit into the scratch memory are refused."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=numpy.zeros((256, 1 << 18), "u1"),
                            chunks=(256, 1 << 18), compression="gzip", shuffle=True)
    with limited(tmp_path, 2 * LIMIT) as daemon, Watch(daemon) as watch:
        text = refusal(forebay.ResourceExhausted, tmp_path / "a.h5", batch_size=1,
                       fields=("x",))
        assert "decompressing needs" in text and "image.scratch_limit" in text
        assert watch.largest <= 2 * LIMIT


def test_a_member_of_compounds_that_are_long(tmp_path):
    kind = numpy.dtype({"names": ["x"], "formats": ["<i4"], "offsets": [0],
                        "itemsize": 1 << 30})
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("d", (8,), kind)
    with limited(tmp_path) as daemon, Watch(daemon) as watch:
        with open_records(tmp_path / "a.h5", fields=("d/x",)) as loader:
            assert epoch(loader) == {number: [0] for number in range(8)}
        assert watch.largest <= LIMIT


def test_many_members_and_many_names_of_them(tmp_path):
    kind = numpy.dtype([(f"m{number:03}", "<i4") for number in range(1000)])
    with h5py.File(tmp_path / "a.h5", "w", libver="latest") as file:
        file.create_dataset("x", (9,), kind)
        for number in range(20):
            file[f"y{number}"] = file["x"]
    with limited(tmp_path) as daemon, Watch(daemon) as watch:
        assert "has more than 15 datasets with rows" in refusal(
            forebay.InvalidArgument, tmp_path / "a.h5")
        assert watch.largest <= LIMIT


def test_a_path_that_is_named_in_two_ways(good):
    with pytest.raises(forebay.InvalidArgument) as caught:
        open_records(good, fields=("group//table/x", "group/table/x"))
    assert '"group/table/x" is named twice' in str(caught.value)


@pytest.mark.parametrize("touch", [chmodded, linked, set_to_its_own_time])
def test_a_file_that_is_touched_in_mid_epoch_is_no_error(tmp_path, touch):
    path = write(tmp_path / "a.h5", rows=400, compression="gzip")
    with open_records(path, fields=FIELDS, shuffle=True) as loader:
        batches = iter(loader)
        next(batches)
        touch(path)
        rest = epoch(batches)
    assert len(rest) == 396


@pytest.mark.parametrize("change", [renamed, rewritten])
def test_a_file_of_equal_size_and_time_is_read_anew(good, change):
    other = write(good.with_name("other.h5"), compression="gzip")
    size = max(os.path.getsize(path) for path in (good, other))
    for path in (good, other):
        with open(path, "ab") as file:
            file.write(bytes(size - os.path.getsize(path)))
    content = other.read_bytes()
    with open_records(good, fields=FIELDS) as loader:
        epoch(loader)
        change(good, content)
        with open_records(good, fields=FIELDS) as later:
            check(epoch(later), FIELDS, [other])


def test_a_file_that_is_replaced_in_mid_epoch_is_an_error(tmp_path):
    path = write(tmp_path / "a.h5", rows=400)
    with open_records(path, fields=FIELDS, batch_size=1) as loader:
        batches = iter(loader)
        next(batches)
        os.replace(write(tmp_path / "b.h5", rows=300), path)
        with pytest.raises(forebay.StateError):
            for _ in range(20):
                epoch(loader)
    with open_records(path, fields=FIELDS) as loader:
        assert len(loader.dataset) == 300
