"""The TIFF images of this folder, for make_golden.py, by Pillow and tiffcp."""

import io
import pathlib
import struct
import subprocess
import tempfile

import numpy as np
from PIL import Image

from picture import picture

GRAY_INVERTED, GRAY, RGB, PALETTE, CMYK, YCBCR, LAB = 0, 1, 2, 3, 5, 6, 8


def tiff(samples, photometric, bits, tags=(), strip=None, order="<"):
    """A TIFF file of samples, (height, width, channels) integers of `bits`.

    tags are more of (tag, type, values). -32 bits are floats.
    """
    height, width, channels = samples.shape
    flat = samples.reshape(height, -1)
    if abs(bits) > 8:
        kind = {16: "u2", 32: "u4", -32: "f4"}[bits]
        rows = [row.astype(order + kind).tobytes() for row in flat]
    else:
        spread = np.unpackbits(flat.astype(np.uint8)[..., None], axis=2)
        packed = np.packbits(spread[..., 8 - bits :].reshape(height, -1), axis=1)
        rows = [row.tobytes() for row in packed]
    strip = strip or height
    strips = [b"".join(rows[y : y + strip]) for y in range(0, height, strip)]
    offsets = [8 + sum(map(len, strips[:i])) for i in range(len(strips))]
    entries = [
        (256, 3, [width]), (257, 3, [height]),
        (258, 3, [abs(bits)] * channels), (259, 3, [1]),
        (262, 3, [photometric]), (273, 4, offsets), (277, 3, [channels]),
        (278, 3, [strip]), (279, 4, [len(one) for one in strips]), *tags]
    data = b"".join(strips)
    data += bytes(len(data) % 2)
    end = 8 + len(data) + 2 + 12 * len(entries) + 4
    directory, values = struct.pack(order + "H", len(entries)), b""
    for tag, kind, numbers in sorted(entries):
        packed = struct.pack(f"{order}{len(numbers)}{'HI'[kind - 3]}", *numbers)
        if len(packed) > 4:
            place = struct.pack(order + "I", end + len(values))
            values += packed
        else:
            place = packed.ljust(4, b"\0")
        directory += struct.pack(order + "HHI", tag, kind, len(numbers)) + place
    magic = b"II*\0" if order == "<" else b"MM\0*"
    return (magic + struct.pack(order + "I", 8 + len(data)) + data + directory
            + bytes(4) + values)


def by_pillow(image, **options):
    file = io.BytesIO()
    image.save(file, "TIFF", **options)
    return file.getvalue()


def tiffcp(file, *options):
    """The file as tiffcp (libtiff-tools) writes it anew."""
    with tempfile.TemporaryDirectory() as folder:
        before, after = pathlib.Path(folder, "in.tif"), pathlib.Path(folder, "out")
        before.write_bytes(file)
        subprocess.run(["tiffcp", *options, before, after], check=True)
        return after.read_bytes()


def tiled(*options, size=32):
    return ("-t", "-w", str(size), "-l", str(size), *options)


def colored(rgb, small, wide):
    plain = by_pillow(Image.fromarray(rgb))
    for name, options in {
        "rgb_strips": ("-r", "7"),
        "rgb_lzw": ("-c", "lzw:2", "-r", "16"),
        "rgb_deflate": ("-c", "zip:2"),
        "rgb_packbits": ("-c", "packbits"),
        "rgb_jpeg": ("-c", "jpeg:r:90", "-r", "16"),
        "rgb_jpeg_ycbcr": ("-c", "jpeg:90", "-r", "16"),
        "rgb_jpeg_tiles": tiled("-c", "jpeg:90"),
        "rgb_tiles": tiled("-c", "lzw"),
        "rgb_planes": ("-p", "separate", "-r", "8"),
        "rgb_planes_lzw": ("-p", "separate", "-c", "lzw"),
        "rgb_planes_tiles": tiled("-p", "separate", "-c", "zip"),
        "rgb_big_endian": ("-B",),
        "rgb_bigtiff": ("-8", "-c", "lzw"),
        "rgb_reversed_bits": ("-f", "lsb2msb", "-c", "lzw"),
    }.items():
        yield f"{name}.tif", tiffcp(plain, *options)
    alpha = small[..., :1]
    rgba = np.concatenate([small, alpha], 2)
    yield "rgba.tif", tiff(rgba, RGB, 8, [(338, 3, [2])])
    yield "rgbx.tif", tiff(rgba, RGB, 8, [(338, 3, [0])])
    yield "rgba_unsaid.tif", tiff(rgba, RGB, 8)
    yield "rgb16.tif", tiff(wide(small), RGB, 16)
    yield "rgb16_big_endian.tif", tiff(wide(small), RGB, 16, order=">")
    yield "rgba16.tif", tiff(wide(rgba), RGB, 16, [(338, 3, [2])])
    yield "rgb16_lzw.tif", tiffcp(tiff(wide(small), RGB, 16), "-c", "lzw:2")
    yield "rgb16_tiles.tif", tiffcp(
        tiff(wide(small), RGB, 16, order=">"), "-B", *tiled("-c", "zip", size=16))
    for turn in range(2, 9):
        yield f"rgb_turned_{turn}.tif", tiff(small[:9, :13], RGB, 8, [
            (274, 3, [turn])], strip=4)
    yield "rgb_turned_tiles.tif", tiffcp(
        tiff(small, RGB, 8, [(274, 3, [6])]), *tiled("-c", "zip", size=16))
    yield "rgb_1x1.tif", tiff(small[:1, :1], RGB, 8)


