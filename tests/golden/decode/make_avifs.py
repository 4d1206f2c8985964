#!/usr/bin/python3
"""Makes the images of avif/, each beside a PNG of the pixels that Pillow sees in
it, and avif.txt, their names.

Run it with Pillow 13.0.0 from PyPI, and avifenc (libavif-bin).
"""

import io
import pathlib
import subprocess
import tempfile

import numpy as np
from PIL import Image

from picture import picture

HERE = pathlib.Path(__file__).resolve().parent


def avifenc(image, *options):
    """The AVIF that avifenc makes of an image or several."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, one in enumerate(image if isinstance(image, list) else [image]):
            paths.append(f"{folder}/{number}.png")
            one.save(paths[-1])
        out = f"{folder}/out.avif"
        subprocess.run(["avifenc", "-j", "1", "-s", "6", *options, *paths, out],
                       stdout=subprocess.DEVNULL, check=True)
        return pathlib.Path(out).read_bytes()


def with_alpha(rgb):
    height, width = rgb.shape[:2]
    alpha = np.linspace(20, 255, width).astype(np.uint8)
    return Image.fromarray(np.dstack([rgb, np.tile(alpha, (height, 1))]))


def images():
    """Yields (name, bytes)."""
    rgb = picture(37, 27, 31)
    image = Image.fromarray(rgb)
    for sampling in ("444", "422", "420", "400"):
        yield sampling, avifenc(image, "-y", sampling)
        yield f"{sampling}_limited", avifenc(image, "-y", sampling, "-r", "limited")
    for depth in ("10", "12"):
        for sampling in ("444", "422", "420", "400"):
            yield f"{sampling}_{depth}_bits", avifenc(image, "-d", depth, "-y",
                                                      sampling)
    yield "lossless", avifenc(image, "--lossless")
    yield "gray_lossless", avifenc(image.convert("L"), "-l", "-y", "400")
    yield "identity_10_bits", avifenc(image, "-d", "10", "--cicp", "1/13/0")
    for name, matrix in (("bt709", "1/13/1"), ("bt2020", "9/16/9"),
                         ("smpte240", "1/13/7"), ("ycgco", "1/13/8")):
        for depth in ("8", "10"):
            yield f"{name}_{depth}_bits", avifenc(
                image, "-d", depth, "-y", "444", "--cicp", matrix)
    yield "alpha_10_bits", avifenc(with_alpha(rgb), "-y", "420", "-d", "10")
    yield "premultiplied_10_bits", avifenc(
        with_alpha(rgb), "-y", "420", "-d", "10", "-p", "--min", "0", "--max", "10")
    yield "alpha", avifenc(with_alpha(rgb), "-y", "420")
    yield "premultiplied", avifenc(with_alpha(rgb), "-y", "444", "-p",
                                   "--min", "0", "--max", "10")
    yield "grain", avifenc(image, "-y", "420", "-a", "film-grain-test=3")
    yield "clean_aperture", avifenc(image, "-y", "420", "--crop", "2,4,30,20")
    yield "1x1", avifenc(Image.fromarray(rgb[:1, :1]), "-y", "420")
    yield "5x3", avifenc(Image.fromarray(rgb[:3, :5]), "-y", "420")
    frames = [Image.fromarray(picture(32, 24, seed)) for seed in (32, 33, 34)]
    yield "animated", avifenc(frames, "-y", "420")
    y, x = np.mgrid[0:128, 0:192]
    smooth = np.dstack([x, y + 60, 250 - x // 2 - y // 2]).astype(np.uint8)
    yield "grid", avifenc(Image.fromarray(smooth), "-g", "3x2", "-y", "420")
    file = io.BytesIO()
    image.save(file, "AVIF", quality=60)
    yield "by_pillow", file.getvalue()


def main():
    (HERE / "avif").mkdir(exist_ok=True)
    lines = []
    for name, data in images():
        path = HERE / "avif" / f"{name}.avif"
        path.write_bytes(data)
        Image.open(path).convert("RGB").save(path.with_suffix(".png"), optimize=True)
        lines.append(f"{name}\n")
    (HERE / "avif.txt").write_text("".join(lines))


if __name__ == "__main__":
    main()
