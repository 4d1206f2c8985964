"""Files for tests of forebay.open."""

import random

MIB = 1 << 20


def make_files(folder, sizes):
    """Writes files of random bytes. Returns their paths by their sizes."""
    chance = random.Random(4)
    made = {}
    for size in sizes:
        made[size] = folder / f"{size}.bin"
        made[size].write_bytes(chance.randbytes(size))
    return made