def uncolored(small, wide):
    gray = small[..., 1:2]
    rng = np.random.default_rng(41)
    for bits in (1, 2, 4, 8):
        few = gray >> (8 - bits)
        yield f"gray{bits}.tif", tiff(few, GRAY, bits, strip=5)
        yield f"gray{bits}_inverted.tif", tiff(few, GRAY_INVERTED, bits)
        colors = rng.integers(0, 65536, 3 << bits).tolist()
        palette = tiff(few, PALETTE, bits, [(320, 3, colors)])
        yield f"palette{bits}.tif", palette
        yield f"palette{bits}_tiles.tif", tiffcp(palette, *tiled("-c", "lzw", size=16))
    yield "palette8_dark.tif", tiff(
        gray, PALETTE, 8, [(320, 3, list(range(256)) * 3)])
    two = np.concatenate([gray, gray], 2)
    yield "gray_alpha.tif", tiff(two, GRAY, 8, [(338, 3, [2])])
    yield "palette_alpha.tif", tiff(two, PALETTE, 8, [
        (320, 3, rng.integers(0, 65536, 768).tolist()), (338, 3, [2])])
    yield "gray16.tif", tiff(wide(gray), GRAY, 16)
    yield "gray16_inverted.tif", tiff(wide(gray), GRAY_INVERTED, 16)
    dark = np.arange(37 * 29, dtype=np.uint32).reshape(29, 37, 1) // 2
    yield "gray16_dark.tif", tiff(dark, GRAY, 16)
    yield "gray16_dark_big_endian.tif", tiff(dark, GRAY, 16, order=">")
    yield "gray16_dark_lzw.tif", tiffcp(tiff(dark, GRAY, 16), "-c", "lzw:2")
    yield "gray_jpeg.tif", tiffcp(tiff(gray, GRAY, 8), "-c", "jpeg:90", "-r", "16")
    bilevel = tiff(gray >> 7, GRAY_INVERTED, 1, strip=16)
    for name, packing in {"fax3": "g3", "fax3_2d": "g3:2d:fill", "fax4": "g4"}.items():
        yield f"bilevel_{name}.tif", tiffcp(bilevel, "-c", packing, "-r", "16")
    yield "bilevel_reversed.tif", tiffcp(bilevel, "-f", "lsb2msb")


def tiffs():
    rgb = picture(53, 37, 1)
    small = picture(37, 29, 11).astype(np.uint32)

    def wide(a):
        return a * 256 + (a * 7 + 3) % 256  # low bytes of their own

    yield from colored(rgb, small, wide)
    yield from uncolored(small, wide)


def unread_tiffs():
    """Kinds of which Pillow reads some and the daemon none."""
    small = picture(13, 9, 11).astype(np.uint32)
    four = np.concatenate([small, small[..., :1]], 2)
    floats = small[..., :1] / 3
    for name, file in {
        "float": tiff(floats, GRAY, -32, [(339, 3, [3])]),
        "cmyk": tiff(four, CMYK, 8),
        "ycbcr": tiff(small, YCBCR, 8, [(530, 3, [1, 1])]),
        "lab": tiff(small, LAB, 8),
        "premultiplied": tiff(four, RGB, 8, [(338, 3, [1])]),
        "signed": tiff(small[..., :1], GRAY, 16, [(339, 3, [2])]),
        "gray32": tiff(small[..., :1], GRAY, 32),
        "lzma": tiffcp(tiff(small, RGB, 8), "-c", "lzma"),
    }.items():
        yield f"unread/{name}.tif", file
