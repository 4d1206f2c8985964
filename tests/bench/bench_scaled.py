"""Measures JPEGs of 12 megapixels, decoded at 1/2, 1/4 or 1/8 of their size.

The floor is bare libjpeg-turbo, which decodes the job's crops from memory on all cores,
each at the scale that the job takes. Forebay starts from files in the page cache,
resizes and flips. The photographs are Debian's wallpapers. Most of them were enlarged;
real photographs of that size may have more detail.
"""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import PIL.Image

import photos
from daemon import ENCODED_ONLY, daemon
from figures import CORES, in_turns, row
from readers import call, program

ROUNDS = 3
IMAGES, WIDTH, HEIGHT = 48, 4000, 3000
SIZE, SEED, EPOCH = 224, 0, 0
COMPLETE = ".complete"


def _enlarge(path, target):
    """Enlarges the middle of a photograph to 12 megapixels, and writes it to
    `target`."""
    with PIL.Image.open(path) as opened:
        image = opened.convert("RGB")
    zoom = min(image.width / WIDTH, image.height / HEIGHT)
    left = max(0, image.width - zoom * WIDTH) / 2
    top = max(0, image.height - zoom * HEIGHT) / 2
    box = (left, top, min(image.width, left + zoom * WIDTH),
           min(image.height, top + zoom * HEIGHT))
    image.resize((WIDTH, HEIGHT), PIL.Image.LANCZOS, box).save(
        target, "JPEG", quality=90, subsampling="4:2:0")


def _folder():
    """Returns the folder of the dataset, and makes the dataset if it is not there."""
    target = photos.folder(IMAGES, SEED).with_name(f"photos-12mp-{IMAGES}")
    if (target / COMPLETE).exists():
        return target
    photos.make()  # finds the wallpapers, or says how to get them
    paths = photos.sources()
    with tempfile.TemporaryDirectory(dir=target.parent) as temporary:
        fresh = pathlib.Path(temporary) / "photos"
        (fresh / "all").mkdir(parents=True)
        for number in range(IMAGES):
            _enlarge(paths[number % len(paths)],
                     fresh / "all" / f"photo-{number:03d}.jpg")
        (fresh / COMPLETE).touch()
        shutil.rmtree(target, ignore_errors=True)
        os.rename(fresh, target)
    return target


def run():
    """Returns the rows: scaled / bare libjpeg-turbo, then scaled / exact."""
    uri = str(_folder())
    crops = subprocess.run(
        [program("print_crops"), uri, str(SEED), str(EPOCH), f"--size={SIZE}"],
        check=True, stdout=subprocess.PIPE).stdout

    def bare():
        done = subprocess.run(
            [program("jpeg_floor"), "--threads", str(CORES), "--passes", "1",
             "--shrink-to", str(SIZE)],
            input=crops, check=True, stdout=subprocess.PIPE)
        found = json.loads(done.stdout)
        return max(found["whole_image_per_s"], found["reused_row_per_s"])

    with daemon(ENCODED_ONLY) as server:
        def rate(scaled):
            found = call("read_forebay.py", server.environment, uri=uri,
                         dtype="uint8", seed=SEED, size=SIZE, batch_size=8,
                         scaled=scaled)
            return found["images"] / found["seconds"]

        rate(True)  # builds the index and fills the cache
        floor, scaled, exact = in_turns(
            ROUNDS, bare, lambda: rate(True), lambda: rate(False))
    return [
        row("scaled", f"12 MP, scaled / bare libjpeg-turbo so, {CORES} cores",
            scaled, floor, "images/s"),
        row("scaled", "12 MP, scaled / exact", scaled, exact, "images/s"),
    ]
