"""Iterates, in this process, over a dataset object that holds much data."""

import json
import os
import pathlib
import sys
import tempfile
import time

import numpy
import torch.utils.data

BYTES = 2 << 30
ANNOTATIONS = 10_000
ROUNDS = 5


class Held(torch.utils.data.Dataset):
    """A dataset of small samples that holds a large object."""

    def __init__(self, held):
        self.held = held

    def __len__(self):
        return 1000

    def __getitem__(self, number):
        return torch.full((8,), float(number)), number


def _memmap(folder):
    path = os.path.join(folder, "tokens")
    with open(path, "wb") as file:
        file.truncate(BYTES)
    return numpy.memmap(path, numpy.uint16, "r")


def _annotations(_):
    """Returns annotations as in COCO's file, with seven objects for each image."""
    return {"images": [{"id": number, "file_name": f"{number:012d}.jpg"}
                       for number in range(ANNOTATIONS)],
            "annotations": [{"id": 7 * number + item, "image_id": number,
                             "bbox": [1.5 * item, 2.0, 30.25, 40.0], "iscrowd": 0,
                             "segmentation": [[1.0 * corner for corner in range(20)]]}
                            for number in range(ANNOTATIONS) for item in range(7)]}


HELD = {"memmap": _memmap, "array": lambda _: numpy.ones(BYTES, numpy.uint8),
        "annotations": _annotations}


def _own_memory():
    """Returns the bytes of memory that belong to this process alone."""
    text = pathlib.Path("/proc/self/smaps_rollup").read_text(encoding="ascii")
    return 1024 * sum(int(line.split()[1]) for line in text.splitlines()
                      if line.startswith("Private_"))


def measure(held, kind):
    """Returns the seconds of each iter(), and of its first batch, and the memory that
    they took.

    Args:
      held: a key of HELD.
      kind: whose DataLoader reads: "forebay" or "torch".
    """
    with tempfile.TemporaryDirectory() as folder:
        dataset = Held(HELD[held](folder))
        arguments = {"batch_size": 8, "num_workers": 2}
        if kind == "torch":
            loader = torch.utils.data.DataLoader(dataset, **arguments)
        else:
            import forebay
            loader = forebay.DataLoader(dataset, **arguments)
        before, iters, batches = _own_memory(), [], []
        for _ in range(ROUNDS):
            began = time.monotonic()
            iterator = iter(loader)
            begun = time.monotonic()
            next(iterator)
            batches.append(time.monotonic() - began)
            iters.append(begun - began)
            del iterator
        return {"iter_seconds": iters, "batch_seconds": batches,
                "bytes": _own_memory() - before}


if __name__ == "__main__":
    print(json.dumps(measure(**json.loads(sys.argv[1]))))
