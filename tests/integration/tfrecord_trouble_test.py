"""TFRecord files that are damaged, that change meanwhile, or that lack fields."""

import os
import struct

import pytest

import forebay
from forebay import transforms as T
from stale_files_test import (chmodded, linked, renamed, rewritten,
                              set_to_its_own_time)
from tfrecord_test import (EXAMPLES, FIELDS, GOLDEN, epoch, frame, masked,
                           open_records, write)
from trouble import refusing, run_until_error, spoil

pytestmark = pytest.mark.usefixtures("shared_daemon")


refusal = refusing(open_records)


@pytest.fixture
def good(tmp_path):
    return write(tmp_path / "a.tfrecord", [b"first", b"second", b"third"])


def test_truncated_files(good):
    whole = good.read_bytes()
    for length, says in (
            (-1, "at byte 43: is truncated: a record has 5 bytes, of which 4 are "
             "there"),
            (43 + 15, "at byte 43: is truncated: 15 bytes are left, which are not "
             "a record"),
            (1, "at byte 0: is truncated: 1 bytes are left, which are not a record")):
        good.write_bytes(whole[:length])
        assert refusal(forebay.DataError, good, fields="bytes") == (
            f"{good.parent}: a.tfrecord: {says}")


def test_a_length_that_is_damaged_ends_all(good):
    spoil(good, 21)
    assert refusal(forebay.DataError, good, fields="bytes") == (
        f"{good.parent}: a.tfrecord: at byte 21: is not a TFRecord file, or damaged: "
        "the checksum of a record's length does not match")


def test_a_record_that_is_damaged_is_named(good):
    spoil(good, 21 + 12)
    assert refusal(forebay.DataError, good, fields="bytes") == (
        f"sample 1 (record 1) of {good.parent}: a.tfrecord: is damaged: the "
        "checksum of the record does not match")
    with open_records(good, fields="bytes", on_error="substitute") as loader:
        batch = next(iter(loader))
    assert sorted(batch.record)[0] == b"first" and b"second" not in batch.record


def test_a_damaged_first_record_hides_no_others(tmp_path):
    """Fields are guessed from the first undamaged records."""
    path = tmp_path / "a.tfrecord"
    path.write_bytes((GOLDEN / "examples-00000-of-00002.tfrecord").read_bytes())
    whole = forebay.inspect(path, verify=True)
    spoil(path, 12 + 5)
    found = forebay.inspect(path, verify=True)
    assert [(field["name"], field["kind"]) for field in found.fields] == [
        (field["name"], field["kind"]) for field in whole.fields]
    assert (found.verification.broken, found.samples) == (1, whole.samples)
    with open_records(path, on_error="substitute",
                      transform=T.RandomResizedCrop(8)) as loader:
        assert sum(len(batch.sample_ids) for batch in loader) == whole.samples
        assert loader.stats()["samples_substituted"] == 1


def test_all_records_are_damaged(tmp_path):
    path = write(tmp_path / "a.tfrecord", [b"x", b"y"])
    for record in (0, 1):
        spoil(path, 12 + record * 17)
    assert refusal(forebay.DataError, path) == (
        f"{tmp_path}: a.tfrecord: the record at byte 0: is damaged: the checksum of "
        "the record does not match")


@pytest.mark.parametrize("length", [2**63, 2**64 - 1, 2**64 - 17, 2**62])
def test_lengths_of_any_size(good, length):
    number = struct.pack("<Q", length)
    good.write_bytes(number + masked(number) + bytes(100))
    assert f"a record has {length} bytes, of which 96 are there" in refusal(
        forebay.DataError, good, fields="bytes")


def test_an_enormous_record_takes_no_memory(good):
    """In a sparse file, a record is so large that no batch has room for it."""
    number = struct.pack("<Q", 1 << 40)
    good.write_bytes(number + masked(number))
    try:
        os.truncate(good, (1 << 40) + 16)
    except OSError:
        pytest.skip("the file system has no such files")
    for fields in ("bytes", {"a": "float32[n]"}, None):
        text = refusal(forebay.ResourceExhausted, good, fields=fields)
        assert str(good.parent) in text


def test_files_without_records_are_no_dataset(good):
    assert refusal(forebay.InvalidArgument, GOLDEN / "empty.tfrecord") == (
        f"{GOLDEN}: the dataset has no samples")
    assert len(forebay.Dataset(GOLDEN / "empty.tfrecord", autostart=False)) == 0


