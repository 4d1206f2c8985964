"""Measures how the cache's second tier uses its disk and the CPU.

6,000 entries of 100 KiB are written to a tier, and read back in a random order, 64 at
once. The references are bare writes of 2 MiB and bare reads of 100 KiB by the same
number of threads. All bypass the page cache, on the same disk. They run in turns, and
each comes first in every other round. The tier also compares every byte that it reads.
"""

import json
import statistics
import subprocess
import tempfile

import photos
from figures import row
from readers import program

ROUNDS = 5
BYTES = 100 << 10


def run():
    """Returns the rows: reads, writes, and the CPU time of each."""
    folder = photos.folder(photos.DEFAULT_COUNT, photos.DEFAULT_SEED).parent
    folder.mkdir(parents=True, exist_ok=True)
    rounds = []
    for number in range(ROUNDS):
        with tempfile.TemporaryDirectory(dir=folder) as temporary:
            done = subprocess.run([program("ssd/entry_cost"), temporary,
                                   "bare" if number % 2 else "tier"],
                                  check=True, stdout=subprocess.PIPE)
        rounds.append(json.loads(done.stdout))

    def median(name):
        return statistics.median(found[name] for found in rounds)

    def rate(name):
        return 1e6 / median(f"{name}_us")

    size = f"{BYTES >> 10} KiB"
    return [
        row("ssd", f"entries of {size} read / bare reads", rate("read"),
            rate("bare_read"), "entries/s"),
        row("ssd", f"entries of {size} written / bare writes", rate("write"),
            rate("bare_write"), "entries/s"),
        row("ssd", "CPU an entry read / a bare read", median("read_cpu_us"),
            median("bare_read_cpu_us"), "us"),
        row("ssd", "CPU an entry written / a bare write of as much",
            median("write_cpu_us"), median("bare_write_cpu_us"), "us"),
    ]
