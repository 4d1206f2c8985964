"""Iterables that one process iterates for all jobs."""

import collections
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading

import numpy
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

import forebay
from forebay._stage import share_key
from trouble import pause

Pair = collections.namedtuple("Pair", ["image", "names"])


def keyed(test=[0]):
    """Returns another key at each call."""
    test[0] += 1
    return f"{os.getpid()}-{test[0]}"


def iterator_processes(folder):
    """Returns the processes that iterate, which write to a log in the daemon's
    folder."""
    found = []
    for process in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if process.name.isdigit() and os.readlink(
                    process / "fd" / "1").startswith(f"{folder}/share-"):
                found.append(int(process.name))
    return found


@pytest.fixture(autouse=True)
def own_daemon(daemon, monkeypatch):
    """A daemon for this test alone, and the environment by which jobs find it."""
    monkeypatch.setenv("FOREBAY_RUNTIME_DIR", str(daemon.runtime_dir))
    yield daemon
    for pid in iterator_processes(daemon.runtime_dir):
        os.kill(pid, signal.SIGKILL)


def counting(size, made=None):
    """Yields batches of numbers. Each batch adds a byte to a file."""
    for number in range(size):
        if made is not None:
            with open(made, "ab") as file:
                file.write(b".")
        yield torch.full((4, 3000), number), number


JOB = """
    import json, sys
    import torch
    import forebay
    sys.path.insert(0, {tests!r})
    from share_test import counting
    from trouble import pause

    key, made, size, stop, sharing, seconds = json.loads(sys.argv[1])
    shared = forebay.share(lambda: counting(size, made), key=key, sharing=sharing)
    for batch, number in shared:
        assert (batch == number).all()
        print(number, flush=True)
        if number == stop:
            sys.stdin.readline()
        pause(seconds)
    print(json.dumps(shared.stats()), flush=True)
"""


