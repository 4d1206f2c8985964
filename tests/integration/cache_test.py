"""The bytes that the daemon caches, their memory, and changed files."""

import os
import shutil
import signal

import numpy
import pytest

import forebay
from daemons import serving
from trouble import (contents, ctl, expect_line, memory_used, open_loader,
                     read_epochs, run_until_error, trainer, until)

SAMPLES = 48
CHANGED = "city/003.jpg"
CHANGED_ID = 19
# Reads an epoch when told to, each time in another order.
TRAINER = """
folder, seed = sys.argv[1], int(sys.argv[2])
with open_loader(folder, shuffle=True, seed=seed) as loader:
    print("ready", flush=True)
    while sys.stdin.readline():
        assert sorted(contents(loader)[1]) == list(range(48))
        print("read", flush=True)
"""
# Ends in mid-epoch, while it holds batches and other batches are in flight.
VICTIM = """
loader = open_loader(sys.argv[1], shuffle=True, depth=1)
batches = iter(loader)
held = [next(batches), next(batches)]
print("holds", flush=True)
sys.stdin.readline()
"""


def configured(folder, text):
    path = folder / "forebayd.toml"
    path.write_text(text)
    return ["--config", str(path)]


@pytest.fixture(params=["off", "auto"])
def daemon(request, tmp_path):
    """A daemon with room for the whole dataset, with each of the two ways to read local
    files."""
    config = configured(tmp_path, "cache.memory = '16MiB'\n"
                        f"storage.io_uring = '{request.param}'\n")
    with serving(tmp_path, *config) as started:
        yield started


@pytest.fixture
def folder(tmp_path, photos):
    """A dataset that a test may change."""
    return shutil.copytree(photos, tmp_path / "data")


def size_of(folder):
    return sum(path.stat().st_size for path in folder.rglob("*.jpg"))


def tally(traffic, tier):
    """Returns the number of reads and of bytes of a tier."""
    return int(traffic[tier]["reads"]), int(traffic[tier]["bytes"])


def test_two_jobs_read_every_byte_once(daemon, photos):
    with trainer(TRAINER, photos, 1, FOREBAY_JOB="one") as one, \
            trainer(TRAINER, photos, 2, FOREBAY_JOB="two") as two:
        expect_line(one, "ready")
        expect_line(two, "ready")
        for _ in range(3):
            read_epochs(one, two)
        cache = ctl(daemon, "cache")
        jobs = ctl(daemon, "jobs")["jobs"]
    every_byte = SAMPLES, size_of(photos)
    assert tally(cache["total"], "source") == every_byte
    assert int(cache["entries"]) - int(cache["decoded"]["entries"]) == SAMPLES
    assert cache["failures"] == "0" and tally(cache, "evicted") == (0, 0)
    # Each read of a job is counted once, in the tier that served it.
    assert [job["key"] for job in cache["jobs"]] == ["one", "two"]
    for job, listed in zip(cache["jobs"], jobs):
        parts = [tally(job["traffic"], tier)
                 for tier in ("memory", "shared", "disk", "source")]
        assert sum(reads for reads, _ in parts) == 3 * SAMPLES
        assert sum(size for _, size in parts) == 3 * every_byte[1]
        assert parts[2] == (0, 0)
        assert int(job["bytes_saved"]) == parts[0][1] + parts[1][1]
        assert listed["traffic"] == job["traffic"]
    assert int(cache["bytes_saved"]) == 5 * every_byte[1]


def test_who_comes_later_reads_nothing(daemon, photos):
    with open_loader(photos) as loader:
        first, _ = contents(loader)
    until(lambda: not ctl(daemon, "cache")["jobs"], "the first job has left")
    with open_loader(photos) as loader:
        second, _ = contents(loader)
    numpy.testing.assert_array_equal(first, second)
    assert tally(ctl(daemon, "cache")["total"], "source")[0] == SAMPLES


def overwrite(path):
    """Overwrites a file in place by other bytes of the same length."""
    path.write_bytes(path.read_bytes()[:-2] + b"\xff\xd8")


