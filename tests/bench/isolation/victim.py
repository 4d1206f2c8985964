"""A trainer that is measured while another job's source, process or code hangs.

Each line of its standard input is a task: {"seconds": S, ...}. For each task, it runs
measure() of its kind, and answers with one line of JSON. It counts in a file what it
gets as it goes, so that a victim that hangs can be judged by its count.
"""

import json
import mmap
import os
import struct
import sys
import time
import zlib

import numpy

import forebay
from forebay import transforms as T
from made_by_python import Inverted

CROP = 224


def digest(batch):
    """Returns a number that depends on the ids and all bytes of a batch."""
    image = numpy.ascontiguousarray(batch[0]).reshape(-1)
    words = image.view(numpy.uint8)[:image.nbytes // 8 * 8].view(numpy.uint64)
    total = int(words.sum(dtype=numpy.uint64))
    labels = numpy.ascontiguousarray(batch[1]).tobytes()
    ids = getattr(batch, "sample_ids", None)
    ids = b"" if ids is None else numpy.ascontiguousarray(ids).tobytes()
    return zlib.crc32(struct.pack("<Q", total) + labels + ids)


def photographs(uri, batch_size, **options):
    """A loader of crops, which the daemon makes for this loader alone."""
    return forebay.DataLoader(
        uri, batch_size=batch_size, shuffle=True, seed=1, framework="numpy",
        sharing="off", autostart=False, transform=T.Compose([
            T.RandomResizedCrop(CROP), T.RandomHorizontalFlip(), T.ToImage()]),
        **options)


def made_by_python(uri, batch_size, seed=1, **options):
    """A loader of images that Python code makes in workers of the job."""
    return forebay.DataLoader(
        Inverted(uri), batch_size=batch_size, shuffle=True, seed=seed, num_workers=2,
        framework="numpy", autostart=False, **options)


class Progress:
    """A count of samples in a file that other processes can read."""

    def __init__(self, path):
        with open(path, "r+b") as file:
            self._words = memoryview(mmap.mmap(file.fileno(), 8)).cast("Q")

    def begin(self):
        self._words[0] = 0

    def add(self, count):
        self._words[0] += count


class Reading:
    """Takes batches from the beginning of the first epoch on, and counts samples. The
    loader stays open between tasks."""

    def __init__(self, progress, opener, options):
        self._progress = progress
        self._loader = opener(**options)

    def measure(self, seconds, step=0.0, warms=False):
        """Reads for `seconds`, and spends `step` seconds on each batch. If `warms`,
        reads one epoch before, so that the whole epoch is cached."""
        self._loader.set_epoch(0)
        if warms:
            for batch in self._loader:
                self._progress.add(len(batch[1]))
                del batch
            self._loader.set_epoch(0)
        return self._read(self._loader, time.monotonic(), seconds, step)

    def _read(self, loader, begin, seconds, step=0.0):
        now = begin
        found = {"digests": [], "waits": []}
        count = 0
        while now < begin + seconds:
            for batch, waited in self._batches(loader):
                now = time.monotonic()
                count += len(batch[1])
                self._progress.add(len(batch[1]))
                found["waits"].append(waited)
                found["digests"].append(digest(batch))
                del batch
                if now >= begin + seconds:
                    break
                if step:
                    # A step begins when its batch has arrived.
                    time.sleep(max(0.0, now + step - time.monotonic()))
        found["waits"] = found["waits"][1:]  # the first wait includes the start
        return dict(found, rate=count / (now - begin))

    @staticmethod
    def _batches(loader):
        """Yields the batches of an epoch, and the seconds of waiting for each."""
        batches = iter(loader)
        while True:
            wanted = time.monotonic()
            batch = next(batches, None)
            if batch is None:
                return
            yield batch, time.monotonic() - wanted


class Joining(Reading):
    """Reads like Reading, but opens a new loader for each task."""

    def __init__(self, progress, opener, options):
        self._progress = progress
        self._open = lambda: opener(**options)

    def measure(self, seconds):
        """Reads for `seconds`, opening included."""
        begin = time.monotonic()
        with self._open() as loader:
            return self._read(loader, begin, seconds)


class Opening:
    """Opens datasets that nobody has opened before, one after the other. Takes a batch
    of each, and counts them."""

    def __init__(self, progress, batch_size):
        self._progress, self._batch_size = progress, batch_size

    def measure(self, seconds, folders):
        """Opens datasets of `folders` for `seconds`. The list must be long enough."""
        begin = time.monotonic()
        found = {"digests": [], "times": []}
        for folder in folders:
            opened = time.monotonic()
            with photographs(folder, self._batch_size) as loader:
                batch = next(iter(loader))
                found["times"].append(time.monotonic() - opened)
                found["digests"].append(digest(batch))
                del batch
            self._progress.add(1)
            now = time.monotonic()
            if now >= begin + seconds:
                return dict(found, rate=len(found["times"]) / (now - begin))
        raise RuntimeError("there were too few datasets to open")


class Fetching:
    """Reads cached files by forebay.open, and counts the files."""

    def __init__(self, progress, paths):
        self._progress, self._paths = progress, paths

    def measure(self, seconds):
        """Reads files for `seconds`."""
        begin = time.monotonic()
        digests = []
        while True:
            for path in self._paths:
                with forebay.open(path) as file:
                    digests.append(zlib.crc32(file.read()))
                self._progress.add(1)
                now = time.monotonic()
                if now >= begin + seconds:
                    return {"digests": digests, "rate": len(digests) / (now - begin)}


KINDS = {
    "read": lambda progress, **options: Reading(progress, photographs, options),
    "python": lambda progress, **options: Reading(progress, made_by_python, options),
    "joining": lambda progress, **options: Joining(progress, made_by_python, options),
    "open": Opening,
    "fetch": Fetching,
}


def main(kind, progress, options):
    """Obeys the lines of standard input until its end."""
    counted = Progress(progress)
    measured = KINDS[kind](counted, **options)
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        counted.begin()
        print(json.dumps(measured.measure(**json.loads(line))), flush=True)


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
    sys.stdout.flush()
    os._exit(0)  # ends the process even if something still hangs
