"""Reads as a trainer of one kind does, and tells what it got when.

The argument is JSON: "kind", and what loader_KIND.loader is called with. Reads one
whole epoch first, in which all that is compiled, cached or tuned comes to be. Says
"ready SECONDS", how long that epoch took, and waits for a line of JSON that names
the moments: "begin" and "end", seconds of time.monotonic(). Reads on from begin to
end, and prints JSON: "taken", pairs of a time and the images taken then.
"""

import importlib
import json
import sys
import time

FIRST = (slice(None), 0, 0, 0)  # as one value of every sample


def read(loader, until, taken):
    """Reads one epoch, or less: until the moment `until`. Returns a sum of it."""
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
