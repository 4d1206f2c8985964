"""Measures what a second, fourth and eighth job cost that read the same as another job.

Equal jobs are processes that read the same photographs with the same seed, batches and
transforms. Each trainer reads only one value of every sample, so that all wait for the
daemon. The trainers start together, or ten seconds apart, or a twentieth of an epoch
apart at a limited pace. In another case, one trainer is stopped for a while.
"""

import contextlib
import csv
import json
import os
import pathlib
import select
import signal
import subprocess
import tempfile
import time

import photos
from daemon import ENCODED_ONLY, daemon, process_cpu_nanos, stop
from figures import CORES, row
from readers import FOLDER

JOBS = (1, 2, 4, 8)
SECONDS, TORCH_SECONDS = 8.0, 16.0
APART, APART_EPOCH = 10.0, 60.0  # seconds apart; seconds of one job's epoch
PACED_EPOCH, PACED_APART = 24_000, 0.05  # samples of an epoch; part of an epoch
STOPPED_SECONDS = 10.0
START_SECONDS = 3.0
LEAD_SECONDS = 0.5  # from the time when all are ready to the begin
PATIENCE = 600.0  # until a trainer counts as hanging


class Trainer:
    """A process that runs read_together.py."""

    def __init__(self, environment, name, **options):
        self._process = subprocess.Popen(
            ["/usr/bin/python3", str(FOLDER / "read_together.py"),
             json.dumps(options)],
            env=dict(environment, FOREBAY_JOB=name, OMP_NUM_THREADS="1",
                     PYTHONDONTWRITEBYTECODE="1"),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            start_new_session=True, universal_newlines=True)

    def wait_ready(self, deadline):
        """Waits until the trainer is ready to be told when to begin.

        Raises:
          RuntimeError: it failed, or is not ready at `deadline`, a time of
            time.monotonic().
        """
        if not select.select([self._process.stdout], [], [],
                             max(0.0, deadline - time.monotonic()))[0]:
            raise RuntimeError("a trainer hangs before it is ready to read")
        if self._process.stdout.readline() != "ready\n":
            raise RuntimeError("a trainer failed (above)")

    def agree(self, begin, end):
        """Tells the trainer when to read, in seconds of time.monotonic()."""
        json.dump({"begin": begin, "end": end}, self._process.stdin)
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def signal(self, number):
        """Sends the trainer a signal."""
        self._process.send_signal(number)

    def result(self, deadline):
        """Returns what read_together.measure returned in the trainer.

        Raises:
          RuntimeError: it failed, or has not ended at `deadline`, a time of
            time.monotonic().
        """
        try:
            found, _ = self._process.communicate(
                timeout=max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired as error:
            raise RuntimeError("a trainer hangs after its time to read") from error
        if not found:
            raise RuntimeError("a trainer failed (above)")
        return json.loads(found.splitlines()[-1])

    def close(self):
        """Ends the trainer, whatever it is doing, and all processes that it started."""
        self.signal(signal.SIGCONT)
        stop(self._process)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.stdin.close()
        self._process.stdout.close()


def images_between(results, begin, end):
    """Returns the number of images that all trainers took from `begin` to `end`."""
    return sum(images for result in results
               for at, images in result["taken"] if begin <= at < end)


def together(environment, count, seconds, offsets=None, during=None,
             patience=PATIENCE, **options):
    """Runs equal trainers.

    Args:
      environment: dict of the processes' variables.
      count: number of trainers.
      seconds: the least time in which all trainers read.
      offsets: when each trainer begins, in seconds after the first one.
      during: function of the trainers and the first begin, called while they read.
      patience: seconds that the trainers may take to be ready, and to end.
      **options: arguments of read_together.measure.

    Returns:
      The trainers' results, and the time when the last trainer began.

    Raises:
      RuntimeError: a trainer failed, or hangs.
    """
    offsets = offsets or [0.0] * count
    with contextlib.ExitStack() as stack:
        trainers = [stack.enter_context(contextlib.closing(Trainer(
            environment, f"job-{number}", **options)))
            for number in range(len(offsets))]
        deadline = time.monotonic() + patience
        for trainer in trainers:
            trainer.wait_ready(deadline)
        begin = time.monotonic() + LEAD_SECONDS
        end = begin + offsets[-1] + seconds
        for trainer, offset in zip(trainers, offsets):
            trainer.agree(begin + offset, end)
        if during is not None:
            during(trainers, begin)
        results = [trainer.result(end + patience) for trainer in trainers]
    return results, begin + offsets[-1]


def aggregate(environment, count, seconds=SECONDS, **options):
    """Returns the images per second of equal trainers that start together."""
    results, begin = together(environment, count, seconds, **options)
    return images_between(results, begin + 1, begin + seconds) / (seconds - 1)


def decoded_part(results):
    """Returns the number of decoded samples / delivered samples."""
    made = sum(int(result["stats"]["samples_decoded"]) for result in results)
    given = sum(int(result["stats"]["samples_delivered"])
                for result in results)
    return made / given


@contextlib.contextmanager
def manifest_of(folder, samples):
    """Writes a table of `samples` rows that name the photographs in turn. Yields its
    path."""
    folder = pathlib.Path(folder)
    files = sorted(folder.glob("*/*.jpg"))
    # A manifest must lie above its images.
    with tempfile.NamedTemporaryFile("w", dir=folder.parent, suffix=".csv",
                                     newline="") as file:
        table = csv.writer(file)
        table.writerow(["path", "label"])
        for number in range(samples):
            picture = files[number % len(files)]
            table.writerow([os.path.relpath(picture, folder.parent),
                            number % 10])
        file.flush()
        yield file.name


def apart(environment, long_epoch, alone):
    """Returns the rows: jobs that start ten seconds apart, in one long epoch."""
    offsets = [APART * number for number in range(4)]
    results, last = together(
        environment, 4, 2 * APART + 12, offsets=offsets, uri=long_epoch,
        manifest=True)
    begin, end = last + 2 * APART, last + 2 * APART + 10
    rate = images_between(results, begin, end) / (end - begin)
    return [
        row("sharing", "4 jobs, starts 10 s apart, when met / 4 x one", rate,
            4 * alone, "images/s"),
        row("sharing", "the same: decodes / samples, whole run",
            decoded_part(results), 1.0, "decodes"),
    ]


def paced(server, epoch, capacity):
    """Returns the rows: jobs at half of the full rate each, a twentieth of an epoch
    apart."""
    rate = capacity / 2
    gap = PACED_APART * PACED_EPOCH / rate
    cpu = process_cpu_nanos(server.pid)
    results, _ = together(
        server.environment, 4, 1.2 * PACED_EPOCH / rate,
        offsets=[gap * number for number in range(4)], uri=epoch,
        manifest=True, dtype="uint8", period=64 / rate, epochs=1)
    cpu = process_cpu_nanos(server.pid) - cpu
    delivered = sum(int(result["stats"]["samples_delivered"])
                    for result in results)
    return [
        row("sharing", "4 paced jobs, 5% apart: decodes / samples",
            decoded_part(results), 1.0, "decodes"),
        row("sharing", "the same: CPU of a sample / made for each",
            cpu / delivered, 1e9 * CORES / capacity, "ns"),
    ]


def first_batches(environment, uri):
    """Returns the row: the time until each of eight jobs that start together has a
    batch."""
    def last(count):
        results, begin = together(environment, count, START_SECONDS, uri=uri)
        return max(result["taken"][0][0] for result in results) - begin
    return row("sharing", "8 jobs, until all have a batch / one job", last(8),
               last(1), "s")


def stopped(environment, uri):
    """Returns the rows: three jobs while a fourth is stopped."""
    found = {}

    def stop_one(trainers, begin):
        time.sleep(max(0.0, begin + STOPPED_SECONDS - time.monotonic()))
        found["from"] = time.monotonic()
        trainers[3].signal(signal.SIGSTOP)
        time.sleep(STOPPED_SECONDS)
        trainers[3].signal(signal.SIGCONT)
        found["to"] = time.monotonic()

    results, begin = together(environment, 4, 2.5 * STOPPED_SECONDS,
                              during=stop_one, uri=uri)
    others = results[:3]
    before = images_between(others, begin + 1, found["from"]) / (
        found["from"] - begin - 1)
    during = images_between(others, found["from"], found["to"]) / (
        found["to"] - found["from"])
    return [row("sharing", "3 jobs while a 4th is stopped / before", during,
                before, "images/s")]


def run():
    """Returns the rows; the first is four jobs against four jobs of torch's."""
    uri = str(photos.make())
    with manifest_of(uri, PACED_EPOCH) as epoch, \
            daemon(ENCODED_ONLY) as server:  # whole batches are shared
        environment = server.environment
        aggregate(environment, 1, uri=uri)  # builds the index and fills the page cache
        rates = {count: aggregate(environment, count, uri=uri)
                 for count in JOBS}
        torch = aggregate(environment, 4, TORCH_SECONDS, uri=uri, workers=2)
        again = aggregate(environment, 1, uri=uri)
        four = aggregate(environment, 4, uri=uri)
        alone = (rates[1] + again) / 2
        rates[4] = (rates[4] + four) / 2
        rows = [row("sharing", "4 jobs / 4 of torch, num_workers=2",
                    rates[4], torch, "images/s")]
        rows += [row("sharing", f"{count} jobs / {count} x one",
                     rates[count], count * alone, "images/s")
                 for count in JOBS[1:]]
        # In a shorter epoch, late jobs would not have met the others when the bench
        # measures.
        with manifest_of(uri, int(APART_EPOCH * alone)) as long_epoch:
            rows += apart(environment, long_epoch, alone)
        capacity = aggregate(environment, 1, uri=uri, dtype="uint8")
        rows += paced(server, epoch, capacity)
        rows += stopped(environment, uri)
        rows.append(first_batches(environment, uri))
    return rows
