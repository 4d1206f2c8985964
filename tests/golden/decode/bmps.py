"""The BMP images of this folder, for make_golden.py."""

import io
import struct

import numpy as np
from PIL import Image

from picture import picture

BITFIELDS = 3


def by_pillow(image):
    file = io.BytesIO()
    image.save(file, "BMP")
    return file.getvalue()


def bmp(rows, width, bits, height=None, palette=b"", packing=0, rest=b""):
    """A BMP file of rows of bytes. `rest` follows the header of 40 bytes."""
    data = b"".join(row + bytes(-len(row) % 4) for row in rows)
    offset = 54 + len(rest) + len(palette)
    height = len(rows) if height is None else height
    info = struct.pack("<IiiHHIIiiII", 40 + (len(rest) if len(rest) > 12 else 0),
                       width, height, 1, bits, packing, len(data), 0, 0,
                       len(palette) // 4, 0)
    return (b"BM" + struct.pack("<IHHI", offset + len(data), 0, 0, offset) + info
            + rest + palette + data)


def bmps():
    rgb = picture(53, 37, 51)
    image = Image.fromarray(rgb)
    yield "rgb24.bmp", by_pillow(image)
    yield "gray8.bmp", by_pillow(image.convert("L"))
    yield "bilevel.bmp", by_pillow(image.convert("1"))
    yield "rgba32.bmp", by_pillow(Image.fromarray(np.dstack([rgb, rgb[..., 0]])))
    bgr = np.ascontiguousarray(rgb[..., ::-1])
    rows = [row.tobytes() for row in bgr]
    yield "rgb24_top_down.bmp", bmp(rows, 53, 24, height=-37)
    wide = np.dstack([bgr, rgb[..., :1]])
    rows = [row.tobytes() for row in wide]
    yield "rgbx32.bmp", bmp(rows, 53, 32)
    masks = struct.pack("<III", 0xFF0000, 0xFF00, 0xFF)
    yield "rgbx32_masks.bmp", bmp(rows, 53, 32, packing=BITFIELDS, rest=masks)
    masks = struct.pack("<IIII", 0xFF, 0xFF00, 0xFF0000, 0xFF000000)
    yield "rgba32_masks.bmp", bmp(
        rows, 53, 32, packing=BITFIELDS, rest=masks + bytes(52))
    rng = np.random.default_rng(52)
    for bits in (1, 4, 8):
        few = rgb[..., 1] >> (8 - bits)
        packed = np.unpackbits(few[..., None], axis=2)[..., 8 - bits:]
        rows = [row.tobytes() for row in np.packbits(packed.reshape(37, -1), axis=1)]
        palette = rng.integers(0, 256, 4 << bits, np.uint8).tobytes()
        yield f"palette{bits}.bmp", bmp(rows, 53, bits, palette=palette)
        used = int(few.max()) + 1
        yield f"palette{bits}_part.bmp", bmp(
            rows, 53, bits, height=-37, palette=palette[: 4 * used])
    yield "rgb24_1x1.bmp", by_pillow(image.crop((0, 0, 1, 1)))


def unread_bmps():
    """Kinds of which Pillow reads some and the daemon none."""
    row = bytes(range(8))
    for name, file in {
        "bits16": bmp([row], 4, 16),
        "runs": bmp([b"\4\1\0\1"], 4, 8, height=1, palette=bytes(1024), packing=1),
        "lacks_colors": bmp([row], 8, 8, palette=bytes(16)),
    }.items():
        yield f"unread/{name}.bmp", file
