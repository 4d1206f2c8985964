"""Datasets of MDS shards, from the files to a trainer's batches. A trainer gets what
MosaicML's reader reads (tests/golden/mds/make_golden.py)."""

import base64
import io
import json
import os
import pathlib
import shutil
import struct

import numpy
import PIL.Image
import pytest
import soundfile

import forebay
from forebay import transforms as T
from remote_shards_test import daemon as remote_daemon  # noqa: F401
from remote_shards_test import proxy  # noqa: F401
from tfrecord_test import epoch, open_records, row
from trouble import refusing

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "mds"
MIXED = GOLDEN / "mixed"
SOUNDS = GOLDEN / "sounds"
COLUMNS = ("label", "digits", "text", "raw", "box", "tokens", "series", "any", "score",
           "data")


def golden(name):
    return json.loads((GOLDEN / "golden.json").read_text())[name]


def is_value(value, expected):
    """Returns whether a field has the value that MosaicML's reader has read."""
    if isinstance(expected, dict) and "dtype" in expected:
        array = numpy.array(expected["items"], expected["dtype"])
        return (value.dtype == array.dtype and
                value.shape == tuple(expected["shape"]) and
                value.tobytes() == array.tobytes())
    if isinstance(value, bytes):
        return value == base64.b64decode(expected)
    if isinstance(expected, float):
        return numpy.float32(value) == numpy.float32(expected)
    return value == expected


def is_sample(found, columns, expected):
    return all(is_value(value, expected[column])
               for value, column in zip(found, columns))


@pytest.fixture
def folder(tmp_path):
    """Shards that a test may change."""
    return pathlib.Path(shutil.copytree(MIXED, tmp_path / "mixed"))


@pytest.mark.parametrize("pattern", ["", "*.mds", "shard.{00000..00001}.mds"])
def test_columns_are_those_of_the_writer(shared_daemon, pattern):
    expected = golden("mixed")
    with open_records(MIXED / pattern, fields=COLUMNS, shuffle=True) as loader:
        assert len(loader.dataset) == len(expected) == 12
        found = epoch(loader)
    assert sorted(found) == list(range(12))
    assert all(is_sample(found[number], COLUMNS, sample)
               for number, sample in enumerate(expected))


def test_all_columns_are_read_if_none_is_named(shared_daemon):
    small = T.Compose([T.Resize(8), T.CenterCrop(8)])
    with open_records(MIXED, transform=small) as loader:
        batch = next(iter(loader))
    assert batch._fields == ("any", "box", "data", "digits", "label", "photo", "raw",
                             "score", "series", "text", "tokens")
    assert batch.photo.shape == (4, 3, 8, 8)
    assert isinstance(batch.tokens, forebay.Ragged)


def test_images_are_those_of_pil(shared_daemon):
    dataset = forebay.Dataset(MIXED, fields=("photo", "label"), autostart=False)
    for number, sample in enumerate(golden("mixed")):
        image, label = dataset[number]
        picture = PIL.Image.open(io.BytesIO(base64.b64decode(sample["photo"])))
        assert label == sample["label"]
        difference = numpy.asarray(image).astype(int) - numpy.asarray(
            picture.convert("RGB"))
        assert abs(difference).max() <= 1


def test_an_epoch_goes_on_where_it_was_left(daemon):
    with open_records(MIXED, fields=COLUMNS, shuffle=True, batch_size=2) as loader:
        order = [number for batch in loader for number in batch.sample_ids.tolist()]
        loader.set_epoch(0)
        batches = iter(loader)
        next(batches)
        state = loader.state_dict()
        daemon.stop()
        daemon.start()
        assert list(epoch(batches)) == order[2:]
    with open_records(MIXED, fields=COLUMNS, shuffle=True, batch_size=3) as loader:
        loader.load_state_dict(state)
        assert list(epoch(loader)) == order[2:]


@pytest.mark.usefixtures("remote_daemon")
def test_shards_in_a_bucket(fake_gcs):
    fake_gcs.fill("mosaic", {f"a/{path.name}": path.read_bytes()
                             for path in MIXED.iterdir()})
    with open_records("gs://mosaic/a/*.mds", fields=COLUMNS, shuffle=True) as loader:
        found = epoch(loader)
    assert all(is_sample(found[number], COLUMNS, sample)
               for number, sample in enumerate(golden("mixed")))


