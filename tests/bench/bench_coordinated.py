"""Measures four loaders in coordinated order against the same loaders in exact order.

Each loader has its own seed, crop and batch size, and runs four epochs. The second,
third and fourth join when the first has read 20, 37 and 61% of its first epoch. The
cache has room for all encoded images, and for a tenth of all decoded ones. In exact
order the cache keeps no decoded images, so each delivered image is decoded once. The
loaders read at three settings of speed: at equal speeds that exact order can just hold,
as fast as each can, and at unequal speeds (1, .8, .5 and .3 of the first).

A decode is the decoding of one image from its encoded bytes. The CPU time is the
daemon's. The dependence of successive epochs is the rank correlation of the samples'
positions in them.
"""

import contextlib
import json
import os
import pathlib
import subprocess

import photos
import PIL.Image
from daemon import daemon, process_cpu_nanos, stop
from figures import row
from readers import FOLDER, call

JOINS = (0.20, 0.37, 0.61)
LOADERS = ((224, 32), (192, 24), (160, 48), (224, 16))  # crop in pixels, batch size
EPOCHS = 4
SPEEDS = (1, 0.8, 0.5, 0.3)
_ENTRY = 4096  # bytes that the cache needs for an image besides its content, at most
PART = 0.1
# The limits that the bench must show.
MOST_DECODES, MOST_SPEARMAN, LEAST_GAIN = 0.30, 0.5, 1.4


class _Reader:
    """A process of read_in_concert.py, which opens its loader at its start."""

    def __init__(self, server, **options):
        self._process = subprocess.Popen(
            ["/usr/bin/python3", str(FOLDER / "read_in_concert.py"),
             json.dumps(options)],
            env=dict(server.environment, FOREBAY_JOB=f"job-{options['seed']}"),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            universal_newlines=True)
        self.expect("ready")

    def expect(self, word):
        """Waits for the process's next line, which must be `word`."""
        said = self._process.stdout.readline().strip()
        if said != word:
            raise RuntimeError(f"a reader said {said!r}, not {word!r} (above)")

    def go(self):
        """Lets the process begin to read."""
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def result(self):
        """Waits until the process has ended, and returns its last line."""
        found = json.loads(self._process.stdout.readline())
        self._process.wait()
        return found

    def close(self):
        """Ends the process, whatever it is doing."""
        stop(self._process)
        self._process.stdin.close()
        self._process.stdout.close()


def _encoded_bytes(uri):
    """Returns the bytes that the cache needs for all images in encoded form."""
    return sum(_ENTRY + path.stat().st_size
               for path in pathlib.Path(uri).glob("*/*"))


def _decoded_bytes(uri):
    """Returns the bytes of all images in decoded form."""
    total = 0
    for path in pathlib.Path(uri).glob("*/*"):
        with PIL.Image.open(path) as image:
            total += 3 * image.width * image.height
    return total


def _concert(uri, images, order, keeps_decoded, rates=(0, 0, 0, 0)):
    """Runs the four loaders. Returns a dict: images per second of all together, decodes
    per image, microseconds of CPU time per image, and the highest rank correlation."""
    room = int(_decoded_bytes(uri) * PART)
    config = (f'[cache]\nmemory = "{(room + _encoded_bytes(uri)) >> 20}MiB"\n'
              f'decoded = "{room >> 20}MiB"\n' if keeps_decoded else
              f'[cache]\nmemory = "{_encoded_bytes(uri) >> 20}MiB"\n'
              'decoded = "off"\n')
    with daemon(config) as server, contextlib.ExitStack() as stack:
        # This call builds the index.
        call("read_forebay.py", server.environment, uri=uri, mode="none",
             first_batch_only=True)
        readers = []
        for seed, ((size, batch), rate) in enumerate(zip(LOADERS, rates), 1):
            reader = _Reader(
                server, uri=uri, order=order, seed=seed, batch_size=batch,
                size=size, epochs=EPOCHS, rate=rate,
                marks=[join * images for join in JOINS] if seed == 1 else [])
            stack.callback(reader.close)
            readers.append(reader)
        cpu = process_cpu_nanos(server.pid)
        readers[0].go()
        for reader in readers[1:]:
            readers[0].expect("mark")
            reader.go()
        found = [reader.result() for reader in readers]
        cpu = process_cpu_nanos(server.pid) - cpu
    total = sum(each["images"] for each in found)
    seconds = (max(each["end"] for each in found) -
               min(each["begin"] for each in found))
    return {"rate": total / seconds,
            "decodes": sum(each["decodes"] for each in found) / total,
            "cpu": cpu / total / 1e3,
            "spearman": max(each["spearman"] for each in found)}


def run():
    """Returns the rows of each setting: decodes first, then correlation, images, CPU
    time."""
    count = int(os.environ.get("FOREBAY_BENCH_IMAGES", photos.DEFAULT_COUNT))
    uri = str(photos.make(count))
    plain = _concert(uri, count, "exact", False)
    fast = _concert(uri, count, "coordinated", True)
    pace = plain["rate"] / len(LOADERS)
    speeds = {
        "equal speeds": _concert(uri, count, "coordinated", True,
                                 [pace] * len(LOADERS)),
        "as fast as each can": fast,
        "speeds " + ", ".join(map(str, SPEEDS)): _concert(
            uri, count, "coordinated", True,
            [speed * pace for speed in SPEEDS])}
    rows = []
    for name, found in speeds.items():
        rows += [
            row("coordinated", f"{name}: decodes an image / bar",
                found["decodes"], MOST_DECODES, "decodes"),
            row("coordinated", f"{name}: correlation / bar",
                found["spearman"], MOST_SPEARMAN, "Spearman"),
            row("coordinated", f"{name}: daemon's CPU / exact order's",
                found["cpu"], plain["cpu"], "us an image"),
        ]
    return rows + [
        row("coordinated", "as fast as each can: aggregate / exact order's",
            fast["rate"], plain["rate"], "images/s"),
        row("coordinated", "as fast as each can: gain / bar",
            fast["rate"] / plain["rate"], LEAST_GAIN, "ratio")]
