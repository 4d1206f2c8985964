"""LMDB environments, from the files to a trainer's batches. A trainer gets what liblmdb
reads."""

import io
import pathlib
import urllib.parse
import zlib

import numpy
import pytest

import forebay
from forebay import transforms as T
from lmdb_files import contents, entries_of, noise, open_entries, write
from trouble import CROP, ctl

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden" / "lmdb"


@pytest.fixture
def folder(tmp_path):
    """Three environments, one of which is empty."""
    for number, count in enumerate((40, 0, 7)):
        write(tmp_path / f"part-{number}", noise(count, seed=number))
    return tmp_path


def whole(folder):
    return [value for part in sorted(folder.glob("part-?"))
            for _, value in entries_of(part)]


@pytest.mark.parametrize("name, database", [
    ("few.mdb", None), ("few_2048.mdb", None), ("long_512.mdb", None),
    ("deep_512.mdb", None), ("tall_512.mdb", None), ("churn_512.mdb", None),
    ("compact_512.mdb", None), ("map_512.mdb", None), ("named_512.mdb", "train"),
    ("named_512.mdb", "val"), ("only_named_512.mdb", "whole numbers")])
def test_every_value_is_the_one_that_liblmdb_reads(shared_daemon, tmp_path, name,
                                                   database):
    """Some files have page sizes that this host's liblmdb cannot read. golden.txt says
    what the liblmdb that wrote them reads."""
    expected = golden(name, database or "")
    dataset = forebay.lmdb(GOLDEN / name, database=database, fields={
        "key": "bytes", "value": "bytes"})
    with open_entries(dataset) as loader:
        assert len(loader.dataset) == len(expected)
        assert loader.dataset.uri == str(GOLDEN / name)
        found = [(bytes(key), bytes(value)) for batch in loader
                 for key, value in zip(batch.key, batch.value)]
    assert [(key, len(value), zlib.crc32(value)) for key, value in found] == expected


def golden(name, database):
    """Returns (key, length, CRC) of the entries in golden.txt."""
    found, here = [], None
    for line in (GOLDEN / "golden.txt").read_text().splitlines():
        kind, *rest = line.split(" ")
        if kind == "file":
            here = rest[0]
        elif kind == "database":
            current = urllib.parse.unquote(rest[0][:-1])
        elif (here, current) == (name, database):
            found.append((urllib.parse.unquote_to_bytes(rest[0][:-1]),
                          int(rest[1]), int(rest[2], 16)))
    return found


def test_thousands_of_keys(shared_daemon, tmp_path):
    entries = noise(5000)
    keys = list(entries)
    numpy.random.RandomState(4).shuffle(keys)
    write(tmp_path / "many", {key: entries[key] for key in keys})
    expected = entries_of(tmp_path / "many")
    dataset = forebay.lmdb(tmp_path / "many", fields={"value": "bytes",
                                                      "key": "text"})
    with open_entries(dataset, batch_size=64, shuffle=True) as loader:
        seen = []
        for batch in loader:
            assert batch._fields == ("value", "key")
            for number, key, value in zip(batch.sample_ids, batch.key, batch.value):
                assert (key.encode(), bytes(value)) == expected[number]
                seen.append(number)
    assert sorted(seen) == list(range(5000))


def test_the_folder_or_the_file(shared_daemon, tmp_path):
    entries = noise(9)
    write(tmp_path / "folder", entries)
    write(tmp_path / "file.lmdb", entries, subdir=False)
    for path in ("folder", "folder/", "folder/data.mdb", "file.lmdb"):
        with open_entries(f"{tmp_path}/{path}") as loader:
            assert contents(loader)[0] == list(entries.values())


@pytest.mark.parametrize("pattern", ["part-*", "part-{0..2}", "part-[0-2]",
                                     "{part-0,part-{1,2}}", "part-?/data.mdb"])
def test_environments_are_one_dataset(shared_daemon, folder, pattern):
    with open_entries(folder / pattern) as loader:
        values, ids = contents(loader)
    assert values == whole(folder) and ids == list(range(47))


@pytest.mark.parametrize("options", [
    {"shuffle": True}, {"shuffle": "block"},
    {"shuffle": True, "order": "coordinated"}])
