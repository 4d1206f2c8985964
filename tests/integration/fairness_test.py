"""Jobs share a real daemon as their weights and caps say, and as it is told."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time

import pytest

from daemons import serving

ROOT = pathlib.Path(__file__).resolve().parents[2]
CTL = os.environ.get("FOREBAY_CTL",
                     str(ROOT / "bazel-bin/tools/forebayctl/forebayctl"))
PATIENCE = 150  # seconds until a wait counts as a hang
# So little that not even a busy machine keeps the trainers from taking it.
CPU_LIMIT = 0.1
BURST = 0.1  # seconds' worth of a cap

TRAINER = """
import sys
import forebay
from forebay import transforms as T
with forebay.DataLoader(sys.argv[1], batch_size=16, framework="numpy",
                        transform=T.RandomResizedCrop(64)) as loader:
    while True:
        for batch in loader:
            del batch
"""


@pytest.fixture
def slow_daemon(tmp_path):
    """A daemon that decodes slowly."""
    config = tmp_path / "forebayd.toml"
    config.write_text(f'cpu.limit = "{CPU_LIMIT}"\ncpu.workers = 2\n')
    folder = tmp_path / "daemon"
    folder.mkdir()
    with serving(folder, "--config", str(config)) as started:
        yield started


def ctl(*arguments):
    """Runs forebayctl against the daemon of the environment; its output."""
    return subprocess.run([CTL, *arguments], check=True, timeout=PATIENCE,
                          stdout=subprocess.PIPE).stdout


def job_named(name):
    """What the daemon tells of a job; None if it knows none of that name."""
    jobs = json.loads(ctl("--json", "jobs"))["jobs"]
    return next((job for job in jobs if job["name"] == name), None)


def counter(name, key):
    """The sum of a job's loaders' counters."""
    job = job_named(name)
    loaders = job["loaders"] if job else []
    return sum(int(loader["counters"][key]) for loader in loaders)


@contextlib.contextmanager
def training(photos, name):
    """A trainer process that takes batches all the time."""
    process = subprocess.Popen([sys.executable, "-c", TRAINER, str(photos)],
                               env=dict(os.environ, FOREBAY_JOB=name))
    try:
        yield
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def await_decoding(name):
    """Returns once the daemon decodes for the job."""
    end = time.monotonic() + PATIENCE
    while counter(name, "cpu_nanos") == 0:
        assert time.monotonic() < end, f"nothing is decoded for {name}"
        time.sleep(0.05)


def cpu_shares(names, seconds):
    """What each takes of so much CPU time of the daemon, from now on."""
    before = [counter(name, "cpu_nanos") for name in names]
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        taken = [counter(name, "cpu_nanos") - begin
                 for name, begin in zip(names, before)]
        if sum(taken) >= seconds * 1e9:
            return [each / sum(taken) for each in taken]
        time.sleep(0.05)
    raise AssertionError(f"nothing is decoded any more: {taken}")


def test_weights_that_are_set_shift_the_shares(slow_daemon, photos):
    with training(photos, "a"), training(photos, "b"):
        await_decoding("a")
        await_decoding("b")
        cpu_shares("ab", 0.05)  # what was begun before both were there
        equal = cpu_shares("ab", 0.25)
        assert min(equal) > 0.3, equal
        ctl("set", "a", "--weight", "9")
        assert job_named("a")["weight"] == 9
        cpu_shares("ab", 0.05)
        assert cpu_shares("ab", 0.25)[0] > 0.7
        ctl("set", "a", "--weight", "0.1")
        cpu_shares("ab", 0.05)
        assert cpu_shares("ab", 0.25)[0] < 0.3


def open_loader(photos, monkeypatch):
    """A loader of this process, whose job is called "capped"."""
    import forebay
    from forebay import transforms as T
    monkeypatch.setenv("FOREBAY_JOB", "capped")
    return forebay.DataLoader(photos, batch_size=8, framework="numpy",
                              transform=T.RandomResizedCrop(64))


def test_a_cap_on_reading_holds(daemon, photos, monkeypatch):
    sizes = [path.stat().st_size for path in photos.rglob("*.jpg")]
    cap = sum(sizes) / 2  # bytes a second
    with open_loader(photos, monkeypatch) as loader:
        ctl("set", "capped", "--max-read", f"{cap:.0f}B/s")
        told = job_named("capped")["max_read_bytes_per_second"]
        assert told == pytest.approx(cap, abs=1)
        begin = time.monotonic()
        assert sum(len(batch[1]) for batch in loader) == len(sizes)
        seconds = time.monotonic() - begin
        assert sum(sizes) <= cap * (seconds + BURST) + max(sizes)
        ctl("set", "capped", "--max-read", "none")
        assert job_named("capped")["max_read_bytes_per_second"] == 0
        assert sum(len(batch[1]) for batch in loader) == len(sizes)


def test_a_cap_on_cpu_holds(daemon, photos, monkeypatch):
    cap = 0.05
    with open_loader(photos, monkeypatch) as loader:
        ctl("set", "capped", "--max-cpu", str(cap))
        assert job_named("capped")["max_cpus"] == cap
        begin, used = time.monotonic(), 0
        while used < 0.25:
            for batch in loader:
                del batch
            used = counter("capped", "cpu_nanos") / 1e9
        # Two tasks may have begun before one could tell what it takes.
        assert used <= cap * (time.monotonic() - begin + BURST) + 0.05
        ctl("set", "capped", "--max-cpu", "none")
        assert sum(len(batch[1]) for batch in loader) > 0


def test_the_limit_of_the_host_holds(slow_daemon, photos, monkeypatch):
    with open_loader(photos, monkeypatch) as loader:
        begin, used = time.monotonic(), 0
        while used < 0.25:
            for batch in loader:
                del batch
            used = counter("capped", "cpu_nanos") / 1e9
        seconds = time.monotonic() - begin
        assert used <= CPU_LIMIT * (seconds + BURST) + 0.05


@pytest.mark.parametrize("arguments, why", [
    (["--max-read", "fast"], '"fast" is no rate'),
    (["--max-read", "200"], '"200" is no rate'),
    (["--max-cpu", "all"], '"all" is no number of CPUs'),
    (["--max-cpu", "0"], '"0" is not from 0.01 to 1024 CPUs'),
])
def test_a_cap_that_makes_no_sense_is_refused(daemon, arguments, why):
    done = subprocess.run([CTL, "set", "a", *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert why in done.stderr.decode()
