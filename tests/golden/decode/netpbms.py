"""The PBM, PGM and PPM images of this folder, for make_golden.py."""

import io

import numpy as np
from PIL import Image

from picture import picture

WIDTH, HEIGHT = 53, 37


def by_pillow(image):
    file = io.BytesIO()
    image.save(file, "PPM")
    return file.getvalue()


def netpbm(kind, values, largest, header=b"P%d\n%d %d\n%d\n"):
    """A PGM (kind 5) or PPM file (6) of integers."""
    height, width = values.shape[:2]
    words = values.astype("u1" if largest < 256 else ">u2")
    return header % (kind, width, height, largest) + words.tobytes()


def netpbms():
    rgb = picture(WIDTH, HEIGHT, 61)
    image = Image.fromarray(rgb)
    yield "rgb8.ppm", by_pillow(image)
    yield "gray8.pgm", by_pillow(image.convert("L"))
    yield "bilevel.pbm", by_pillow(image.convert("1"))
    yield "rgb_1x1.ppm", by_pillow(image.crop((0, 0, 1, 1)))
    yield "bilevel_1x1.pbm", by_pillow(image.crop((0, 0, 1, 1)).convert("1"))
    green = rgb[..., 1].astype(np.int64)
    for largest in (1, 2, 15, 100, 254):
        # Some values are larger than the largest one.
        yield f"gray_of_{largest}.pgm", netpbm(
            5, np.minimum(green * largest // 240, 255), largest)
    for largest in (7, 200):
        yield f"rgb_of_{largest}.ppm", netpbm(
            6, np.minimum(rgb.astype(np.int64) * largest // 240, 255), largest)
    for largest in (256, 1023, 65535):  # of 16 bits: all but the darkest are white
        yield f"gray_of_{largest}.pgm", netpbm(
            5, green * 400 * largest // (255 * 65535), largest)
    deep = rgb.astype(np.int64) * 201 + np.arange(WIDTH)[:, None]
    yield "rgb16.ppm", netpbm(6, deep, 65535)
    yield "rgb_of_1000.ppm", netpbm(6, deep // 64, 1000)
    yield "comments.ppm", netpbm(
        6, rgb, 255, b"P%d # made\r \v%d # wide # still\n\f%d\n# 9\n2# 1\r%d ").replace(
            b"\r255 ", b"\r55 ", 1)
    yield "behind.pgm", netpbm(5, green, 255) + b"P5 and so on"


def unread_netpbms():
    """The text form, which Pillow reads and the daemon does not."""
    yield "unread/text.ppm", b"P3\n2 1\n255\n1 2 3 4 5 6\n"