def test_each_entry_comes_once_in_any_order(shared_daemon, folder, options):
    expected = whole(folder)
    with open_entries(folder / "part-*", seed=2, **options) as loader:
        orders = []
        for _ in range(2):
            values, ids = contents(loader)
            assert values == [expected[number] for number in ids]
            assert sorted(ids) == list(range(47))
            orders.append(ids)
    assert orders[0] != orders[1]


def test_ranks_share_the_entries(shared_daemon, folder):
    seen = []
    for rank in range(3):
        with open_entries(folder / "part-*", shuffle=True, rank=rank, world_size=3,
                          pad="none") as loader:
            seen += contents(loader)[1]
    assert sorted(seen) == list(range(47))


def test_an_epoch_goes_on_where_it_was_left(daemon, folder):
    with open_entries(folder / "part-*", shuffle=True, seed=5) as loader:
        values, ids = contents(loader)
        loader.set_epoch(0)
        batches_left = iter(loader)
        contents([next(batches_left), next(batches_left)])
        state = loader.state_dict()
        daemon.stop()
        daemon.start()
        assert contents(batches_left) == (values[8:], ids[8:])
    with open_entries(folder / "part-*", shuffle=True, seed=5,
                      batch_size=3) as loader:
        loader.load_state_dict(state)
        assert contents(loader) == (values[8:], ids[8:])


def read_from_disk(daemon):
    return int(ctl(daemon, "cache")["total"]["source"]["bytes"])


def test_two_jobs_read_each_entry_once(daemon, tmp_path, monkeypatch):
    entries = noise(2000)
    write(tmp_path / "train", entries)
    expected = list(entries.values())
    before = read_from_disk(daemon)
    for seed in (1, 2):
        monkeypatch.setenv("FOREBAY_JOB", f"job {seed}")
        with open_entries(tmp_path / "train", batch_size=256, shuffle=True,
                          seed=seed) as loader:
            opened = read_from_disk(daemon)
            values, ids = contents(loader)
        assert values == [expected[number] for number in ids]
        if seed == 1:
            # The tree, and the small values in the tree.
            assert opened - before < 600_000
            before = read_from_disk(daemon)
    # The meta page shows that nothing was written since.
    assert read_from_disk(daemon) - before <= 8192


def test_the_index_is_kept_and_used_again(daemon, tmp_path):
    write(tmp_path / "train", noise(3000))
    with open_entries(tmp_path / "train") as loader:
        values, _ = contents(loader)
    daemon.stop()
    daemon.start()
    before = read_from_disk(daemon)
    with open_entries(tmp_path / "train") as loader:
        assert read_from_disk(daemon) - before <= 8192
        assert contents(loader)[0] == values
    assert not [line for line in daemon.log().splitlines() if "anew" in line]


def test_only_pages_of_the_tree_are_read_to_open(daemon, tmp_path):
    """The file is as large as its map, and each value has pages of its own."""
    path = tmp_path / "sparse"
    entries = {b"%06d" % number: b"x" * 200_000 for number in range(300)}
    write(path, entries, map_size=1 << 40, writemap=True)
    if (path / "data.mdb").stat().st_size < 1 << 40:
        pytest.skip("liblmdb made no large file")
    before = read_from_disk(daemon)
    with open_entries(path, batch_size=1) as loader:
        assert read_from_disk(daemon) - before < 300_000
        assert len(loader.dataset) == 300
        assert bytes(next(iter(loader)).value[0]) == entries[b"000000"]


def test_single_entries(shared_daemon, folder):
    expected = whole(folder)
    dataset = forebay.Dataset(forebay.lmdb(folder / "part-*", fields="bytes"),
                              autostart=False)
    assert len(dataset) == 47
    for number in (0, 39, 40, 46, -1):
        assert bytes(dataset[number][0]) == expected[number]


def test_named_databases(shared_daemon, tmp_path):
    for name in (b"train", b"val"):
        write(tmp_path / "both", {b"k": b"of " + name}, database=name)
    for name in ("train", b"val"):
        dataset = forebay.lmdb(tmp_path / "both", database=name, fields="text")
        text = "of " + (name if isinstance(name, str) else name.decode())
        with open_entries(dataset) as loader:
            assert contents(loader)[0] == [text]


