#!/usr/bin/python3
"""Makes the ArrayRecord files of this folder, and what array_record reads in them.

Run it with a Python that has array_record 0.8.6 (PyPI):
    python3 -m venv DIR && DIR/bin/pip install --no-deps array_record==0.8.6
    DIR/bin/python tests/golden/array_record/make_golden.py
It writes beside itself. The files are kept packed by gzip: they end with some
100 KB of zeros each.

golden.txt, as ArrayRecordReader reads it:
    file NAME RECORDS
    record LENGTH CRC32                    (of the file above; CRC in hex)
Files that must be refused are not there: that of transposed records.
"""

import gzip
import pathlib
import random
import struct
import tempfile
import zlib

from array_record.python import array_record_module

HERE = pathlib.Path(__file__).resolve().parent
BLOCK, BLOCK_HEADER, CHUNK_HEADER = 1 << 16, 24, 40
CODECS = ["uncompressed", "brotli", "zstd", "snappy"]


def noise(size, seed):
    return random.Random(str(seed)).randbytes(size)


def mixed():
    """Records of all sizes, over several blocks however they are packed."""
    base = noise(700, "base")
    yield from (b"", b"a", b"words " * 900, b"")
    for i in range(150):
        yield b"%04d" % i + base[:540 + i]
    yield noise(1000, "long") * 180


def straddling():
    """Chunks of one record whose headers begin 0 to 66 bytes before a block's."""
    at = 2 * BLOCK_HEADER + 16  # behind the signature
    for before in range(67):
        if 0 < (BLOCK - before) % BLOCK <= BLOCK_HEADER:
            continue
        end = (at // BLOCK + 2) * BLOCK - before
        interrupted = (end - 1) // BLOCK - at // BLOCK + (at % BLOCK == 0)
        # Codec, bytes of the lengths, and a length of three bytes.
        size = end - at - interrupted * BLOCK_HEADER - CHUNK_HEADER - 5
        yield b"%02d" % before + bytes(size - 2)
        at = end


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def message(number, value):
    return varint(number << 3 | 2) + varint(len(value)) + value


def feature(name, kind, values):
    return message(1, message(1, name.encode()) + message(2, message(kind, values)))


def examples():
    """tf.train.Examples: bytes, an integer, and floats, of which there are 0 to 3."""
    for i in range(20):
        scores = struct.pack(f"<{i % 4}f", *range(i % 4))
        yield message(1, feature("name", 1, message(1, b"sample %d" % i))
                      + feature("label", 3, message(1, varint(i)))
                      + feature("scores", 2, message(1, scores)))


def photos():
    for size in ("17x7", "33x16", "5x5", "7x17"):
        yield (HERE.parent / "decode" / f"420_{size}.jpg").read_bytes()


FILES = {
    **{f"{codec}_{group}": (mixed, f"group_size:{group},{codec}")
       for codec in CODECS for group in (1, 4)},
    "all": (mixed, "group_size:1000,zstd:3"),
    "padded": (photos, "group_size:1,uncompressed,pad_to_block_boundary:true"),
    "photos": (photos, "group_size:1"),
    "straddling": (straddling, "group_size:1,uncompressed"),
    "examples": (examples, "group_size:1"),
    "examples_8": (examples, "group_size:8,snappy"),
    "none": (lambda: (), "group_size:1"),
    "one": (lambda: (b"the only one",), "group_size:16,brotli"),
    "one_empty": (lambda: (b"",), "group_size:1,zstd"),
    "empty": (lambda: (b"",) * 300, "group_size:100,brotli"),
    "transposed": (examples, "group_size:4,transpose:true"),
}


def write(name, path):
    records, options = FILES[name]
    writer = array_record_module.ArrayRecordWriter(path, options)
    for record in records():
        writer.write(record)
    writer.close()
    packed = gzip.compress(pathlib.Path(path).read_bytes(), 9, mtime=0)
    (HERE / f"{name}.array_record.gz").write_bytes(packed)


def main():
    for old in HERE.glob("*.gz"):
        old.unlink()
    with tempfile.TemporaryDirectory() as folder, \
            open(HERE / "golden.txt", "w", encoding="ascii") as file:
        for name in FILES:
            path = f"{folder}/{name}"
            write(name, path)
            if name == "transposed":
                continue
            reader = array_record_module.ArrayRecordReader(path)
            records = reader.read_all()
            assert records == list(FILES[name][0]()), name
            print("file", name, len(records), file=file)
            for record in records:
                print("record", len(record), f"{zlib.crc32(record):08x}", file=file)


if __name__ == "__main__":
    main()
