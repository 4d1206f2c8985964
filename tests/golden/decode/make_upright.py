#!/usr/bin/python3
"""Makes the images of upright/, and upright.txt: what Pillow's
ImageOps.exif_transpose makes of them.

Run it with Pillow 13.0.0 from PyPI, which finds orientations in more places than
Debian's, and avifenc (libavif-bin). A line of upright.txt is

    NAME WIDTH HEIGHT CRC32

of ``ImageOps.exif_transpose(Image.open(NAME)).convert("RGB")``, as in golden.txt.
"""

import io
import pathlib
import struct
import zlib

import numpy as np
from PIL import Image, ImageOps

from make_avifs import avifenc
from picture import picture

HERE = pathlib.Path(__file__).resolve().parent
WIDTH, HEIGHT = 29, 18
ORIENTATION = 274
BYTE, ASCII, SHORT, LONG, SSHORT = 1, 2, 3, 4, 8
XMP = b'<x tiff:Orientation="%d"/>'
JPEG_XMP = b"http://ns.adobe.com/xap/1.0/\0"


def exif(value, kind=SHORT, count=1, order=">", before=(), after=()):
    """An EXIF block whose first directory has that orientation.

    Args:
      value: the orientation; None for none.
      kind: the number of its type.
      count: of its values.
      order: of the bytes, as in struct.
      before: numbers of tags before it.
      after: numbers of tags behind it.
    """
    def entry(tag, kind, count, packed):
        return struct.pack(order + "HHL", tag, kind, count) + packed.ljust(4, b"\0")

    code = {BYTE: "B", ASCII: "B", SHORT: "H", LONG: "L", SSHORT: "h"}[kind]
    entries = [entry(tag, LONG, 1, struct.pack(order + "L", 5)) for tag in before]
    if value is not None:
        entries.append(entry(ORIENTATION, kind, count,
                             struct.pack(order + code, value)))
    entries += [entry(tag, LONG, 1, struct.pack(order + "L", 5)) for tag in after]
    magic = b"II*\0" if order == "<" else b"MM\0*"
    return (magic + struct.pack(order + "LH", 8, len(entries)) +
            b"".join(entries) + bytes(4))


def saved(kind, **options):
    file = io.BytesIO()
    Image.fromarray(picture(WIDTH, HEIGHT, 21)).save(file, kind, **options)
    return file.getvalue()


def jpeg(*segments):
    """A JPEG with these APP1 segments."""
    plain = saved("JPEG", quality=90, subsampling="4:2:0")
    return plain[:2] + b"".join(
        b"\xff\xe1" + struct.pack(">H", len(data) + 2) + data
        for data in segments) + plain[2:]


def in_jpeg(block):
    return b"Exif\0\0" + block


def png(block, late=False):
    plain = saved("PNG")
    chunk = b"eXIf" + block
    chunk = struct.pack(">L", len(block)) + chunk + struct.pack(
        ">L", zlib.crc32(chunk))
    at = plain.index(b"IEND" if late else b"IDAT") - 4
    return plain[:at] + chunk + plain[at:]


def webp(flags, *chunks):
    """A WebP in the extended format, with these chunks behind its image."""
    image = saved("WEBP", lossless=True)[12:]
    header = struct.pack("<L", flags) + (WIDTH - 1).to_bytes(3, "little") + (
        HEIGHT - 1).to_bytes(3, "little")
    parts = b"WEBPVP8X" + struct.pack("<L", len(header)) + header + image
    for name, data in chunks:
        parts += name + struct.pack("<L", len(data)) + data + b"\0" * (len(data) % 2)
    return b"RIFF" + struct.pack("<L", len(parts)) + parts


def images():
    for number in range(1, 9):
        order = "<>"[number % 2]
        block = exif(number, order=order, before=[256, 271], after=[305])
        yield f"{number}.jpg", jpeg(in_jpeg(block))
        yield f"{number}.png", png(block)
        yield f"{number}.webp", webp(8, (b"EXIF", block))
        tags = {ORIENTATION: number}
        yield f"{number}.tif", saved("TIFF", tiffinfo=tags,
                                     compression="tiff_lzw")
    six, three = exif(6), exif(0, count=3)
    cases = {
        "long": exif(6, LONG), "signed": exif(6, SSHORT, order="<"),
        "byte": exif(6, BYTE), "text": exif(54, ASCII), "two": exif(6, count=2),
        "behind": three[:18] + struct.pack(">LLHHH", 26, 0, 6, 1, 1),
        "beyond": three[:18] + struct.pack(">LLHH", 26, 0, 6, 1),
        "zero": exif(0), "nine": exif(9), "large": exif(0x10006, LONG),
        "none": exif(None, before=[256]), "empty": exif(None),
        "no_values": exif(6, count=0), "cut": six[:-10], "nothing": b"",
        "of_two": six[:8] + struct.pack(">H", 2) + exif(3)[10:22] + six[10:],
    }
    for name, block in cases.items():
        yield f"{name}.jpg", jpeg(in_jpeg(block))
    yield "xmp.jpg", jpeg(JPEG_XMP + XMP % 8)
    yield "xmp_behind_exif.jpg", jpeg(in_jpeg(exif(None)), JPEG_XMP + XMP % 5)
    yield "exif_behind_xmp.jpg", jpeg(JPEG_XMP + XMP % 5, in_jpeg(six))
    yield "text_and_xmp.jpg", jpeg(in_jpeg(cases["text"]), JPEG_XMP + XMP % 5)
    yield "element.jpg", jpeg(
        JPEG_XMP + b"tiff:Orientation=7 <tiff:Orientation>7</tiff:Orientation>")
    yield "late.png", png(six, late=True)
    yield "named.webp", webp(8, (b"EXIF", b"Exif\0\0" + six))
    yield "unannounced.webp", webp(4, (b"EXIF", six), (b"XMP ", XMP % 0))
    yield "xmp.webp", webp(4, (b"XMP ", XMP % 7))
    yield "first_counts.webp", webp(8, (b"EXIF", six), (b"EXIF", exif(3)))
    image = Image.fromarray(picture(WIDTH, HEIGHT, 21))
    for angle in range(4):
        for mirror in ([], ["--imir", "0"], ["--imir", "1"]):
            turn = ["--irot", str(angle)] if angle else []
            name = "_".join(["turned", str(angle), *mirror[1:]])
            yield f"{name}.avif", avifenc(image, "--lossless", *turn, *mirror)


def main():
    (HERE / "upright").mkdir(exist_ok=True)
    lines = []
    for name, data in images():
        path = HERE / "upright" / name
        path.write_bytes(data)
        pixels = np.array(ImageOps.exif_transpose(Image.open(path)).convert("RGB"))
        height, width, _ = pixels.shape
        lines.append(f"{name} {width} {height} {zlib.crc32(pixels.tobytes()):08x}")
    (HERE / "upright.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
