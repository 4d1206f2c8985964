"""Compressed files like those of several programs."""

import gzip
import io
import random
import struct
import subprocess
import tarfile
import zlib

MIB = 1 << 20


def one_member(content):
    return gzip.compress(content, 6, mtime=0)


def stored(content):
    """Returns a gzip member of stored blocks. Its length depends only on the content's
    length."""
    return gzip.compress(content, 0, mtime=0)


def many_members(content):
    """Returns many gzip members, as bgzip and `pigz -i` write them. The last one is
    empty."""
    return b"".join(gzip.compress(content[at:at + 65_000], mtime=0)
                    for at in range(0, len(content), 65_000)) + gzip.compress(b"")


def flushed(content):
    """Returns a gzip member as pigz writes it, with pieces that end at byte
    boundaries."""
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    pieces = [packer.compress(content[at:at + 131_072]) +
              packer.flush(zlib.Z_SYNC_FLUSH)
              for at in range(0, len(content), 131_072)]
    return b"".join(pieces) + packer.flush()


def padded(content):
    """Returns a gzip member with zeros after it, as `tar --gzip` writes to a tape."""
    return one_member(content) + bytes(10_240)


PACKERS = [one_member, stored, many_members, flushed, padded]


def _by(program, content):
    return subprocess.run(program, input=content, stdout=subprocess.PIPE,
                          check=True).stdout


def one_frame(content):
    """Returns a zstd frame without its content's size, as `tar --zstd` writes it."""
    return _by(["zstd", "-q", "-c"], content)


def long_window(content):
    return _by(["zstd", "-q", "-c", "-1", "--long=27"], content)


def parallel_zstd(content):
    """Returns frames of 2 MiB. Before each one is a skippable frame that contains its
    length."""
    return _by(["pzstd", "-q", "-c", "-1", "-p", "2"], content)


def seekable(content):
    """Returns frames of 500 KB, and the table of zstd's seekable format."""
    packed = table = b""
    for at in range(0, len(content), 500_000):
        piece = content[at:at + 500_000]
        frame = _by(["zstd", "-q", "-c", f"--stream-size={len(piece)}"], piece)
        packed += frame
        table += struct.pack("<II", len(frame), len(piece))
    footer = struct.pack("<IBI", len(table) // 8, 0, 0x8F92EAB1)
    return packed + skipped_frame(table + footer, 0x184D2A5E)


def skipped_frame(content, magic=0x184D2A50):
    return struct.pack("<II", magic, len(content)) + content


ZSTD_PACKERS = [one_frame, long_window, parallel_zstd, seekable]


def tar_of(members, layout=tarfile.DEFAULT_FORMAT):
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w", format=layout) as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return whole.getvalue()


def noise(seed, length):
    return random.Random(seed).randbytes(length)


def prose(seed, length):
    """Returns text that compresses to a third of its size."""
    chance = random.Random(seed)
    words = [b"%d " % chance.randrange(5000) for _ in range(length // 4)]
    return b"".join(words)[:length].ljust(length)
