"""forebay.share of a torch DataLoader with two workers: to one trainer, beside that
trainer's own DataLoader; to four; and while one of four is stopped.
"""

import os
import signal
import statistics
import time

import photos
from bench_sharing import images_between, together
from daemon import daemon
from figures import in_turns, row

ROUNDS = 3
WORKERS = 2
SECONDS = 12.0
STOPPED_SECONDS = 10.0
_TICK = os.sysconf("SC_CLK_TCK")


def run():
    """Rows: four trainers, one, what an image costs, and three beside one that is
    stopped."""
    uri = str(photos.make())
    spent = {}

    def rate(name, count, **options):
        images, cpu = _read(uri, count, options)
        spent.setdefault(name, []).append(cpu * 1e3)
        return images

    four, one, own = in_turns(
        ROUNDS, lambda: rate("four", 4, shared=True),
        lambda: rate("one", 1, shared=True),
        lambda: rate("own", 1, counter=os.devnull, kind="torch"))
    shared_cpu, own_cpu = (statistics.median(spent[name]) for name in ("one", "own"))
    before, during = _stopped(uri)
    return [
        row("share", "4 jobs / 4 x one", four, 4 * one, "images/s"),
        row("share", "one job / torch DataLoader in the trainer", one, own,
            "images/s"),
        row("share", "CPU of an image, one job / torch DataLoader", shared_cpu,
            own_cpu, "ms"),
        row("share", f"3 jobs while a 4th is stopped for {STOPPED_SECONDS:.0f} s / "
            "before", during, before, "images/s")]


def _busy():
    """Seconds that all CPUs have worked."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, soft, *_ = map(
            int, file.readline().split()[1:])
    return (user + nice + system + irq + soft) / _TICK


def _read(uri, count, options):
    """Images a second of so many trainers, and CPU seconds of each image."""
    spent = []

    def watch(_, begin):
        for moment in (begin + 2, begin + SECONDS):
            time.sleep(max(0.0, moment - time.monotonic()))
            spent.append(_busy())

    with daemon() as server:
        results, begin = together(server.environment, count, SECONDS, during=watch,
                                  uri=uri, workers=WORKERS, **options)
    images = images_between(results, begin + 2, begin + SECONDS)
    return images / (SECONDS - 2), (spent[1] - spent[0]) / images


def _stopped(uri):
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

    with daemon() as server:
        results, begin = together(
            server.environment, 4, 2 * STOPPED_SECONDS + 4, during=stop_one,
            uri=uri, workers=WORKERS, shared=True)
    others = results[:3]
    return (images_between(others, begin + 2, found["from"]) /
            (found["from"] - begin - 2),
            images_between(others, found["from"], found["to"]) /
            (found["to"] - found["from"]))
