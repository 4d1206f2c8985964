#!/usr/bin/python3
"""Makes the images of this folder, golden.txt (what Pillow sees in them),
refused.txt (the names of those that Pillow cannot read) and reduced.txt (what
Pillow's draft mode sees in JPEGs: lines "NAME FACTOR WIDTH HEIGHT CRC32").

Run it with Debian's own python3 (python3-pil, python3-numpy), cjpeg
(libjpeg-turbo-progs) and tiffcp (libtiff-tools), in any folder; it writes beside
itself. A line of
golden.txt is

    NAME WIDTH HEIGHT CRC32 [X,Y=R,G,B]...

with the CRC-32 (hexadecimal) of all pixels of
``Image.open(NAME).convert("RGB")``, 8-bit RGB, row by row, and some of the
pixels for the eye.
"""

import io
import pathlib
import struct
import subprocess
import tempfile
import warnings
import zlib

import numpy as np
from PIL import Image

from bmps import bmps, unread_bmps
from gifs import gifs
from netpbms import netpbms, unread_netpbms
from picture import picture
from tiffs import tiffs, unread_tiffs
from webps import webps

HERE = pathlib.Path(__file__).resolve().parent
WIDTH, HEIGHT = 203, 149


def cjpeg(pixels, *arguments):
    """The JPEG file cjpeg makes of uint8 pixels."""
    ppm = io.BytesIO()
    Image.fromarray(pixels).save(ppm, "PPM")
    return subprocess.run(
        ["cjpeg", "-quality", "85", *arguments],
        input=ppm.getvalue(),
        stdout=subprocess.PIPE,
        check=True,
    ).stdout


def segments(jpeg):
    """Its markers: (code, begin, end), a scan's data with its header."""
    at = 2
    while at < len(jpeg):
        code, begin = jpeg[at + 1], at
        if code == 0xD9:
            at += 2
        else:
            at += 2 + int.from_bytes(jpeg[at + 2 : at + 4], "big")
        if code == 0xDA:
            while jpeg[at] != 0xFF or jpeg[at + 1] in (0, *range(0xD0, 0xD8)):
                at += 1
        yield code, begin, at


def without(jpeg, code):
    """jpeg without the segments of this code."""
    return jpeg[:2] + b"".join(
        jpeg[begin:end] for found, begin, end in segments(jpeg) if found != code
    )


def first_scans(jpeg, count):
    """jpeg, ended after so many scans."""
    ends = [end for code, _, end in segments(jpeg) if code == 0xDA]
    return jpeg[: ends[count - 1]] + b"\xff\xd9"


