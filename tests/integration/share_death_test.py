"""Iterables that one process iterates for all jobs, while that process, jobs or daemons
are killed."""

import itertools
import os
import queue
import random
import signal
import threading

import pytest

import forebay
from forebay._share import idleness
from share_test import (Job, Squares, counting, keyed, own_daemon,  # noqa: F401
                        iterator_processes)
from torch.utils.data import DataLoader
from trouble import pause, until


@pytest.fixture
def short_linger(monkeypatch):
    """Makes processes that iterate end soon when no job reads."""
    monkeypatch.setattr(idleness, "_LINGER_SECONDS", 0.5)
    monkeypatch.setattr(idleness, "HANG_SECONDS", 0.5)


def kill_iterator_processes(daemon):
    for pid in iterator_processes(daemon.runtime_dir):
        os.kill(pid, signal.SIGKILL)


def test_the_process_outlives_the_job_that_started_it(tmp_path):
    made, key = tmp_path / "made", keyed()
    with Job(tmp_path, key, 200, made, stop=0) as first:
        # Reads just one, so that this job does not end before the other begins.
        first.read()
        with Job(tmp_path, key, 200, made, seconds=0.01) as second:
            joined = second.read()
            first.process.kill()
            numbers, stats = second.rest()
    assert [joined, *numbers] == list(range(joined, 200))
    assert os.path.getsize(made) == 200


def test_another_takes_over_where_it_is_killed(daemon, tmp_path):
    made, key = tmp_path / "made", keyed()
    with forebay.share(lambda: counting(40, made), key=key) as shared:
        numbers = []
        for _, number in shared:
            numbers.append(number)
            if number in (10, 25):
                kill_iterator_processes(daemon)
        assert shared.stats()["batches_delivered"] == 40
        shared.close()
        assert shared.stats()["batches_delivered"] == 40
    assert numbers == list(range(40))
    assert os.path.getsize(made) > 40  # delivered batches were iterated over again


class Stateful:
    """An iterable that goes on where its state says. Each batch adds a byte to a
    file."""

    def __init__(self, made):
        self.made, self.begin = made, 0

    def state_dict(self):
        return {"next": self.at}

    def load_state_dict(self, state):
        self.begin = state["next"]

    def __iter__(self):
        first, self.begin = self.begin, 0
        for number in range(first, 3000):
            self.at = number + 1
            with open(self.made, "ab") as file:
                file.write(b".")
            yield number


def test_the_next_one_loads_the_state(daemon, tmp_path):
    made = tmp_path / "made"
    with forebay.share(Stateful(made), key=keyed()) as shared:
        numbers = []
        for number in shared:
            numbers.append(number)
            if number == 1500:
                for _ in range(12):
                    pause(0.1)  # a state is saved every second
            if number == 2500:
                kill_iterator_processes(daemon)
    assert numbers == list(range(3000))
    assert 3000 < os.path.getsize(made) < 3000 + 2000


def test_one_that_rests_joins_the_iteration_of_a_new_process(daemon):
    key = keyed()
    with forebay.share(lambda: counting(50), key=key) as runs, \
            forebay.share(lambda: counting(50), key=key) as rests:
        assert len(list(rests)) == 50
        for _ in range(3):
            list(runs)
        kill_iterator_processes(daemon)
        batches = iter(runs)
        first = next(batches)[1]
        had = [number for _, number in rests]
        assert had == list(range(had[0], 50))
        # The job missed three iterations of the other job, and the batches before its
        # first one.
        assert rests.stats()["batches_missed"] == 150 + had[0]
        # Meanwhile the other job did not read.
        rest = [number for _, number in batches]
        assert rest == sorted(set(rest)) and rest[0] > first
        assert first + 1 + len(rest) + runs.stats()["batches_missed"] == 50


def test_an_older_job_cuts_no_iteration_of_a_new_one_in_silence(daemon):
    key = keyed()
    with forebay.share(lambda: counting(50), key=key) as older:
        for _ in range(3):
            assert len(list(older)) == 50
        kill_iterator_processes(daemon)
        with forebay.share(lambda: counting(50), key=key) as newer:
            batches = iter(newer)
            had = [next(batches)[1] for _ in range(11)]
            # This job has done more iterations than the new process.
            assert [number for _, number in older] == list(range(50))
            had += [number for _, number in batches]
            assert had == sorted(set(had))
            assert len(had) + newer.stats()["batches_missed"] == 50
            joined = [number for _, number in newer]
            assert joined == sorted(set(joined))
            missed = newer.stats()["batches_missed"]
            assert len(had) + len(joined) + missed == 100


@pytest.mark.parametrize("sharing", ["elastic", "lockstep"])
def test_one_that_begins_a_new_process_in_vain_costs_no_batch(daemon, sharing):
    key = keyed()
    with forebay.share(lambda: counting(50), key=key, sharing=sharing) as older:
        for _ in range(3):
            assert len(list(older)) == 50
        kill_iterator_processes(daemon)
        pause(0.5)  # until the daemon notices the death
        with forebay.share(lambda: counting(50), key=key, sharing=sharing) as newer:
            iter(newer)
        assert [number for _, number in older] == list(range(50))
        assert older.stats()["batches_missed"] == 0


