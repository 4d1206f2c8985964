"""How worker processes start, die and end."""

import gc
import multiprocessing
import os
import signal

import pytest
import torch

from sample_sets import Counted, Made, Numbers, flat, stall, values, worker_info


def alive(process):
    """Whether a process runs. A process that has ended but was not waited for does not
    run."""
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def gone(processes):
    """Whether all processes end within some seconds."""
    for _ in range(100):
        if not any(alive(process) for process in processes):
            return True
        stall(0.1)
    return False


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_ways_to_start_workers(DataLoader, method):
    loader = DataLoader(Numbers(4, 3), 2, num_workers=1,
                        multiprocessing_context=method)
    assert values(loader) == [[0, 3], [6, 9]]


def test_a_context_object(DataLoader):
    context = multiprocessing.get_context("fork")
    loader = DataLoader(Numbers(4), 2, num_workers=1,
                        multiprocessing_context=context)
    assert values(loader) == [[0, 1], [2, 3]]


def test_spawned_workers_need_what_can_be_pickled(DataLoader):
    loader = DataLoader(Made(lambda i: i), 2, num_workers=1,
                        multiprocessing_context="spawn")
    with pytest.raises((AttributeError, TypeError, RuntimeError), match="pickle"):
        list(loader)


def test_spawned_workers_get_the_dataset_as_it_is(DataLoader):
    dataset = Numbers(3)
    loader = DataLoader(dataset, 3, num_workers=1, multiprocessing_context="spawn")
    dataset.factor = 9
    assert values(loader) == [[0, 9, 18]]


def test_workers_end_with_the_epoch(DataLoader):
    read = list(DataLoader(Made(worker_info, 8), None, num_workers=2))
    assert gone({process for *_, process in read})


def test_workers_end_with_an_abandoned_iterator(DataLoader):
    iterator = iter(DataLoader(Made(worker_info, 100), None, num_workers=1))
    process = next(iterator)[-1]
    del iterator
    gc.collect()
    assert gone([process])


def test_persistent_workers_end_with_the_loader(DataLoader):
    loader = DataLoader(Made(worker_info, 4), None, num_workers=1,
                        persistent_workers=True)
    processes = {process for *_, process in loader}
    assert any(alive(process) for process in processes)
    del loader
    gc.collect()
    assert gone(processes)


def test_a_killed_worker_is_an_error(DataLoader):
    def make(index):
        if index == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return index
    with pytest.raises(RuntimeError, match="worker .*(killed|exited unexpectedly)"):
        try:
            list(DataLoader(Made(make, 8), 1, num_workers=1))
        except (EOFError, OSError):
            # Torch has found its worker's connection closed. Torch's SIGCHLD handler
            # raises in whatever code the main thread then runs: it should be here, not
            # in pytest.
            stall(30)


def test_a_worker_that_leaves_is_an_error(DataLoader):
    def make(index):
        os._exit(3)
    with pytest.raises(RuntimeError, match="worker .*exited unexpectedly"):
        list(DataLoader(Made(make), 1, num_workers=1))


def test_the_next_epoch_survives_a_killed_worker(DataLoader):
    dataset = Numbers(4)
    loader = DataLoader(Made(lambda i: os.abort() if dataset.factor == 1 else i), 2,
                        num_workers=1)
    with pytest.raises(RuntimeError, match="worker"):
        list(loader)
    dataset.factor = 2
    assert flat(loader) == [0, 1, 2, 3]


def test_the_trainers_own_children_are_not_disturbed(DataLoader):
    child = os.fork()
    if child == 0:
        os._exit(7)
    assert flat(DataLoader(Numbers(4), 2, num_workers=1)) == [0, 1, 2, 3]
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_a_loader_works_in_a_forked_child(DataLoader):
    loader = DataLoader(Numbers(4), 2, num_workers=1)
    assert flat(loader) == [0, 1, 2, 3]
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(5 if flat(loader) == [0, 1, 2, 3] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
    assert flat(loader) == [0, 1, 2, 3]


def test_workers_share_memory_with_the_trainer(DataLoader):
    shared = torch.zeros(4, dtype=torch.int64).share_memory_()

    def make(index):
        shared[index] = index + 1
        return index
    assert flat(DataLoader(Made(make), 2, num_workers=2)) == [0, 1, 2, 3]
    assert shared.tolist() == [1, 2, 3, 4]


def test_a_shared_value_reaches_workers_in_mid_epoch(DataLoader):
    value = multiprocessing.Value("i", 5)
    iterator = iter(DataLoader(Made(lambda i: value.value, 20), None,
                               num_workers=1, prefetch_factor=1))
    assert next(iterator) == 5
    value.value = 6
    assert list(iterator)[-1] == 6


def test_too_many_workers_are_told(DataLoader):
    many = len(os.sched_getaffinity(0)) + 1
    with pytest.warns(UserWarning, match=f"will create {many} worker processes"):
        DataLoader(Numbers(4), 2, num_workers=many)


def test_two_iterators_have_workers_of_their_own(DataLoader):
    loader = DataLoader(Made(worker_info, 4), None, num_workers=1)
    pairs = list(zip(loader, loader))
    assert len(pairs) == 4
    assert {one[-1] for one, _ in pairs}.isdisjoint({two[-1] for _, two in pairs})


def test_workers_of_an_iterable_end_with_it(DataLoader):
    class Where(Counted):
        def __iter__(self):
            return iter([os.getpid()] * self.size)
    assert gone(set(DataLoader(Where(6), None, num_workers=2)))


def test_workers_are_daemons_of_the_trainer(DataLoader):
    dataset = Made(lambda i: multiprocessing.current_process().daemon, 1)
    assert list(DataLoader(dataset, None, num_workers=1)) == [True]
