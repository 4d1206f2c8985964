"""Takes batches whose samples cost nothing to make, and prints the CPU time."""

import contextlib
import json
import os
import pathlib
import sys
import time

import python_stage
from peers import costs

WARM = 8  # batches


def _cpu_seconds():
    times = os.times()
    return times.user + times.system + times.children_user + (
        times.children_system)


def measure(kind, batches, batch_size=64):
    """Takes `batches` batches from one worker.

    Args:
      kind: "forebay" or "torch".
      batches: number of batches to take.
      batch_size: samples in a batch.

    Returns:
      A dict: "cpu", CPU seconds of this process and its workers, the workers' start
      included; "seconds".
    """
    dataset = python_stage.Ready((batches + WARM) * batch_size)
    loader = python_stage.loader(dataset, kind, batch_size, 1)
    before, began = _cpu_seconds(), time.monotonic()
    total = 0.0
    for images, _ in loader:
        total += float(images[0, 0, 0, 0])
    spent = _cpu_seconds() - before
    if kind == "forebay":
        spent += costs.cpu_seconds(_sessions())
        loader.close()
    return {"cpu": spent, "seconds": time.monotonic() - began, "sum": total}


def _sessions():
    """Returns the session ids of the hosts of workers that this process started."""
    name = f"host-of-{os.getpid()}\n"
    found = set()
    for path in pathlib.Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):  # the process may have ended
            if path.read_text() == name:
                found.add(os.getsid(int(path.parent.name)))
    if not found:
        raise RuntimeError("no host of workers is there")
    return found


if __name__ == "__main__":
    print(json.dumps(measure(**json.loads(sys.argv[1]))))
