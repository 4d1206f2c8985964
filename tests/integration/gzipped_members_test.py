"""Members of shards that gzip has compressed are delivered as webdataset delivers
them."""

import gzip
import io
import json
import struct

import numpy
import pytest

import forebay
from daemons import serving
from forebay import transforms as T
from memory_limit_test import Watch
from packed_files import MIB, noise, one_frame, one_member, prose, tar_of
from shards_test import GOLDEN, open_shards, pictures  # noqa: F401
from tfrecord_test import epoch
from trouble import CROP

pytestmark = pytest.mark.usefixtures("shared_daemon")


def open_members(path, fields, **arguments):
    return open_shards(path, fields, **{"transform": None, **arguments})


def npy(array):
    file = io.BytesIO()
    numpy.save(file, array)
    return file.getvalue()


def test_values_are_those_of_webdataset():
    expected = json.loads((GOLDEN / "gzipped.json").read_text())
    fields = ("txt.gz", "left.json.gz", "npy.gz", "cls.gz", "bin.gz", "gz", "cls")
    with open_members(GOLDEN / "gzipped.tar", fields, batch_size=2) as loader:
        batches = list(loader)
    assert batches[0]._fields == ("txt_gz", "left_json_gz", "npy_gz", "cls_gz",
                                  "bin_gz", "gz", "cls")
    samples = [sample for batch in batches for sample in zip(*batch)]
    assert len(samples) == len(expected) == 5
    for (text, parsed, array, label, raw, other, plain), wanted in zip(
            samples, expected):
        assert text == wanted["txt.gz"] and parsed == wanted["left.json.gz"]
        assert array.dtype == wanted["npy.gz"]["dtype"]
        assert list(array.shape) == wanted["npy.gz"]["shape"]
        assert array.ravel().tolist() == wanted["npy.gz"]["items"]
        assert (label, plain) == (wanted["cls.gz"], wanted["cls"])
        assert raw.hex() == wanted["bin.gz"] and other.hex() == wanted["gz"]


SAMPLES = 60


def members():
    """Returns members of all sizes. Some are compressed, and some have names in
    capitals."""
    for number in range(SAMPLES):
        make = noise if number % 2 else prose
        content = make(number, number * number * 100)
        if number % 3 == 0:
            yield f"{number:03}.bin", content
        else:
            ending = "BIN.GZ" if number % 5 == 0 else "bin.gz"
            yield f"{number:03}.{ending}", gzip.compress(content, mtime=0)
        yield f"{number:03}.cls", b"%d" % number


@pytest.mark.parametrize("pack", [bytes, one_member, one_frame])
@pytest.mark.parametrize("shuffle", [False, True, "block"])
def test_some_members_may_be_compressed(tmp_path, pack, shuffle):
    (tmp_path / "a.tar").write_bytes(pack(tar_of(members())))
    with open_members(tmp_path / "a.tar", ("bin;bin.gz", "cls"),
                      shuffle=shuffle) as loader:
        found = epoch(loader)
    assert sorted(found) == list(range(SAMPLES))
    for number, (content, label) in found.items():
        make = noise if number % 2 else prose
        assert label == number
        assert bytes(content) == make(number, number * number * 100)


def test_an_epoch_goes_on_where_it_was_left(tmp_path):
    (tmp_path / "a.tar").write_bytes(tar_of(members()))
    arguments = {"shuffle": True, "batch_size": 4}
    with open_members(tmp_path / "a.tar", ("bin;bin.gz",), **arguments) as loader:
        batches = iter(loader)
        first = epoch([next(batches)])
        state = loader.state_dict()
        rest = epoch(batches)
    with open_members(tmp_path / "a.tar", ("bin;bin.gz",), **arguments) as loader:
        loader.load_state_dict(state)
        again = epoch(loader)
    assert list(again) == list(rest)
    assert sorted([*first, *again]) == list(range(SAMPLES))


def test_arrays_may_differ_in_length(tmp_path):
    arrays = [numpy.arange(7 * number, dtype="int32") for number in range(1, 20)]
    (tmp_path / "a.tar").write_bytes(tar_of(
        (f"{number:02}.npy.gz", gzip.compress(npy(array)))
        for number, array in enumerate(arrays)))
    with open_members(tmp_path / "a.tar", ("npy.gz",), batch_size=4) as loader:
        found = [array for batch in loader for array in batch.npy_gz]
    assert len(found) == len(arrays)
    for mine, theirs in zip(found, arrays):
        numpy.testing.assert_array_equal(mine, theirs)


def test_images(tmp_path, pictures):  # noqa: F811
    contents = [content for content, _ in pictures[:20]]
    for name, ending, pack in (("plain", "jpg", bytes),
                               ("packed", "jpg.gz", gzip.compress)):
        (tmp_path / f"{name}.tar").write_bytes(tar_of(
            (f"{number:02}.{ending}", pack(content))
            for number, content in enumerate(contents)))
    transform = T.CenterCrop(CROP)
    with open_members(tmp_path / "plain.tar", ("jpg",), transform=transform) as plain, \
            open_members(tmp_path / "packed.tar", ("jpg.gz",),
                         transform=transform) as packed:
        for theirs, mine in zip(plain, packed, strict=True):
            numpy.testing.assert_array_equal(mine.jpg_gz, theirs.jpg)


def refusal(path, members, fields=("txt.gz",), error=forebay.DataError):
    path.write_bytes(tar_of(members))
    with pytest.raises(error) as caught:
        with open_members(path, fields) as loader:
            list(loader)
    return str(caught.value)


def test_damaged_members(tmp_path):
    path = tmp_path / "a.tar"
    good = gzip.compress(b"some text", mtime=0)
    lying = good[:-4] + struct.pack("<I", 8)
    for content, says in (
            (b"no gzip at all", "incorrect header check"),
            (good[:-9] + b"\xff" + good[-8:], "damaged"),
            (good[:-8] + b"abcd" + good[-4:], "incorrect data check"),
            (lying, "more bytes than its end says"),
            (good[:-4] + struct.pack("<I", 10), "incorrect length check"),
            (good[:-4] + b"\xff" * 4, "more bytes than its end says"),
            (b"", "no end"), (b"\x1f", "no end")):
        text = refusal(path, [("0.txt.gz", good), ("1.txt.gz", content)])
        assert "a.tar" in text and "txt.gz: its gzip data is damaged: " in text
        assert says in text, text
    path.write_bytes(tar_of([(f"{number:02}.txt.gz", good if number != 7 else b"")
                             for number in range(20)]))
    with open_members(path, ("txt.gz",), batch_size=20,
                      on_error="substitute") as loader:
        assert [batch.txt_gz for batch in loader] == [["some text"] * 20]
    text = refusal(path, [("0.jpg", b""), ("0.png.gz", b"")], ("jpg", "png.gz"),
                   forebay.InvalidArgument)
    assert "cannot be read together with another image" in text


def test_a_thousand_times_its_size(tmp_path):
    config = tmp_path / "forebayd.toml"
    config.write_text("memory.limit = '256MiB'\n")
    with serving(tmp_path, "--config", str(config)) as daemon:
        with Watch(daemon) as watch:
            text = refusal(tmp_path / "a.tar",
                           [("0.txt.gz", gzip.compress(bytes(600 * MIB)))],
                           error=forebay.ForebayError)
        assert "it needs" in text and "(memory.limit)" in text
        assert watch.largest < 256 * MIB