def test_fields_that_records_lack():
    start = (f"sample 0 (record 0) of {EXAMPLES.parent}: "
             "examples-00000-of-00002.tfrecord: ")
    assert refusal(forebay.DataError, EXAMPLES, fields={"label": "int64"}) == (
        start + "has no feature label; it has embedding, ids, "
        "image/class/label, image/class/text, image/encoded, "
        "image/object/bbox/xmin, pixels, score")
    assert refusal(forebay.InvalidArgument, EXAMPLES,
                   fields={"embedding": "float32[7]"}) == (
        start + "embedding: has 8 values of type float, which is not float32[7]; "
        'for any number of them, its type ends in "[n]"')
    assert refusal(forebay.InvalidArgument, EXAMPLES, fields={"ids": "int64"}) == (
        start.replace("0 (record 0)", "1 (record 1)") + "ids: has 2 values of type "
        'int64, which is not int64; for any number of them, its type ends in "[n]"')
    assert refusal(forebay.InvalidArgument, EXAMPLES,
                   fields={"score": "int64"}) == (
        start + "score: has 1 values of type float, which is not int64")
    assert "is not a tf.train.Example, or damaged" in refusal(
        forebay.DataError, GOLDEN / "photos.tfrecord", fields=FIELDS)


def example(**features):
    """Returns an Example in which some features have no values, or not even a list."""
    def message(tag, content):
        return bytes([tag << 3 | 2, len(content)]) + content

    entries = b"".join(
        message(1, message(1, name.encode()) + message(2, feature))
        for name, feature in features.items())
    return message(1, entries)


def int64s(*values):
    content = bytes([0x0a, len(values), *values]) if values else b""
    return bytes([0x1a, len(content)]) + content


def test_records_that_lack_a_feature_may_be_substituted(tmp_path):
    path = write(tmp_path / "a.tfrecord", [
        example(a=int64s(0), b=int64s(5)), example(b=int64s(6)),
        example(a=int64s(2), b=int64s(7)), example(a=int64s(), b=int64s(8)),
        example(a=b"", b=int64s(9))])
    fields = {"a": "int64", "b": "int64"}
    for number, says in ((1, "has no feature a; it has b"),
                         (3, "has no values of feature a"),
                         (4, "has no values of feature a")):
        with pytest.raises(forebay.DataError) as caught:
            forebay.Dataset(path, fields=fields, autostart=False)[number]
        assert str(caught.value) == (
            f"sample {number} (record {number}) of {tmp_path}: a.tfrecord: {says}")
    with open_records(path, fields=fields, on_error="substitute",
                      batch_size=5) as loader:
        batch = next(iter(loader))
        assert loader.stats()["samples_substituted"] >= 3
    assert batch.a[[0, 2]].tolist() == [0, 2] and set(batch.b.tolist()) == {5, 7}


@pytest.mark.parametrize("fields, says", [
    ({"a": "quux"}, '"quux" is not a type'),
    ({"x" * 32: "int64"}, "a name of 1 to 31 bytes is wanted"),
    ({str(number): "int64" for number in range(16)}, "1 to 15 fields"),
    ({"a": "float32[0]"}, "is not a type"), ("float32[", "is not a type")])
def test_fields_that_are_none(fields, says):
    assert says in refusal(forebay.InvalidArgument, EXAMPLES, fields=fields)


def test_arguments_that_are_none():
    for fields in ({}, {"a": 3}, {1: "int64"}, 7, ("jpg", "cls")):
        assert "fields must" in refusal(forebay.InvalidArgument, EXAMPLES,
                                        fields=fields)
    assert "forebay.tfrecord names its own" in refusal(
        forebay.InvalidArgument, forebay.tfrecord(EXAMPLES), fields=("jpg",))


@pytest.mark.parametrize("name", ["", "label\0", "\0", "la\ud800bel"])
def test_names_that_do_not_reach_the_daemon(name):
    """The daemon would take "" as the whole record, and cut other names at the 0
    byte."""
    assert refusal(forebay.InvalidArgument, EXAMPLES, fields={name: "int64"}) == (
        f"fields: {name!r} can be no field's name")


@pytest.mark.parametrize("kind", ["int64\0", "\ud800"])
def test_types_that_do_not_reach_the_daemon(kind):
    for fields in (kind, {"label": kind}):
        assert refusal(forebay.InvalidArgument, EXAMPLES, fields=fields) == (
            f"fields: {kind!r} is not a type")


