"""From iter() to the first batch of dataset objects that hold much: a memmap and an
array of 2 GiB, and 10,000 images' annotations. Nothing of them is read or copied."""

import statistics

from daemon import daemon
from figures import row
from readers import call
from read_large_object import HELD

ALLOWED_BYTES = 64 << 20  # of the trainer's memory that change, as by reference counts


def run():
    """Rows: against torch, and the memory that it takes."""
    rows = []
    with daemon() as server:
        for held in HELD:
            ours, theirs = (call("read_large_object.py", server.environment,
                                 held=held, kind=kind) for kind in ("forebay", "torch"))
            for what, name in (("iter()", "iter_seconds"),
                               ("first batch", "batch_seconds")):
                rows.append(row("firstiter", f"{held}, {what} / torch",
                                statistics.median(ours[name]),
                                statistics.median(theirs[name]), "s"))
            rows.append(row("firstiter", f"{held}, memory / allowed",
                            max(ours["bytes"], 0), ALLOWED_BYTES, "bytes"))
    return rows
