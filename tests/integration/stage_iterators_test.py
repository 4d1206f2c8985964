"""Several iterators of one loader whose samples only Python code can make."""

import gc
import os
import signal
import threading
import weakref

import pytest
import torch
from torch.utils.data import Dataset, TensorDataset

import forebay
from stage_batch_test import Several, plain
from stage_state_test import SIZE, OfIterator, Plain
from stage_test import leaves_nothing, reachable  # noqa: F401


class Text(Dataset):
    """Samples of which workers make whole batches."""

    def __len__(self):
        return SIZE

    def __getitem__(self, number):
        return str(number)


class Number(Text):
    """Samples that can be stored as rows."""

    def __getitem__(self, number):
        return torch.tensor(number)


class Unsized:
    """A sampler that does not tell how many samples it lists."""

    def __iter__(self):
        return iter(range(SIZE - 1, -1, -1))


@pytest.mark.parametrize("count", [0, 2])
@pytest.mark.parametrize("dataset, arguments", [
    (Number(), {}), (Number(), {"sampler": range(SIZE)}), (Text(), {}),
    (Text(), {"sampler": Unsized()}), (Plain(), {}), (OfIterator(), {}),
    (TensorDataset(torch.arange(SIZE)), {})])
def test_an_older_iterator_that_ends_moves_no_state(dataset, arguments, count):
    arguments = {"batch_size": 2, "num_workers": count, **arguments}
    with forebay.DataLoader(dataset, **arguments) as loader:
        older, newer = iter(loader), iter(loader)
        next(older), next(newer)
        before = loader.state_dict()
        assert before["epoch"] == 1 and len(list(older)) > 20
        assert loader.state_dict() == before
        next(newer)
        after = loader.state_dict()
        assert (after["epoch"], after["position"]) > (1, before["position"])
        rest = list(map(repr, newer))
    with forebay.DataLoader(dataset, **arguments) as loader:
        loader.load_state_dict(after)
        assert list(map(repr, loader)) == rest


def of_threads(work, count=4):
    """Returns the results of `work()` in several threads that run at the same time."""
    found, start = [], threading.Barrier(count)

    def run():
        start.wait()
        found.append(work())

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == count
    return found


@pytest.mark.parametrize("arguments", [
    {"num_workers": 0}, {"num_workers": 1}, {"num_workers": 1, "collate_fn": list}])
def test_iterators_of_several_threads_read_an_epoch_each(arguments):
    with forebay.DataLoader(Number(), SIZE, shuffle=True, seed=1,
                            **arguments) as loader:
        epochs = of_threads(lambda: str(list(loader)))
        assert len(set(epochs)) == 4
        assert loader.state_dict()["epoch"] == 4
        loader.set_epoch(0)
        assert {str(list(loader)) for _ in range(4)} == set(epochs)


def test_a_loader_that_keeps_workers_ends_with_its_last_reference():
    loader = forebay.DataLoader(Number(), SIZE, num_workers=1, persistent_workers=True)
    list(loader)
    gc.disable()
    try:
        gone = weakref.ref(loader)
        del loader
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("count", [0, 1])
def test_a_forked_child_waits_for_no_thread_of_its_parent(count):
    held, done = threading.Event(), threading.Event()
    with forebay.DataLoader(Number(), SIZE, num_workers=count) as loader:

        def hold():
            with loader._lock:
                held.set()
                done.wait()

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait()
        pid = os.fork()
        if pid == 0:
            try:
                signal.alarm(30)
                os._exit(len(list(loader)))
            finally:
                os._exit(3)
        status = os.waitpid(pid, 0)[1]
        done.set()
        thread.join()
        assert os.WIFEXITED(status) and os.WEXITSTATUS(status) == 1


@pytest.mark.parametrize("workers", [0, 1])
def test_an_iterator_that_gave_no_batch_does_not_count_at_an_epochs_end(workers):
    dataset = Several(lambda number: number, size=11)
    settings = {"collate_fn": plain, "num_workers": workers}
    with forebay.DataLoader(dataset, 4, **settings) as loader:
        batches = iter(loader)
        for _ in range(3):
            next(batches)
        state = loader.state_dict()
    with forebay.DataLoader(dataset, 4, **settings) as loader:
        loader.load_state_dict(state)
        iter(loader)
        assert loader.state_dict() == state
        assert list(loader) == []
        assert len(list(loader)) == 3