def soundfile_reads(encoded):
    file = io.BytesIO(base64.b64decode(encoded))
    return soundfile.read(file, dtype="float32", always_2d=True)[0]


@pytest.mark.parametrize("fields", [
    None, ("label", "photo", "sound"),
    {"label": "int64", "photo": "bytes", "sound": "audio"},
    {"label": "cls", "photo": "bytes", "sound": "mp3"}])
def test_bytes_may_be_audio(shared_daemon, fields):
    expected = golden("sounds")
    with open_records(SOUNDS, fields=fields, batch_size=4) as loader:
        batch = next(iter(loader))
    assert batch.label.tolist() == [0, 1, 2, 3]
    assert list(batch.photo) == [base64.b64decode(sample["photo"])
                                 for sample in expected]
    for place, sample in enumerate(expected):
        clip = row(batch.sound, place)
        whole = soundfile_reads(sample["sound"])
        assert clip.shape == whole.shape
        assert abs(clip - whole).max() <= 1e-5


def test_bytes_are_what_their_types_say(shared_daemon):
    window = T.Compose([T.ToMono(), T.Resample(new_freq=8000), T.RandomWindow(99)])
    expected = golden("sounds")
    with open_records(
            SOUNDS, fields={"photo": "jpg", "sound": "audio"}, batch_size=4,
            transform={"sound": window, "photo": T.Resize((4, 5))}) as loader:
        batch = next(iter(loader))
    assert batch.photo.shape == (4, 3, 4, 5)
    assert batch.sound.shape == (4, 99)
    with open_records(SOUNDS, fields={"sound": "bytes"}, batch_size=4) as loader:
        assert list(next(iter(loader)).sound) == [
            base64.b64decode(sample["sound"]) for sample in expected]
    assert refusal(forebay.InvalidArgument, SOUNDS, fields={"label": "audio"}) == (
        f'{SOUNDS}: column label has the encoding int, which is not read as "audio"')
    assert refusal(forebay.InvalidArgument, MIXED, fields={"box": "float32[4]"}) == (
        f"{MIXED}: column box has the encoding ndarray:float32:2,2, which is not read "
        'as "float32[4]"')
    assert f'{MIXED}: box: "nothing" is not a type' in refusal(
        forebay.InvalidArgument, MIXED, fields={"box": "nothing"})
    with open_records(MIXED, fields={"box": "float32[2,2]", "series": "float64[n,3]",
                                     "photo": "image"},
                      transform=T.Resize((8, 8))) as loader:
        assert next(iter(loader)).box.shape[1:] == (2, 2)


refusal = refusing(open_records)


def test_what_cannot_be_read_is_named(shared_daemon):
    unsafe = GOLDEN / "unsafe"
    assert refusal(forebay.Unsupported, unsafe, fields=("object",)) == (
        f"{unsafe}: column object has the encoding pkl, which cannot be read")
    with open_records(unsafe) as loader:
        assert loader.dataset.classes == []
        assert next(iter(loader)).label.tolist() == [0, 1, 2]
    assert refusal(forebay.InvalidArgument, MIXED, fields=("label", "nope")) == (
        f"{MIXED}: there is no column nope; there are any, box, data, digits, label, "
        "photo, raw, score, series, text, tokens")
    assert refusal(forebay.NotFound, GOLDEN / "compressed" / "*.mds") == (
        f"{GOLDEN / 'compressed'}: *.mds: no file fits this pattern")


def test_a_folder_is_read_as_its_index_says(shared_daemon, folder):
    with open_records(os.fsencode(folder), fields=("label",)) as loader:
        assert len(loader.dataset) == 12
    shutil.copy(folder / "shard.00001.mds", folder / "shard.00002.mds")
    assert "its index.json does not name shard.00002.mds, which is there" in refusal(
        forebay.InvalidArgument, folder, fields=("label",))
    (folder / "shard.00002.mds").rename(folder / "other")
    (folder / "shard.00001.mds").unlink()
    assert "its index.json names shard.00001.mds, which is not there" in refusal(
        forebay.InvalidArgument, folder, fields=("label",))
    assert refusal(forebay.Unsupported, GOLDEN / "compressed") == (
        f"{GOLDEN / 'compressed'}: shard.00000.mds.zstd: is a compressed MDS shard, "
        "which is not read: write it without compression=")
    for content in ("{}", "[" * 100_000):
        (folder / "index.json").write_text(content)
        with pytest.raises(forebay.NotFound, match="found no class folder"):
            open_records(folder)