def replace(path):
    other = path.with_name("replacement")
    other.write_bytes(path.with_name("000.jpg").read_bytes())
    os.replace(other, path)


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize("change,error,reason", [
    (overwrite, forebay.StateError, "was replaced or changed"),
    (replace, forebay.StateError, "was replaced or changed"),
    (os.unlink, forebay.NotFound, "no such file"),
])
def test_what_changed_is_not_served_from_memory(folder, change, error, reason):
    with open_loader(folder) as loader:
        assert contents(loader)[1] == list(range(SAMPLES))
        change(folder / CHANGED)
        text, before = run_until_error(loader, error)
    assert text.startswith(f"sample {CHANGED_ID} of {folder}: {CHANGED}: ")
    assert reason in text
    assert before == list(range(CHANGED_ID // 4 * 4))


def test_a_replaced_file_is_read_anew(daemon, folder):
    with open_loader(folder) as loader:
        before, _ = contents(loader)
    replace(folder / CHANGED)
    with open_loader(folder) as loader:
        after, ids = contents(loader)
    assert ids == list(range(SAMPLES))
    numpy.testing.assert_array_equal(after[CHANGED_ID], before[16])
    # The cache still has all files but the new one.
    assert tally(ctl(daemon, "cache")["total"], "source")[0] == SAMPLES + 1


def test_failed_reads_are_not_kept(daemon, folder):
    path, aside = folder / CHANGED, folder.parent / "aside.jpg"
    with open_loader(folder) as loader:
        path.rename(aside)
        run_until_error(loader, forebay.NotFound)
        aside.rename(path)
        assert contents(loader)[1] == list(range(SAMPLES))
        assert contents(loader)[1] == list(range(SAMPLES))
    cache = ctl(daemon, "cache")
    assert int(cache["failures"]) >= 1
    assert tally(cache["total"], "source") == (SAMPLES, size_of(folder))


def test_nothing_is_kept_where_that_is_off(tmp_path, photos):
    config = configured(tmp_path, "cache.memory = '0'\n")
    with serving(tmp_path, *config) as daemon, open_loader(photos) as loader:
        for _ in range(2):
            contents(loader)
        cache = ctl(daemon, "cache")
        assert int(cache["capacity"]) == int(cache["entries"]) == 0
        assert tally(cache["total"], "source") == (
            2 * SAMPLES, 2 * size_of(photos))
        assert tally(cache, "bypassed") == tally(cache["total"], "source")


def test_memory_stays_within_its_bounds(tmp_path, photos):
    """The cache has room for less than half of the bytes that three jobs
    read."""
    limit, capacity = 200 << 20, 128 << 10
    config = configured(tmp_path, "memory.limit = '200MiB'\n"
                        "cache.memory = '128KiB'\n")
    with serving(tmp_path, *config) as daemon:
        idle = memory_used(daemon)
        with trainer(TRAINER, photos, 1, FOREBAY_JOB="one") as one, \
                trainer(TRAINER, photos, 2, FOREBAY_JOB="two") as two, \
                trainer(TRAINER, photos, 3, FOREBAY_JOB="three") as three:
            trainers = one, two, three
            for process in trainers:
                expect_line(process, "ready")
                process.stdin.write(b"go\n" * 10)
                process.stdin.flush()
            for process in trainers:
                for _ in range(10):
                    cache = ctl(daemon, "cache")
                    assert int(cache["used"]) <= capacity
                    assert memory_used(daemon) <= limit
                    expect_line(process, "read")
            cache = ctl(daemon, "cache")
        assert int(cache["capacity"]) == capacity
        assert 0 < int(cache["entries"]) < SAMPLES // 2
        assert tally(cache, "evicted")[0] > 0
        assert tally(cache["total"], "memory")[0] > 0
        until(lambda: memory_used(daemon) == idle, "all else is given back")


def test_a_cache_that_does_not_fit_is_named(tmp_path):
    config = configured(tmp_path, "memory.limit = '200MiB'\n"
                        "cache.memory = '200MiB'\n")
    with pytest.raises(AssertionError) as caught:
        with serving(tmp_path, *config):
            pass
    assert ("no memory for the cache (cache.memory): it needs 200 MiB"
            in str(caught.value))
    assert "(memory.limit)" in str(caught.value)


def test_a_killed_trainer_leaves_nothing_in_use(daemon, photos):
    with trainer(VICTIM, photos) as victim:
        expect_line(victim, "holds")
        victim.send_signal(signal.SIGKILL)
        victim.wait()

        def left():
            cache = ctl(daemon, "cache")
            return (not cache["jobs"] and cache["reads_in_flight"] == "0" and
                    cache["used"] == cache["entry_bytes"])

        until(left, "nothing is read or held any more",
              lambda: str(ctl(daemon, "cache")))
    with open_loader(photos) as loader:
        assert contents(loader)[1] == list(range(SAMPLES))
    assert tally(ctl(daemon, "cache")["total"], "source")[0] == SAMPLES
