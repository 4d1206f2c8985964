#!/usr/bin/python3
"""Makes the files of corpus/array_record and corpus/array_record_chunk."""

import gzip
import struct

from make_corpus import HERE, put


def array_record_chunk(name, number):
    """Returns the data of a golden file's chunk, after the numbers of its records and
    bytes."""
    path = HERE.parent / "golden" / "array_record" / f"{name}.array_record.gz"
    file = gzip.decompress(path.read_bytes())
    at = 64
    for _ in range(number + 1):
        size, records, decoded = struct.unpack_from("<8xQ9xB6xQ", file, at)
        begin, at = at + 40, at + 40 + size
    return struct.pack("<BH", records, decoded) + file[begin:at]


def main():
    for name, number in (("one", 0), ("one_empty", 0), ("examples_8", 0),
                         ("zstd_4", 0), ("uncompressed_1", 1), ("photos", 2)):
        put(f"array_record_chunk/{name}", array_record_chunk(name, number))

    def pieces(*records):
        return b"".join(bytes([len(record)]) + record for record in records)

    def entry(offset, size, records):
        return bytes([8, offset, 16, size, 24, records])

    metadata = bytes([10, 6, 8, 1, 16, 2, 24, 3])
    magic = bytes([16]) + b"\xde\xc0\xeb\xfe\x84\xce\xc3\xc9\x71"
    chunks = entry(64, 4, 2), entry(112, 2, 1)
    put("array_record/list", pieces(metadata, *chunks))
    put("array_record/postscript", pieces(bytes([8, 64]) + magic))
    put("array_record/largest", pieces(
        metadata[:-1] + b"\xff" * 9 + b"\1", chunks[0],
        chunks[1][:-1] + b"\xff" * 9 + b"\1"))
    example = b"\x0a\x10\x0a\x0e\x0a\x01a\x12\x09\x1a\x07\x0a\x05\x01\x02\x03\x04\x05"
    put("array_record/records", pieces(b"", b"abc", b"", b"d" * 255))
    put("array_record/examples", pieces(example, example))


if __name__ == "__main__":
    main()