def test_one_entry_and_empty_values(shared_daemon, tmp_path):
    write(tmp_path / "one", {b"k": b""})
    for kind, value in (("bytes", b""), ("text", "")):
        dataset = forebay.lmdb(tmp_path / "one", fields=kind)
        with open_entries(dataset) as loader:
            assert contents(loader)[0] == [value]


def test_large_values(shared_daemon, tmp_path):
    entries = {b"%d" % number: numpy.random.RandomState(number).bytes(length)
               for number, length in enumerate((1, 4095, 1 << 20, 9_000_001))}
    write(tmp_path / "large", entries)
    with open_entries(tmp_path / "large", batch_size=1) as loader:
        assert contents(loader)[0] == list(entries.values())


def test_images_and_their_labels(shared_daemon, tmp_path, photos):
    pictures = sorted(photos.glob("*/*.jpg"))[:12]
    write(tmp_path / "images", {b"%04d" % number: path.read_bytes()
                                for number, path in enumerate(pictures)})
    with forebay.DataLoader(photos, transform=T.CenterCrop(CROP), batch_size=12,
                            framework="numpy", autostart=False) as loader:
        expected = next(iter(loader)).image
    crop = T.CenterCrop(CROP)
    for fields, transform in (("image", crop), ("jpg", crop), (None, crop),
                              ("jpg", {"value": crop}), (None, {"value": crop}),
                              ({"key": "text", "value": "jpg"}, {"value": crop})):
        with open_entries(forebay.lmdb(tmp_path / "images", fields=fields),
                          transform=transform, batch_size=12) as loader:
            assert numpy.array_equal(next(iter(loader)).value, expected)


def varint(number):
    number %= 1 << 64
    out = b""
    while number >= 128:
        out += bytes([number % 128 | 128])
        number //= 128
    return out + bytes([number])


def datum(label, *, shape=None, data=None, floats=None, encoded=False):
    """Returns a message of Caffe's type Datum."""
    out = b""
    for field, extent in zip((1, 2, 3), shape or ()):
        out += varint(field << 3) + varint(extent)
    if data is not None:
        out += varint(4 << 3 | 2) + varint(len(data)) + data
    out += varint(5 << 3) + varint(label)
    for number in ([] if floats is None else floats):
        out += varint(6 << 3 | 5) + numpy.float32(number).tobytes()
    return out + (varint(7 << 3) + b"\1" if encoded else b"")


@pytest.mark.parametrize("fields", ["datum", None])
def test_datums(shared_daemon, tmp_path, photos, fields):
    chance = numpy.random.RandomState(2)
    pixels = chance.randint(0, 256, (9, 3, 5, 4)).astype(numpy.uint8)
    numbers = chance.rand(9, 2, 3, 1).astype(numpy.float32)
    pictures = [path.read_bytes() for path in sorted(photos.glob("*/*.jpg"))[:9]]
    labels = [*range(-4, 5)]
    write(tmp_path / "bytes", {b"%d" % i: datum(labels[i], shape=(3, 5, 4),
                                                data=pixels[i].tobytes())
                               for i in range(9)})
    write(tmp_path / "floats", {b"%d" % i: datum(labels[i], shape=(2, 3, 1),
                                                 floats=numbers[i].ravel())
                                for i in range(9)})
    write(tmp_path / "files", {b"%d" % i: datum(labels[i], data=pictures[i],
                                                encoded=True) for i in range(9)})
    for name, expected in (("bytes", pixels), ("floats", numbers)):
        with open_entries(forebay.lmdb(tmp_path / name, fields=fields)) as loader:
            found = list(loader)
            assert found[0]._fields == ("array", "label")
            array = numpy.concatenate([batch.array for batch in found])
            assert array.dtype == expected.dtype
            assert numpy.array_equal(array, expected)
            assert numpy.concatenate([b.label for b in found]).tolist() == labels
    with open_entries(forebay.lmdb(tmp_path / "files", fields=fields),
                      transform=T.CenterCrop(CROP)) as loader:
        batch = next(iter(loader))
        assert batch._fields == ("image", "label")
        assert batch.image.shape == (4, 3, *CROP)
        assert batch.label.tolist() == labels[:4]