def test_in_lockstep_a_new_process_gives_all_to_one_that_rested(daemon):
    key = keyed()
    jobs = [forebay.share(lambda: counting(50), key=key, sharing="lockstep")
            for _ in range(3)]
    rests, leaves, begins = jobs
    for _ in range(3):
        reads = threading.Thread(target=list, args=(leaves,))
        reads.start()
        list(rests)
        reads.join()
    kill_iterator_processes(daemon)
    pause(0.5)  # until the daemon notices the death
    iter(begins)
    batches = iter(rests)
    begins.close()
    leaves.close()
    had = [number for _, number in batches]
    assert had == list(range(50))
    assert rests.stats()["batches_missed"] == 0
    rests.close()


def test_threads_of_the_iterable_do_not_keep_the_process(daemon, short_linger):
    def read_ahead():
        batches = queue.Queue(2)

        def fill():
            for number in itertools.count():
                batches.put(number)  # blocks for ever when nobody takes batches

        threading.Thread(target=fill).start()
        while True:
            yield batches.get()

    with forebay.share(read_ahead, key=keyed()) as shared:
        next(iter(shared))
        assert iterator_processes(daemon.runtime_dir)
    until(lambda: not iterator_processes(daemon.runtime_dir), "it ends")


def test_the_daemon_may_be_killed(daemon):
    seed = random.randrange(1 << 32)
    print("seed", seed)
    stops = random.Random(seed).sample(range(5, 95), 2)
    with forebay.share(lambda: counting(100), key=keyed()) as shared:
        numbers = []
        for _, number in shared:
            numbers.append(number)
            if number in stops:
                daemon.stop(signal.SIGKILL)
                daemon.start()
    assert numbers == list(range(100))


def test_it_ends_when_nobody_listens(daemon):
    with forebay.share(DataLoader(Squares(), num_workers=1), key=keyed()) as shared:
        next(iter(shared))
        started = iterator_processes(daemon.runtime_dir)
        assert len(started) == 2  # waits until it has a worker
    until(lambda: not iterator_processes(daemon.runtime_dir), "it ends")


def test_it_waits_while_the_first_batch_is_made(short_linger):
    def slow():
        pause(2)
        yield os.getpid()

    with forebay.share(slow, key=keyed()) as shared:
        assert len(list(shared)) == 1


def test_one_that_hangs_is_awaited_no_longer_than_the_timeout(daemon, short_linger):
    def hangs():
        while True:
            signal.pause()
        yield

    with forebay.share(hangs, key=keyed(), timeout=0.5) as shared:
        for _ in range(2):
            with pytest.raises(RuntimeError, match="timed out after 0.5 seconds"):
                iter(shared)
        assert len(iterator_processes(daemon.runtime_dir)) == 1
        until(lambda: not iterator_processes(daemon.runtime_dir), "it ends")


def test_another_that_hangs_is_awaited_no_longer_than_the_timeout(daemon):
    def hangs():
        yield os.getpid()
        while True:
            signal.pause()

    with forebay.share(hangs, key=keyed(), timeout=2) as shared:
        batches = iter(shared)
        os.kill(next(batches), signal.SIGKILL)
        with pytest.raises(RuntimeError, match="timed out after 2 seconds"):
            next(batches)
        with pytest.raises(forebay.StateError, match="over"):
            next(batches)


def pids(size):
    for _ in range(size):
        yield os.getpid()


def test_it_goes_on_when_the_daemon_has_been_away(daemon, short_linger):
    with forebay.share(lambda: pids(20), key=keyed()) as shared:
        seen = []
        for pid in shared:
            seen.append(pid)
            if len(seen) == 10:
                daemon.stop(signal.SIGKILL)
                pause(2)
                daemon.start()
                pause(2)  # stands for a step of the trainer
    assert seen == [seen[0]] * 20


def check_death_shows(source):
    """Kills the process that iterates, and checks that another one takes over."""
    with forebay.share(source, key=keyed(), timeout=10) as shared:
        seen = []
        for pid in shared:
            seen.append(pid)
            if len(seen) == 10:
                os.kill(pid, signal.SIGKILL)
    assert len(seen) == 20 and len(set(seen)) == 2


def fork_a_child():
    """Forks a child that runs until it is killed, and returns its process id."""
    child = os.fork()
    if child == 0:
        while True:
            signal.pause()
    return child


def test_children_of_it_do_not_hide_its_death(daemon):
    def with_child():
        fork_a_child()
        yield from pids(20)

    check_death_shows(with_child)


def test_children_of_a_job_do_not_hide_its_death(daemon):
    children = []

    def fork():
        until(lambda: iterator_processes(daemon.runtime_dir), "it starts")
        children.append(fork_a_child())

    def slow():
        pause(1)
        yield from pids(20)

    thread = threading.Thread(target=fork)
    thread.start()
    try:
        check_death_shows(slow)
    finally:
        thread.join()
        os.kill(children[0], signal.SIGKILL)
        os.waitpid(children[0], 0)
