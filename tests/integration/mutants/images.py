"""The image formats: their intact files, and how Pillow and Forebay read them."""

import csv
import dataclasses
import pathlib
import sys
import warnings

import numpy
import PIL.Image
from reference import TooLargeError

import forebay

ROOT = pathlib.Path(__file__).resolve().parents[3]
GOLDEN = ROOT / "tests" / "golden" / "decode"
CROP = 8  # rows and columns of the crop in the middle
MOST_PIXELS = 1 << 22


@dataclasses.dataclass
class Format:
    """An image format.

    Attributes:
      suffixes: the suffixes of the intact golden files.
      folder: the folder of these files.
      justified: the argument of comparison.Comparison.
      tolerated: the argument of comparison.Comparison.
    """

    suffixes: tuple
    folder: pathlib.Path = GOLDEN
    justified: dict = dataclasses.field(default_factory=dict)
    tolerated: dict = dataclasses.field(default_factory=dict)

    def originals(self):
        return {path.name: path.read_bytes() for path in self.folder.iterdir()
                if path.suffix in self.suffixes}


# The formats, with the reasons why Forebay refuses more than Pillow in some cases, and
# less in others.
FORMATS = {
    "JPEG": Format((".jpg",)),
    "PNG": Format((".png",), justified={
        "is a truncated PNG": "Pillow does not mind if the end of a chunk lacks",
        "IDAT: CRC error": "Pillow does not check the checksums of pixels"}),
    "WebP": Format((".webp",)),
    "GIF": Format((".gif",), justified={
        "is a corrupt GIF": "Pillow passes over bytes that begin no block",
        "is a truncated GIF": "Pillow takes what follows a frame for its pixels"}),
    "TIFF": Format((".tif",), justified={
        "is a truncated TIFF|IO error":
            "Pillow does without tags and strips that are cut off",
        "another type than|Incorrect count|missing req|more strips|Not enough|two tags":
            "Pillow makes something of tags that contradict each other",
        "too few pixels": "libtiff invents pixels that a strip of JPEG lacks",
        "Failed to read directory|Invalid strip byte count":
            "libtiff refuses what Pillow's own reader of tags does not look at"}),
    "BMP": Format((".bmp",), justified={
        "is a truncated BMP": "Pillow does not mind if padding of the last row lacks",
        "lacks some colors": "Pillow invents colors that a palette lacks",
        "is a corrupt BMP": "Pillow does not look at the palette's place",
        "with OS/2's header|packed runs|between its header|bits a pixel":
            "kinds of BMPs that are not read"}),
    "AVIF": Format((".avif",), GOLDEN / "avif", tolerated={
        "Decoding of (color|alpha) plane|cannot identify":
            "dav1d 1.0 does not tell where a picture's data are damaged"}),
    "PPM": Format((".ppm", ".pgm", ".pbm"), justified={
        "in its text form": "the text forms are not read",
        "lacks a number": "numbers of Python's may have signs and underscores"}),
}


def add_avif():
    """Adds AVIF to Pillow. Returns whether that is possible."""
    pypi = str(ROOT / ".cache" / "pypi")
    if pypi not in sys.path:
        sys.path.append(pypi)
    try:
        import pillow_avif  # noqa: F401
    except ImportError:
        return False
    return True


def pillow_pixels(path):
    """Returns Pillow's pixels of a file, and those of the crop in its middle unless the
    image is smaller."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with PIL.Image.open(path) as opened:
            if opened.width * opened.height > MOST_PIXELS:
                raise TooLargeError(f"{opened.width} x {opened.height} pixels")
            whole = numpy.asarray(opened.convert("RGB"))
    if min(whole.shape[:2]) < CROP:
        return whole, None
    top, left = (int(round((n - CROP) / 2.0)) for n in whole.shape[:2])
    middle = whole[top:top + CROP, left:left + CROP].transpose(2, 0, 1)
    return whole, numpy.ascontiguousarray(middle)


def write(folder, files):
    """Writes files, and a table that lists them.

    Args:
      folder: the folder for the files.
      files: pairs of a name and the file's bytes.

    Returns:
      The files' paths.
    """
    paths = []
    with open(folder / "list.csv", "w") as table:
        rows = csv.writer(table)
        rows.writerow(("image", "label"))
        for name, content in files:
            paths.append(folder / name)
            paths[-1].write_bytes(content)
            rows.writerow((name, 0))
    return paths


def _fetch(dataset, number):
    try:
        return dataset[number][0], ""
    except (forebay.DataError, forebay.ResourceExhausted) as error:
        return None, str(error)


def forebay_pixels(folder, paths):
    """Reads by Forebay the pixels of the files that write() wrote, and of their
    middles.

    Yields:
      (the file's name, a value like that of pillow_pixels, the error).
    """
    table = forebay.manifest(folder / "list.csv", label="label")
    whole = forebay.Dataset(table, autostart=False)
    middle = forebay.Dataset(table, autostart=False,
                             transform=forebay.transforms.CenterCrop(CROP))
    for number, path in enumerate(paths):
        pixels, error = _fetch(whole, number)
        crop, crop_error = _fetch(middle, number)
        if bool(error) != bool(crop_error):
            error = f"the whole: {error or 'read'}; the middle: {crop_error or 'read'}"
        value = None if error else (
            pixels, crop if min(pixels.shape[:2]) >= CROP else None)
        yield path.name, value, error
