"""Measures forebay.share of a torch DataLoader with two workers: with one trainer,
beside that trainer's own DataLoader; with four trainers; and while one of four is
stopped. All cases are also compared with TensorSocket (Robroek et al., 2024).

TensorSocket 0.0.5 as it is shipped sends pickled batches through TCP. The bench also
measures it with functions that send the names of shared memory instead. In both forms,
TensorSocket waits up to 10 s for a consumer's acknowledgement, so one stopped consumer
holds up all others.
"""

import contextlib
import json
import os
import re
import select
import signal
import statistics
import subprocess
import time

import photos
import ports
from bench_sharing import images_between, together
from daemon import ROOT, daemon
from figures import in_turns, row
from readers import FOLDER

PEER = ROOT / ".cache" / "tensorsocket"
ROUNDS = 3
WORKERS = 2
BATCH = 64
SECONDS = 12.0
STOPPED_SECONDS = 10.0
PATIENCE = 60.0  # until processes count as hanging
# Names of loaders in shared_loader.py and in the rows.
SHARE, OWN = "forebay", "own"
RIVALS = {"tensorsocket by name": "TensorSocket, shared memory by name",
          "tensorsocket": "TensorSocket as shipped"}
_TICK = os.sysconf("SC_CLK_TCK")


def run():
    """Returns the rows: four trainers, one trainer, the cost of an image; the same
    beside TensorSocket; and three trainers beside one that is stopped."""
    uri = str(photos.make())
    rivals = RIVALS if _install() else {}
    four = _measured(uri, [SHARE, *rivals], 4)
    one = _measured(uri, [SHARE, *rivals, OWN], 1)
    rows = [
        row("share", "4 jobs / 4 x one", four[SHARE][0], 4 * one[SHARE][0],
            "images/s"),
        row("share", "one job / torch DataLoader in the trainer", one[SHARE][0],
            one[OWN][0], "images/s"),
        row("share", "CPU of an image, one job / torch DataLoader", one[SHARE][1],
            one[OWN][1], "ms")]
    for jobs, found in (("4 jobs", four), ("1 job", one)):
        for rival, name in rivals.items():
            if rival not in found:
                continue
            (rate, cpu), (their_rate, their_cpu) = found[SHARE], found[rival]
            rows += [row("share", f"{jobs} / {name}", rate, their_rate, "images/s"),
                     row("share", f"CPU of an image, {jobs} / {name}", cpu, their_cpu,
                         "ms")]
    runs = [_while_stopped(uri, "", SHARE) for _ in range(ROUNDS)]
    rows.append(sorted(runs, key=lambda made: made["ratio"])[ROUNDS // 2])
    for rival, name in rivals.items():
        with _reported(f"{name}, one of 4 jobs stopped"):
            rows.append(_while_stopped(uri, f"{name}: ", rival))
    return rows


def _install():
    """Installs the TensorSocket that tools/peers.txt names. Returns whether it is
    there."""
    listed = re.search(r"^tensorsocket==(\S+) \\\n +--hash=\S+$",
                       (ROOT / "tools" / "peers.txt").read_text(), re.MULTILINE)
    if (PEER / f"tensorsocket-{listed[1]}.dist-info").is_dir():
        return True
    PEER.parent.mkdir(exist_ok=True)
    wanted = PEER.with_suffix(".txt")
    wanted.write_text(listed[0] + "\n")
    done = subprocess.run(
        ["/usr/bin/python3", "-m", "pip", "install", "--quiet", "--upgrade",
         "--no-deps", "--require-hashes", "--disable-pip-version-check",
         "--root-user-action=ignore", f"--requirement={wanted}",
         f"--target={PEER}"], stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        print("  TensorSocket cannot be installed (above): its rows are left out")
    return done.returncode == 0


@contextlib.contextmanager
def _reported(what):
    """Catches a failure of TensorSocket and prints it."""
    try:
        yield
    except (RuntimeError, OSError) as error:
        print(f"  {what}: no figure: {error}", flush=True)


def _measured(uri, kinds, count):
    """Returns, for each kind, the medians of `count` trainers: images per second, and
    CPU milliseconds per image. A kind without images is left out."""
    cpu = {kind: [] for kind in kinds}

    def rate(kind):
        images, seconds = 0.0, float("inf")
        with contextlib.ExitStack() as stack:
            if kind in RIVALS:
                stack.enter_context(_reported(f"{RIVALS[kind]}, jobs: {count}"))
            images, seconds = _read(uri, kind, count)
        cpu[kind].append(seconds * 1e3)
        return images

    rates = in_turns(ROUNDS, *[lambda kind=kind: rate(kind) for kind in kinds])
    return {kind: (median, statistics.median(cpu[kind]))
            for kind, median in zip(kinds, rates) if median}


@contextlib.contextmanager
def _served(uri, kind, count):
    """Runs the server that `count` trainers of a kind need, if they need one.

    Yields:
      (the trainers' environment, options of bench_sharing.together).

    Raises:
      RuntimeError: TensorSocket's producer does not start.
    """
    options = {"uri": uri, "batch_size": BATCH, "workers": WORKERS}
    with daemon() as server:
        environment = dict(server.environment, OMP_NUM_THREADS="1")
        if kind == OWN:
            yield environment, dict(options, counter=os.devnull, kind="torch")
        elif kind == SHARE:
            yield environment, dict(options, shared=kind)
        else:
            environment["PYTHONPATH"] += f":{PEER}"
            options["ports"] = ports.free(4)
            with _producer(environment, dict(options, kind=kind, jobs=count)):
                yield environment, dict(options, shared=kind)


@contextlib.contextmanager
def _producer(environment, options):
    """Runs TensorSocket's producer; `options` are the arguments of
    shared_loader.serve."""
    with subprocess.Popen(
            ["/usr/bin/python3", str(FOLDER / "shared_loader.py"),
             json.dumps(options)], env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, start_new_session=True) as process:
        try:
            if not select.select([process.stdout], [], [], PATIENCE)[0]:
                raise RuntimeError("its producer hangs before it is ready")
            if process.stdout.readline() != b"ready\n":
                raise RuntimeError("its producer failed (above)")
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _busy():
    """Returns the seconds that all CPUs together have worked."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, soft, *_ = map(
            int, file.readline().split()[1:])
    return (user + nice + system + irq + soft) / _TICK


def _read(uri, kind, count):
    """Returns the images per second of `count` trainers, and CPU seconds per image.

    Raises:
      RuntimeError: a process failed or hangs, or there was no image.
    """
    spent = []

    def watch(_, begin):
        for moment in (begin + 2, begin + SECONDS):
            time.sleep(max(0.0, moment - time.monotonic()))
            spent.append(_busy())

    with _served(uri, kind, count) as (environment, options):
        results, begin = together(environment, count, SECONDS, during=watch,
                                  patience=PATIENCE, **options)
    images = images_between(results, begin + 2, begin + SECONDS)
    if not images:
        raise RuntimeError(f"no image within {SECONDS - 2:.0f} s")
    return images / (SECONDS - 2), (spent[1] - spent[0]) / images


def _while_stopped(uri, whose, kind):
    """Returns a row: images per second of three trainers while a fourth is stopped /
    before.

    Raises:
      RuntimeError: a process failed or hangs, or there was no image.
    """
    found = {}

    def stop_one(trainers, begin):
        time.sleep(max(0.0, begin + STOPPED_SECONDS + 2 - time.monotonic()))
        found["from"] = time.monotonic()
        trainers[3].signal(signal.SIGSTOP)
        time.sleep(STOPPED_SECONDS)
        trainers[3].signal(signal.SIGCONT)
        found["to"] = time.monotonic()

    with _served(uri, kind, 4) as (environment, options):
        results, begin = together(
            environment, 4, 2 * STOPPED_SECONDS + 4, during=stop_one,
            patience=PATIENCE, **options)
    others = results[:3]
    before = images_between(others, begin + 2, found["from"]) / (
        found["from"] - begin - 2)
    during = images_between(others, found["from"], found["to"]) / (
        found["to"] - found["from"])
    if not before:
        raise RuntimeError("no image before one is stopped")
    return row("share", f"{whose}3 jobs while a 4th is stopped for "
               f"{STOPPED_SECONDS:.0f} s / before", during, before, "images/s")
