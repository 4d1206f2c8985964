"""Writes the photographs of tools/photos into containers by the formats' own writers,
and tells how each container is read."""

import json
import os
import pathlib
import struct
import sys
import zipfile

import crc32c
import h5py
import numpy

import example_messages
import photos
from liblmdb import lmdb

PYPI = pathlib.Path(__file__).resolve().parents[3] / ".cache" / "pypi"
FILES = 8  # files of each container that has several
ROW_BYTES = 100_000  # bytes of an array's row
ROWS = 4000
MAP_BYTES = 1 << 34  # the most bytes of an LMDB environment


def folder():
    """Returns the folder of all containers."""
    cache = os.environ.get("XDG_CACHE_HOME")
    base = pathlib.Path(cache) if cache else pathlib.Path.home() / ".cache"
    return base / "forebay" / "containers"


def samples():
    """Yields the bytes and the class of each photograph, in ImageFolder's order."""
    place = pathlib.Path(photos.make())
    classes = sorted(path.name for path in place.iterdir() if path.is_dir())
    for label, name in enumerate(classes):
        for path in sorted((place / name).iterdir()):
            yield path.read_bytes(), label


def once(name, write):
    """Returns the folder of a container. If it is not there, `write` fills it."""
    place = folder() / name
    if not place.is_dir():
        fresh = folder() / f".{name}.{os.getpid()}"
        fresh.mkdir(parents=True)
        write(fresh)
        fresh.rename(place)
    return place


def masked(content):
    crc = crc32c.crc32c(content)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xa282ead8) % 2**32)


def _write_tfrecords(place):
    files = [open(place / f"photos-{number:05}-of-{FILES:05}.tfrecord", "wb")
             for number in range(FILES)]
    for number, (photo, label) in enumerate(samples()):
        payload = example_messages.example(photo, label)
        length = struct.pack("<Q", len(payload))
        files[number % FILES].write(length + masked(length) + payload +
                                    masked(payload))
    for file in files:
        file.close()


def tfrecords():
    """Returns the pattern of TFRecord files of Examples with `image` and `label`."""
    return str(once("tfrecord", _write_tfrecords) / "photos-*.tfrecord")


def array_record_module():
    """Returns the module of ArrayRecord's writer and reader, or None if tools/setup
    could not install it."""
    if str(PYPI) not in sys.path:
        sys.path.append(str(PYPI))
    try:
        from array_record.python import array_record_module as module
    except ImportError:
        return None
    return module


def _write_array_records(place):
    files = [array_record_module().ArrayRecordWriter(
        str(place / f"photos.array_record-{number:05}-of-{FILES:05}"), "group_size:1")
        for number in range(FILES)]
    for number, (photo, label) in enumerate(samples()):
        files[number % FILES].write(example_messages.example(photo, label))
    for file in files:
        file.close()


def array_records():
    """Returns the pattern of ArrayRecord files of the same Examples, compressed as
    their writer does by default. None if there is no writer."""
    if array_record_module() is None:
        return None
    return str(once("array_record", _write_array_records) / "photos.array_record-*")


def _write_mds(place):
    columns = {"column_names": ["image", "label"], "column_encodings": ["jpeg", "int"],
               "column_sizes": [None, 8]}
    config = json.dumps({"format": "mds", "version": 2, **columns}).encode()
    found = list(samples())
    for number in range(FILES):
        parts = [struct.pack("<I", len(photo)) + photo + struct.pack("<q", label)
                 for photo, label in found[number::FILES]]
        ends = numpy.cumsum([4 * (len(parts) + 2) + len(config), *map(len, parts)])
        (place / f"shard.{number:05}.mds").write_bytes(
            struct.pack("<I", len(parts)) + ends.astype("<u4").tobytes() + config +
            b"".join(parts))


def mds():
    """Returns the pattern of MDS shards with the columns `image` and `label`."""
    return str(once("mds", _write_mds) / "shard.*.mds")


def _write_zip(place):
    # JPEGs are stored uncompressed.
    with zipfile.ZipFile(place / "photos.zip", "w") as archive:
        for number, (photo, label) in enumerate(samples()):
            archive.writestr(f"{label:03}/{number:05}.jpg", photo)


def zips():
    """Returns the path of a zip archive of class folders."""
    return str(once("zip", _write_zip) / "photos.zip")


def _write_lmdb(place):
    with lmdb.open(str(place), map_size=MAP_BYTES) as environment, \
            environment.begin(write=True) as transaction:
        for number, (photo, label) in enumerate(samples()):
            transaction.put(b"%08d%04d" % (number, label), photo)


def environment():
    """Returns the folder of an LMDB environment of photographs. A key ends in the
    label, of four digits."""
    return str(once("lmdb", _write_lmdb))


def _write_hdf5(place):
    found = list(samples())
    for number in range(FILES):
        part = found[number::FILES]
        with h5py.File(place / f"photos-{number}.h5", "w") as file:
            photographs = file.create_dataset("image", len(part),
                                              h5py.vlen_dtype("uint8"))
            for place_in_file, (photo, _) in enumerate(part):
                photographs[place_in_file] = numpy.frombuffer(photo, "uint8")
            file["label"] = [label for _, label in part]


def hdf5():
    """Returns the pattern of HDF5 files with JPEG files as `image`, and with
    `label`."""
    return str(once("hdf5", _write_hdf5) / "photos-*.h5")


def _write_hdf5_rows(place):
    chance = numpy.random.default_rng(1)
    with h5py.File(place / "rows.h5", "w") as file:
        file.create_dataset("rows", data=chance.integers(
            0, 256, (ROWS, ROW_BYTES), dtype=numpy.uint8), chunks=(10, ROW_BYTES))


def hdf5_rows():
    """Returns the path of an HDF5 file of ROWS rows, in chunks of a megabyte."""
    return str(once("hdf5_rows", _write_hdf5_rows) / "rows.h5")


def _write_rows(place):
    chance = numpy.random.default_rng(1)
    numpy.save(place / "rows.npy", chance.integers(
        0, 256, (ROWS, ROW_BYTES), dtype=numpy.uint8))


def rows():
    """Returns the path of a .npy file of ROWS rows."""
    return str(once("npy", _write_rows) / "rows.npy")
