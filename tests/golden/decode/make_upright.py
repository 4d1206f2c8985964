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
import tempfile
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


def png(block, late=False, kind=b"eXIf"):
    plain = saved("PNG")
    chunk = kind + block
    chunk = struct.pack(">L", len(block)) + chunk + struct.pack(
        ">L", zlib.crc32(chunk))
    at = plain.index(b"IEND" if late else b"IDAT") - 4
    return plain[:at] + chunk + plain[at:]


def profile(block):
    """EXIF data as ImageMagick writes them into a PNG."""
    data = in_jpeg(block)
    return b"\nexif\n%8d\n" % len(data) + b"\n".join(
        data.hex().encode()[at:at + 72] for at in range(0, 2 * len(data), 72)) + b"\n"


def pngs():
    """PNGs that do not say it in an eXIf chunk."""
    six, none = exif(6), exif(None)
    xmp, raw = b"XML:com.adobe.xmp\0", b"Raw profile type exif\0"
    packed = zlib.compress(XMP % 7)
    yield "xmp", png(xmp + b"\0\0\0\0" + XMP % 5, kind=b"iTXt")
    yield "xmp_packed", png(xmp + b"\1\0en\0name\0" + packed, kind=b"iTXt")
    yield "xmp_unknown", png(xmp + b"\1\1\0\0" + packed, kind=b"iTXt")
    yield "xmp_cut", png(xmp + b"\1\0\0\0" + packed[:-9], kind=b"iTXt")
    yield "xmp_damaged", png(xmp + b"\1\0\0\0" + b"no zlib", kind=b"iTXt")
    yield "xmp_short", png(xmp + b"\0\0en", kind=b"iTXt")
    yield "xmp_text", png(xmp + XMP % 3, kind=b"tEXt")
    yield "xmp_packed_text", png(xmp + b"\0" + packed, late=True, kind=b"zTXt")
    yield "exif_text", png(b"exif\0" + six, kind=b"tEXt")
    yield "profile", png(raw + b"\0" + zlib.compress(profile(six)), kind=b"zTXt")
    yield "profile_text", png(raw + profile(exif(8)), kind=b"tEXt")
    with_profile = png(raw + profile(six), kind=b"tEXt")
    for name, first, second in (
            ("exif_before_profile", png(exif(3)), with_profile),
            ("empty_before_profile", png(b""), with_profile),
            ("none_before_xmp", png(none),
             png(xmp + b"\0\0\0\0" + XMP % 4, kind=b"iTXt"))):
        at, end = first.index(b"IDAT") - 4, second.index(b"IDAT") - 4
        yield name, first[:at] + second[33:end] + first[at:]
    plain = png(b"", kind=b"tIME")
    yield "behind_the_end", plain + png(six)[33:]


def avif(image, *arguments, block=None, xmp=None):
    with tempfile.TemporaryDirectory() as folder:
        for flag, data in (("exif", block), ("xmp", xmp)):
            if data is not None:
                path = pathlib.Path(folder) / flag
                path.write_bytes(data)
                arguments += (f"--{flag}", str(path))
        return avifenc(image, "--lossless", *arguments)


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
    for name, data in pngs():
        yield f"{name}.png", data
    image = Image.fromarray(picture(WIDTH, HEIGHT, 21))
    yield "xmp.avif", avif(image, xmp=XMP % 6)
    yield "exif.avif", avif(image, block=six)
    yield "exif_and_xmp.avif", avif(image, block=six, xmp=XMP % 8)
    yield "one_and_xmp.avif", avif(image, block=exif(1), xmp=XMP % 8)
    yield "none_and_xmp.avif", avif(image, block=exif(None), xmp=XMP % 8)
    yield "turned_and_xmp.avif", avif(image, "--irot", "1", xmp=XMP % 3)
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