def write_folder(folder, names):
    """A folder of shards with one number each, in the order of the names."""
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_shard(folder / name, [("number", "int")], [struct.pack("<q", number)])
    (folder / "index.json").write_text(json.dumps({"version": 2, "shards": [
        {"format": "mds", "raw_data": {"basename": name}, "zip_data": None}
        for name in names]}))
    return folder


@pytest.mark.parametrize("names", [
    ["b/shard.00000.mds", "b/shard.00001.mds", "a/shard.00000.mds", "a/c/0.mds"],
    [f"shard.{number:05}.mds" for number in range(99_998, 100_002)],
    ["9.mds", "10.mds", "08.mds", "07.mds"],
    ["a[0].mds", "{1,2}.mds", "back\\slash.mds", "*.mds", "?7.mds", "k\xfche\n3.mds"],
    [f"{number:x}.{number}" + "9" * 20 + ".mds" for number in range(600)]])
def test_shards_come_in_the_order_of_the_index(shared_daemon, tmp_path, names):
    with open_records(write_folder(tmp_path, names), batch_size=600) as loader:
        assert next(iter(loader)).number.tolist() == list(range(len(names)))


def test_folders_beside_merged_ones_are_left_out(shared_daemon, tmp_path):
    write_folder(tmp_path / "other", ["shard.00000.mds"])
    write_folder(tmp_path, ["a/0.mds", "b/0.mds"])
    with open_records(tmp_path) as loader:
        assert len(loader.dataset) == 2
    shutil.copy(tmp_path / "a" / "0.mds", tmp_path / "b" / "1.mds")
    assert "its index.json does not name b/1.mds, which is there" in refusal(
        forebay.InvalidArgument, tmp_path)
    write_folder(tmp_path, ["../0.mds"])
    assert f"{tmp_path}: its index.json names ../0.mds, which lies outside" in refusal(
        forebay.InvalidArgument, tmp_path)


def test_an_index_that_never_ends_is_none(shared_daemon, folder):
    (folder / "index.json").unlink()
    os.mkfifo(folder / "index.json")
    with pytest.raises(forebay.NotFound, match="found no class folder"):
        open_records(folder)


@pytest.mark.parametrize("fields, says", [
    ({"label": 3}, "fields must map names to types, not 'label' to 3"),
    ({}, "fields must name at least one feature"),
    (3, 'fields must be a sequence of columns such as ("photo", "label"), not 3'),
    (("label", ""), "fields: '' can be no field's name"),
    (("label\0",), "fields: 'label\\x00' can be no field's name"),
    (("la\ud800bel",), "fields: 'la\\ud800bel' can be no field's name")])
def test_fields_that_are_none(fields, says):
    assert refusal(forebay.InvalidArgument, MIXED, fields=fields) == says


def test_columns_that_come_twice(shared_daemon):
    assert "the column label comes twice" in refusal(
        forebay.InvalidArgument, MIXED, fields=("label", "label"))


def test_an_empty_shard_is_named(shared_daemon, folder):
    (folder / "shard.00001.mds").write_bytes(b"")
    assert refusal(forebay.DataError, folder, fields=("label",)) == (
        f"{folder}: shard.00001.mds: is not an MDS shard: it is empty")


