"""Takes batches whose samples cost nothing to make, and prints the CPU time."""

import contextlib
import json
import os
import pathlib
import sys
import time

import python_stage

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
      A dict: "cpu", CPU seconds of this process and its workers, from the workers'
      start; the end of Forebay's workers is not included. "seconds".
    """
    dataset = python_stage.Ready((batches + WARM) * batch_size)
    loader = python_stage.loader(dataset, kind, batch_size, 1)
    before, began = _cpu_seconds(), time.monotonic()
    total, pool = 0.0, 0.0
    for number, (images, _) in enumerate(loader):
        total += float(images[0, 0, 0, 0])
        if kind == "forebay" and number == batches + WARM - 1:
            pool = _pool_cpu_seconds()  # which ends with the loop
    spent = _cpu_seconds() - before + pool
    seconds = time.monotonic() - began
    if kind == "forebay":
        loader.close()
    return {"cpu": spent, "seconds": seconds, "sum": total}


def _pool_cpu_seconds():
    """Returns the CPU seconds of the worker pools that this process started and of
    their workers, those that have ended included."""
    processes = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # the process may have ended
            name, _, rest = stat.read_text().partition("(")[2].rpartition(") ")
            fields = rest.split()
            processes[int(stat.parent.name)] = (
                name, int(fields[1]), sum(map(int, fields[11:15])))
    pools = {number for number, (name, _, _) in processes.items()
             if name == f"host-of-{os.getpid()}"}
    if not pools:
        raise RuntimeError("no worker pool is there")
    return sum(ticks for number, (_, parent, ticks) in processes.items()
               if number in pools or parent in pools) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    print(json.dumps(measure(**json.loads(sys.argv[1]))))
