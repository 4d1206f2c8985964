"""Measures Forebay beside DALI, FFCV, tf.data, litdata, SPDL, TensorSocket and torch.

Jobs read the same photographs, one, two or four jobs at once, and make float32 crops of
them. The bench measures for each loader: the images per second of all jobs together,
the CPU time of an image, and the memory of all processes, servers included. Some
loaders read files in a format of their own, which the bench writes first.

The bench runs only when it is named. It makes an environment of about 3 GiB in
.cache/peers from the list in tools/peers.txt, and files in .cache/peers-data.
$FOREBAY_BENCH_PHOTOS is the number of photographs. $FOREBAY_BENCH_PEERS selects the
loaders to measure: parts of their names, separated by commas.
"""

import contextlib
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

import photos
from figures import CORES, row
from peers import costs, environment, forms

JOBS = (1, 2, 4)
BATCH = 64
SECONDS = 10.0  # the least time to measure; a longer epoch is measured as a whole
LEAD, SETTLE = 0.5, 1.0
PATIENCE = 600.0  # after which a trainer counts as hanging
MIB = 1 << 20


@dataclasses.dataclass(frozen=True)
class Found:
    """The figures of one loader with a given number of jobs."""
    rate: float  # images per second of all jobs together
    cpu: float  # milliseconds per image
    memory: float  # MiB of all processes


class _Trainer:
    """A process that runs peers/train.py."""

    def __init__(self, python, variables, options):
        self._errors = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            [python, str(forms.FOLDER / "train.py"), json.dumps(options)],
            env=dict(variables, FOREBAY_JOB=f"job-{options['job']}"),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
            start_new_session=True, universal_newlines=True)
        self.session = self._process.pid

    def wait_ready(self):
        """Returns the seconds that the trainer's first epoch took."""
        for line in self._process.stdout:
            if line.startswith("ready "):
                return float(line.split()[1])
        raise RuntimeError(self._complaint())

    def agree(self, begin, end):
        """Tells the trainer when to read, in seconds of time.monotonic()."""
        self._process.stdin.write(json.dumps({"begin": begin, "end": end}) + "\n")
        self._process.stdin.flush()

    def taken(self):
        """Returns pairs: a time, and the number of images taken at that time."""
        for line in self._process.stdout:
            if line.startswith('{"taken"'):
                return json.loads(line)["taken"]
        raise RuntimeError(self._complaint())

    def end(self):
        """Ends the process and all processes that it started."""
        forms.end(self._process)
        for file in (self._process.stdin, self._process.stdout, self._errors):
            with contextlib.suppress(BrokenPipeError):
                file.close()

    def _complaint(self):
        self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().strip().splitlines()
        return lines[-1] if lines else "a trainer ended without a word"


