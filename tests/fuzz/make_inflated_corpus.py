#!/usr/bin/python3
"""Makes the files of corpus/ that are compressed, and those that a target compresses
itself.

Run it with Debian's own python3; it writes beside itself.
"""

import tarfile
import zlib

from make_corpus import HERE, put, tar


def main():
    def packed(content, bits, level=9, strategy=zlib.Z_DEFAULT_STRATEGY):
        packer = zlib.compressobj(level, zlib.DEFLATED, bits, 9, strategy)
        return packer.compress(content) + packer.flush()

    text = b"".join(b"%d, " % (i * i % 1009) for i in range(2000))
    for kind, bits in ((b"\0", 31), (b"\1", 15)):
        name = "gzip" if bits == 31 else "zlib"
        for level in (0, 9):
            put(f"inflate/{name}_{level}", kind + packed(text, bits, level))
        put(f"inflate/{name}_fixed", kind + packed(text, bits, 9, zlib.Z_FIXED))
        # More than two points' worth.
        put(f"inflate/{name}_zeros", kind + packed(bytes(3 << 20), bits))
        put(f"inflate/{name}_padded", kind + packed(text, bits) + bytes(20))
    put("inflate/members", b"\2" + packed(text, 31) + packed(b"", 31) +
        packed(text, 31, 0) + packed(bytes(1 << 20), 31))
    put("inflate/garbage", b"\4" + packed(text, 31) + b"garbage")
    put("inflate/truncated", b"\6" + packed(text, 31)[:-5])
    put("inflating_parser/tar", b"\6" + tar([("a.txt", b"some text"),
                                             ("b.txt", b""), ("c.txt", b"c" * 600)]))
    put("inflating_parser/pax", b"\0" + tar([("a" * 150 + ".cls", b"7")],
                                            tarfile.PAX_FORMAT))
    put("inflating_parser/records", b"\1" + (
        HERE.parent / "golden" / "tfrecord" / "plain.tfrecord").read_bytes())


if __name__ == "__main__":
    main()
