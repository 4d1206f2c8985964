"""Datasets whose samples only Python code can make. Workers make them when the daemon
asks for them."""

import collections
import os
import random
import signal
import threading

import numpy
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, Subset, get_worker_info

import forebay
from own_processes import WorkerKiller, descendants, hosts
from trouble import ctl, until

SAMPLES = 203
Point = collections.namedtuple("Point", ["x", "y"])


@pytest.fixture(autouse=True)
def reachable(shared_daemon, monkeypatch):
    monkeypatch.setenv("FOREBAY_RUNTIME_DIR", str(shared_daemon.runtime_dir))


@pytest.fixture(autouse=True)
def leaves_nothing(shared_daemon):
    """Checks that no test leaves a process or a slot's memory behind."""
    before = descendants(os.getpid())
    yield
    until(lambda: not descendants(os.getpid()) - before,
          "no process is left")
    until(lambda: int(ctl(shared_daemon, "status")["memory_slots"]) == 0,
          "no slot is left")


class Made(Dataset):
    """Samples that tell their number, and what they drew."""

    def __init__(self, samples=SAMPLES):
        self.samples = samples

    def __len__(self):
        return self.samples

    def __getitem__(self, number):
        if not 0 <= number < self.samples:
            raise IndexError(number)
        image = torch.full((3, 5, 7), float(number))
        return image, number, {"drawn": [random.random(), numpy.random.rand(),
                                         torch.rand(())],
                               "point": Point(number / 2, number % 2 == 0)}


class Worker(Made):
    """Samples that tell which process made them."""

    def __getitem__(self, number):
        return number, os.getpid(), get_worker_info().id


def numbers_of(loader):
    return [number for batch in loader for number in batch[1].tolist()]


def flat(batch):
    """Returns all tensors of a batch, in order."""
    if isinstance(batch, torch.Tensor):
        return [batch]
    values = batch.values() if isinstance(batch, dict) else batch
    return [tensor for value in values for tensor in flat(value)]


def structure_of(batch):
    if isinstance(batch, torch.Tensor):
        return batch.dtype, tuple(batch.shape)
    if isinstance(batch, dict):
        return {key: structure_of(value) for key, value in batch.items()}
    return type(batch), [structure_of(value) for value in batch]


def test_gives_batches_of_the_structure_that_torch_gives():
    theirs = DataLoader(Made(), 16, num_workers=2)
    with forebay.DataLoader(Made(), 16, num_workers=2) as ours:
        assert len(ours) == len(theirs) == 13
        compared = 0
        for one, other in zip(ours, theirs):
            assert structure_of(one) == structure_of(other)
            assert torch.equal(one[0], other[0])
            assert torch.equal(one[1], other[1])
            assert torch.equal(one[2]["point"].x, other[2]["point"].x)
            assert torch.equal(one[2]["point"].y, other[2]["point"].y)
            compared += len(one[1])
        assert compared == SAMPLES


@pytest.mark.parametrize("workers", [1, 3])
def test_what_is_drawn_depends_on_the_sample_alone(workers):
    with forebay.DataLoader(Made(), 7, shuffle=True, seed=5,
                            num_workers=workers) as loader:
        found = {}
        for batch in loader:
            for row, number in enumerate(batch[1].tolist()):
                found[number] = [drawn[row].item() for drawn in batch[2]["drawn"]]
        again = list(loader)
    with forebay.DataLoader(Made(), 64, num_workers=2, seed=5) as loader:
        for batch in loader:
            for row, number in enumerate(batch[1].tolist()):
                assert found[number] == [
                    drawn[row].item() for drawn in batch[2]["drawn"]]
    # In the next epoch, both the order and the random numbers differ.
    assert [n for batch in again for n in batch[1].tolist()] != list(found)
    first = again[0]
    assert found[first[1][0].item()][0] != first[2]["drawn"][0][0].item()


def test_the_order_is_that_of_the_samplers():
    chosen = [5, 3, 3, 202, 0, 17]
    with forebay.DataLoader(Made(), 4, sampler=chosen, num_workers=2) as loader:
        assert numbers_of(loader) == chosen
        assert len(loader) == 2
    with forebay.DataLoader(Subset(Made(), [9, 8, 7]), 2, num_workers=1) as loader:
        assert numbers_of(loader) == [9, 8, 7]
    with forebay.DataLoader(Made(), 16, drop_last=True) as loader:
        assert numbers_of(loader) == list(range(192))
    seen = []
    for rank in range(3):
        with forebay.DataLoader(Made(), 16, rank=rank, world_size=3,
                                pad="none", shuffle=True) as loader:
            part = numbers_of(loader)
            assert len(part) in (67, 68)
            seen += part
    assert sorted(seen) == list(range(SAMPLES))


def test_workers_are_told_who_they_are():
    with forebay.DataLoader(Worker(), 8, num_workers=3) as loader:
        rows = [row for batch in loader
                for row in zip(*(part.tolist() for part in batch))]
    pids = {pid for _, pid, _ in rows}
    assert os.getpid() not in pids and 1 <= len(pids) <= 3
    assert {number for _, _, number in rows} <= {0, 1, 2}
    assert len({(pid, number) for _, pid, number in rows}) == len(pids)


def test_each_iteration_has_the_dataset_as_it_is_then():
    dataset = Made(10)
    with forebay.DataLoader(dataset, 4, num_workers=1) as loader:
        assert numbers_of(loader) == list(range(10))
        dataset.scale = 3
        dataset.__class__ = Scaled
        assert [batch.tolist() for batch in loader] == [
            [0, 3, 6, 9], [12, 15, 18, 21], [24, 27]]


class Scaled(Made):
    def __getitem__(self, number):
        return number * self.scale


