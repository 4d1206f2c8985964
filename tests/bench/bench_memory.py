"""Measures memory over many epochs, and the memory that the daemon needs besides
batches.

In the first epochs, spare buffers fill up, and so does a cache that holds a part of the
dataset. After that, memory should not grow: the bench compares the means of two spans
of epochs that lie far apart.
"""

import statistics

import photos
from daemon import daemon
from figures import row
from readers import call

WARM, SHORT, EPOCHS = 2, 12, 40  # epochs
EARLY, LATE = slice(10, 20), slice(30, 40)
APART = 20  # epochs between the starts of the two spans
LIMIT, MB = 150e6, 1e6
CACHE_MIB = 64


def spans(values):
    """Returns the means of the late and of the early span, in bytes."""
    return statistics.mean(values[LATE]), statistics.mean(values[EARLY])


def run():
    """Returns the rows: the growth of daemon and trainer, and the daemon's size."""
    uri = str(photos.make())
    with daemon(f'[cache]\nmemory = "{CACHE_MIB}MiB"\n') as server:
        found = call("read_forebay.py", server.environment, uri=uri,
                     epochs=EPOCHS, memory=True, daemon_pid=server.pid)
    ours, trainer = found["daemon_rss"], found["rss_anon"]
    read = found["stats"]["bytes_read"] / EPOCHS
    late, early = spans(ours)
    trainer_late, trainer_early = spans(trainer)
    return [
        row("memory", f"daemon after epoch {SHORT} / after epoch {WARM}",
            ours[SHORT - 1] / MB, ours[WARM - 1] / MB, "MB"),
        row("memory", f"trainer after epoch {SHORT} / after epoch {WARM}",
            trainer[SHORT - 1] / MB, trainer[WARM - 1] / MB, "MB"),
        row("memory", "daemon, epochs 31 to 40 / 11 to 20", late / MB,
            early / MB, "MB"),
        row("memory", "trainer, epochs 31 to 40 / 11 to 20",
            trainer_late / MB, trainer_early / MB, "MB"),
        row("memory", "daemon: bytes kept / bytes read, an epoch",
            (late - early) / APART, read, "bytes/epoch"),
        row("memory", f"daemon without slots, cache of {CACHE_MIB} MiB, epoch "
            f"{EPOCHS} / promise",
            ours[-1] / MB, LIMIT / MB, "MB"),
    ]
