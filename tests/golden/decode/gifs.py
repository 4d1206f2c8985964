"""The GIF images of this folder, for make_golden.py."""

import io
import struct

import numpy as np
from PIL import Image

from picture import picture

CONTROL = b"!\xf9\x04%c\0\0%c\0"  # flags, transparent index


def gif(image, **options):
    """The GIF file that Pillow makes of an image."""
    file = io.BytesIO()
    image.save(file, "GIF", **options)
    return file.getvalue()


def blocks(data):
    """data in blocks of at most 255 bytes."""
    parts = [data[i : i + 255] for i in range(0, len(data), 255)]
    return b"".join(bytes([len(part)]) + part for part in parts) + b"\0"


def literal(indices, bits):
    """LZW data that makes no use of its table."""
    clear = 1 << bits
    codes = [clear]
    for count, index in enumerate(indices):
        if count and count % 2 == 0:
            codes.append(clear)
        codes.append(index)
    codes.append(clear + 1)
    packed = sum(code << (i * (bits + 1)) for i, code in enumerate(codes))
    size = (len(codes) * (bits + 1) + 7) // 8
    return bytes([bits]) + blocks(packed.to_bytes(size, "little"))


def screen(width, height, palette=None):
    depth = 0 if palette is None else 0x80 | (len(palette) // 3).bit_length() - 2
    return (b"GIF89a" + struct.pack("<HHBBB", width, height, depth, 0, 0)
            + (palette or b""))


def frame(x, y, indices, bits, palette=None, flags=0):
    height, width = indices.shape
    if palette is not None:
        flags |= 0x80 | (len(palette) // 3).bit_length() - 2
    return (b"," + struct.pack("<HHHHB", x, y, width, height, flags)
            + (palette or b"") + literal(indices.ravel().tolist(), bits))


def assembled():
    """Files that Pillow does not write."""
    colors = np.random.default_rng(31).integers(0, 256, 24, np.uint8).tobytes()
    ramp = bytes(i for i in range(8) for _ in range(3))
    indices = picture(13, 9, 31)[..., 0] // 32
    plain, local = frame(0, 0, indices, 3), frame(0, 0, indices, 3, colors)
    yield "no_palette.gif", screen(13, 9) + plain + b";"
    yield "ramp.gif", screen(13, 9, ramp) + plain + b";"
    yield "local.gif", screen(13, 9, ramp) + local + b";"
    yield "local_ramp.gif", screen(13, 9, colors) + frame(
        0, 0, indices, 3, ramp) + b";"
    short = screen(13, 9, colors[:12])  # more colors are used
    yield "short.gif", short + plain + b";"
    yield "inside.gif", screen(20, 17, colors) + frame(3, 5, indices, 3) + b";"
    for index in (6, 200):
        control = CONTROL % (1, index)
        yield f"inside_clear_{index}.gif", (
            screen(20, 17, colors) + control + frame(3, 5, indices, 3) + b";")
    # The flags say to dispose of the frame, the second one that it is opaque.
    yield "inside_disposed.gif", (
        screen(20, 17, colors) + CONTROL % (9, 2) + CONTROL % (8, 3)
        + frame(3, 5, indices, 3) + frame(0, 0, indices, 3) + b";")
    yield "outside.gif", screen(5, 4, colors) + frame(3, 2, indices, 3) + b";"
    yield "no_screen.gif", screen(0, 0, colors) + plain + b";"
    yield "unended.gif", (screen(13, 9, colors) + plain)[:-1]
    tall = np.ascontiguousarray(picture(3, 21, 32)[..., 0] // 32)
    rows = [y for first, step in ((0, 8), (4, 8), (2, 4), (1, 2))
            for y in range(first, 21, step)]
    yield "interlaced_3x21.gif", screen(9, 25, colors) + frame(
        4, 2, tall[rows], 3, flags=0x40) + b";"
    yield "interlaced_1x1.gif", screen(1, 1, colors) + frame(
        0, 0, indices[:1, :1], 3, flags=0x40) + b";"


def gifs():
    photo = Image.fromarray(picture(203, 149, 1)[:100])
    for colors in (2, 5, 64, 256):
        few = photo.quantize(colors, dither=Image.Dither.NONE)
        if colors == 256:
            few = few.crop((0, 0, 101, 67))
        yield f"colors_{colors}.gif", gif(few, interlace=0)
        yield f"colors_{colors}_interlaced.gif", gif(few, interlace=1)
    few = photo.quantize(16).crop((0, 0, 90, 60))
    yield "transparent.gif", gif(few, transparency=3)
    yield "gray.gif", gif(photo.convert("L").crop((0, 0, 61, 43)))
    yield "bilevel.gif", gif(photo.convert("1"))
    frames = [photo.crop((x, 0, x + 60, 40)).quantize(32) for x in (0, 60, 120)]
    yield "animated.gif", gif(frames[0], save_all=True, disposal=2,
                              append_images=frames[1:], duration=50)
    yield from assembled()