class Job:
    """A trainer in a process of its own, which prints the batches that it gets."""

    def __init__(self, folder, key, size, made=None, stop=-1, sharing="elastic",
                 seconds=0.0):
        script = folder / "job.py"
        script.write_text(textwrap.dedent(JOB.format(
            tests=os.path.dirname(__file__))))
        self.process = subprocess.Popen(
            [sys.executable, "-B", str(script), json.dumps(
                [key, made and str(made), size, stop, sharing, seconds])],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def read(self):
        """Reads a line, which is a number, or the stats at the end."""
        return json.loads(self.process.stdout.readline())

    def rest(self):
        """Returns the numbers that are left, and the stats."""
        self.process.stdin.close()
        lines = [json.loads(line) for line in self.process.stdout]
        assert self.process.wait() == 0
        return lines[:-1], lines[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def numbers_of(shared):
    return [number for _, number in shared]


def test_gives_what_the_iterable_gives_again_and_again():
    with forebay.share(lambda: counting(30), key=keyed()) as shared:
        for _ in range(3):
            assert numbers_of(shared) == list(range(30))
        assert shared.stats()["batches_delivered"] == 90
        assert shared.stats()["batches_missed"] == 0


@pytest.mark.parametrize("source, expected", [
    ([1, 2, 3], [1, 2, 3]), ([], []), (lambda: [5], [5]), (lambda: iter(()), []),
    ({"a": 1}, ["a"])])
def test_takes_iterables_and_functions(source, expected):
    with forebay.share(source, key=keyed()) as shared:
        assert list(shared) == expected
        assert list(shared) == expected
        if hasattr(source, "__len__"):
            assert len(shared) == len(expected)


def test_an_iterator_is_iterated_once():
    with forebay.share(counting(5), key=keyed()) as shared:
        assert numbers_of(shared) == list(range(5))
        assert numbers_of(shared) == []


def test_batches_have_any_structure():
    made = [{"text": "x" * number, "parts": [numpy.arange(3000) * number, None],
             "pair": Pair(torch.ones(50, 40)[:, ::2] * number, ("a", number))}
            for number in range(6)]
    with forebay.share(lambda: made, key=keyed()) as shared:
        for number, batch in enumerate(shared):
            expected = made[number]
            assert batch["text"] == expected["text"]
            assert (batch["parts"][0] == expected["parts"][0]).all()
            assert isinstance(batch["pair"], Pair)
            assert torch.equal(batch["pair"].image, expected["pair"].image)
            batch["parts"][0] += 1  # the batch is this job's own copy


def test_each_iteration_calls_iter_once(tmp_path):
    class Counted:
        def __iter__(self):
            with open(tmp_path / "begun", "ab") as file:
                file.write(b".")
            return iter([1, 2])

    with forebay.share(Counted(), key=keyed()) as shared:
        for _ in range(3):
            assert list(shared) == [1, 2]
    assert os.path.getsize(tmp_path / "begun") == 3


class Squares(Dataset):

    def __len__(self):
        return 64

    def __getitem__(self, number):
        return torch.full((3, 32, 32), number * number), os.getpid()


def test_a_dataloader_with_workers_of_its_own():
    loader = DataLoader(Squares(), batch_size=8, num_workers=2)
    with forebay.share(loader, key=keyed()) as shared:
        assert len(shared) == 8
        for _ in range(2):
            batches = list(shared)
            images = torch.cat([images[:, 0, 0, 0] for images, _ in batches])
            assert images.tolist() == [number ** 2 for number in range(64)]
            makers = {int(pid) for _, pids in batches for pid in pids}
            assert len(makers) == 2 and os.getpid() not in makers


def test_jobs_join_where_the_others_are(tmp_path):
    made, key = tmp_path / "made", keyed()
    with Job(tmp_path, key, 40, made, stop=20) as first:
        assert [first.read() for _ in range(21)] == list(range(21))
        with Job(tmp_path, key, 40, made, stop=39) as second:
            joined = second.read()
            assert 20 < joined < 40
            numbers, stats = first.rest()
            found, others = second.rest()
    assert numbers == list(range(21, 40)) and stats["batches_missed"] == 0
    assert [joined, *found] == list(range(joined, 40))
    assert others["batches_missed"] == 0
    assert os.path.getsize(made) == 40


def test_keys_keep_apart(tmp_path):
    with forebay.share([1, 2], key=keyed()) as one:
        with forebay.share([3, 4], key=keyed()) as other:
            assert list(one) == [1, 2] and list(other) == [3, 4]
        with forebay.share([5], key=keyed()) as third:
            assert list(third) == [5]


def test_versions_of_the_package_keep_apart(monkeypatch):
    key = keyed()
    with forebay.share([1, 2], key=key) as one:
        assert list(one) == [1, 2]
        monkeypatch.setattr(share_key, "VERSION", "0.0.1")
        with forebay.share([3], key=key) as other:
            assert list(other) == [3]


def test_batches_may_grow():
    def growing():
        for number in range(12):
            yield numpy.full(1000 * 3 ** number, number, numpy.uint8)

    with forebay.share(growing, key=keyed()) as shared:
        for _ in range(2):
            sizes = []
            for number, batch in enumerate(shared):
                assert (batch == number).all()
                sizes.append(len(batch))
            assert sizes == [1000 * 3 ** number for number in range(12)]


class Broken(ValueError):
    pass


def test_exceptions_keep_their_type():
    def breaks():
        yield 1
        raise Broken("here")

    with forebay.share(breaks, key=keyed()) as shared:
        batches = iter(shared)
        assert next(batches) == 1
        with pytest.raises(Broken, match="(?s)process that iterates .*here"):
            next(batches)
        assert list(batches) == []
        assert next(iter(shared)) == 1


def test_what_cannot_be_made_or_pickled_is_said():
    with forebay.share(lambda: 1 / 0, key=keyed()) as shared:
        with pytest.raises(ZeroDivisionError):
            next(iter(shared))
    with forebay.share(lambda: iter([lambda: 0, 7]), key=keyed()) as shared:
        batches = iter(shared)
        with pytest.raises(Exception, match="pickle"):
            next(batches)
        assert next(batches) == 7


@pytest.mark.parametrize("arguments, why", [
    (dict(iterable=3), "an iterable or a function"), (dict(key=""), "key"),
    (dict(key=3), "key"), (dict(timeout=-1), "timeout"),
    (dict(sharing="some"), "sharing"), (dict(depth=99), "depth")])
def test_wrong_arguments(arguments, why):
    with pytest.raises((forebay.InvalidArgument, ValueError), match=why):
        shared = forebay.share(**{"iterable": [1], "key": "k", **arguments})
        next(iter(shared))


def test_no_job_waits_for_one_that_is_stopped(tmp_path):
    key = keyed()
    with Job(tmp_path, key, 400, seconds=0.002, stop=399) as first:
        first.read()
        with Job(tmp_path, key, 400) as second:
            joined = second.read()
            second.process.send_signal(signal.SIGSTOP)
            numbers, stats = first.rest()
            assert numbers[-1] == 399 and stats["batches_missed"] == 0
            second.process.send_signal(signal.SIGCONT)
            found, others = second.rest()
    assert joined + 1 + len(found) + others["batches_missed"] == 400
    assert found == sorted(set(found))


@pytest.mark.parametrize("later", [0, 1, 2])
def test_all_that_a_job_misses_is_counted(later):
    key = keyed()
    with forebay.share(lambda: counting(100), key=key) as ahead, \
            forebay.share(lambda: counting(100), key=key) as behind:
        first, second = iter(ahead), iter(behind)
        next(first)
        joined = next(second)[1]
        list(first)
        for _ in range(later):
            assert numbers_of(ahead) == list(range(100))
        had = 1 + len(list(second))
        if later:  # it has joined a later iteration
            had += len(numbers_of(behind))
        missed = behind.stats()["batches_missed"]
        assert 0 < missed == 100 * (1 + later) - joined - had
        assert ahead.stats()["batches_missed"] == 0


def test_in_lockstep_none_misses_any(tmp_path):
    key = keyed()
    with Job(tmp_path, key, 120, sharing="lockstep", stop=0) as first:
        assert first.read() == 0
        with Job(tmp_path, key, 120, sharing="lockstep", seconds=0.01) as second:
            joined = second.read()
            numbers, stats = first.rest()
            found, others = second.rest()
    assert numbers == list(range(1, 120)) and stats["batches_missed"] == 0
    assert [joined, *found] == list(range(joined, 120))
    assert others["batches_missed"] == 0


@pytest.mark.parametrize("keeps", [False, True], ids=["dropped", "kept"])
def test_in_lockstep_none_misses_any_after_a_break(keeps):
    key = keyed()
    with forebay.share(lambda: counting(200), key=key, sharing="lockstep") as goes_on, \
            forebay.share(lambda: counting(200), key=key, sharing="lockstep") as breaks:
        batches = iter(breaks)
        had = [next(batches)[1] for _ in range(20)]
        if not keeps:
            del batches
        others = []
        reads = threading.Thread(target=lambda: others.extend(numbers_of(goes_on)))
        reads.start()
        pause(0.5)  # stands for a validation
        had += numbers_of(breaks)
        reads.join()
        assert had == list(range(200))
        assert others == list(range(others[0], 200))
        for shared in (goes_on, breaks):
            assert shared.stats()["batches_missed"] == 0


def test_breaks_go_on_where_the_others_are():
    with forebay.share(lambda: counting(50), key=keyed()) as shared:
        for _, number in shared:
            if number == 20:
                break
        assert numbers_of(shared) == list(range(21, 50))
        assert numbers_of(shared) == list(range(50))


def test_a_forked_child_joins_by_itself():
    with forebay.share(lambda: counting(50), key=keyed()) as shared:
        batches = iter(shared)
        next(batches)
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                status = 0 if numbers_of(shared)[-1] == 49 else 1
            finally:
                os._exit(status)
        assert os.waitpid(pid, 0)[1] == 0
        assert [number for _, number in batches][-1] == 49
