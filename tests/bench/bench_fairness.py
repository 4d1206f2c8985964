"""Measures whether each job gets its due share when the jobs want more than there is.

The case "source": the daemon's scheduler stands before its local source, which reads
real photographs but is throttled. The case "CPU": a real daemon may decode on three
quarters of the cores. Its trainers, a process each, have the other cores; they take
batches and do nothing with them, so nobody waits for a trainer. No job can use images
that were decoded for another.

Each of several jobs that all want more is due a share in proportion to its weight. When
one job stops, the others are due everything. A light job wants 5% of what there is,
beside a greedy job. At the 99th percentile the light job may wait twice as long as
alone, or 5% of its step if that is longer.
"""

import contextlib
import json
import os
import signal
import subprocess
import time

import photos
from daemon import ENCODED_ONLY, daemon, stop
from figures import row
from readers import FOLDER, program

WEIGHTS = (1, 2, 4)
LIGHT, WAIT_PART = 0.05, 0.05
CPU_LIMIT = ENCODED_ONLY + '[cpu]\nlimit = "75%"\n'
WARM_SECONDS, SECONDS, LIGHT_SECONDS = 2, 10, 20
BATCH, LIGHT_BATCH, DEPTH = 32, 8, 6


class Trainer:
    """A process that takes batches until it is closed."""

    def __init__(self, server, **options):
        self._process = subprocess.Popen(
            ["/usr/bin/python3", str(FOLDER / "take_batches.py"),
             json.dumps(options)],
            env=dict(server.environment, FOREBAY_JOB=options["name"]),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            start_new_session=True, universal_newlines=True)
        if self._process.stdout.readline() != "reading\n":
            raise RuntimeError(f"trainer {options['name']} failed (above)")

    def signal(self, number):
        """Sends the signal `number` to the process."""
        self._process.send_signal(number)

    def waits(self):
        """Ends the process, and returns the seconds that it waited for each batch."""
        found, _ = self._process.communicate("enough\n", timeout=60)
        return json.loads(found)

    def close(self):
        """Ends the process, whatever it is doing."""
        self.signal(signal.SIGCONT)
        stop(self._process)
        self._process.stdin.close()
        self._process.stdout.close()


@contextlib.contextmanager
def trainer(server, uri, name, weight=1, batch=BATCH, step=0):
    """Starts a Trainer, and closes it at the end of the `with` block."""
    started = Trainer(server, uri=uri, name=name, weight=weight,
                      batch_size=batch, step=step, depth=DEPTH)
    try:
        yield started
    finally:
        started.close()


def _counted(server):
    """Returns the CPU time and the images of each job so far, and the time of
    counting."""
    listed = json.loads(server.ctl("jobs", "--json"))
    found = {}
    for job in listed["jobs"]:
        counters = [loader["counters"] for loader in job["loaders"]]
        found[job["name"]] = (
            sum(int(each["cpu_nanos"]) for each in counters),
            sum(int(each["samples_decoded"]) for each in counters))
    return found, int(listed["taken_at_nanos"])


def _rates(server):
    """Returns the CPUs that each job uses and its images per second, over SECONDS."""
    time.sleep(WARM_SECONDS)
    before, began = _counted(server)
    time.sleep(SECONDS)
    after, ended = _counted(server)
    return {name: tuple((now - then) / (ended - began) * scale for
                        now, then, scale in zip(after[name], before[name],
                                                (1, 1e9)))
            for name in after}


def _percentile(waits):
    return sorted(waits)[len(waits) * 99 // 100]


def _cpu(uri):
    """Returns the same figures for the CPU as `source_shares` does for a source."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(daemon(CPU_LIMIT))
        for weight in WEIGHTS:
            last = stack.enter_context(
                trainer(server, uri, str(weight), weight))
        three = _rates(server)
        last.signal(signal.SIGSTOP)
        two = _rates(server)
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(daemon(CPU_LIMIT))
        capacity = sum(images for _, images in three.values())
        step = LIGHT_BATCH / (LIGHT * capacity)
        waits = []
        for greedy in (False, True):
            if greedy:
                stack.enter_context(trainer(server, uri, "greedy"))
            light = stack.enter_context(
                trainer(server, uri, f"light-{greedy}", 1, LIGHT_BATCH, step))
            time.sleep(LIGHT_SECONDS)
            waits.append(_percentile(light.waits()))
    return {
        "rates": {name: cpus for name, (cpus, _) in three.items()},
        "rates_of_two": {name: cpus for name, (cpus, _) in two.items()
                         if name != str(WEIGHTS[-1])},
        "step_s": step, "wait_alone_s": waits[0], "wait_beside_s": waits[1]}


def _source(uri):
    done = subprocess.run([program("fairness/source_shares"), uri],
                          check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def _shares(what, found):
    """Returns the rows: each job's share / the share that it is due."""
    total = sum(found["rates"].values())
    return [row("fairness", f"{what}: share of weight {weight} / due",
                found["rates"][str(weight)] / total, weight / sum(WEIGHTS),
                "share")
            for weight in WEIGHTS]


def _rest(what, unit, found):
    """Returns the rows: an idle job, and a light job beside a greedy one."""
    allowed = max(2 * found["wait_alone_s"], WAIT_PART * found["step_s"])
    return [
        row("fairness", f"{what}: two jobs, one idle / all three",
            sum(found["rates_of_two"].values()),
            sum(found["rates"].values()), unit),
        row("fairness", f"{what}: a light job's p99 wait / what it may",
            1e3 * found["wait_beside_s"], 1e3 * allowed, "ms"),
    ]


def run():
    """Returns the rows: the smallest of all shares / due, then all rows."""
    uri = str(photos.make())
    for folder, _, names in os.walk(uri):  # brings the files into the page cache
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                file.read()
    source, cpu = _source(uri), _cpu(uri)
    shares = _shares("source", source) + _shares("CPU", cpu)
    worst = min(shares, key=lambda share: share["ratio"])
    return [dict(worst, metric=f"the smallest of all, {worst['metric']}"),
            *shares, *_rest("source", "bytes/s", source),
            *_rest("CPU", "CPUs", cpu)]
