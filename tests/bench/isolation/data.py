"""The data of the bench: what victims read, and what the jobs with a fault read."""

import contextlib
import io
import os
import pathlib
import random
import shutil
import sys
import tarfile
import tempfile

import numpy
import PIL.Image

import photos

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "faults"), str(TESTS / "cloud")]

FEW = 500  # photographs that fit in the daemon's cache
SOME = 1000  # photographs of the jobs with a fault
# The configuration of a daemon whose cache holds FEW encoded photographs. All other
# photographs do not fit, so the daemon reads them again and again.
SMALL_CACHE = '[cache]\ndecoded = "off"\nmemory = "32MiB"\n'
# Pixels of a small image; images of a dataset that is opened.
SMALL, SMALL_COUNT = (96, 72), 32
OPENED = 200  # datasets; more than are opened in a turn
SHARDS, SHARD_PHOTOS = 4, 400
HUNG, NEAR = "hung", "near"
HUGE = (20_000, 10_000)
LARGE_SAMPLE, LARGE_SAMPLES = 64 << 20, 8


def _copy(paths, folder):
    for path in paths:
        target = folder / path.parent.name / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)


class Data:
    """Makes the data, and removes it at the end of the `with` block.

    Attributes:
      folder: pathlib.Path of a folder for anything, which is removed at the end.
      photos: 6,000 photographs in class folders.
      few: a folder with FEW of the photographs.
      some: a folder with SOME other photographs.
    """

    def __init__(self):
        self.photos = photos.make()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="isolation-"))
        self.few = self.folder / "few"
        self.some = self.folder / "some"
        chosen = random.Random(1).sample(sorted(self.photos.glob("*/*.jpg")),
                                         FEW + SOME)
        _copy(chosen[:FEW], self.few)
        _copy(chosen[FEW:], self.some)
        self._small = self._make_small(chosen[:SMALL_COUNT])
        self._opened = 0
        self._store = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._store is not None:
            self._store.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def warm(self):
        """Reads all photographs into the page cache."""
        for path in self.photos.glob("*/*.jpg"):
            path.read_bytes()

    def _make_small(self, paths):
        made = []
        for number, path in enumerate(paths):
            small = self.folder / "small" / f"{number % 2}" / f"{number:03}.jpg"
            small.parent.mkdir(parents=True, exist_ok=True)
            with PIL.Image.open(path) as image:
                image.resize(SMALL).save(small, quality=90)
            made.append(small)
        return made

    @contextlib.contextmanager
    def unopened(self):
        """Yields paths of datasets that nobody has opened, with the same content in
        each call."""
        self._opened += 1
        turn = self.folder / f"opened-{self._opened}"
        for number in range(OPENED):
            for path in self._small:
                link = turn / f"{number:03}" / path.parent.name / path.name
                link.parent.mkdir(parents=True, exist_ok=True)
                os.link(path, link)
        try:
            yield [str(turn / f"{number:03}") for number in range(OPENED)]
        finally:
            shutil.rmtree(turn)

    def store(self):
        """Returns a server of shards in two buckets, HUNG and NEAR. The server speaks
        Cloud Storage's API and plain HTTP."""
        if self._store is None:
            from fake_gcs import FakeGcs
            self._store = FakeGcs()
            shards = self._shards()
            for bucket in (HUNG, NEAR):
                self._store.fill(bucket, shards)
        return self._store

    @staticmethod
    def shards_at(place, bucket):
        """Returns the loader options for a bucket's shards."""
        return {"uri": f"{place}/{bucket}/train-{{0..{SHARDS - 1}}}.tar",
                "fields": ["jpg", "cls"]}

    def _shards(self):
        """Returns tar shards of photographs: a dict of bytes by name."""
        paths = sorted(self.photos.glob("*/*.jpg"))
        chosen = random.Random(2).sample(paths, SHARDS * SHARD_PHOTOS)
        made = {}
        for shard in range(SHARDS):
            content = io.BytesIO()
            with tarfile.open(fileobj=content, mode="w") as tar:
                for number, path in enumerate(chosen[shard::SHARDS]):
                    for ending, data in (("jpg", path.read_bytes()),
                                         ("cls", b"%d" % (number % 10))):
                        info = tarfile.TarInfo(f"{number:04}.{ending}")
                        info.size = len(data)
                        tar.addfile(info, io.BytesIO(data))
            made[f"train-{shard}.tar"] = content.getvalue()
        return made

    def huge(self):
        """Returns a dataset of one image of 200 megapixels."""
        folder = self.folder / "huge"
        if not folder.exists():
            (folder / "one").mkdir(parents=True)
            with PIL.Image.open(sorted(self.photos.glob("*/*.jpg"))[0]) as image:
                tile = numpy.asarray(image.convert("RGB").resize((1000, 1000)))
            tiled = numpy.tile(tile, (HUGE[1] // 1000, HUGE[0] // 1000, 1))
            PIL.Image.fromarray(tiled).save(folder / "one" / "huge.jpg", quality=90)
        return str(folder)

    def large(self):
        """Returns a dataset of samples of 64 MiB."""
        path = self.folder / "large.npy"
        if not path.exists():
            numpy.save(path, numpy.random.RandomState(1).randint(
                0, 256, (LARGE_SAMPLES, LARGE_SAMPLE), numpy.uint8))
        return str(path)
