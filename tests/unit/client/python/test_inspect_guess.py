"""How forebay.inspect guesses what a folder or a file is, without a daemon."""

import csv
import gzip
import io
import json
import os
import random
import struct
import tarfile
import zipfile

import numpy
import pytest

import forebay
from forebay import errors
from forebay._inspect import files, folders, given, guess, magic

JPEG = b"\xff\xd8\xff\xe0" + bytes(20)
LMDB = bytes(16) + struct.pack("<I", 0xbeefc0de) + bytes(100)
WAV = b"RIFF\0\0\0\0WAVEfmt " + bytes(20)
ZSTD = b"\x28\xb5\x2f\xfd" + bytes(20)
HDF5 = b"\x89HDF\r\n\x1a\n" + bytes(100)
ARRAY_RECORD = bytes.fromhex("83af70d10d884a3f") + bytes(100)


def record():
    head = struct.pack("<Q", 9)
    return head + struct.pack("<I", magic._masked(magic._crc32c(head))) + bytes(13)


def tar(*names):
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(name))
    return whole.getvalue()


def archive(*names):
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as made:
        for name in names:
            made.writestr(name, JPEG)
    return whole.getvalue()


def array(value):
    whole = io.BytesIO()
    numpy.save(whole, numpy.asarray(value))
    return whole.getvalue()


SHARD = tar("1.jpg", "1.cls", "2.jpg", "2.cls")


def make(root, files):
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def readings(root, files, below=""):
    """Returns the guessed readings: (format, path below the root, arguments or
    fields)."""
    make(root, files)
    found = guess.found_at(str(root / below) if below else root)
    return [(one.format, one.path[len(str(root)):].lstrip("/"),
             one.arguments or one.fields) for one in found.readings]


