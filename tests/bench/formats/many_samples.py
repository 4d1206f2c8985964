"""Writes containers of very many small samples, to measure what an index costs. Where
the reference writer would take minutes, NumPy writes the same bytes."""

import io
import json
import struct
import zlib

import h5py
import numpy
import PIL.Image

from containers import array_record_module, masked, once
from liblmdb import lmdb

PAYLOAD = b"sixteen bytes..."
NAME = "0/%08d.png"  # name of an archive's member, in a class folder
AT_ONCE = 100_000  # samples that one call writes


def _tfrecord(place, count):
    length = struct.pack("<Q", len(PAYLOAD))
    frame = length + masked(length) + PAYLOAD + masked(PAYLOAD)
    with open(place / "a.tfrecord", "wb") as file:
        for _ in range(count // AT_ONCE):
            file.write(frame * AT_ONCE)


def _array_record(place, count):
    writer = array_record_module().ArrayRecordWriter(
        str(place / "a.array_record"), "group_size:256")
    for _ in range(count):
        writer.write(PAYLOAD)
    writer.close()


def _mds(place, count):
    """Writes a hundred shards with one column of bytes."""
    config = json.dumps({
        "format": "mds", "version": 2, "column_names": ["x"],
        "column_encodings": ["bytes"], "column_sizes": [None]}).encode()
    sample = struct.pack("<I", len(PAYLOAD)) + PAYLOAD
    each = count // 100
    begin = 4 * (each + 2) + len(config)
    ends = begin + len(sample) * numpy.arange(each + 1, dtype="<u4")
    shard = struct.pack("<I", each) + ends.tobytes() + config + sample * each
    for number in range(100):
        (place / f"shard.{number:05}.mds").write_bytes(shard)


def _zip(place, count):
    """Writes stored images that are named by their numbers, and the records of
    zip64."""
    image = io.BytesIO()
    PIL.Image.new("RGB", (1, 1)).save(image, "PNG")
    content = image.getvalue()
    width = len(NAME % 0)
    local = numpy.dtype([
        ("magic", "<u4"), ("version", "<u2"), ("flags", "<u2"), ("method", "<u2"),
        ("time", "<u4"), ("crc", "<u4"), ("packed", "<u4"), ("size", "<u4"),
        ("name_size", "<u2"), ("extra", "<u2"), ("name", f"S{width}"),
        ("content", f"V{len(content)}")])
    central = numpy.dtype([
        ("magic", "<u4"), ("made", "<u2"), ("version", "<u2"), ("flags", "<u2"),
        ("method", "<u2"), ("time", "<u4"), ("crc", "<u4"), ("packed", "<u4"),
        ("size", "<u4"), ("name_size", "<u2"), ("extra", "<u2"), ("comment", "<u2"),
        ("disk", "<u2"), ("internal", "<u2"), ("external", "<u4"), ("offset", "<u4"),
        ("name", f"S{width}")])
    with open(place / "a.zip", "wb") as file:
        directory = []
        for first in range(0, count, AT_ONCE):
            names = numpy.char.mod(NAME, numpy.arange(first, first + AT_ONCE))
            entries = numpy.zeros(AT_ONCE, local)
            headers = numpy.zeros(AT_ONCE, central)
            for part, magic in ((entries, 0x04034b50), (headers, 0x02014b50)):
                part["magic"], part["version"], part["time"] = magic, 20, 0x21 << 16
                part["crc"], part["name_size"] = zlib.crc32(content), width
                part["packed"] = part["size"] = len(content)
                part["name"] = names
            entries["content"] = numpy.void(content)
            headers["offset"] = file.tell() + local.itemsize * numpy.arange(AT_ONCE)
            file.write(entries.tobytes())
            directory.append(headers.tobytes())
        begin = file.tell()
        size = sum(map(len, directory))
        for part in directory:
            file.write(part)
        end = file.tell()
        file.write(struct.pack("<IQHHIIQQQQ", 0x06064b50, 44, 45, 45, 0, 0, count,
                               count, size, begin))
        file.write(struct.pack("<IIQI", 0x07064b50, 0, end, 1))
        file.write(struct.pack("<IHHHHIIH", 0x06054b50, 0, 0, 0xffff, 0xffff,
                               0xffffffff, 0xffffffff, 0))


def _lmdb(place, count):
    with lmdb.open(str(place), map_size=1 << 34) as environment, \
            environment.begin(write=True) as transaction:
        for number in range(count):
            transaction.put(b"%08d" % number, PAYLOAD, append=True)


def _hdf5(place, count):
    """Writes rows of variable length; each row's bytes have a place of their own in a
    heap."""
    with h5py.File(place / "a.h5", "w") as file:
        rows = file.create_dataset("x", (count,), h5py.vlen_dtype("uint8"),
                                   chunks=(AT_ONCE,))
        values = numpy.empty(AT_ONCE, object)
        for i in range(AT_ONCE):  # h5py needs rows that differ in length
            values[i] = numpy.frombuffer(PAYLOAD[:15 + (i > 0)], numpy.uint8)
        for first in range(0, count, AT_ONCE):
            rows[first:first + AT_ONCE] = values


_WRITERS = {
    "tfrecord": (_tfrecord, "a.tfrecord"), "array_record": (_array_record,
                                                            "a.array_record"),
    "mds": (_mds, "shard.*.mds"), "zip": (_zip, "a.zip"), "lmdb": (_lmdb, ""),
    "hdf5": (_hdf5, "a.h5"),
}
NAMES = tuple(_WRITERS)


def path(name, count):
    """Returns the path of a container of `count` samples, a multiple of AT_ONCE.
    Returns None if the container's writer is not installed."""
    if name == "array_record" and array_record_module() is None:
        return None
    write, ending = _WRITERS[name]
    place = once(f"{name}-{count}", lambda fresh: write(fresh, count))
    return str(place / ending)
