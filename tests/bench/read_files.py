"""Reads files by forebay.open, or by the builtin open, and prints the time it took."""

import builtins
import json
import random
import sys
import time

import forebay

PIECE = 1 << 16


def _whole(path, _, opener):
    with opener(path, "rb") as file:
        return len(file.read())


def _pieces(path, buffer, opener):
    total = 0
    with opener(path, "rb") as file:
        while True:
            found = file.readinto(buffer)
            if not found:
                return total
            total += found


def measure(opener, how, paths, seed=0):
    """Reads files.

    Args:
      opener: "forebay" or "builtin".
      how: "whole", "pieces" (PIECE bytes at a time), or "random" (a thousand reads of 4
        KiB in each file).
      paths: list of str.

    Returns:
      A dict of files, bytes, reads and seconds.
    """
    openers = {"forebay": forebay.open, "builtin": builtins.open}
    found = openers[opener]
    total = reads = 0
    if opener == "forebay":
        forebay.open(paths[0]).close()  # opens the session with the daemon
    buffer = bytearray(PIECE)
    chance = random.Random(seed)
    begin = time.monotonic()
    for path in paths:
        if how == "random":
            with found(path, "rb") as file:
                size = file.seek(0, 2)
                for _ in range(1000):
                    file.seek(chance.randrange(size - 4096))
                    total += len(file.read(4096))
                    reads += 1
        else:
            total += (_whole if how == "whole" else _pieces)(path, buffer, found)
    return {"files": len(paths), "bytes": total, "reads": reads,
            "seconds": time.monotonic() - begin}


if __name__ == "__main__":
    print(json.dumps(measure(**json.loads(sys.argv[1]))))
