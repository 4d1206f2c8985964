"""Files that are not LMDB environments, and environments that change meanwhile."""

import os
import pathlib
import shutil
import struct

import pytest

import forebay
from daemons import serving
from forebay import transforms as T
from lmdb_files import contents, lmdb, noise, open_entries, write
from stale_files_test import chmodded, linked, set_to_its_own_time
from trouble import CROP, refusing, run_until_error

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden" / "lmdb"

pytestmark = pytest.mark.usefixtures("shared_daemon")


refusal = refusing(open_entries)


def test_files_that_are_no_environments(tmp_path):
    path = tmp_path / "data.mdb"
    good = (GOLDEN / "few.mdb").read_bytes()
    for content, says in (
            (b"", "is not an LMDB file: it has only 0 bytes"),
            (b"short", "is not an LMDB file: it has only 5 bytes"),
            (bytes(4096), "at byte 0: there is no meta page of LMDB"),
            (good[:4200], "at byte 0: the file is truncated: it has one page"),
            (good[:4096] + bytes(9000), "at byte 4096: there is no meta page of LMDB")):
        path.write_bytes(content)
        for fields in ("bytes", "datum", None):
            text = refusal(forebay.DataError, path, fields=fields)
            assert text == f"{tmp_path}: data.mdb: {says}"
    path.write_bytes(good[:5000])
    for fields in ("bytes", "datum", None):
        text = refusal(forebay.DataError, path, fields=fields)
        assert "data.mdb: at byte " in text and "truncated" in text


def test_a_lock_file_is_no_environment(tmp_path):
    with lmdb.open(str(tmp_path / "env")):
        shutil.copy(tmp_path / "env" / "lock.mdb", tmp_path / "lock.mdb")
    assert refusal(forebay.DataError, tmp_path / "lock.mdb") == (
        f"{tmp_path}: lock.mdb: at byte 0: is LMDB's lock file; the data lies in the "
        "file beside it (data.mdb)")


def test_a_damaged_page_is_named(tmp_path):
    """Four pages in the middle of the file are damaged."""
    write(tmp_path / "env", noise(3000, longest=60))
    path = tmp_path / "env" / "data.mdb"
    content = bytearray(path.read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle:middle + 4096 * 4] = b"\xff" * 4096 * 4
    path.write_bytes(content)
    text = refusal(forebay.DataError, tmp_path / "env")
    assert text.startswith(f"{tmp_path}: env/data.mdb: at byte "), text


def test_an_enormous_value_takes_no_memory(tmp_path):
    """In a sparse file, a value is so large that no batch has room for it."""
    path = write(tmp_path / "env", {b"k": b"x" * 5000}) / "data.mdb"
    content, pages = bytearray(path.read_bytes()), (1 << 20) + 9
    node = struct.pack("<IHH", 5000, 1, 1) + b"k"
    struct.pack_into("<I", content, content.index(node), (1 << 32) - 1)
    for page in (0, 4096):
        struct.pack_into("<Q", content, page + 136, pages - 1)
    path.write_bytes(content)
    os.truncate(path, pages * 4096)
    config = tmp_path / "forebayd.toml"
    config.write_text("[memory]\nlimit = '192MiB'\n")
    with serving(tmp_path, "--config", str(config)) as daemon:
        for fields in ("bytes", "float32[n]", "datum", None):
            text = refusal(forebay.ResourceExhausted, path.parent, fields=fields)
            assert str(tmp_path) in text
        status = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text()
        peak, = (int(line.split()[1]) for line in status.splitlines()
                 if line.startswith("VmHWM"))
        assert peak < 192 << 10


def test_what_is_missing_is_named(tmp_path):
    (tmp_path / "folder").mkdir()
    assert refusal(forebay.NotFound, tmp_path / "folder") == (
        f"{tmp_path}: folder/data.mdb: there is no such file or directory")
    assert refusal(forebay.NotFound, tmp_path / "x-*") == (
        f"{tmp_path}: x-*: no file fits this pattern")
    assert "nothing" in refusal(forebay.NotFound, tmp_path / "nothing")


def test_an_environment_without_entries(tmp_path):
    write(tmp_path / "env", {})
    assert "the dataset has no samples" in refusal(forebay.InvalidArgument,
                                                   tmp_path / "env")
    assert len(forebay.Dataset(forebay.lmdb(tmp_path / "env"),
                               autostart=False)) == 0


def test_databases_that_are_missing_or_cannot_be_read(tmp_path):
    write(tmp_path / "env", {b"k": b"v"}, database=b"train")
    path = tmp_path / "env"
    assert refusal(forebay.InvalidArgument, path).endswith(
        "data.mdb: has entries in its named databases alone (train), of which none "
        "was named by database=")
    assert refusal(forebay.NotFound, forebay.lmdb(path, database="val")).endswith(
        "data.mdb: has no database named val, but train")
    assert "MDB_DUPSORT" in refusal(
        forebay.Unsupported,
        forebay.lmdb(GOLDEN / "dupsort_512.mdb", database="several"))