@pytest.mark.parametrize("files, expected", [
    # This is ImageNet, whose validation part has no classes.
    ({"train/n01/a.JPEG": JPEG, "train/n02/b.JPEG": JPEG, "val/c.JPEG": JPEG},
     [("image_folder", "train", None)]),
    ({"set/test/a/1.png": JPEG, "set/train/a/1.png": JPEG},
     [("image_folder", "set/train", None), ("image_folder", "set/test", None)]),
    # This is LibriSpeech.
    ({f"dev-clean/{speaker}/{chapter}/1.flac": b"fLaC" for speaker in (84, 174)
      for chapter in (1, 2)},
     [("audio_folder", "dev-clean", {"labels": True})]),
    ({"a/1.jpg": JPEG, "b/deep/2.jpg": JPEG, "README.md": b"# Photographs"},
     [("image_folder", "", None)]),
    # This is the output of img2dataset.
    ({"00000.tar": tar("1.jpg", "1.json", "1.txt", "2.jpg", "2.json", "2.txt"),
      "00000.parquet": b"PAR1", "00000_stats.json": b"{}"},
     [("webdataset", "00000.tar", ("jpg", "txt", "json"))]),
    ({"train/0.tar": SHARD, "train/1.tar": SHARD, "val/0.tar": SHARD},
     [("webdataset", "train/*.tar", ("jpg", "cls")),
      ("webdataset", "val/0.tar", ("jpg", "cls"))]),
    ({"train-0.tar": SHARD, "train-1.tar": SHARD, "val-0.tar": SHARD},
     [("webdataset", "train-*.tar", ("jpg", "cls")),
      ("webdataset", "val-0.tar", ("jpg", "cls"))]),
    ({"0/0.tar": SHARD, "1/0.tar": SHARD},
     [("webdataset", "*/0.tar", ("jpg", "cls"))]),
    # This is TensorFlow's ImageNet.
    ({"train-00000-of-00002": record(), "train-00001-of-00002": record(),
      "validation-00000-of-00001": record()},
     [("tfrecord", "train-*", None), ("tfrecord", "validation-00000-of-00001", None)]),
    # This is TensorFlow Datasets.
    ({"1.0.0/x-train.array_record-00000-of-00001": ARRAY_RECORD,
      "1.0.0/dataset_info.json": b"{}", "1.0.0/features.json": b"{}"},
     [("array_record", "1.0.0/x-train.array_record-00000-of-00001", None)]),
    ({"x-train.tfrecord-00000-of-00002": record(),
      "x-train.tfrecord-00001-of-00002": record(), "features.json": b"{}"},
     [("tfrecord", "x-train.tfrecord-*", None)]),
    ({"0.tfrecord": b"", "1.tfrecord": record(), "BUILD": b"text"},
     [("tfrecord", "*.tfrecord", None)]),
    ({"yes/1.wav": WAV, "no/1.wav": WAV}, [("audio_folder", "", None)]),
    ({"1.flac": WAV, "2.flac": WAV}, [("audio_folder", "", None)]),
    ({"clips/1.mp3": WAV, "train.tsv": b"path\n1.mp3"},
     [("audio_folder", "clips", None)]),
    ({"train/yes/1.wav": WAV, "test/yes/1.wav": WAV},
     [("audio_folder", "train", None), ("audio_folder", "test", None)]),
    ({"0.tar.zst": ZSTD, "1.tar.zst": ZSTD}, [("webdataset", "*.tar.zst", None)]),
    ({"0.tfrecord.zst": ZSTD}, [("tfrecord", "0.tfrecord.zst", None)]),
    ({"data.mdb": LMDB, "lock.mdb": bytes(64)}, [("lmdb", "", None)]),
    ({"bedroom_train_lmdb/data.mdb": LMDB, "tower_train_lmdb/data.mdb": LMDB,
      "bedroom_val_lmdb/data.mdb": LMDB},
     [("lmdb", "*_train_lmdb", {"fields": "lsun"}),
      ("lmdb", "bedroom_val_lmdb", {"fields": "lsun"})]),
    ({"a.h5": HDF5, "b.h5": HDF5}, [("hdf5", "*.h5", None)]),
    ({"index.json": json.dumps({"shards": [{
        "format": "mds", "raw_data": {"basename": "shard.00000.mds"}}]}).encode(),
      "shard.00000.mds": bytes(20)}, [("mds", "", None)]),
    ({"corpus.bin": bytes(4096), "corpus.idx": b"MMIDIDX\0\0" + bytes(8) + b"\x08"},
     [("tokens", "corpus.bin", {"length": 1024}),
      ("tokens", "corpus.bin", {"length": None})]),
    ({"train.bin": b"\1\xff" * 2048, "val.bin": b"\1\xff" * 512},
     [("tokens", "train.bin", {"dtype": "uint16", "length": 1024}),
      ("tokens", "train.bin", {"dtype": "uint32", "length": 1024}),
      ("tokens", "val.bin", {"dtype": "uint16", "length": 512})]),
    ({"0.npy": array([[1.0]]), "1.npy": array([[2.0], [3.0]])},
     [("npy_folder", "", None), ("npy", "*.npy", None)]),
    ({"only.npy": array([[1.0]])}, [("npy", "only.npy", None)]),
    ({"a/0.npy": array([1.0]), "b/0.npy": array([1.0])},
     [("npy_folder", "", {"labels": True})]),
])
def test_folders(tmp_path, files, expected):
    assert readings(tmp_path, files) == expected