def jpegs():
    rgb = picture(WIDTH, HEIGHT, 1)
    samplings = {
        "444": "1x1",
        "422": "2x1",
        "420": "2x2",
        "440": "1x2",
        "411": "4x1",
        "410": "4x2",
        "311": "3x1",
        "mixed": "2x2,2x1,1x2",
    }
    for name, sample in samplings.items():
        yield f"{name}.jpg", cjpeg(rgb, "-sample", sample)
    for name in ("444", "422", "420", "440", "411"):
        yield (
            f"{name}_progressive.jpg",
            cjpeg(rgb, "-sample", samplings[name], "-progressive"),
        )
    yield "420_restart_rows.jpg", cjpeg(rgb, "-sample", "2x2", "-restart", "1")
    yield "422_restart_blocks.jpg", cjpeg(rgb, "-sample", "2x1", "-restart", "3B")
    yield "420_arithmetic.jpg", cjpeg(rgb, "-sample", "2x2", "-arithmetic")
    arithmetic = cjpeg(rgb, "-sample", "2x2", "-arithmetic", "-restart", "2")
    yield "420_arithmetic_restart.jpg", arithmetic
    yield "420_arithmetic_no_conditions.jpg", without(arithmetic, 0xCC)
    # Decoded under other conditions than encoded: damaged, but always alike.
    conditions = bytes([0xFF, 0xCC, 0, 4, 1, 0x11])
    scan = next(begin for code, begin, _ in segments(arithmetic) if code == 0xDA)
    yield (
        "420_arithmetic_conditions.jpg",
        arithmetic[:scan] + conditions + arithmetic[scan:],
    )
    yield "420_optimized.jpg", cjpeg(rgb, "-sample", "2x2", "-optimize")
    yield "rgb.jpg", cjpeg(rgb, "-rgb")
    yield "gray.jpg", cjpeg(rgb, "-grayscale")
    yield "gray_progressive.jpg", cjpeg(rgb, "-grayscale", "-progressive")
    for width, height in ((1, 1), (2, 3), (5, 5), (7, 17), (17, 7), (33, 16)):
        small = picture(width, height, width)
        yield f"420_{width}x{height}.jpg", cjpeg(small, "-sample", "2x2")
    with tempfile.NamedTemporaryFile("w") as scans:
        scans.write("0;\n1;\n2;\n")
        scans.flush()
        yield (
            "420_three_scans.jpg",
            cjpeg(rgb, "-sample", "2x2", "-scans", scans.name),
        )
    file = io.BytesIO()
    turned = Image.Exif()
    turned[0x0112] = 6  # Orientation: to be turned by 90 degrees
    Image.fromarray(rgb[:40, :60]).save(file, "JPEG", exif=turned)
    yield "exif_turned.jpg", file.getvalue()
    yield from cmyk_jpegs()
    yield from incomplete_jpegs(rgb)
    # A restart marker overwritten: libjpeg warns, and goes on.
    damaged = bytearray(cjpeg(rgb, "-sample", "2x2", "-restart", "1"))
    middle = damaged.index(b"\xff\xd3")
    damaged[middle - 40 : middle - 20] = bytes(20)
    yield "420_damaged.jpg", bytes(damaged)


def cmyk_jpegs():
    four = np.dstack([picture(101, 67, 5), picture(101, 67, 6)[..., 0]])
    file = io.BytesIO()
    Image.fromarray(four, "CMYK").save(file, "JPEG", quality=85)
    cmyk = file.getvalue()
    yield "cmyk.jpg", cmyk
    # The last byte of Adobe's segment says that these are YCCK.
    at = cmyk.index(b"Adobe") + 11
    yield "ycck.jpg", cmyk[:at] + b"\x02" + cmyk[at + 1 :]
    start = cmyk.index(b"\xff\xee")
    yield "cmyk_no_adobe.jpg", cmyk[:start] + cmyk[start + 16 :]


def incomplete_jpegs(rgb):
    # Some cameras write files like these, without the standard Huffman tables.
    plain = cjpeg(rgb, "-sample", "2x2")
    yield "420_no_huffman.jpg", without(plain, 0xC4)
    yield "gray_no_huffman.jpg", without(cjpeg(rgb, "-grayscale"), 0xC4)
    restarted = cjpeg(rgb, "-sample", "2x1", "-restart", "3B")
    yield "422_restart_no_huffman.jpg", without(restarted, 0xC4)
    # Decoders smooth over detail that the missing scans would give.
    for sampling, scans in (("1x1", 1), ("2x2", 1), ("2x2", 4), ("2x1", 7)):
        whole = cjpeg(rgb, "-sample", sampling, "-progressive")
        name = sampling.replace("x", "")
        yield f"first_{scans}_scans_{name}.jpg", first_scans(whole, scans)
    whole = cjpeg(rgb, "-grayscale", "-progressive")
    yield "first_2_scans_gray.jpg", first_scans(whole, 2)
    whole = cjpeg(rgb, "-sample", "2x2", "-progressive", "-arithmetic")
    yield "first_3_scans_arithmetic.jpg", first_scans(whole, 3)


def refused_jpegs():
    rgb = picture(WIDTH, HEIGHT, 1)
    plain = cjpeg(rgb, "-sample", "2x2")
    yield "refused/420_no_quantization.jpg", without(plain, 0xDB)
    progressive = cjpeg(rgb, "-sample", "2x2", "-progressive")
    yield "refused/420_progressive_no_huffman.jpg", without(progressive, 0xC4)