@pytest.mark.parametrize("value, fields, error, says", [
    (b"no image", "jpg", forebay.DataError, "sample 0 (entry k) of {}: env/data.mdb: "),
    (b"\xff\xfe", "text", forebay.DataError,
     "sample 0 (entry k) of {}: env/data.mdb: value: "),
    (b"12", "float32[2]", forebay.ForebayError,
     "(entry k) of {}: env/data.mdb: has 2 bytes, which are not float32[2]"),
    (b"no number", "int64", forebay.DataError,
     "env/data.mdb: value: is not an integer"),
    (b"RIFF\x10\0\0\0WEBPVP8 ", "image", forebay.ForebayError, "WebP"),
    (b"no datum", "datum", forebay.DataError,
     "env/data.mdb: entry k: is not a Datum of Caffe, or damaged"),
    (b"\x08\x02\x10\x02\x18\x02", "datum", forebay.InvalidArgument,
     "entry k: is a Datum that contradicts itself: 2 x 2 x 2 elements, but 0 bytes "
     "and 0 numbers"),
    (b"no example", {"a": "int64"}, forebay.DataError, "not a tf.train.Example")])
def test_values_of_another_kind_are_named(tmp_path, value, fields, error, says):
    write(tmp_path / "env", {b"k": value})
    transform = T.CenterCrop(CROP) if fields in ("jpg", "image") else None
    assert says.format(tmp_path) in refusal(
        error, forebay.lmdb(tmp_path / "env", fields=fields), transform=transform)


def test_datums_of_several_shapes(tmp_path):
    write(tmp_path / "env", {
        b"a": b"\x08\x01\x10\x01\x18\x02\x22\x02xy\x28\x01",
        b"b": b"\x08\x01\x10\x01\x18\x01\x22\x01x\x28\x01"})
    text = refusal(forebay.ForebayError, forebay.lmdb(tmp_path / "env",
                                                      fields="datum"))
    assert text == (f"sample 1 (entry b) of {tmp_path}: env/data.mdb: is a Datum of "
                    "uint8[1,1,1], but that of the first entry is of uint8[1,1,2]")


@pytest.mark.parametrize("arguments, says", [
    ({"fields": {"key": "jpg"}}, 'the key of an entry can be "text", "bytes" or '),
    ({"fields": {"a": "datum"}}, 'only the field "value" can be of type "datum"'),
    ({"fields": "no type"}, '"no type" is not a type'),
    ({"fields": {}}, "fields must name at least one feature"),
    ({"fields": ["jpg"]}, 'fields must be a dict of types, such as {"key": "text", '),
    ({"fields": {"value": 3}}, "fields must map names to types, not 'value' to 3"),
    ({"database": ""}, "database must be a database's name, not ''"),
    ({"database": "a\0"}, "database must have no 0 byte in it")])
def test_arguments_that_are_wrong(tmp_path, arguments, says):
    write(tmp_path / "env", {b"k": b"v"})
    with pytest.raises(forebay.InvalidArgument) as caught:
        open_entries(forebay.lmdb(tmp_path / "env", **arguments)).close()
    assert says in str(caught.value)


def test_fields_are_of_tar_shards(tmp_path):
    write(tmp_path / "env", {b"k": b"v"})
    assert refusal(forebay.InvalidArgument, forebay.lmdb(tmp_path / "env"),
                   fields=("jpg",)) == (
        "fields are of tar shards; forebay.lmdb names its own")


@pytest.mark.parametrize("touch", [chmodded, linked, set_to_its_own_time])
def test_a_file_that_is_touched_in_mid_epoch_is_no_error(tmp_path, touch):
    write(tmp_path / "env", noise(400))
    with open_entries(tmp_path / "env", shuffle=True) as loader:
        values, ids = contents(loader)
        loader.set_epoch(0)
        batches = iter(loader)
        first = contents([next(batches)])
        touch(tmp_path / "env" / "data.mdb")
        rest = contents(batches)
    assert first[1] + rest[1] == ids and first[0] + rest[0] == values


def replaced(path, entries):
    """Replaces the environment by another one with the same modification time."""
    other = path.with_name("other") / "data.mdb"
    write(other.parent, entries)
    time = (path / "data.mdb").stat().st_mtime_ns
    os.utime(other, ns=(time, time))
    os.replace(other, path / "data.mdb")


def others(entries):
    """Returns other entries with the same keys and lengths."""
    return {key: value[::-1] for key, value in entries.items()}


def test_a_file_that_is_replaced_in_mid_epoch_is_an_error(tmp_path):
    entries = noise(4000)
    size = (write(tmp_path / "env", entries) / "data.mdb").stat().st_size
    with open_entries(tmp_path / "env", shuffle=True, depth=1) as loader:
        batches = iter(loader)
        next(batches)
        replaced(tmp_path / "env", others(entries))
        assert (tmp_path / "env" / "data.mdb").stat().st_size == size
        text, _ = run_until_error(batches, forebay.StateError)
        assert str(tmp_path) in text and "data.mdb" in text
    with open_entries(tmp_path / "env") as loader:
        assert contents(loader)[0] == list(others(entries).values())


def test_a_file_that_is_replaced_before_the_first_batch_is_opened_anew(tmp_path):
    write(tmp_path / "env", noise(40))
    with open_entries(tmp_path / "env") as loader:
        replaced(tmp_path / "env", others(noise(40)))
        assert contents(loader)[0] == list(others(noise(40)).values())
