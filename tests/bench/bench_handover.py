"""Measures the cost of handing a batch over, without the cost of making it.

The daemon counts its CPU time for reading, and for each loader's decoding and
transforming. Finding bytes in memory is a part of reading. All other CPU time of the
daemon and the trainer between the first and the last batch is hand-over, page faults
included. The trainer touches every page. What its loop costs with ordinary memory is
measured in the same process, and is not hand-over.
"""

import json
import statistics
import subprocess

import photos
from daemon import ENCODED_ONLY, daemon
from figures import in_turns, row
from readers import call, program

ROUNDS, EPOCHS, BATCH = 5, 2, 64


def measure(server, uri, mode):
    """Returns microseconds of CPU per batch: hand-over, making, and the reading in
    it."""
    found = call("read_forebay.py", server.environment, uri=uri, mode=mode,
                 batch_size=BATCH, epochs=EPOCHS, skip_epochs=1,
                 daemon_pid=server.pid)
    batches = found["batches"]
    making = found["stats"]["cpu_nanos"] - found["stats_before"]["cpu_nanos"]
    reading = found["daemon_read_cpu_nanos"]
    making += reading
    used = found["cpu_nanos"] + found["daemon_cpu_nanos"] - making
    used -= found.get("trainer_nanos", 0) * batches
    return tuple(nanos / batches / 1e3 for nanos in (used, making, reading))


def wakes():
    """Returns microseconds: the wake by the ready ring, and the wake by a bare
    futex."""
    done = subprocess.run([program("wake/wake")], check=True,
                          stdout=subprocess.PIPE)
    found = json.loads(done.stdout)
    return found["ring_us"], found["futex_us"]


def run():
    """Returns the rows: trainers that read, that only take, and that write in place;
    the cost of finding the bytes in memory; the wake."""
    uri = str(photos.make())
    makings, hits = [], []
    with daemon(ENCODED_ONLY) as server:
        def cost(mode):
            used, making, hit = measure(server, uri, mode)
            makings.append(making)
            hits.append(hit)
            return used

        reading, writing, taking = in_turns(
            ROUNDS, lambda: cost("read"), lambda: cost("write"),
            lambda: cost("none"))
    making, hit = statistics.median(makings), statistics.median(hits)
    waking = [wakes() for _ in range(ROUNDS)]
    ring, futex = sorted(waking, key=lambda pair: pair[0] / pair[1])[1]
    unit = "CPU us/batch"
    return [
        row("handover", "hand-over / making, trainer reads", reading, making,
            unit),
        row("handover", "hand-over / making, batches only taken", taking,
            making, unit),
        row("handover", "hand-over / making, trainer writes in place",
            writing, making, unit),
        row("handover", "finding the bytes in memory / making", hit, making,
            unit),
        row("handover", "wake of a waiting trainer / bare futex", ring, futex,
            "us"),
    ]