def test_a_folder_whose_name_is_a_files(tmp_path):
    (tmp_path / "a.tfrecord").mkdir()
    assert refusal(forebay.InvalidArgument, tmp_path / "a.tfrecord",
                   fields="bytes") == (
        f"{tmp_path}/a.tfrecord: is a folder, which has no fields to choose: name the "
        'files in it, such as "*.tar"')


def test_what_is_missing_is_named(good):
    assert refusal(forebay.NotFound, good.with_name("x-*.tfrecord")) == (
        f"{good.parent}: x-*.tfrecord: no file fits this pattern")


def test_a_pattern_passes_no_link_over(tmp_path):
    """A link that leads out of the folder is an error. It is not silently left out."""
    outside = write(tmp_path / "b.tfrecord", [b"second"])
    folder = tmp_path / "folder"
    folder.mkdir()
    write(folder / "a.tfrecord", [b"first"])
    (folder / "b.tfrecord").symlink_to(outside)
    (folder / "c.tfrecord").symlink_to("nowhere")
    assert refusal(forebay.PermissionDenied, folder / "*.tfrecord", fields="bytes") == (
        f"{folder}: b.tfrecord: leads outside the dataset's root to "
        f"{outside}; declare extra_roots=[...] to allow it")
    with open_records(folder / "*.tfrecord", fields="bytes",
                      extra_roots=[tmp_path]) as loader:
        assert epoch(loader) == {0: [b"first"], 1: [b"second"]}


@pytest.mark.parametrize("change", [renamed, rewritten])
def test_a_file_of_equal_size_and_time_is_read_anew(good, change):
    other = frame(b"x" * (good.stat().st_size - 16))
    with open_records(good, fields="bytes") as loader:
        epoch(loader)
        change(good, other)
        with open_records(good, fields="bytes") as later:
            assert len(epoch(later)) == 1
        with pytest.raises(forebay.StateError):
            epoch(loader)


@pytest.mark.parametrize("touch", [chmodded, linked, set_to_its_own_time])
def test_a_file_that_is_touched_in_mid_epoch_is_no_error(tmp_path, touch):
    path = write(tmp_path / "a.tfrecord", [b"%d" % number for number in range(400)])
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
    path = write(tmp_path / "a.tfrecord", [b"x" * 100] * 4000)
    with open_records(path, fields="bytes", shuffle=True) as loader:
        batches = iter(loader)
        next(batches)
        write(path, [b"y" * 100] * 3000)
        text, _ = run_until_error(batches, forebay.StateError)
        assert str(tmp_path) in text and "a.tfrecord" in text
    with open_records(path, fields="bytes") as loader:
        assert len(loader.dataset) == 3000


def test_records_that_are_written_over_give_no_wrong_values(good):
    """Lengths and their checksums stay the same; only the ctime shows the change."""
    with open_records(good, fields="bytes") as loader:
        epoch(loader)
        rewritten(good, frame(b"FIRST") + frame(b"SECOND") + frame(b"THIRD"))
        assert epoch(loader) == {0: [b"FIRST"], 1: [b"SECOND"], 2: [b"THIRD"]}


def test_lists_that_become_longer_are_an_error_of_their_sample(tmp_path):
    """The new record has the same length, but more values."""
    def payload(*numbers):
        values = b"".join(bytes([number]) if number < 128 else
                          bytes([number % 128 + 128, number // 128])
                          for number in numbers)
        integers = b"\x0a" + bytes([len(values)]) + values
        feature = b"\x1a" + bytes([len(integers)]) + integers
        entry = b"\x0a\x01a\x12" + bytes([len(feature)]) + feature
        features = b"\x0a" + bytes([len(entry)]) + entry
        return b"\x0a" + bytes([len(features)]) + features

    path = write(tmp_path / "a.tfrecord", [payload(300, 300), payload(1, 2)])
    with open_records(path, fields={"a": "int64[n]"}) as loader:
        assert {number: value[0].tolist() for number, value in
                epoch(loader).items()} == {0: [300, 300], 1: [1, 2]}
        rewritten(path, frame(payload(1, 2, 3, 4)) + frame(payload(1, 2)))
        with pytest.raises(forebay.ForebayError, match="sample 0"):
            epoch(loader)