def test_iterations_of_one_loader_run_side_by_side():
    with forebay.DataLoader(Made(40), 8, num_workers=1) as loader:
        pairs = [(one[1][0].item(), other[1][0].item())
                 for one in loader for other in loader]
    starts = range(0, 40, 8)
    assert pairs == [(one, other) for one in starts for other in starts]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("collate", [None, list], ids=["rows", "batches"])
def test_an_iterator_that_nobody_read_takes_no_epoch(workers, collate):
    def read(iterator):
        return [numpy.concatenate([numpy.ravel(part) for part in batch]).tolist()
                for batch in iterator]

    def loader():
        return forebay.DataLoader(
            torch.arange(40).view(20, 2), 4, shuffle=True, num_workers=workers,
            collate_fn=collate)

    with loader() as one:
        whole = [read(one), read(one)]
    with loader() as one:
        iter(one)
        # Both iterators run at once, as two epochs.
        pairs = [read(part) for part in zip(*zip(one, one))]
    assert pairs == whole


def test_goes_on_from_a_state_with_the_same_bytes():
    arguments = {"batch_size": 16, "shuffle": True, "seed": 3, "num_workers": 2}
    with forebay.DataLoader(Made(), **arguments) as loader:
        whole = list(loader)
    with forebay.DataLoader(Made(), **arguments) as loader:
        batches = iter(loader)
        for _ in range(5):
            next(batches)
        state = loader.state_dict()
        del batches
    with forebay.DataLoader(Made(), **arguments) as loader:
        loader.load_state_dict(state)
        rest = list(loader)
    assert len(rest) == len(whole) - 5
    for one, other in zip(rest, whole[5:]):
        assert all(map(torch.equal, flat(one), flat(other)))


@pytest.mark.parametrize("arguments", [
    {"dataset": Made(0)}, {"dataset": Made(), "sampler": []}])
def test_an_epoch_without_samples_ends_at_once(arguments):
    with forebay.DataLoader(batch_size=8, num_workers=1, **arguments) as loader:
        assert len(loader) == 0
        assert list(loader) == [] and list(loader) == []


def test_a_batch_transform_gets_the_parts_of_a_batch():
    def halved(image, number, rest):
        return image / 2, number, sorted(rest)

    with forebay.DataLoader(Made(20), 8, num_workers=1,
                            batch_transform=halved) as loader:
        image, number, names = next(iter(loader))
    assert torch.equal(image[:, 0, 0, 0], number / 2)
    assert names == ["drawn", "point"]


def test_pinned_batches_keep_their_structure(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.Tensor, "pin_memory", torch.Tensor.clone)
    with forebay.DataLoader(Made(20), 8, num_workers=1,
                            pin_memory=True) as loader:
        with forebay.DataLoader(Made(20), 8, num_workers=1) as plain:
            for one, other in zip(loader, plain):
                assert structure_of(one) == structure_of(other)
                assert all(map(torch.equal, flat(one), flat(other)))


def test_breaks_leave_nothing_behind():
    with forebay.DataLoader(Made(), 8, num_workers=2) as loader:
        for _ in range(5):
            for batch in loader:
                assert batch[1][0] == 0
                break
        held = batch
    assert held[1].tolist() == list(range(8))


def test_threads_of_the_trainer_do_not_matter():
    stop = threading.Event()
    threads = [threading.Thread(target=stop.wait) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        with forebay.DataLoader(Made(), 16, num_workers=2) as loader:
            assert numbers_of(loader) == list(range(SAMPLES))
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_numpy_alone_gets_arrays():
    with forebay.DataLoader(Made(20), 16, num_workers=1,
                            framework="numpy") as loader:
        image, number, rest = next(iter(loader))
    assert isinstance(image, numpy.ndarray) and image.shape == (16, 3, 5, 7)
    assert number.tolist() == list(range(16))
    assert isinstance(rest["point"], Point)


@pytest.mark.parametrize("context", ["fork", "spawn", "forkserver"])
def test_workers_start_as_the_context_says(context):
    with forebay.DataLoader(Made(20), 8, num_workers=1,
                            multiprocessing_context=context) as loader:
        assert numbers_of(loader) == list(range(20))


def test_killed_workers_lose_and_double_nothing():
    with forebay.DataLoader(Slow(), 8, num_workers=2, seed=1) as loader:
        undisturbed = list(loader)
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)
    with forebay.DataLoader(Slow(), 8, num_workers=2, seed=1) as loader:
        killer, found = WorkerKiller(chance), []
        for batch in loader:
            found.append(batch)
            killer.note_batch()
    assert len(found) == len(undisturbed)
    for one, other in zip(found, undisturbed):
        assert all(map(torch.equal, flat(one), flat(other)))


class Slow(Made):
    def __getitem__(self, number):
        made = super().__getitem__(number)
        end = os.times().elapsed + 0.002
        while os.times().elapsed < end:
            pass
        return made


def test_a_killed_host_is_replaced():
    with forebay.DataLoader(Slow(), 8, num_workers=2, seed=1) as loader:
        found = []
        for batch in loader:
            found += batch[1].tolist()
            if len(found) in (24, 96):
                for host in hosts(os.getpid()):
                    os.kill(host, signal.SIGKILL)
    assert found == list(range(SAMPLES))


def test_goes_on_with_the_next_daemon(daemon, monkeypatch):
    monkeypatch.setenv("FOREBAY_RUNTIME_DIR", str(daemon.runtime_dir))
    with forebay.DataLoader(Slow(), 8, num_workers=2, seed=1) as loader:
        found = []
        for batch in loader:
            found += batch[1].tolist()
            if len(found) in (24, 96):
                daemon.stop(signal.SIGKILL)
                daemon.start()
    assert found == list(range(SAMPLES))