@pytest.mark.parametrize("name, content, expected", [
    ("a.zip", archive("x/cat/1.jpg", "x/dog/2.jpg"), ("zip", "a.zip/x", None)),
    ("a.zip", archive("cat/1.jpg", "dog/2.jpg"), ("zip", "a.zip", None)),
    ("a.zip", archive("d/val/cat/1.jpg", "d/train/cat/1.jpg"),
     ("zip", "a.zip/d/train", None)),
    ("a.zip", archive("x/yes/1.wav", "x/no/2.wav"), ("audio_folder", "a.zip/x", None)),
    ("a.dat", HDF5, ("hdf5", "a.dat", None)), ("a.dat", LMDB, ("lmdb", "a.dat", None)),
    ("a.dat", record(), ("tfrecord", "a.dat", None)),
    ("a.dat", SHARD, ("webdataset", "a.dat", ("jpg", "cls"))),
    ("a.npy", array(numpy.zeros(5, "int32")), ("npy", "a.npy", None)),
    ("a.npy", array(numpy.zeros(100_000, "int32")),
     ("tokens", "a.npy", {"length": 1024}))],
    # A zip contains the time when it was made. Its bytes in a name would give the test
    # another name in each process that collects the tests.
    ids=lambda value: value if isinstance(value, str) else "-")
def test_files(tmp_path, name, content, expected):
    assert readings(tmp_path, {name: content}, name)[0] == expected


@pytest.mark.parametrize("header, row, columns", [
    (["image", "label"], ["i/1.jpg", "cat"], {"label": "label"}),
    (["file", "y", "caption"], ["i/1.jpg", "3", "a cat"],
     {"image": "file", "label": "y", "caption": "caption"}),
    (["id", "Path", "Species"], ["3", "i/1.jpg", "cat"],
     {"image": "Path", "label": "Species"}),
    (["audio_filepath", "duration", "text"], ["i/1.wav", "1.5", "hello"],
     {"audio": "audio_filepath", "text": "text"}),
    (["audio", "category"], ["i/1.wav", "dog"],
     {"audio": "audio", "label": "category"})])
def test_tables(tmp_path, header, row, columns):
    make(tmp_path, {"i/1.jpg": JPEG, "i/1.wav": b""})
    with open(tmp_path / "t.csv", "w", newline="") as file:
        csv.writer(file).writerows([header, row])
    for name in ("t.jsonl", "t.json"):
        (tmp_path / name).write_text(json.dumps(dict(zip(header, row))) + "\n")
    for name in ("t.csv", "t.jsonl", "t.json"):
        reading, = guess.found_at(tmp_path / name).readings
        assert (reading.format, reading.arguments) == ("manifest", columns)


@pytest.mark.parametrize("files, error, says", [
    ({}, errors.InvalidArgument, "is empty"),
    ({".hidden": b""}, errors.InvalidArgument, "is empty"),
    ({"cifar-10-batches-py/data_batch_1": b"\x80\4K\1."}, errors.Unsupported,
     "torchvision.datasets.CIFAR10"),
    ({"data_batch_1.bin": bytes(3073 * 2)}, errors.Unsupported, "CIFAR10"),
    ({"train-images-idx3-ubyte": b"\0\0\x08\3" + bytes(40)}, errors.Unsupported,
     "torchvision.datasets.MNIST"),
    ({"data/train-00000-of-00001.parquet": b"PAR1"}, errors.Unsupported,
     "load_dataset"),
    ({"a.zst": ZSTD}, errors.Unsupported, "must end in"),
    ({"a.bin": b"\xff\xfe\0"}, errors.Unsupported, "not tokens"),
    ({"t.csv": b"a,b\n1,2\n"}, errors.Unsupported, "no column has the paths"),
    ({"a.zip": archive("1.txt")}, errors.Unsupported, "neither images nor audio"),
    ({"a.zip": b"PK\3\4" + bytes(50)}, errors.InvalidArgument, "without its end"),
    ({"cat/1": JPEG}, errors.InvalidArgument, "do not end in .jpg"),
    ({"t.tsv": b"a\tb\n"}, errors.Unsupported, "with commas"),
    ({"a.npz": archive()}, errors.InvalidArgument, ".npz file without arrays"),
    ({"a/.hidden": b"", "b/c.txt": b"text"}, errors.Unsupported, "c.txt: is a text"),
    ({"a/.hidden": b"", "b/.hidden": b""}, errors.Unsupported, "nothing that is read"),
    ({"a.tar": SHARD[:100]}, errors.ForebayError, "a.tar")])
