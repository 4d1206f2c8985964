"""Measures forebay.open against the builtin open on the same files. The daemon has the
files in its cache, and the kernel has them in the page cache.

The kernel hands bytes over in one copy. The daemon copies the bytes into shared memory,
while the reader copies them out of it.
"""

import pathlib
import random
import tempfile

import photos
from daemon import daemon
from figures import in_turns, row
from readers import call

ROUNDS = 5
MIB = 1 << 20
LARGE = 256 * MIB
SMALL = 2000  # files


def run():
    """Returns the rows: a large file as a whole and in pieces, small files, random
    reads."""
    pictures = [str(path) for path in sorted(photos.make().glob("*/*.jpg"))]
    pictures = random.Random(1).sample(pictures, SMALL)
    with tempfile.TemporaryDirectory() as folder, \
            daemon('[cache]\nmemory = "1GiB"\n') as server:
        large = pathlib.Path(folder) / "large"
        large.write_bytes(random.Random(2).randbytes(16 * MIB) * (LARGE // MIB // 16))

        def read(opener, how, paths):
            return call("read_files.py", server.environment, opener=opener,
                        how=how, paths=paths)

        def rate(opener, how):
            found = read(opener, how, [str(large)])
            return found["bytes"] / MIB / found["seconds"]

        def opens(opener):
            found = read(opener, "whole", pictures)
            return found["files"] / found["seconds"]

        def reads(opener):
            found = read(opener, "random", [str(large)])
            return found["reads"] / found["seconds"]

        rate("forebay", "whole")  # fills the cache
        opens("forebay")
        measured = in_turns(
            ROUNDS,
            *(lambda o=opener, h=how: rate(o, h)
              for how in ("whole", "pieces") for opener in ("forebay", "builtin")),
            *(lambda o=opener: opens(o) for opener in ("forebay", "builtin")),
            *(lambda o=opener: reads(o) for opener in ("forebay", "builtin")))
    metrics = [("256 MiB at once / builtin open", "MiB/s"),
               ("256 MiB in pieces of 64 KiB / builtin", "MiB/s"),
               ("files of 46 KB, opened and read / builtin", "files/s"),
               ("random reads of 4 KiB / builtin", "reads/s")]
    return [row("open", metric, ours, theirs, unit)
            for (metric, unit), ours, theirs in
            zip(metrics, measured[::2], measured[1::2])]
