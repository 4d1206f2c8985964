"""ArrayRecord files that are damaged, that change meanwhile, or that lack fields."""

import os

import pytest

import forebay
from array_record_files import (BLOCK, CODECS, golden, golden_names, noise,
                                records_of, write)
from daemons import serving
from stale_files_test import (chmodded, linked, renamed, rewritten,
                              set_to_its_own_time)
from tfrecord_test import GOLDEN as TFRECORD_GOLDEN
from tfrecord_test import SMALL, epoch, open_records
from trouble import refusing, run_until_error, spoil

PHOTO = TFRECORD_GOLDEN.parent / "decode" / "420_33x16.jpg"

pytestmark = pytest.mark.usefixtures("shared_daemon")


refusal = refusing(open_records)


@pytest.fixture
def good(tmp_path):
    return write(tmp_path / "a.array_record", [b"first", b"second", b"third"],
                 "group_size:1,uncompressed")


def test_truncated_files(good):
    whole = good.read_bytes()
    for length in (1, BLOCK - 1, BLOCK + 1, len(whole) - 1):
        good.write_bytes(whole[:length])
        assert refusal(forebay.DataError, good, fields="bytes") == (
            f"{good.parent}: a.array_record: is not an ArrayRecord file, or truncated: "
            f"it has {length} bytes, but such files have blocks of 65536")
    good.write_bytes(whole[:BLOCK])
    assert refusal(forebay.DataError, good, fields="bytes") == (
        f"{good.parent}: a.array_record: at byte 0: has no chunk of records where "
        "one is expected")
    good.write_bytes(b"")
    assert "it has 0 bytes" in refusal(forebay.DataError, good, fields="bytes")


def test_files_that_are_none(good):
    good.write_bytes(b"x" * 2 * BLOCK)
    for fields in ("bytes", None):
        assert refusal(forebay.DataError, good, fields=fields) == (
            f"{good.parent}: a.array_record: at byte 65536: is not an ArrayRecord "
            "file, or damaged: the hash of a chunk's header does not match")


def test_a_list_of_chunks_that_is_damaged_ends_all(good):
    content = good.read_bytes()
    spoil(good, content.index(b"group_size"))
    assert refusal(forebay.DataError, good, fields="bytes").endswith(
        "is damaged: the hash of a chunk's data does not match")
    good.write_bytes(content)
    spoil(good, BLOCK + 24)
    assert "at byte 65536: is not an ArrayRecord file, or damaged" in refusal(
        forebay.DataError, good, fields="bytes")


def test_a_record_that_is_damaged_is_named(good):
    spoil(good, good.read_bytes().index(b"second"))
    assert refusal(forebay.DataError, good, fields="bytes") == (
        f"sample 1 (record 1) of {good.parent}: a.array_record: is damaged: the "
        "hash of a chunk's data does not match")
    with open_records(good, fields="bytes", on_error="substitute") as loader:
        batch = next(iter(loader))
    assert sorted(batch.record)[0] == b"first" and b"second" not in batch.record


