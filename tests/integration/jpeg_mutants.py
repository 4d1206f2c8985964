"""Damaged JPEGs, drawn from a seed, and how Pillow and Forebay read them."""

import io
import pathlib
import random
import warnings

import numpy
import PIL.Image

import forebay

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden" / "decode"
RESTARTED = ("420_restart_rows.jpg", "422_restart_blocks.jpg")
CROP = 8  # rows and columns of the crop in the middle


def originals(photos):
    """Returns the intact files: photographs in each way in which an encoder can store
    them.

    Args:
      photos: paths of photographs.
    """
    files = []
    for path in photos:
        with PIL.Image.open(path) as opened:
            image = opened.convert("RGB")
        for mode, options in (("RGB", {}), ("RGB", {"progressive": True}),
                              ("RGB", {"subsampling": 0, "optimize": True}),
                              ("L", {}), ("L", {"progressive": True}),
                              ("CMYK", {})):
            file = io.BytesIO()
            image.convert(mode).save(file, "JPEG", quality=85, **options)
            files.append(file.getvalue())
    files += [(GOLDEN / name).read_bytes() for name in RESTARTED] * len(photos)
    return files


def _marker_offsets(jpeg):
    return [at for at in range(2, len(jpeg) - 1)
            if jpeg[at] == 0xFF and jpeg[at + 1] not in (0, 0xFF)]


def _flip(jpeg, chance):
    file = bytearray(jpeg)
    for _ in range(chance.choice((1, 1, 2, 5, 20))):
        file[chance.randrange(3, len(file))] ^= 1 << chance.randrange(8)
    return bytes(file)


def _cut(jpeg, chance):
    return jpeg[:len(jpeg) - chance.choice((1, 2, 3, 4, 8, 40,
                                            chance.randrange(1, len(jpeg) - 3)))]


def _without_end(jpeg, chance):
    tail = chance.choice((bytes(2), bytes(300), b"end of a photograph\n",
                          b"\xff\xff", b"\xff", b"\xff\xda\x00\x02",
                          b"\xff\xd9" + bytes(50), b"\x00\xff\xd9"))
    return jpeg[:-2] + tail


def _insert(jpeg, chance):
    at = chance.randrange(3, len(jpeg))
    bytes_in = bytes(chance.randrange(256) for _ in range(chance.randrange(1, 9)))
    marker = bytes((0xFF, chance.randrange(1, 256)))
    return jpeg[:at] + chance.choice((bytes_in, marker, marker + bytes_in)) + jpeg[at:]


def _without_a_marker(jpeg, chance):
    at = chance.choice(_marker_offsets(jpeg))
    return jpeg[:at] + jpeg[at + 2:]


def _without_a_segment(jpeg, chance):
    offsets = _marker_offsets(jpeg)
    which = chance.randrange(len(offsets) - 1)
    return jpeg[:offsets[which]] + jpeg[offsets[which + 1]:]


def _cut_and_closed(jpeg, chance):
    return jpeg[:chance.randrange(3, len(jpeg))] + b"\xff\xd9"


def _overwritten(jpeg, chance):
    at = chance.randrange(3, len(jpeg))
    size = chance.choice((1, 8, 64))
    file = bytearray(jpeg)
    file[at:at + size] = bytes((chance.randrange(256),)) * len(file[at:at + size])
    return bytes(file)


KINDS = (_flip, _cut, _without_end, _insert, _without_a_marker, _without_a_segment,
         _cut_and_closed, _overwritten)


def write_mutants(folder, photos, count, seed):
    """Writes damaged files, whose names tell their number and the kind of damage.

    Args:
      folder: the folder in which the files' class folder is made.
      photos: paths of photographs.
      count: number of files.
      seed: the seed of all random choices.
    """
    chance = random.Random(seed)
    files = originals(photos)
    (folder / "all").mkdir(parents=True)
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        mutant = kind(chance.choice(files), chance)
        (folder / "all" / f"{number:05}{kind.__name__}.jpg").write_bytes(mutant)


def pillow_pixels(path):
    """Returns Pillow's pixels of a file, or None if Pillow refuses the file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with PIL.Image.open(path) as opened:
                return numpy.asarray(opened.convert("RGB"))
        except Exception:
            return None


def _forebay_pixels(dataset, number):
    try:
        return dataset[number][0], ""
    except forebay.DataError as error:
        return None, str(error)


def differences(folder):
    """Returns a line for each file that Forebay and Pillow read differently, as a whole
    or as a crop of the middle.

    Args:
      folder: a folder that write_mutants wrote.
    """
    paths = sorted(folder.glob("all/*"))
    whole = forebay.Dataset(folder, autostart=False)
    middle = forebay.Dataset(folder, autostart=False,
                             transform=forebay.transforms.CenterCrop(CROP))
    found = []
    for number, path in enumerate(paths):
        wanted = pillow_pixels(path)
        crop = None
        if wanted is not None and min(wanted.shape[:2]) >= CROP:
            top, left = (int(round((n - CROP) / 2.0)) for n in wanted.shape[:2])
            crop = wanted[top:top + CROP, left:left + CROP]
        if crop is not None:
            crop = crop.transpose(2, 0, 1)
        for part, dataset, pixels in (("whole", whole, wanted),
                                      ("middle", middle, crop)):
            got, error = _forebay_pixels(dataset, number)
            if wanted is None:
                if got is not None:
                    found.append(f"{path.name}, {part}: delivered, refused by Pillow")
            elif got is None:
                found.append(f"{path.name}, {part}: {error}, delivered by Pillow")
            elif pixels is not None and not numpy.array_equal(got, pixels):
                found.append(f"{path.name}, {part}: other pixels than Pillow's")
    return found
