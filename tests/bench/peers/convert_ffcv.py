"""Writes the photographs as a file of FFCV's format.

The argument is JSON: uri, target, threads, and "form". The form is "jpg", "raw", or
"proportion" (half of the photographs are JPEGs, as in FFCV's ImageNet example).
"""

import json
import sys

import torchvision
from ffcv.fields import IntField, RGBImageField
from ffcv.writer import DatasetWriter

QUALITY = 90


def main():
    options = json.loads(sys.argv[1])
    writer = DatasetWriter(options["target"], {
        "image": RGBImageField(
            write_mode=options["form"], compress_probability=0.5,
            jpeg_quality=QUALITY),
        "label": IntField()}, num_workers=options["threads"])
    writer.from_indexed_dataset(torchvision.datasets.ImageFolder(options["uri"]))


if __name__ == "__main__":
    main()
