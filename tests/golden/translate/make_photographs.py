#!/usr/bin/python3
"""Writes photographs.npz: parts of some of tools/photos' photographs.

    tests/golden/translate/make_photographs.py $(tools/photos --count 200)
"""

import pathlib
import sys

import numpy
import PIL.Image

from golden_cases import COUNT, HEIGHT, HERE, WIDTH


def main():
    paths = sorted(pathlib.Path(sys.argv[1]).glob("*/*.jpg"))
    images = {}
    for number in range(COUNT):
        with PIL.Image.open(paths[number * len(paths) // COUNT]) as image:
            left, top = (image.width - WIDTH) // 2, (image.height - HEIGHT) // 2
            images[f"in{number}"] = numpy.asarray(
                image.crop((left, top, left + WIDTH, top + HEIGHT)))
    numpy.savez_compressed(HERE / "photographs.npz", **images)


if __name__ == "__main__":
    main()
