"""What handing a batch over costs, beside making it.

The daemon counts the CPU time of its reading (in all) and of its decoding and
transforming (by loader). All
else that it and the trainer use between the first and the last batch (page
faults included) is hand-over. The trainer touches every page; what its loop
costs with ordinary memory is measured in the same process and is not hand-over.
"""

import json
import subprocess

import photos
from daemon import ENCODED_ONLY, daemon
from figures import in_turns, row
from readers import call, program

ROUNDS, EPOCHS, BATCH = 5, 2, 64


def measure(server, uri, mode):
    """CPU microseconds a batch: (hand-over, making)."""
    found = call("read_forebay.py", server.environment, uri=uri, mode=mode,
                 batch_size=BATCH, epochs=EPOCHS, skip_epochs=1,
                 daemon_pid=server.pid)
    batches = found["batches"]
    making = found["stats"]["cpu_nanos"] - found["stats_before"]["cpu_nanos"]
    making += found["daemon_read_cpu_nanos"]
    used = found["cpu_nanos"] + found["daemon_cpu_nanos"] - making
    used -= found.get("trainer_nanos", 0) * batches
    return used / batches / 1e3, making / batches / 1e3


def wakes():
    """Microseconds: (the ready ring's wake, a bare futex wake)."""
    done = subprocess.run([program("wake/wake")], check=True,
                          stdout=subprocess.PIPE)
    found = json.loads(done.stdout)
    return found["ring_us"], found["futex_us"]


def run():
    """Rows: trainers that read, only take, and write in place; the wake."""
    uri = str(photos.make())
    makings = []
    with daemon(ENCODED_ONLY) as server:
        def cost(mode):
            used, making = measure(server, uri, mode)
            makings.append(making)
            return used

        reading, writing, taking = in_turns(
            ROUNDS, lambda: cost("read"), lambda: cost("write"),
            lambda: cost("none"))
    making = sorted(makings)[len(makings) // 2]
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
        row("handover", "wake of a waiting trainer / bare futex", ring, futex,
            "us"),
    ]