def test_shards_that_are_damaged_are_named(shared_daemon, folder):
    shard = folder / "shard.00001.mds"
    whole = shard.read_bytes()
    count, = struct.unpack_from("<I", whole)
    start = f"{folder}: shard.00001.mds: "
    for content, says in (
            (whole[:-1], f"is truncated or damaged: its samples end at byte "
             f"{len(whole)} of {len(whole) - 1}"),
            (whole[:3], "is not an MDS shard: it is too short"),
            (whole[:20], "is not an MDS shard, or truncated: it has 20 bytes, but "
             f"{count} samples"),
            (struct.pack("<I", 2**32 - 1) + whole[4:], "is not an MDS shard, or "
             f"truncated: it has {len(whole)} bytes, but {2**32 - 1} samples"),
            (whole.replace(b'"mds"', b'"tar"'), "is not an MDS shard, or its "
             "configuration is damaged"),
            (whole.replace(b'"version": 2', b'"version": 3'), "is an MDS shard of "
             "another version than 2, which alone can be read"),
            (whole.replace(b'"tokens"', b'"tokenz"'),
             "has other columns than the first shard")):
        shard.write_bytes(content)
        assert refusal(forebay.ForebayError, folder, fields=("label",)) == start + says


def test_samples_that_are_damaged_are_named(shared_daemon, folder):
    shard = folder / "shard.00000.mds"
    whole = bytearray(shard.read_bytes())
    begin, = struct.unpack_from("<I", whole, 4)
    struct.pack_into("<I", whole, begin, 2**31)  # byte count of the first column
    shard.write_bytes(whole)
    text = refusal(forebay.DataError, folder, fields=("label",))
    assert text == (f"{folder}: shard.00000.mds: sample 0: any: has 2147483648 bytes, "
                    "more than the sample")


def write_shard(path, columns, sample):
    """Writes a shard of one sample. `columns` are names and encodings of any length."""
    config = json.dumps({
        "format": "mds", "version": 2, "column_names": [name for name, _ in columns],
        "column_encodings": [encoding for _, encoding in columns],
        "column_sizes": [None] * len(columns)}).encode()
    sizes = b"".join(struct.pack("<I", len(value)) for value in sample)
    begin = 12 + len(config)
    content = sizes + b"".join(sample)
    path.write_bytes(struct.pack("<III", 1, begin, begin + len(content)) + config +
                     content)
    return path


def test_the_first_sample_tells_the_types_of_arrays(shared_daemon, tmp_path):
    path = write_shard(tmp_path / "a.mds", [("series", "ndarray")], [b"\xff"])
    assert refusal(forebay.DataError, path) == (
        f"{tmp_path}: a.mds: sample 0: series: is an array with a damaged header")


def test_columns_of_which_none_can_be_a_field(shared_daemon, tmp_path):
    path = write_shard(tmp_path / "a.mds", [("a\0b", "pkl"), ("c", "x" * 100_000)],
                       [b"", b""])
    assert refusal(forebay.Unsupported, path) == (
        f"{tmp_path}: no column can be a field: column a\\x00b has the encoding pkl, "
        "which cannot be read")
    assert refusal(forebay.Unsupported, path, fields=("c",)) == (
        f"{tmp_path}: column c has the encoding {'x' * 256}..., which cannot be read")


def test_of_many_columns_some_are_named(daemon, tmp_path):
    path = write_shard(tmp_path / "a.mds", [("text", "str"), *(
        (f"c{number}", "pkl") for number in range(5000))], [b"x"] + [b""] * 5000)
    with open_records(path) as loader:
        assert next(iter(loader)).text == ["x"]
    assert daemon.log().count(": is read without column ") == 16
    assert f"{tmp_path}: is read without 4984 columns more" in daemon.log()
    assert refusal(forebay.InvalidArgument, path, fields=("x",)) == (
        f"{tmp_path}: there is no column x; there are text, " + ", ".join(
            f"c{number}" for number in range(15)) + " and 4985 more")


def test_a_shard_that_is_replaced_in_mid_epoch_is_an_error(shared_daemon, folder):
    with open_records(folder, fields=("text",), batch_size=1) as loader:
        batches = iter(loader)
        next(batches)
        other = folder / "other"
        other.write_bytes((folder / "shard.00001.mds").read_bytes())
        os.replace(other, folder / "shard.00000.mds")
        with pytest.raises(forebay.StateError):
            for _ in range(20):
                epoch(loader)


def test_samples_through_torch(shared_daemon):
    with open_records(MIXED, fields=("box", "label"), framework="torch") as loader:
        batch = next(iter(loader))
    assert batch.box.shape == (4, 2, 2)
    assert batch.label.tolist() == [sample["label"] for sample in golden("mixed")[:4]]
