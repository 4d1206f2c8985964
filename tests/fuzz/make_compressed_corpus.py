#!/usr/bin/python3
"""Makes the compressed files of corpus/, and the files that a target compresses itself.

Run this script with Debian's own python3. It writes into its own folder.
"""

import struct
import subprocess
import tarfile
import zlib

from make_corpus import HERE, put, tar


def zstd(content, *options):
    return subprocess.run(["zstd", "-q", "-c", *options], input=content,
                          stdout=subprocess.PIPE, check=True).stdout


def skipped(content, kind=0):
    return struct.pack("<II", 0x184D2A50 + kind, len(content)) + content


def put_zstd(text):
    sized = f"--stream-size={len(text)}"
    put("zstd/plain", b"\x20" + zstd(text))
    put("zstd/unchecked", b"\x07" + zstd(text, "--no-check", "-19", sized))
    put("zstd/incompressible", b"\xff" + zstd(
        b"".join(struct.pack("<I", i * i * 2654435761 % 2**32)
                 for i in range(2000)), "--no-check"))
    put("zstd/frames", b"\x40" + b"".join(
        skipped(b"size") + zstd(text[at:at + 1000], "--no-check")
        for at in range(0, 8000, 1000)) + skipped(b"table" * 5, 14))
    put("zstd/empty", b"\x01" + zstd(b"") + zstd(text, "--no-check") + zstd(b"") +
        skipped(b"") + zstd(b""))
    # The first input is larger than what a reader decodes of a frame, the second has
    # short frames.
    put("zstd/zeros", b"\xff" + zstd(bytes(10 << 20), "--no-check"))
    put("zstd/zero_frames", b"\xff" + zstd(bytes(700 << 10), "--no-check") * 4)
    # The windows are longer than a reader allows.
    put("zstd/window", b"\xff" + zstd(text, "--no-check", "--zstd=wlog=23") +
        zstd(bytes(3 << 20), "--no-check", "--zstd=wlog=24") + zstd(text))
    put("zstd/long", b"\x10" + zstd(text, "--long=27"))
    put("zstd/dictionary", b"\x10\x28\xb5\x2f\xfd\1\x50\7" + bytes(20))
    put("zstd/truncated", b"\x10" + zstd(text)[:-5])
    put("zstd/garbage", b"\x10" + zstd(text) + b"garbage")


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
        # The content is enough for more than two access points.
        put(f"inflate/{name}_zeros", kind + packed(bytes(3 << 20), bits))
        put(f"inflate/{name}_padded", kind + packed(text, bits) + bytes(20))
    put("inflate/members", b"\2" + packed(text, 31) + packed(b"", 31) +
        packed(text, 31, 0) + packed(bytes(1 << 20), 31))
    put("inflate/garbage", b"\4" + packed(text, 31) + b"garbage")
    put("inflate/truncated", b"\6" + packed(text, 31)[:-5])
    put_zstd(text)
    put("decompressing_parser/tar", b"\6" + tar([
        ("a.txt", b"some text"), ("b.txt", b""), ("c.txt", b"c" * 600)]))
    put("decompressing_parser/pax", b"\0" + tar([
        ("a" * 150 + ".cls", b"7")], tarfile.PAX_FORMAT))
    gzipped = tar([("a.cls.gz", packed(b"7", 31)), ("b.cls", b"8"),
                   ("c.cls.gz", packed(b"9" * 600, 31, 0))])
    put("decompressing_parser/gzipped", b"\5" + gzipped)
    # After the last member, the archive ends without its end blocks.
    put("decompressing_parser/unended", b"\5" + gzipped[:7 * 512])
    put("decompressing_parser/records", b"\1" + (
        HERE.parent / "golden" / "tfrecord" / "plain.tfrecord").read_bytes())


if __name__ == "__main__":
    main()