@contextlib.contextmanager
def _impatient(trainers):
    """Kills trainers that hang."""
    def give_up(*_):
        raise RuntimeError(f"no answer within {PATIENCE:.0f} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(int(PATIENCE))
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        for trainer in trainers:
            trainer.end()


def _measure(form, uri, jobs, converted):
    """Runs `jobs` trainers at once, and returns their Found."""
    with forms.served(form, uri, BATCH) as (variables, shared, sessions):
        trainers = []
        with _impatient(trainers):
            for job in range(jobs):
                trainers.append(_Trainer(
                    forms.DEBIAN if form.daemon is not None else
                    str(environment.PYTHON), variables,
                    dict(shared, kind=form.kind, uri=uri, batch_size=BATCH,
                         threads=CORES, job=job,
                         seed=job if form.own_seeds else 0,
                         converted=str(converted.path) if converted else None)))
            seconds = max(SECONDS, *[one.wait_ready() for one in trainers])
            sessions = sessions | {one.session for one in trainers}
            return _watch(trainers, sessions, seconds)


def _watch(trainers, sessions, seconds):
    begin = time.monotonic() + LEAD
    first = begin + SETTLE
    last = first + seconds
    for trainer in trainers:
        trainer.agree(begin, last + SETTLE)
    cpu, memory = [], []
    for moment in (first, (first + last) / 2, last):
        time.sleep(max(0.0, moment - time.monotonic()))
        cpu.append(costs.cpu_seconds(sessions))
        memory.append(costs.memory_bytes(sessions))
    images = sum(count for trainer in trainers for at, count in trainer.taken()
                 if first <= at < last)
    if not images:
        raise RuntimeError("no batch came")
    return Found(images / seconds, (cpu[-1] - cpu[0]) / images * 1e3,
                 max(memory) / MIB)


def _measure_all(form, uri):
    """Returns (Found by number of jobs, Conversion), or a text that says why there is
    none."""
    try:
        converted = forms.convert(form, uri)
    except (OSError, RuntimeError) as error:
        return {}, None, f"its file cannot be written: {error}"
    found = {}
    try:
        for jobs in JOBS:
            found[jobs] = _measure(form, uri, jobs, converted)
            print(f"  {form.name}, {jobs}: {found[jobs].rate:,.0f} images/s, "
                  f"{found[jobs].cpu:.3f} ms, {found[jobs].memory:,.0f} MiB",
                  flush=True)
    except (OSError, RuntimeError) as error:
        return found, converted, str(error)
    return found, converted, None


def _jobs(number):
    return "1 job" if number == 1 else f"{number} jobs"


_lines = []  # lines of the table, filled when the bench has run


def table():
    """Returns the table of RESULTS.md, after run() has returned."""
    return "\n".join(_lines)


def _fill_table(measured, versions):
    """Fills and prints the table, and then prints which peers were stopped."""
    _lines[:] = ["| | version | " + " | ".join(
        f"images/s, {_jobs(jobs)}" for jobs in JOBS) +
        f" | CPU of an image, 1 and {JOBS[-1]} | memory, 1 and {JOBS[-1]} "
        "| its own file |", "|---" * (5 + len(JOBS)) + "|"]
    for form, (found, converted, reason) in measured.items():
        version = ", ".join(f"{name} {versions.get(name, '?')}"
                            for name in form.packages)
        rates = " | ".join(f"{found[jobs].rate:,.0f}" if jobs in found else "-"
                           for jobs in JOBS)
        ends = [found[jobs] for jobs in (JOBS[0], JOBS[-1]) if jobs in found]
        made = (f"{converted.bytes / MIB:,.0f} MiB, {converted.seconds:.0f} s"
                if converted else "")
        _lines.append(
            f"| {form.name} | {version} | {rates} | "
            f"{', '.join(f'{one.cpu:.2f}' for one in ends)} ms | "
            f"{', '.join(f'{one.memory:,.0f}' for one in ends)} MiB | {made} |")
    print(table())
    for form, (found, _, reason) in measured.items():
        if reason:
            print(f"  {form.name}: {'stopped' if found else 'not run'}: {reason}")


def _rows(measured):
    """Returns the rows: four jobs / four jobs of the best peer, then all / each
    peer."""
    of = {form: found for form, (found, _, _) in measured.items()}
    ours = of[forms.FOREBAY]
    rivals = {form: found for form, found in of.items()
              if form.daemon is None and found}
    rows = []
    most = JOBS[-1]
    best = max((form for form in rivals if most in rivals[form]),
               key=lambda form: rivals[form][most].rate, default=None)
    if best is not None:
        rows.append(row("peers", f"{_jobs(most)} / the best peer: {best.name}",
                        ours[most].rate, rivals[best][most].rate, "images/s"))
    others = {form: found for form, found in of.items()
              if form is not forms.FOREBAY}
    for form, found in others.items():
        for jobs, theirs in found.items():
            mine, what = ours[jobs], f"{_jobs(jobs)} / {form.name}"
            rows += [
                row("peers", what, mine.rate, theirs.rate, "images/s"),
                row("peers", f"{what}: CPU of an image", mine.cpu, theirs.cpu, "ms"),
                row("peers", f"{what}: memory", mine.memory, theirs.memory, "MiB")]
    return rows


def _chosen():
    """Returns the forms to be measured, the first of Forebay's always among them."""
    words = [word.strip() for word in
             os.environ.get("FOREBAY_BENCH_PEERS", "").lower().split(",")]
    return [form for form in forms.OURS + forms.PEERS
            if form is forms.FOREBAY or
            any(word in form.name.lower() for word in words)]


def run():
    """Returns the rows; the first is four jobs against four jobs of the best peer."""
    count = int(os.environ.get("FOREBAY_BENCH_PHOTOS", photos.DEFAULT_COUNT))
    uri = str(photos.make(count))
    no_ffcv = environment.make()
    measured = {}
    for form in _chosen():
        if form.kind == "ffcv" and no_ffcv:
            measured[form] = {}, None, no_ffcv.splitlines()[-1]
        else:
            measured[form] = _measure_all(form, uri)
    shutil.rmtree(forms.CONVERTED, ignore_errors=True)
    _fill_table(measured, environment.versions())
    return _rows(measured)