def chunk(kind, data):
    checksum = struct.pack(">I", zlib.crc32(kind + data))
    return struct.pack(">I", len(data)) + kind + data + checksum


ADAM7 = (
    (0, 0, 8, 8),
    (4, 0, 8, 8),
    (0, 4, 4, 8),
    (2, 0, 4, 4),
    (0, 2, 2, 4),
    (1, 0, 2, 2),
    (0, 1, 1, 2),
)


def packed_rows(samples, depth):
    """The unfiltered scanlines of samples, an array (height, width, channels)."""
    height = samples.shape[0]
    flat = samples.reshape(height, -1)
    if depth == 16:
        rows = flat.astype(">u2").view(np.uint8).reshape(height, -1)
    elif depth == 8:
        rows = flat.astype(np.uint8)
    else:
        bits = np.unpackbits(flat.astype(np.uint8)[..., None], axis=2)
        rows = np.packbits(bits[..., 8 - depth :].reshape(height, -1), axis=1)
    return b"".join(b"\0" + row.tobytes() for row in rows)


def png(samples, color_type, depth, interlaced=False, extra=b""):
    """A PNG file of samples, integers of `depth` bits."""
    height, width = samples.shape[:2]
    samples = samples.reshape(height, width, -1)
    if interlaced:
        parts = [samples[y::dy, x::dx] for x, y, dx, dy in ADAM7]
        raw = b"".join(packed_rows(p, depth) for p in parts if p.size)
    else:
        raw = packed_rows(samples, depth)
    header = struct.pack(
        ">IIBBBBB", width, height, depth, color_type, 0, 0, int(interlaced)
    )
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + extra
        + chunk(b"IDAT", zlib.compress(raw, 9))
        + chunk(b"IEND", b"")
    )


def pngs():
    rgb = picture(61, 43, 11).astype(np.uint32)
    alpha = picture(61, 43, 12).astype(np.uint32)[..., :1]
    gray = rgb[..., 1:2]

    def wide(a):
        return a * 256 + (a * 7 + 3) % 256  # low bytes of their own

    kinds = {
        "rgb": (rgb, 2),
        "rgba": (np.concatenate([rgb, alpha], 2), 6),
        "gray": (gray, 0),
        "gray_alpha": (np.concatenate([gray, alpha], 2), 4),
    }
    for name, (samples, color_type) in kinds.items():
        for interlaced in (False, True):
            tail = "_interlaced" if interlaced else ""
            yield f"{name}8{tail}.png", png(samples, color_type, 8, interlaced)
            yield (
                f"{name}16{tail}.png",
                png(wide(samples), color_type, 16, interlaced),
            )
    # Values around 255, where Pillow clips.
    dark = np.arange(61 * 43, dtype=np.uint32).reshape(43, 61) // 4
    yield "gray16_dark.png", png(dark, 0, 16)
    for depth in (1, 2, 4):
        few = gray >> (8 - depth)
        yield f"gray{depth}.png", png(few, 0, depth)
        yield f"gray{depth}_interlaced.png", png(few, 0, depth, True)
    rng = np.random.default_rng(13)
    for depth in (1, 2, 4, 8):
        palette = rng.integers(0, 256, 3 << depth, dtype=np.uint8).tobytes()
        few = gray >> (8 - depth)
        plte = chunk(b"PLTE", palette)
        yield f"palette{depth}.png", png(few, 3, depth, extra=plte)
        trns = chunk(b"tRNS", bytes([0, 128]))
        yield (
            f"palette{depth}_transparent.png",
            png(few, 3, depth, depth == 4, extra=plte + trns),
        )
    short = chunk(b"PLTE", bytes(range(30)))  # ten colors, more are used
    yield "palette8_short.png", png(gray, 3, 8, extra=short)
    one = chunk(b"tRNS", struct.pack(">H", 100))
    yield "gray8_transparent.png", png(gray, 0, 8, extra=one)
    three = chunk(b"tRNS", struct.pack(">HHH", 1, 2, 3))
    yield "rgb8_transparent.png", png(rgb, 2, 8, extra=three)
    ignored = chunk(b"gAMA", struct.pack(">I", 100000)) + chunk(
        b"tEXt", b"Comment\0not of the picture"
    )
    yield "rgb8_gamma.png", png(rgb, 2, 8, extra=ignored)
    yield "rgb8_1x1.png", png(rgb[:1, :1], 2, 8)
    yield "gray1_3x2_interlaced.png", png(gray[:2, :3] >> 7, 0, 1, True)
    file = io.BytesIO()
    Image.fromarray(picture(120, 90, 14)).save(file, "PNG")
    yield "filtered.png", file.getvalue()  # libpng's filters, not only none
    # Pillow reads what has all its rows, the end chunk or not.
    whole = png(rgb, 2, 8)
    yield "rgb8_without_end.png", whole[:-12]


