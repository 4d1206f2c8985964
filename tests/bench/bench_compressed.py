"""Measures random access into compressed files. The reference is bare zlib or zstd,
which decompresses the same samples from the same access points.

The file is in the page cache, and no decompressed bytes are kept. The first row is the
container with the worst ratio.
"""

import json
import pathlib
import random
import subprocess
import sys

from daemon import daemon
from figures import CORES, in_turns, row
from readers import call, program

FOLDER = pathlib.Path(__file__).resolve().parent / "formats"
ROUNDS = 3
NOTHING_KEPT = '[cache]\nmemory = "0"\n'


def _rates(server, path, ranges, **ours):
    """Returns the samples per second of Forebay and of the bare library."""
    search = {"PYTHONPATH": f"{server.environment['PYTHONPATH']}:{FOLDER}"}
    environment = dict(server.environment, **search)
    random.Random(1).shuffle(ranges)
    lines = "".join(f"{offset} {length}\n" for offset, length in ranges)

    def forebay():
        found = call("formats/read_container.py", environment, path=path,
                     images=False, **ours)
        assert found["samples"] == len(ranges)
        return found["samples"] / found["seconds"]

    def bare():
        said = subprocess.run(
            [program("inflate_ranges"), path, f"--threads={CORES}"],
            input=lines.encode(), stdout=subprocess.PIPE, check=True)
        found = json.loads(said.stdout)
        return found["samples"] / found["seconds"]

    forebay()  # builds the index
    return in_turns(ROUNDS, forebay, bare)


def run():
    """Returns the rows: the worst container, then each container."""
    sys.path.insert(0, str(FOLDER))
    import compressed
    with daemon(NOTHING_KEPT) as server:
        rows = [row("compressed", f"samples in {name} / bare {library}",
                    *_rates(server, path, ranges, **ours), "samples/s")
                for name, library, (path, ranges), ours in (
                    ("tar.gz", "zlib", compressed.tar(), {"fields": ["bin"]}),
                    ("GZIP tfrecord", "zlib", compressed.tfrecord(),
                     {"fields": "bytes"}),
                    ("tar.zst", "zstd", compressed.zstd_tar(),
                     {"fields": ["bin"]}))]
    worst = min(rows, key=lambda one: one["ratio"])
    return [dict(worst, metric=f"worst container: {worst['metric']}"), *rows]
