"""Reads as a trainer of one kind, and prints how many images it took at which times.

The argument is JSON: "kind", and the arguments of loader_KIND.loader. The script first
reads one whole epoch, in which everything is compiled, cached and tuned. Then it prints
"ready SECONDS", the time of that epoch. It waits for a line of JSON that names the
times "begin" and "end", in seconds of time.monotonic(). It reads on from begin to end,
and prints JSON: "taken", pairs of a time and the images taken then.
"""

import importlib
import json
import sys
import time

FIRST = (slice(None), 0, 0, 0)  # the index of one value of every sample


def read(loader, until, taken):
    """Reads one epoch, or a part of it: until the time `until`. Returns a sum of its
    values."""
    total = 0.0
    for images, labels in loader:
        values = images[FIRST]
        total += float(getattr(values, "numpy", lambda: values)().sum())
        taken.append((time.monotonic(), len(labels)))
        if taken[-1][0] >= until:
            break
    return total


def main():
    options = json.loads(sys.argv[1])
    module = importlib.import_module("loader_" + options.pop("kind"))
    loader = module.loader(**options)
    warm = []
    opened = time.monotonic()
    total = read(loader, float("inf"), warm)
    print("ready", time.monotonic() - opened, flush=True)
    agreed = json.loads(sys.stdin.readline())
    time.sleep(max(0.0, agreed["begin"] - time.monotonic()))
    taken = []
    while time.monotonic() < agreed["end"]:
        total += read(loader, agreed["end"], taken)
    print(json.dumps({"taken": taken, "sum": total}), flush=True)


if __name__ == "__main__":
    main()