def test_a_damaged_first_chunk_hides_no_others(tmp_path):
    path = write(tmp_path / "a.array_record",
                 [b"1" * (6 << 20), b"2" * (5 << 20), b"3"],
                 "group_size:1,uncompressed")
    spoil(path, path.stat().st_size // 4)
    found = forebay.inspect(path, verify=True)
    assert (found.verification.broken, found.samples) == (1, 3)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("group", [1, 4])
def test_damage_anywhere_is_told_or_without_harm(tmp_path, codec, group):
    """Damage in block headers and padding has no effect; everything else is hashed."""
    expected = noise(40, longest=3000)
    path = write(tmp_path / "a.array_record", expected,
                 f"group_size:{group},{codec}")
    whole = path.read_bytes()
    for at in range(7, len(whole), len(whole) // 23):
        spoil(path, at)
        try:
            with open_records(path, fields="bytes", batch_size=1) as loader:
                for batch in loader:
                    assert bytes(batch.record[0]) == expected[batch.sample_ids[0]]
        except forebay.DataError as error:
            assert "a.array_record" in str(error)
        path.write_bytes(whole)


def test_transposed_records_are_refused_by_name(tmp_path):
    path = golden(tmp_path, "transposed")
    for fields in (None, "bytes", {"label": "int64"}):
        assert refusal(forebay.Unsupported, path, fields=fields).endswith(
            "its records are transposed, and cannot be read: write the file without "
            'the option "transpose"')


def test_files_without_records_are_no_dataset(tmp_path):
    path = golden(tmp_path, "none")
    assert "the dataset has no samples" in refusal(forebay.InvalidArgument, path)
    assert len(forebay.Dataset(path, autostart=False)) == 0


@pytest.mark.parametrize("name", golden_names())
def test_no_fields_are_wrong_types(tmp_path, name):
    path = golden(tmp_path, name)
    if not records_of(path):
        return
    error = refusal(forebay.ForebayError, path, fields={"nothing": "int64"})
    assert f"{name}.array_record" in error


def test_features_that_records_lack(tmp_path):
    path = golden(tmp_path, "examples_8")
    assert refusal(forebay.DataError, path, fields={"size": "int64"}) == (
        f"sample 0 (record 0) of {tmp_path}: examples_8.array_record: has no feature "
        "size; it has label, name, scores")
    assert "has no values of feature scores" in refusal(
        forebay.DataError, path, fields={"scores": "float32[3]"})


def test_arguments_that_are_none(good):
    for fields in ({}, {"a": 3}, {1: "int64"}, 7, ("jpg", "cls")):
        assert "fields must" in refusal(forebay.InvalidArgument, good, fields=fields)
    assert "forebay.array_record names its own" in refusal(
        forebay.InvalidArgument, forebay.array_record(good), fields=("jpg",))
    assert '"quux" is not a type' in refusal(
        forebay.InvalidArgument, good, fields={"a": "quux"})


def test_what_is_missing_is_named(good):
    assert refusal(forebay.NotFound, good.with_name("x-*.array_record")) == (
        f"{good.parent}: x-*.array_record: no file fits this pattern")


def test_what_unpacks_to_too_much_is_refused(tmp_path):
    """The records' compressed size is a thousandth of their size."""
    photo = PHOTO.read_bytes()
    path = write(tmp_path / "a.array_record", [photo, photo + bytes(100 << 20)],
                 "group_size:1,zstd")
    larger = write(tmp_path / "b.array_record", [photo, bytes(300 << 20)],
                   "group_size:1,zstd")
    assert path.stat().st_size < 1 << 20
    config = tmp_path / "forebayd.toml"
    config.write_text("[memory]\nlimit = '192MiB'\n")
    with serving(tmp_path, "--config", str(config)) as daemon:
        for _ in range(2):
            text = refusal(forebay.ResourceExhausted, path, fields="image",
                           transform=SMALL)
            assert text.startswith(f"sample 1 (record 1) of {tmp_path}: "
                                   "a.array_record: decompressing needs ")
            assert "image.scratch_limit" in text
        dataset = forebay.Dataset(forebay.array_record(path, fields="image"),
                                  autostart=False, decode=False)
        assert bytes(dataset[0][0]) == photo
        with pytest.raises(forebay.ResourceExhausted, match="no memory for"):
            dataset[1]
        for fields, transform in (("bytes", None), ("image", SMALL), (None, None),
                                  ({"a": "float32[n]"}, None)):
            assert str(tmp_path) in refusal(forebay.ResourceExhausted, larger,
                                            fields=fields, transform=transform)
        peak = int(next(
            line for line in open(f"/proc/{daemon.process.pid}/status")
            if line.startswith("VmHWM")).split()[1])
        assert peak < 192 << 10


def test_what_unpacks_a_lot_is_an_image_all_the_same(tmp_path):
    """Bytes after a JPEG's end do no harm."""
    photo = PHOTO.read_bytes()
    path = write(tmp_path / "a.array_record", [photo, photo + bytes(20 << 20)] * 4,
                 "group_size:2,brotli:1")
    with open_records(path, fields="image", batch_size=8,
                      transform=SMALL) as loader:
        images, = next(iter(loader))
    assert all((image == images[0]).all() for image in images)


@pytest.mark.parametrize("change", [renamed, rewritten])
def test_a_file_of_equal_size_and_time_is_read_anew(good, tmp_path, change):
    other = write(tmp_path / "other", [b"one", b"other"],
                  "group_size:1,uncompressed").read_bytes()
    assert len(other) == good.stat().st_size
    with open_records(good, fields="bytes") as loader:
        epoch(loader)
        change(good, other)
        with open_records(good, fields="bytes") as later:
            assert len(epoch(later)) == 2
        with pytest.raises(forebay.StateError):
            epoch(loader)


@pytest.mark.parametrize("touch", [chmodded, linked, set_to_its_own_time])
@pytest.mark.parametrize("group", [1, 7])
def test_a_file_that_is_touched_in_mid_epoch_is_no_error(tmp_path, touch, group):
    path = write(tmp_path / "a.array_record", noise(400), f"group_size:{group}")
    with open_records(path, fields="bytes", shuffle=True) as loader:
        whole = epoch(loader)
        loader.set_epoch(0)
        batches = iter(loader)
        next(batches)
        touch(path)
        rest = epoch(batches)
    assert list(rest) == list(whole)[4:]
    assert all(whole[number] == value for number, value in rest.items())


def test_a_file_that_is_replaced_in_mid_epoch_is_an_error(tmp_path):
    path = write(tmp_path / "a.array_record", noise(4000))
    with open_records(path, fields="bytes", shuffle=True) as loader:
        batches = iter(loader)
        next(batches)
        os.replace(write(tmp_path / "new", noise(3000)), path)
        text, _ = run_until_error(batches, forebay.StateError)
        assert str(tmp_path) in text and "a.array_record" in text
    with open_records(path, fields="bytes") as loader:
        assert len(loader.dataset) == 3000


def test_records_that_are_written_over_give_no_wrong_values(good):
    """The list of chunks stays the same; only the ctime shows the change."""
    other = write(good.with_name("b"), [b"FIRST", b"SECOND", b"THIRD"],
                  "group_size:1,uncompressed").read_bytes()
    with open_records(good, fields="bytes") as loader:
        epoch(loader)
        rewritten(good, other)
        assert epoch(loader) == {0: [b"FIRST"], 1: [b"SECOND"], 2: [b"THIRD"]}
