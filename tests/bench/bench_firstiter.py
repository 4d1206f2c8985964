"""Measures the time from iter() to the first batch, for dataset objects that hold much:
a memmap of 2 GiB, an array of 2 GiB, and the annotations of 10,000 images. None of this
content is read or copied."""

import statistics

from daemon import daemon
from figures import row
from readers import call
from read_large_object import HELD

# The most bytes of the trainer's memory that may change, for example by changed
# reference counts.
ALLOWED_BYTES = 64 << 20


def run():
    """Returns the rows: time against torch's, and the memory that the first batch
    takes."""
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