@pytest.mark.parametrize("fields", ["datum", {"key": "text", "value": "datum"}])
def test_a_datum_has_transforms_by_field(shared_daemon, tmp_path, photos, fields):
    picture = next(photos.glob("*/*.jpg"))
    write(tmp_path / "env", {b"a": datum(3, data=picture.read_bytes(), encoded=True)})
    with open_entries(forebay.lmdb(tmp_path / "env", fields=fields),
                      transform={"image": T.CenterCrop(CROP)}) as loader:
        assert next(iter(loader)).image.shape == (1, 3, *CROP)


def test_a_datum_with_its_key(shared_daemon, tmp_path):
    write(tmp_path / "d", {b"a-%d" % i: datum(i, shape=(1, 1, 2), data=b"%02d" % i)
                           for i in range(5)})
    dataset = forebay.lmdb(tmp_path / "d", fields={"key": "text", "value": "datum"})
    with open_entries(dataset, batch_size=5) as loader:
        batch = next(iter(loader))
    assert batch._fields == ("key", "array", "label")
    assert batch.key == [f"a-{i}" for i in range(5)]
    assert batch.array.shape == (5, 1, 1, 2) and batch.label.tolist() == [*range(5)]


def example(**features):
    """Returns a tf.train.Example of integers and bytes."""
    def message(number, content):
        return varint(number << 3 | 2) + varint(len(content)) + content
    entries = b""
    for name, value in features.items():
        if isinstance(value, bytes):
            feature = message(1, message(1, value))
        else:
            feature = message(3, message(1, b"".join(map(varint, value))))
        entries += message(1, message(1, name.encode()) + message(2, feature))
    return message(1, entries)


@pytest.mark.parametrize("fields", [
    {"text": "text", "number": "int64", "tokens": "int64[n]"}, None])
def test_examples(shared_daemon, tmp_path, fields):
    write(tmp_path / "e", {b"%d" % i: example(text=b"t%d" % i, number=[i - 3],
                                              tokens=[*range(i)])
                           for i in range(8)})
    with open_entries(forebay.lmdb(tmp_path / "e", fields=fields),
                      batch_size=8) as loader:
        batch = next(iter(loader))
    assert batch.text == [f"t{i}" for i in range(8)]
    assert batch.number.tolist() == [i - 3 for i in range(8)]
    assert [row.tolist() for row in batch.tokens] == [[*range(i)] for i in range(8)]


@pytest.mark.parametrize("fields, value, expected", [
    ("text", "\u00fcber".encode(), "\u00fcber"), (None, b"printable", "printable"),
    ("json", b'{"a": [1]}', {"a": [1]}), (None, b"\0\1", b"\0\1"),
    ("int64", b" 17\n", 17), ("int64", b"-1234567890123", -1234567890123)])
def test_types_of_values(shared_daemon, tmp_path, fields, value, expected):
    write(tmp_path / "v", {b"k": value})
    with open_entries(forebay.lmdb(tmp_path / "v", fields=fields)) as loader:
        assert contents(loader)[0] == [expected]


def test_arrays(shared_daemon, tmp_path):
    rows = [numpy.full((count, 2), count, numpy.float32) for count in (1, 3, 0, 2)]
    write(tmp_path / "raw", {b"%d" % i: row.tobytes() for i, row in enumerate(rows)})
    with open_entries(forebay.lmdb(tmp_path / "raw",
                                   fields="float32[n,2]")) as loader:
        for found, row in zip(next(iter(loader)).value, rows):
            assert numpy.array_equal(found, row)
    files = {}
    for i in range(4):
        file = io.BytesIO()
        numpy.save(file, numpy.full((2, 3), i, numpy.int16))
        files[b"%d" % i] = file.getvalue()
    write(tmp_path / "npy", files)
    for fields in ("npy", None):
        with open_entries(forebay.lmdb(tmp_path / "npy", fields=fields)) as loader:
            found = next(iter(loader)).value
            assert found.shape == (4, 2, 3) and found.dtype == numpy.int16
            assert found[:, 0, 0].tolist() == [0, 1, 2, 3]


def test_keys_that_are_numbers(shared_daemon, tmp_path):
    write(tmp_path / "k", {b"%03d" % i: b"" for i in range(100)})
    dataset = forebay.lmdb(tmp_path / "k", fields={"key": "int64"})
    with open_entries(dataset, batch_size=100) as loader:
        assert next(iter(loader)).key.tolist() == [*range(100)]
