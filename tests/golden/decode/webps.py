"""The WebP images of this folder, for make_golden.py."""

import io
import struct

import numpy as np
from PIL import Image

from picture import picture


def webp(pixels, **options):
    """The WebP file that Pillow makes of pixels, or of a list of frames."""
    frames = [Image.fromarray(p) for p in
              (pixels if isinstance(pixels, list) else [pixels])]
    file = io.BytesIO()
    if len(frames) > 1:
        options.update(save_all=True, append_images=frames[1:], duration=100)
    frames[0].save(file, "WEBP", **options)
    return file.getvalue()


def chunk(kind, data):
    return kind + struct.pack("<I", len(data)) + data + bytes(len(data) % 2)


def riff(*chunks):
    body = b"WEBP" + b"".join(chunks)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def chunks(file):
    """Its chunks: (type, data)."""
    at = 12
    while at < len(file):
        size = int.from_bytes(file[at + 4 : at + 8], "little")
        yield file[at : at + 4], file[at + 8 : at + 8 + size]
        at += 8 + size + size % 2


def three(number):
    return struct.pack("<I", number)[:3]


def extended(width, height, flags, *rest):
    """A file that begins with VP8X."""
    header = struct.pack("<I", flags) + three(width - 1) + three(height - 1)
    return riff(chunk(b"VP8X", header), *rest)


def frame(still, x, y, width, height, flags=0):
    """A frame of an animation, of the image chunks of a still image."""
    header = three(x // 2) + three(y // 2) + three(width - 1) + three(height - 1)
    inner = b"".join(chunk(kind, data) for kind, data in chunks(still)
                     if kind in (b"ALPH", b"VP8 ", b"VP8L"))
    return chunk(b"ANMF", header + three(100) + bytes([flags]) + inner)


def animations(rgb, rgba):
    options = {"quality": 60}
    first, second = webp(rgb[:40, :51], **options), webp(rgb[20:50, :30], **options)
    frames = [rgb[:40, :50], rgb[:40, 50:100], rgb[60:100, :50]]
    yield "animated.webp", webp(frames, **options)
    yield "animated_lossless.webp", webp(frames, lossless=True)
    loop = chunk(b"ANIM", b"\x10\x80\xf0\xff\0\0")
    # The first frame leaves a part of the canvas out; other frames are larger.
    # Its flags say to blend it, and to dispose of it.
    for flags in range(4):
        yield f"animated_offset_{flags}.webp", extended(
            90, 70, 0x02, loop, frame(first, 12, 8, 51, 40, flags),
            frame(second, 60, 40, 30, 30))
    clear = webp(rgba[:30, :41], lossless=True, exact=True)
    yield "animated_alpha.webp", extended(
        64, 48, 0x12, loop, frame(clear, 2, 4, 41, 30),
        frame(clear, 20, 10, 41, 30))


def webps():
    rgb = picture(203, 149, 1)
    alpha = picture(203, 149, 2)[..., :1]
    alpha[40:90, 50:120] = 0
    rgba = np.ascontiguousarray(np.dstack([rgb, alpha]))
    yield "lossy.webp", webp(rgb, quality=80)
    yield "lossy_low.webp", webp(rgb, quality=5)  # strongly filtered
    yield "lossy_fast.webp", webp(rgb, quality=30, method=0)
    part = np.ascontiguousarray(rgba[30:70, 40:121])
    yield "lossy_alpha.webp", webp(part, quality=70)
    yield "lossless.webp", webp(rgb[:40, :101], lossless=True)
    yield "lossless_alpha.webp", webp(part, lossless=True, exact=True)
    yield "lossless_cleared.webp", webp(part, lossless=True)
    few = np.ascontiguousarray(rgb[:60, :90] // 128 * 255)
    yield "lossless_8_colors.webp", webp(few, lossless=True)
    yield "lossless_2_colors.webp", webp(
        np.repeat(few[..., :1], 3, 2), lossless=True)
    for width, height in ((1, 1), (2, 3), (7, 17), (33, 16)):
        small = picture(width, height, width)
        yield f"lossy_{width}x{height}.webp", webp(small, quality=80)
    yield "lossless_5x3.webp", webp(picture(5, 3, 5), lossless=True)
    kinds = list(chunks(webp(rgb[:50, :60], quality=50)))
    yield "extended.webp", extended(
        60, 50, 0x2C, chunk(b"ICCP", b"not a profile"),
        chunk(b"ABCD", b"of an unknown type"), chunk(*kinds[0]),
        chunk(b"EXIF", b"Exif\0\0"), chunk(b"XMP ", b"<x/>"))
    yield from animations(rgb, rgba)