def test_what_is_not_read(tmp_path, files, error, says):
    make(tmp_path, files)
    with pytest.raises(error) as caught:
        guess.found_at(tmp_path)
    assert says in str(caught.value) and "\n" not in str(caught.value)


def test_images_without_classes(tmp_path):
    make(tmp_path, {"all/cat/1.jpg": JPEG, "one/1.jpg": JPEG})
    with pytest.raises(errors.InvalidArgument, match="forebay.manifest"):
        guess.found_at(tmp_path / "all" / "cat")
    make(tmp_path, {"all/dog/1.jpg": JPEG})
    with pytest.raises(errors.InvalidArgument, match=r"all meant.*\(cat, dog\)"):
        guess.found_at(tmp_path / "all" / "cat")


@pytest.mark.parametrize("files, says", [
    ({"train2017/1.jpg": JPEG, "val2017/1.jpg": JPEG}, "look like parts of a dataset"),
    ({"images/1.jpg": JPEG, "masks/1.png": JPEG}, "look like parts of the samples"),
    ({"images/1.jpg": JPEG, "list.txt": b"1.jpg 3"}, "below one folder, images"),
    ({"x/1.jpg": JPEG, "y/1.jpg": JPEG, "z.tar": SHARD}, "several formats"),
    ({"x/1.jpg": JPEG, "y/1.jpg": JPEG, "3.jpg": JPEG}, "such as 3.jpg, are in no")])
def test_what_is_odd_in_folders(tmp_path, files, says):
    make(tmp_path, files)
    assert says in " ".join(guess.found_at(tmp_path).notes)


def test_classes_in_shards_are_no_labels(tmp_path):
    make(tmp_path, {"a.tar": tar("cat/1.jpg", "dog/2.jpg")})
    reading, = guess.found_at(tmp_path / "a.tar").readings
    assert reading.fields == ("jpg",) and "(cat, dog)" in reading.note


def test_deep_and_endless_folders_end(tmp_path):
    deep = tmp_path
    for _ in range(30):
        deep = deep / "f"
    deep.mkdir(parents=True)
    (deep / "a.tar").write_bytes(SHARD)
    with pytest.raises(errors.ForebayError):
        guess.found_at(tmp_path)
    (tmp_path / "loop").symlink_to(tmp_path)
    with pytest.raises(errors.ForebayError):
        guess.found_at(tmp_path)


def test_dataset_objects_are_not_looked_into():
    with pytest.raises(errors.InvalidArgument, match="a path or a URI, not 7"):
        guess.found_at(7)


def test_pipes_and_links_to_themselves_are_no_datasets(tmp_path):
    os.mkfifo(tmp_path / "events")
    (tmp_path / "self").symlink_to("self")
    with pytest.raises(errors.Unsupported, match="nothing .* but events, self;"):
        guess.found_at(tmp_path)
    make(tmp_path, {"a.tar": SHARD})
    assert guess.found_at(tmp_path).readings[0].format == "webdataset"
    with pytest.raises(errors.Unsupported, match="neither a file nor a folder"):
        guess.found_at(tmp_path / "events")


@pytest.mark.parametrize("caption", [
    "two\nlines", "two\u2028parts", 'a "quote"', "c" * 80])
def test_captions_of_several_lines(tmp_path, caption):
    make(tmp_path, {"i/1.jpg": JPEG})
    rows = [["path", "caption"], *[["i/1.jpg", caption]] * 40_000]
    with open(tmp_path / "t.csv", "w", newline="") as file:
        csv.writer(file).writerows(rows)
    reading, = guess.found_at(tmp_path / "t.csv").readings
    assert reading.arguments == {"image": "path", "caption": "caption"}


