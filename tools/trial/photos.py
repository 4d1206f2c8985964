"""Makes a dataset of real photographs: crops of Debian's wallpapers.

Prints the dataset's folder, which is made once and then used again. The dataset has
about 6,000 JPEGs of 400x300 to 640x480 pixels in ten class folders, like ImageNet's.
"""

import argparse
import concurrent.futures
import io
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import PIL.Image

PACKAGES = ["lomiri-wallpapers-16.04", "lomiri-wallpapers-20.04",
            "mate-backgrounds", "plasma-workspace-wallpapers",
            "ukui-wallpapers"]
CLASSES = 10
DEFAULT_COUNT, DEFAULT_SEED = 6000, 0
# The version of the dataset. Raise it when the same seed makes other pixels.
VERSION = 2
MIN_EDGE = 900
# The wallpapers that are drawings, not photographs.
DRAWINGS = ("2004default", "Autumn/", "Elephants", "Flow/", "Fossa",
            "GreenTraditional", "Honeywave/", "Infinite-Sea", "Painting",
            "PastelHills/", "SafeLanding/", "Shell/", "Volna/",
            "analogpattern", "firstgeneration", "greentock", "rhythm",
            "string", "the-mouse", "umang")
# A crop whose JPEG has fewer than DULL_BYTES shows little but sky. Such a crop is drawn
# again, up to RETRIES times.
DULL_BYTES, RETRIES = 16_000, 6


def folder(count, seed):
    """Returns the folder of a dataset of `count` images."""
    cache = os.environ.get("XDG_CACHE_HOME")
    base = pathlib.Path(cache) if cache else pathlib.Path.home() / ".cache"
    name = "photos"
    if (count, seed) != (DEFAULT_COUNT, DEFAULT_SEED):
        name += f"-{count}-{seed}"
    return base / "forebay" / name


def sources():
    """Returns paths of wallpapers that are large photographs, sorted."""
    listed = subprocess.run(["dpkg-query", "-L", *PACKAGES], check=True,
                            stdout=subprocess.PIPE).stdout.decode()
    found = []
    for path in sorted(set(listed.splitlines())):
        if not path.lower().endswith((".jpg", ".jpeg")):
            continue
        if os.path.islink(path) or any(name in path for name in DRAWINGS):
            continue
        with PIL.Image.open(path) as image:
            if min(image.size) >= MIN_EDGE and image.mode == "RGB":
                found.append(path)
    return found


def cut(path, number, first, count, seed, target):
    """Writes `count` crops of one wallpaper.

    Args:
      path: the wallpaper.
      number: the wallpaper's place in the list, which decides the class.
      first: the number of the wallpaper's first image.
      count: the number of crops.
      seed: the seed of the dataset.
      target: the folder that holds the class folders.
    """
    rng = random.Random(f"{VERSION} {seed} {number}")
    with PIL.Image.open(path) as opened:
        image = opened.convert("RGB")
    where = pathlib.Path(target) / f"scene-{number % CLASSES}"
    where.mkdir(exist_ok=True)
    for index in range(first, first + count):
        crops = (_crop(image, rng) for _ in range(RETRIES))
        jpeg = next((one for one in crops if len(one) >= DULL_BYTES), None)
        jpeg = jpeg or _crop(image, rng)
        (where / f"photo-{index:06d}.jpg").write_bytes(jpeg)


def _crop(image, rng):
    """Returns a random part of the image, scaled down, as the bytes of a JPEG."""
    width, height = rng.randint(400, 640), rng.randint(300, 480)
    largest = min(image.width / width, image.height / height)
    zoom = rng.uniform(min(1.2, largest), min(4.0, largest))
    left = rng.uniform(0, image.width - zoom * width)
    top = rng.uniform(0, image.height - zoom * height)
    box = (left, top, left + zoom * width, top + zoom * height)
    crop = image.resize((width, height), PIL.Image.BICUBIC, box,
                        reducing_gap=2.0)
    jpeg = io.BytesIO()
    crop.save(jpeg, "JPEG", quality=rng.randint(85, 95),
              subsampling="4:4:4" if rng.random() < 0.25 else "4:2:0")
    return jpeg.getvalue()


def make(count=DEFAULT_COUNT, seed=DEFAULT_SEED, force=False, log=sys.stderr):
    """Returns the folder of photographs; makes it first if it is incomplete.

    Args:
      count: the number of images.
      seed: the seed of the crops.
      force: whether to make the folder again if it is complete.
      log: the stream on which progress is reported.

    Returns:
      A pathlib.Path.
    """
    target = folder(count, seed)
    marker, mark = target / ".complete", f"{VERSION} {count} {seed}\n"
    if not force and marker.exists() and marker.read_text() == mark:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    print(f"Cutting {count} photographs into {target} ...", file=log)
    with tempfile.TemporaryDirectory(prefix=".photos-",
                                     dir=target.parent) as temporary:
        fresh = pathlib.Path(temporary) / "photos"
        fresh.mkdir()
        _cut_all(fresh, count, seed)
        (fresh / ".complete").write_text(mark)
        shutil.rmtree(target, ignore_errors=True)
        os.rename(fresh, target)
    return target


def _cut_all(target, count, seed):
    paths = sources()
    if not paths:
        sys.exit("tools/photos: no wallpaper is installed (run tools/setup)")
    bounds = [count * i // len(paths) for i in range(len(paths) + 1)]
    workers = len(os.sched_getaffinity(0))
    with concurrent.futures.ProcessPoolExecutor(workers) as pool:
        running = [pool.submit(cut, path, number, bounds[number],
                               bounds[number + 1] - bounds[number], seed,
                               str(target))
                   for number, path in enumerate(paths)]
        for each in running:
            each.result()


def main():
    parser = argparse.ArgumentParser(prog="tools/photos", description=__doc__)
    parser.add_argument("--count", type=int, default=DEFAULT_COUNT,
                        help="images (default %(default)s)")
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED)
    parser.add_argument("--force", action="store_true", help="make it anew")
    args = parser.parse_args()
    if args.count < 1:
        parser.error("--count must be at least 1")
    print(make(args.count, args.seed, args.force))


if __name__ == "__main__":
    main()
