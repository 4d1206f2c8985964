"""Workers that live on between epochs, with the state that their datasets have
gathered."""

import os
import random
import signal
import threading

import pytest
import torch
from torch.utils.data import Dataset, IterableDataset, get_worker_info

import forebay
from own_processes import hosts, workers
from stage_test import leaves_nothing, reachable  # noqa: F401
from trouble import until

SAMPLES = 24


class Caching(Dataset):
    """A dataset that counts how often each sample was not in its copy's cache."""

    def __init__(self, scale=1):
        self.scale = scale
        self.cache = {}
        self.misses = torch.zeros(1).share_memory_()

    def __len__(self):
        return SAMPLES

    def __getitem__(self, number):
        if number not in self.cache:
            self.misses.add_(1)
            self.cache[number] = number * self.scale
        return self.cache[number], random.random()


class Locked(Caching):
    """A dataset that cannot be pickled."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.lock = threading.Lock()


def collated(samples):
    return torch.utils.data.default_collate(samples)


WAYS = [{"sharing": "off"}, {"collate_fn": collated, "sharing": "off"},
        {"sampler": list(reversed(range(SAMPLES)))},
        {"collate_fn": collated, "sampler": list(reversed(range(SAMPLES)))}]


def loader_of(dataset, **arguments):
    arguments = {"batch_size": 5, "num_workers": 1, "seed": 3,
                 "persistent_workers": True, **arguments}
    return forebay.DataLoader(dataset, **arguments)


def epoch_of(loader):
    return [[part.tolist() for part in batch] for batch in loader]


@pytest.mark.parametrize("arguments", WAYS)
@pytest.mark.parametrize("kind", [Caching, Locked])
def test_caches_stay_and_the_batches_are_the_same(kind, arguments):
    dataset = kind()
    with loader_of(dataset, **arguments) as loader:
        found = [epoch_of(loader) for _ in range(3)]
    assert dataset.misses.item() == SAMPLES
    with loader_of(kind(), **{**arguments, "persistent_workers": False}) as loader:
        assert [epoch_of(loader) for _ in range(3)] == found


@pytest.mark.parametrize("arguments", [{}, *WAYS])
def test_without_them_a_changed_dataset_counts_anew(arguments):
    for stays in (False, True):
        dataset = Caching()
        with loader_of(dataset, persistent_workers=stays, **arguments) as loader:
            before = sorted(number for numbers, _ in epoch_of(loader)
                            for number in numbers)
            assert before == list(range(SAMPLES))
            dataset.scale = 10
            after = sorted(number for numbers, _ in epoch_of(loader)
                           for number in numbers)
        assert after == (before if stays else [10 * one for one in before])


def test_a_dataset_that_grew_counts_as_it_was():
    class Growing(Dataset):
        size = 6

        def __len__(self):
            return self.size

        def __getitem__(self, number):
            return number if number < self.size else 1 / 0

    for arguments in ({}, {"collate_fn": collated}):
        dataset = Growing()
        with loader_of(dataset, **arguments) as loader:
            for _ in range(2):
                assert [batch.tolist() for batch in loader] == [[0, 1, 2, 3, 4], [5]]
                assert len(loader) == 2
                dataset.size = 11


@pytest.mark.parametrize("arguments", WAYS)
def test_an_iteration_ends_the_one_before(arguments):
    with loader_of(Caching(), **arguments) as loader:
        first = iter(loader)
        next(first)
        found = workers(os.getpid())
        second = iter(loader)
        batch = next(second)
        assert workers(os.getpid()) == found
        with pytest.raises(forebay.errors.StateError, match="another iteration"):
            next(first)
        del first
        assert len(list(second)) == 4 and batch[0].numel() == 5


@pytest.mark.parametrize("arguments", WAYS)
@pytest.mark.parametrize("which", [workers, hosts])
def test_a_death_between_epochs_changes_no_batch(which, arguments):
    with loader_of(Caching(), **arguments) as loader:
        expected = [epoch_of(loader) for _ in range(3)]
        loader.set_epoch(0)
        found = []
        for _ in range(3):
            found.append(epoch_of(loader))
            victims = which(os.getpid())
            for pid in victims:
                os.kill(pid, signal.SIGKILL)
            until(lambda: not set(victims) & set(which(os.getpid())),
                  "the processes are gone")
    assert found == expected


class Remembering(IterableDataset):
    """A dataset that tells how many of its numbers its copy has yielded, and has a
    state."""

    given = 0

    def __iter__(self):
        info = get_worker_info()
        for number in range(info.id, 20, info.num_workers):
            self.given += 1
            yield number, self.given

    def state_dict(self):
        return {"given": self.given}

    def load_state_dict(self, state):
        self.given = state["given"]


def test_a_worker_that_replaces_another_has_its_dataset():
    with loader_of(Remembering(), num_workers=2) as loader:
        expected = [epoch_of(loader) for _ in range(3)]
    with loader_of(Remembering(), num_workers=2) as loader:
        found = []
        for _ in range(3):
            found.append(epoch_of(loader))
            victims = workers(os.getpid())
            for pid in victims:
                os.kill(pid, signal.SIGKILL)
            until(lambda: not set(victims) & set(workers(os.getpid())),
                  "the workers are gone")
    assert found == expected
    assert [batch[1] for batch in expected[2]][-2:] == [[26, 27, 28, 29, 30]] * 2


@pytest.mark.parametrize("dataset", [Caching(), Remembering()])
def test_needs_workers(dataset):
    with pytest.raises(forebay.errors.InvalidArgument, match="num_workers > 0"):
        loader_of(dataset, num_workers=0)