def test_of_several_tables_one_is_named(tmp_path):
    make(tmp_path, {"i.jpg": JPEG, "a.csv": b"path\ni.jpg\n", "b.csv": b"x\n"})
    with pytest.raises(errors.InvalidArgument, match="such as .*a.csv"):
        guess.found_at(tmp_path / "*.csv")


def test_a_search_in_a_large_tree_ends(tmp_path, monkeypatch):
    for number in range(10 ** 3):
        place = tmp_path.joinpath(*f"{number:03}")
        place.mkdir(parents=True)
        (place / "notes.md").write_bytes(b"# Notes")
    looked = []
    listing = files.listing
    monkeypatch.setattr(files, "listing", lambda *arguments: (
        looked.append(arguments), listing(*arguments))[1])
    monkeypatch.setattr(folders, "_WORK", 100)
    with pytest.raises(errors.ForebayError):
        guess.found_at(tmp_path)
    assert len(looked) < 150


def arrays():
    whole = io.BytesIO()
    numpy.savez(whole, x=numpy.zeros((3, 2)), y=numpy.zeros(3), z=numpy.zeros(4))
    return whole.getvalue()


@pytest.mark.parametrize("name, content", [
    ("a.tar", SHARD), ("a.tgz", gzip.compress(SHARD)), ("a.npz", arrays()),
    ("a.zip", archive("x/cat/1.jpg", "x/dog/2.jpg")), ("a.npy", array([1, 2])),
    ("a.csv", b"image,label\r\n\"i/1.jpg\",3\r\n"),
    ("a.jsonl", b'{"image": "i/1.jpg", "label": [3]}\n'),
    ("a.idx", b"MMIDIDX\0\0" + bytes(8) + b"\x08"), ("a", record())],
    ids=lambda value: "" if isinstance(value, bytes) else value)
def test_damaged_files_end_in_one_sentence(tmp_path, name, content):
    make(tmp_path, {"i/1.jpg": JPEG, "a.bin": bytes(64)})
    chance = random.Random(name)
    for _ in range(300):
        spoilt = bytearray(content)
        for _ in range(chance.randrange(1, 5)):
            at = chance.randrange(len(spoilt))
            spoilt[at] = chance.choice((0, 255, chance.randrange(256), spoilt[at] ^ 1))
        if chance.random() < 0.3:
            del spoilt[chance.randrange(1, len(spoilt)):]
        (tmp_path / name).write_bytes(spoilt)
        try:
            assert guess.found_at(tmp_path / name).readings
        except errors.ForebayError as error:
            assert "\n" not in str(error), spoilt


@pytest.mark.parametrize("code", [
    'forebay.tfrecord("/a", fields={"x": "jpg"})', 'forebay.array_record("/a")',
    'forebay.lmdb("/a", fields="jpg", database="b")', 'forebay.hdf5("/a")',
    'forebay.npz("/a.npz", rows=False)', 'forebay.npz("/a", fields=("x", "y"))',
    'forebay.npy_folder("/a", labels=True)',
    'forebay.audio_folder("/a", labels=False)',
    'forebay.manifest("/a.csv", image="path", label="c", t="text")',
    'forebay.tokens("/a.bin", length=None)',
    'forebay.tokens("/a.bin", length=64, stride=1, dtype="uint16", tail="keep", '
    'targets=True)'])
def test_readings_that_the_user_has_chosen(code):
    chosen = eval(code, {"forebay": forebay})
    reading = given.reading_of(chosen)
    again = eval(reading.expression(), {"forebay": forebay})
    assert vars(again) == vars(reading.dataset()) == {
        **vars(chosen), "path": reading.path}
    assert given.reading_of("/a") is None


def test_fields_that_the_user_has_chosen():
    reading = guess.Reading("webdataset", "/a.tar", fields=("jpg",), note="odd")
    assert given.with_fields(reading, ["png", "cls"]) == guess.Reading(
        "webdataset", "/a.tar", fields=("png", "cls"))
    with pytest.raises(errors.InvalidArgument, match="sequence"):
        given.with_fields(reading, "jpg")
