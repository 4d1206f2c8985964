"""Finds the kind of a file by the bytes with which it begins. Reads no files."""

from __future__ import annotations

import struct
import zlib
from typing import Optional

HEAD = 16 << 10  # the bytes of a file's head that tell its kind
_RIEGELI = bytes.fromhex("83af70d10d884a3f")
_LMDB = 0xBEEFC0DE
_ZSTD = b"\x28\xb5\x2f\xfd"
# The signature of HDF5 files, and the offsets at which it may lie after a user block
# (HDF5 File Format Specification v3.0 II.A).
_HDF5, _HDF5_OFFSETS = b"\x89HDF\r\n\x1a\n", (0, 512, 1024, 2048, 4096, 8192)
_IMAGES = {
    b"\xff\xd8\xff": "JPEG", b"\x89PNG\r\n\x1a\n": "PNG", b"GIF8": "GIF",
    b"II*\0": "TIFF", b"MM\0*": "TIFF", b"II+\0": "TIFF",
    b"MM\0+": "TIFF", b"\x8fRAW": "pixels"}
_STARTS = {
    b"\x93NUMPY": "npy", b"PK\x03\x04": "zip", b"PK\x05\x06": "zip",
    b"MMIDIDX\0\0": "megatron_index", _RIEGELI: "array_record",
    b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow",
    b"SQLite format 3\0": "sqlite", _ZSTD: "zstd",
    b"\0\0\x08\x03": "idx", b"\0\0\x08\x01": "idx",  # MNIST's
    b"BZh": "bzip2", b"\xfd7zXZ\0": "xz", b"7z\xbc\xaf": "7z",
    b"Rar!": "rar"}
_AUDIO = {b"fLaC": "FLAC", b"OggS": "Ogg", b"ID3": "MP3", b"\xff\xfb": "MP3",
          b"\xff\xf3": "MP3", b"\xff\xf2": "MP3", b"\xff\xfa": "MP3"}


def image_format(head: bytes) -> Optional[str]:
    """Returns Pillow's name of an image format; None if the bytes are not those of an
    image."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WEBP"
    if head[4:12] in (b"ftypavif", b"ftypavis"):
        return "AVIF"
    # Texts and tokens may also begin with these two letters. In a BMP file, the bytes 6
    # to 9 are reserved and 0.
    if head[:2] == b"BM" and head[6:10] == bytes(4):
        return "BMP"
    return next((name for start, name in _IMAGES.items()
                 if head.startswith(start)), None)


def audio_format(head: bytes) -> Optional[str]:
    """Returns the name of an audio format; None if the bytes are not those of an audio
    file."""
    if head[:4] in (b"RIFF", b"RIFX", b"RF64") and head[8:12] == b"WAVE":
        return "WAV"
    # The byte after "ID3" is the tag's major version (ID3v2 3.1), not a letter.
    if head[:3] == b"ID3" and head[3:4] > b"\x0a":
        return None
    if head[:4] == b"OggS" and b"OpusHead" in head[:64]:
        return "Opus"
    return next((name for start, name in _AUDIO.items() if head.startswith(start)),
                None)


def sample_rate(head: bytes) -> int:
    """Returns the sample rate of an audio file in Hz; 0 if the file's first bytes do
    not tell it directly."""
    if head[:4] == b"RIFF" and head[12:16] == b"fmt " and len(head) >= 28:
        return struct.unpack_from("<I", head, 24)[0]
    if head[:4] == b"fLaC" and len(head) >= 21:
        return int.from_bytes(head[18:21], "big") >> 4
    vorbis = head.find(b"\x01vorbis", 0, 64)
    if vorbis >= 0 and len(head) >= vorbis + 16:
        return struct.unpack_from("<I", head, vorbis + 12)[0]
    return 48000 if b"OpusHead" in head[:64] else 0


def kind_of(head: bytes) -> Optional[str]:
    """Returns the kind of a file: "tar", "npy", "tfrecord", "image", "text" and so on.
    If the file is compressed by gzip or zlib, the kind ends in ".gz". Returns None if
    the kind is unknown.

    Args:
      head: the file's first HEAD bytes, or all bytes if it has fewer.
    """
    if head[:3] == b"\x1f\x8b\x08" and head[3:4] < b"\x20":
        return _inflated_kind(head, 31)
    if _begins_with_skipped(head):
        return _kind_behind_frames(head)
    kind = _plain_kind(head)
    if kind is None and head[:1] == b"\x78" and _inflated_kind(head, 15) == (
            "tfrecord.gz"):
        return "tfrecord.gz"
    return kind


def _plain_kind(head):
    if head[257:262] == b"ustar":
        return "tar"
    for start, kind in _STARTS.items():
        if head.startswith(start):
            return kind
    if any(head[at:at + 8] == _HDF5 for at in _HDF5_OFFSETS):
        return "hdf5"
    if image_format(head):
        return "image"
    if audio_format(head):
        return "audio"
    if len(head) >= 20 and struct.unpack_from("<I", head, 16)[0] == _LMDB:
        return "lmdb"
    if _begins_with_record(head):
        return "tfrecord"
    if head[:2] in (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"):
        return "pickle"
    return "text" if _is_text(head) else None


def _kind_behind_frames(head):
    """Returns the kind of a file that begins with skippable frames (RFC 8878 3.1.2),
    such as a file of pzstd."""
    at = 0
    while _begins_with_skipped(head[at:]):
        at += 8 + int.from_bytes(head[at + 4:at + 8], "little")
    return "zstd" if at >= HEAD or head.startswith(_ZSTD, at) else None


def _begins_with_skipped(content):
    return content[1:4] == b"\x2a\x4d\x18" and content[0] >> 4 == 5


def _inflated_kind(head, window_bits):
    try:
        inflated = zlib.decompressobj(window_bits).decompress(head, HEAD)
    except zlib.error:
        return "gzip"
    kind = _plain_kind(inflated)
    return "gzip" if kind is None else kind + ".gz"


def _begins_with_record(head):
    """Whether the first bytes are a TFRecord's length and that length's checksum."""
    if len(head) < 12:
        return False
    said = struct.unpack_from("<I", head, 8)[0]
    return said == _masked(_crc32c(head[:8]))


def _crc32c(content):
    crc = 0xffffffff
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def _masked(crc):
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def _is_text(head):
    if not head or b"\0" in head:
        return False
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return error.start > 0 and error.reason == "unexpected end of data"
    return True
