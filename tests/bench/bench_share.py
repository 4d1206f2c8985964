"""forebay.share of a torch DataLoader beside TensorSocket (Robroek et al., 2024):
one process with two workers iterates it, one trainer or four read.

TensorSocket pickles batches through TCP as it is shipped. Beside that, it is given
a function that passes the names of shared memory instead.
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import photos
from bench_sharing import images_between, together
from daemon import ROOT, daemon
from figures import in_turns, row

FOLDER = pathlib.Path(__file__).resolve().parent
PEER = ROOT / ".cache" / "tensorsocket"
PEER_VERSION = "0.0.5"
ROUNDS = 3
WORKERS = 2
SECONDS = 12.0
STOPPED_SECONDS = 10.0
_TICK = os.sysconf("SC_CLK_TCK")


def run():
    """Rows: the rate of four and of one, CPU of an image, and the others' rate
    while one is stopped."""
    uri = str(photos.make())
    _install()
    kinds = ("forebay", "tensorsocket", "tensorsocket-as-shipped")
    measured = {}

    def rate(kind, count):
        images, cpu = _read(uri, kind, count)
        measured.setdefault((kind, count), []).append(cpu)
        return images

    rows = []
    for count in (4, 1):
        ours, named, shipped = in_turns(ROUNDS, *[
            lambda kind=kind: rate(kind, count) for kind in kinds])
        cpu, named_cpu, shipped_cpu = [
            sorted(measured[kind, count])[ROUNDS // 2] * 1e3 for kind in kinds]
        jobs = f"{count} job" + "s" * (count > 1)
        rows += [
            row("share", f"{jobs} / TensorSocket, shared memory by name", ours,
                named, "images/s"),
            row("share", f"{jobs} / TensorSocket as shipped", ours, shipped,
                "images/s"),
            row("share", f"CPU of an image, {jobs} / TensorSocket, shared memory "
                "by name", cpu, named_cpu, "ms"),
            row("share", f"CPU of an image, {jobs} / TensorSocket as shipped", cpu,
                shipped_cpu, "ms")]
    for kind, name in (("forebay", "forebay"), ("tensorsocket", "TensorSocket")):
        before, during = _stopped(uri, kind)
        rows.append(row("share", f"{name}: 3 jobs while a 4th is stopped for "
                        f"{STOPPED_SECONDS:.0f} s / before", during, before,
                        "images/s"))
    return rows


def _install():
    if (PEER / "tensorsocket").is_dir():
        return
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps",
                    "--target", str(PEER), f"tensorsocket=={PEER_VERSION}"],
                   check=True)


@contextlib.contextmanager
def _serving(uri, kind):
    """The environment of trainers that read what one process iterates."""
    with daemon() as server:
        environment = dict(server.environment, OMP_NUM_THREADS="1",
                           PYTHONDONTWRITEBYTECODE="1")
        environment["PYTHONPATH"] += f":{FOLDER}:{PEER}"
        if kind == "forebay":
            yield environment
            return
        producer = subprocess.Popen(
            ["/usr/bin/python3", str(FOLDER / "shared_loader.py"), json.dumps(
                dict(uri=uri, batch_size=64, workers=WORKERS, kind=kind))],
            env=environment, stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            yield environment
        finally:
            os.killpg(producer.pid, signal.SIGKILL)
            producer.wait()


def _busy():
    """Seconds that all CPUs have worked."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, soft, *_ = map(
            int, file.readline().split()[1:])
    return (user + nice + system + irq + soft) / _TICK


def _read(uri, kind, count):
    """Images a second of so many trainers, and CPU seconds of each image."""
    spent = []

    def watch(_, begin):
        for moment in (begin + 2, begin + SECONDS):
            time.sleep(max(0.0, moment - time.monotonic()))
            spent.append(_busy())

    with _serving(uri, kind) as environment:
        results, begin = together(environment, count, SECONDS, during=watch,
                                  uri=uri, workers=WORKERS, shared=kind)
    images = images_between(results, begin + 2, begin + SECONDS)
    return images / (SECONDS - 2), (spent[1] - spent[0]) / images


def _stopped(uri, kind):
    """Images a second of three trainers: before a fourth is stopped, and while it
    is."""
    found = {}

    def stop_one(trainers, begin):
        time.sleep(max(0.0, begin + STOPPED_SECONDS + 2 - time.monotonic()))
        found["from"] = time.monotonic()
        trainers[3].signal(signal.SIGSTOP)
        time.sleep(STOPPED_SECONDS)
        trainers[3].signal(signal.SIGCONT)
        found["to"] = time.monotonic()

    with _serving(uri, kind) as environment:
        results, begin = together(environment, 4, 2 * STOPPED_SECONDS + 4,
                                  during=stop_one, uri=uri, workers=WORKERS,
                                  shared=kind)
    others = results[:3]
    return (images_between(others, begin + 2, found["from"]) /
            (found["from"] - begin - 2),
            images_between(others, found["from"], found["to"]) /
            (found["to"] - found["from"]))
