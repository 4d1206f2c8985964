"""Takes batches whose samples cost nothing to make, and tells what that costs."""

import json
import os
import sys
import time

import python_stage

WARM = 8  # batches


def _cpu_seconds():
    times = os.times()
    return times.user + times.system + times.children_user + (
        times.children_system)


def measure(kind, batches, batch_size=64):
    """Takes so many batches from one worker.

    Args:
      kind: "forebay" or "torch".
      batches: to take.
      batch_size: samples.

    Returns:
      A dict: "cpu", seconds of this process and of its workers, from the first
      batch to the end of all workers; "seconds".
    """
    dataset = python_stage.Ready((batches + WARM) * batch_size)
    loader = python_stage.loader(dataset, kind, batch_size, 1)
    before, began = _cpu_seconds(), time.monotonic()
    total = 0.0
    for images, _ in loader:
        total += float(images[0, 0, 0, 0])
    if kind == "forebay":
        loader.close()
    return {"cpu": _cpu_seconds() - before,
            "seconds": time.monotonic() - began, "sum": total}


if __name__ == "__main__":
    print(json.dumps(measure(**json.loads(sys.argv[1]))))
