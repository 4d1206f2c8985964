"""Datasets of each format that tests can write. Each function takes a folder and the
photographs, and returns (uri, format, samples, kinds of fields)."""

import csv
import gzip
import io
import pathlib
import shutil
import subprocess
import wave
import zipfile

import h5py
import numpy

import tfrecord_test
from remote_shards_test import tar_of

GOLDEN = pathlib.Path(__file__).parents[1] / "golden"
CHANCE = numpy.random.RandomState(3)


def pictures(photos):
    return sorted(photos.glob("*/*.jpg"))


def members(photos):
    return [(f"{number:04}.{ending}", content)
            for number, path in enumerate(pictures(photos))
            for ending, content in (("jpg", path.read_bytes()),
                                    ("cls", b"%d" % (number % 5)))]


def folder(place, photos):
    return photos, "image_folder", 48, ["image", "label"]


def parts(place, photos):
    shutil.copytree(photos, place / "data" / "set" / "train")
    shutil.copytree(photos / "beach", place / "data" / "set" / "val" / "beach")
    return place / "data", "image_folder", 48, ["image", "label"]


def zipped(place, photos):
    with zipfile.ZipFile(place / "all.zip", "w") as archive:
        for path in pictures(photos):
            archive.write(path, f"top/{path.parent.name}/{path.name}")
    return place / "all.zip", "zip", 48, ["image", "label"]


def shards(place, photos):
    for part in range(3):
        (place / f"{part:03}.tar").write_bytes(tar_of(members(photos)))
    return place, "webdataset", 144, ["image", "label"]


def packed_shards(place, photos):
    (place / "a.tar.gz").write_bytes(gzip.compress(tar_of(members(photos)), 1))
    return place / "a.tar.gz", "webdataset", 48, ["image", "label"]


def oddly_named_records(place, photos):
    """Writes records whose names have no ending, and two parts."""
    for part, count in (("train", 7), ("validation", 2)):
        for number in range(2):
            tfrecord_test.write(place / f"{part}-0000{number}-of-00002",
                                [b"record %d" % i for i in range(count)])
    return place, "tfrecord", 14, ["bytes"]


def examples(place, photos):
    return (GOLDEN / "tfrecord" / "examples-*.tfrecord", "tfrecord",
            len(tfrecord_test.examples()), None)


def packed_records(place, photos):
    shutil.copy(GOLDEN / "tfrecord" / "gzip.tfrecord", place / "packed")
    return place / "packed", "tfrecord", 30, None


def array_record(place, photos):
    import array_record_files  # skips the test if array_record is not installed
    array_record_files.write(place / "train.array_record-00000-of-00001",
                             [path.read_bytes() for path in pictures(photos)])
    return place, "array_record", 48, ["image"]


def environment(place, photos):
    import lmdb_files
    lmdb_files.write(place / "env", {
        path.name.encode() + path.parent.name.encode(): path.read_bytes()
        for path in pictures(photos)})
    return place / "env", "lmdb", 48, ["image"]


def environment_file(place, photos):
    import lmdb_files
    lmdb_files.write(place / "data", {b"%03d" % i: b"text %d" % i for i in range(9)},
                     subdir=False)
    return place / "data", "lmdb", 9, ["text"]


def lsun(place, photos):
    import lmdb_files
    for part, count in (("train", 3), ("val", 1)):
        for name in ("bedroom", "tower"):
            (place / "lsun").mkdir(exist_ok=True)
            lmdb_files.write(place / "lsun" / f"{name}_{part}_lmdb", {
                b"%d" % number: path.read_bytes()
                for number, path in enumerate(pictures(photos)[:count])})
    return place / "lsun", "lmdb", 6, ["image", "label"]


def mosaic(place, photos):
    return GOLDEN / "mds" / "mixed", "mds", 12, None


