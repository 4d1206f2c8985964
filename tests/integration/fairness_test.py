"""Jobs share a real daemon by their weights and caps, even after these are changed."""

import contextlib
import os
import shutil
import subprocess
import sys
import threading
import time

import pytest

from daemons import serving
from trouble import FOREBAYCTL, ctl, until

pytestmark = pytest.mark.alone

# With so little CPU, the daemon needs a second to make the batches that a trainer has
# ready or in flight. Even on a busy machine, the trainer can take them in that time.
CPU_LIMIT = 0.05
BURST = 0.1  # seconds that a burst may exceed a cap by
PHOTOS = 4000  # in a folder that takes a while to read

TRAINER = """
import sys
import forebay
from forebay import transforms as T
with forebay.DataLoader(sys.argv[1], batch_size=32, framework="numpy",
                        sharing="off",
                        transform=T.RandomResizedCrop(224)) as loader:
    while True:
        for batch in loader:
            del batch
"""


@pytest.fixture
def slow_daemon(tmp_path):
    """A daemon with little CPU for decoding."""
    config = tmp_path / "forebayd.toml"
    config.write_text(f'cpu.limit = "{CPU_LIMIT}"\ncpu.workers = 2\n')
    folder = tmp_path / "daemon"
    folder.mkdir()
    with serving(folder, "--config", str(config)) as started:
        yield started


def job_named(daemon, name):
    """Returns the daemon's information about a job, or None if there is no such job."""
    jobs = ctl(daemon, "jobs")["jobs"]
    return next((job for job in jobs if job["name"] == name), None)


def cpu_seconds(daemon, name):
    """Returns the CPU seconds used so far for decoding for a job."""
    job = job_named(daemon, name)
    loaders = job["loaders"] if job else []
    return sum(int(loader["counters"]["cpu_nanos"]) for loader in loaders) / 1e9


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


def cpu_shares(daemon, names, seconds):
    """Waits until the jobs together have used `seconds` more CPU time. Returns the
    share of each."""
    before = [cpu_seconds(daemon, name) for name in names]

    def taken():
        return [cpu_seconds(daemon, name) - begin
                for name, begin in zip(names, before)]

    until(lambda: sum(taken()) >= seconds, "the jobs are decoded for", taken)
    found = taken()
    return [each / sum(found) for each in found]


# Between two epochs, the daemon decodes nothing for a trainer. With few photographs,
# the other trainer would then get far more than its share.
def test_weights_that_are_set_shift_the_shares(slow_daemon, many_photos):
    with training(many_photos, "a"), training(many_photos, "b"):
        for name in "ab":
            until(lambda: cpu_seconds(slow_daemon, name) > 0, "both read")
        cpu_shares(slow_daemon, "ab", 0.05)  # drops what began before both jobs read
        equal = cpu_shares(slow_daemon, "ab", 0.15)
        assert min(equal) > 0.3, equal
        ctl(slow_daemon, "set", "a", "--weight", "9")
        assert job_named(slow_daemon, "a")["weight"] == 9
        cpu_shares(slow_daemon, "ab", 0.05)
        assert cpu_shares(slow_daemon, "ab", 0.15)[0] > 0.75
        ctl(slow_daemon, "set", "a", "--weight", "0.1")
        cpu_shares(slow_daemon, "ab", 0.05)
        assert cpu_shares(slow_daemon, "ab", 0.15)[0] < 0.25


def open_loader(photos, monkeypatch):
    """Opens a loader of this process in the job "capped"."""
    import forebay
    from forebay import transforms as T
    monkeypatch.setenv("FOREBAY_JOB", "capped")
    return forebay.DataLoader(photos, batch_size=8, framework="numpy",
                              transform=T.RandomResizedCrop(64))


def test_a_cap_on_reading_holds(daemon, photos, monkeypatch):
    sizes = [path.stat().st_size for path in photos.rglob("*.jpg")]
    cap = sum(sizes) / 2  # bytes a second
    with open_loader(photos, monkeypatch) as loader:
        ctl(daemon, "set", "capped", "--max-read", f"{cap:.0f}B/s")
        told = job_named(daemon, "capped")["max_read_bytes_per_second"]
        assert told == pytest.approx(cap, abs=1)
        begin = time.monotonic()
        assert sum(len(batch[1]) for batch in loader) == len(sizes)
        seconds = time.monotonic() - begin
        assert sum(sizes) <= cap * (seconds + BURST) + max(sizes)
        ctl(daemon, "set", "capped", "--max-read", "none")
        assert job_named(daemon, "capped")["max_read_bytes_per_second"] == 0
        assert sum(len(batch[1]) for batch in loader) == len(sizes)