def raws():
    """Raw images (proto/raw_image.h): their bytes, and as Pillow has them."""
    cases = (("rgb", 61, 43), ("gray", 61, 43), ("rgb", 5, 3), ("gray", 1, 1))
    for kind, width, height in cases:
        pixels = picture(width, height, 15)
        if kind == "gray":
            pixels = np.ascontiguousarray(pixels[..., 1])
        channels = 3 if kind == "rgb" else 1
        header = struct.pack("<4sIII", b"\x8fRAW", width, height, channels)
        name = f"{kind}_{width}x{height}.raw"
        yield name, header + pixels.tobytes(), Image.fromarray(pixels)


def golden_line(name, image):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pixels = np.array(image.convert("RGB"))
    height, width, _ = pixels.shape
    crc = zlib.crc32(pixels.tobytes())
    words = [name, str(width), str(height), f"{crc:08x}"]
    for x, y in ((0, 0), (width // 3, height // 2), (width - 1, height - 1)):
        r, g, b = pixels[y, x].tolist()
        words.append(f"{x},{y}={r},{g},{b}")
    return " ".join(words)


def reduced_lines():
    """JPEGs at 1/2, 1/4 and 1/8 of their size."""
    for path in sorted(HERE.glob("*.jpg")):
        for factor in (2, 4, 8):
            image = Image.open(path)
            width, height = image.size
            if min(width, height) < factor:
                continue
            image.draft(None, (width // factor, height // factor))
            pixels = np.array(image.convert("RGB"))
            if pixels.shape[:2] != (-(-height // factor), -(-width // factor)):
                continue  # draft mode has chosen another factor
            crc = zlib.crc32(pixels.tobytes())
            yield (f"{path.name} {factor} {pixels.shape[1]} {pixels.shape[0]} "
                   f"{crc:08x}\n")


def is_read(path):
    try:
        Image.open(path).load()
    except OSError:
        return False
    return True


def main():
    lines = []
    for make in (jpegs, pngs, webps, gifs, tiffs, bmps, netpbms):
        for name, data in make():
            path = HERE / name
            path.write_bytes(data)
            lines.append(golden_line(name, Image.open(path)))
    for name, data, image in raws():
        (HERE / name).write_bytes(data)
        lines.append(golden_line(name, image))
    (HERE / "golden.txt").write_text("\n".join(lines) + "\n")
    (HERE / "reduced.txt").write_text("".join(reduced_lines()))
    (HERE / "unread").mkdir(exist_ok=True)
    for make in (unread_tiffs, unread_bmps, unread_netpbms):
        for name, data in make():
            (HERE / name).write_bytes(data)
    refused = []
    (HERE / "refused").mkdir(exist_ok=True)
    for name, data in refused_jpegs():
        path = HERE / name
        path.write_bytes(data)
        if not is_read(path):
            refused.append(name)
    (HERE / "refused.txt").write_text("\n".join(refused) + "\n")


if __name__ == "__main__":
    main()