def hdf5(place, photos):
    with h5py.File(place / "numbers.mat", "w") as file:
        file["x"] = CHANCE.rand(20, 3).astype("float32")
        file["y"] = numpy.arange(20)
        file["mean"] = numpy.zeros(3)
    return place / "numbers.mat", "hdf5", 20, ["array", "label"]


def rows(place, photos):
    numpy.save(place / "x.npy", CHANCE.rand(11, 2, 3))
    return place / "x.npy", "npy", 11, ["array"]


def arrays(place, photos):
    for number in range(9):
        numpy.save(place / f"{number}.npy", CHANCE.rand(number + 1, 4))
    return place, "npy_folder", 9, ["array"]


def array_classes(place, photos):
    for name in "ab":
        (place / name).mkdir()
        for number in range(3):
            numpy.save(place / name / f"{number}.npy", CHANCE.rand(5))
    return place, "npy_folder", 6, ["array", "label"]


def two_arrays(place, photos):
    numpy.savez(place / "m.npz", x_test=CHANCE.rand(3, 2), x_train=CHANCE.rand(7, 2),
                y_test=numpy.arange(3), y_train=numpy.arange(7))
    return place / "m.npz", "npz", 7, ["array", "array"]


def array_files(place, photos):
    for number in range(5):
        numpy.savez(place / f"{number}.npz", a=CHANCE.rand(number + 2), b=number)
    return place, "npz_files", 5, ["array", "array"]


def raw_tokens(place, photos):
    CHANCE.randint(0, 50000, 5000).astype("uint16").tofile(place / "train.bin")
    return place / "train.bin", "tokens", 4, ["array"]


def wide_tokens(place, photos):
    CHANCE.randint(0, 130000, 5000).astype("uint32").tofile(place / "train.bin")
    return place / "train.bin", "tokens", 4, ["array"]


def documents(place, photos):
    return GOLDEN / "tokens" / "plain.idx", "tokens", None, ["array"]


def token_array(place, photos):
    numpy.save(place / "ids.npy", CHANCE.randint(0, 9, 102_400).astype("uint16"))
    return place / "ids.npy", "tokens", 100, ["array"]


def table(place, photos):
    (place / "images").mkdir()
    with open(place / "train.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["number", "file_name", "species", "caption"])
        for number, path in enumerate(pictures(photos)):
            shutil.copy(path, place / "images" / f"{number}.jpg")
            writer.writerow([number, f"images/{number}.jpg", path.parent.name,
                             f"a {path.parent.name}"])
    return place, "manifest", 48, ["image", "label", "text"]


def clip(number):
    """Returns a WAV file whose length depends on `number`."""
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setparams((1, 2, 16000, 0, "NONE", ""))
        writer.writeframes(CHANCE.bytes(2 * (500 + 10 * number)))
    return file.getvalue()


def speech(place, photos):
    for name in ("no", "yes"):
        (place / name).mkdir()
        for number in range(5):
            (place / name / f"{number}.wav").write_bytes(clip(number))
    return place, "audio_folder", 10, ["audio", "label"]


def clips_in_shards(place, photos):
    (place / "a.tar").write_bytes(tar_of([
        (f"{number:03}.{ending}", content) for number in range(6)
        for ending, content in (("txt", b"hello"), ("wav", clip(number)))]))
    return place / "a.tar", "webdataset", 6, ["audio", "text"]


def zstd_shards(place, photos):
    packed = subprocess.run(["zstd", "-c"], input=tar_of(members(photos)), check=True,
                            stdout=subprocess.PIPE).stdout
    (place / "a.tar.zst").write_bytes(packed)
    return place / "a.tar.zst", "webdataset", 48, ["image", "label"]


FORMATS = [speech, clips_in_shards, zstd_shards, folder, parts, zipped, shards,
           packed_shards, oddly_named_records, examples, packed_records, array_record,
           environment, environment_file, lsun, mosaic, hdf5, rows, arrays,
           array_classes, two_arrays, array_files, raw_tokens, wide_tokens, documents,
           token_array, table]