def test_a_cap_on_cpu_holds(daemon, photos, monkeypatch):
    cap = 0.05
    with open_loader(photos, monkeypatch) as loader:
        ctl(daemon, "set", "capped", "--max-cpu", str(cap))
        assert job_named(daemon, "capped")["max_cpus"] == cap
        begin, used = time.monotonic(), 0
        while used < 0.25:
            for batch in loader:
                del batch
            used = cpu_seconds(daemon, "capped")
        # Two tasks may have begun before the first one shows how long a task takes.
        assert used <= cap * (time.monotonic() - begin + BURST) + 0.05
        ctl(daemon, "set", "capped", "--max-cpu", "none")
        assert sum(len(batch[1]) for batch in loader) > 0


def test_the_limit_of_the_host_holds(slow_daemon, photos, monkeypatch):
    with open_loader(photos, monkeypatch) as loader:
        begin, used = time.monotonic(), 0
        while used < 0.25:
            for batch in loader:
                del batch
            used = cpu_seconds(slow_daemon, "capped")
        seconds = time.monotonic() - begin
        assert used <= CPU_LIMIT * (seconds + BURST) + 0.05


@pytest.fixture
def many_photos(photos, tmp_path):
    """A folder of so many photographs that reading them takes a while."""
    folder = tmp_path / "many" / "all"
    folder.mkdir(parents=True)
    copies = shutil.copytree(photos, tmp_path / "copies")
    files = sorted(copies.rglob("*.jpg"))
    for number in range(PHOTOS):
        os.link(files[number % len(files)], folder / f"{number:04d}.jpg")
    return folder.parent


@pytest.fixture
def uncached_daemon(tmp_path):
    """A daemon without a cache."""
    config = tmp_path / "forebayd.toml"
    config.write_text('cache.memory = "0"\n')
    folder = tmp_path / "daemon"
    folder.mkdir()
    with serving(folder, "--config", str(config)) as started:
        yield started


@pytest.mark.parametrize("cap", [["--max-cpu", "0.01"],
                                 ["--max-read", "1KB/s"]])
def test_a_cap_on_one_job_holds_up_no_other_of_its_stream(
        uncached_daemon, many_photos, monkeypatch, cap):
    """Without the other loader, the capped job would need at least half an hour for an
    epoch."""
    import forebay
    from forebay import transforms as T

    def equal(job):
        monkeypatch.setenv("FOREBAY_JOB", job)
        return forebay.DataLoader(many_photos, batch_size=8, shuffle=True,
                                  seed=3, framework="numpy",
                                  transform=T.RandomResizedCrop(224))

    def held_up():
        queues = job_named(uncached_daemon, "capped")["loaders"][0]["queues"]
        return queues["reads_in_flight"] or queues["samples_to_decode"]

    def read():
        for number, batch in enumerate(free):
            seen.append(len(batch[1]))
            if number == 100:
                next(behind)

    with equal("capped") as capped, equal("free") as free:
        ctl(uncached_daemon, "set", "capped", *cap)
        for _ in range(3):
            seen = []
            # The capped loader begins first, and then falls behind.
            behind = iter(capped)
            until(held_up, "it has something in the making")
            reader = threading.Thread(target=read, daemon=True)
            reader.start()
            until(lambda: sum(seen) == PHOTOS, "the free one reads on",
                  lambda: sum(seen))
            reader.join()


@pytest.mark.parametrize("arguments, why", [
    (["--max-read", "fast"], '"fast" is not a rate'),
    (["--max-read", "200"], '"200" is not a rate'),
    (["--max-cpu", "all"], '"all" is not a number of CPUs'),
    (["--max-cpu", "0"], '"0" is not from 0.01 to 1024 CPUs'),
])
def test_a_cap_that_makes_no_sense_is_refused(daemon, arguments, why):
    done = subprocess.run([FOREBAYCTL, "set", "a", *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert why in done.stderr.decode()
