"""Loaders with num_workers=0, which make batches in the trainer itself."""

import random

import pytest
import torch
from torch.utils.data import Dataset, IterableDataset, RandomSampler

import forebay
from stage_test import reachable  # noqa: F401


class Numbers(Dataset):
    """A dataset of numbers. One of them interrupts the trainer once."""

    def __init__(self, size=100, at=-1, interrupt=KeyboardInterrupt):
        self.size, self.at, self.interrupt = size, at, interrupt

    def __len__(self):
        return self.size

    def __getitem__(self, number):
        if number == self.at:
            self.at = -1
            raise self.interrupt
        return number


class Endless:
    def __iter__(self):
        while True:
            yield random.randrange(100)


def first_of(loader):
    return next(iter(loader)).tolist()


@pytest.mark.parametrize("sampler", [
    Endless(), RandomSampler(range(100), replacement=True, num_samples=10**10)],
    ids=["endless", "long"])
def test_a_sampler_draws_other_keys_in_each_epoch(sampler):
    with forebay.DataLoader(Numbers(), 8, sampler=sampler, num_workers=0) as loader:
        drawn = [first_of(loader) for _ in range(3)]
    assert len(set(map(tuple, drawn))) == 3


def test_a_state_draws_the_keys_that_followed_it():
    with forebay.DataLoader(Numbers(), 8, sampler=Endless(), num_workers=0) as loader:
        batches = iter(loader)
        random.random()  # the trainer's own code also draws
        next(batches)
        state = loader.state_dict()
        followed = next(batches).tolist()
    with forebay.DataLoader(Numbers(), 8, sampler=Endless(), num_workers=0) as loader:
        loader.load_state_dict(state)
        assert first_of(loader) == followed


def test_iterators_of_one_generator_draw_what_each_draws_alone():
    class Own:
        def __init__(self):
            self.generator = torch.Generator()
            self.generator.manual_seed(5)

        def __iter__(self):
            while True:
                yield int(torch.randint(100, (1,), generator=self.generator))

    with forebay.DataLoader(Numbers(), 4, sampler=Own(), num_workers=0) as loader:
        batches = iter(loader)
        alone = [number for _ in range(3) for number in next(batches).tolist()]
    with forebay.DataLoader(Numbers(), 4, sampler=Own(), num_workers=0) as loader:
        batches = iter(loader)
        # This acts as if other code had drawn from the generator.
        loader.sampler.generator.manual_seed(9)
        assert [number for _ in range(3) for number in next(batches).tolist()] == alone


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_costs_no_batch(interrupt):
    dataset = Numbers(24, 8, interrupt)
    with forebay.DataLoader(dataset, 4, num_workers=0) as loader:
        batches, had = iter(loader), []
        had += [next(batches).tolist() for _ in range(2)]
        with pytest.raises(interrupt):
            next(batches)
        state = loader.state_dict()
        assert state["position"] == 8
        had += [batch.tolist() for batch in batches]
    assert sum(had, []) == list(range(24))
    with forebay.DataLoader(dataset, 4, num_workers=0) as loader:
        loader.load_state_dict(state)
        assert first_of(loader) == [8, 9, 10, 11]


class Counts(IterableDataset):
    """An iterable whose state is its last item. One item interrupts the trainer
    once."""

    def __init__(self):
        self.given, self.interrupts = 0, True

    def __iter__(self):
        return self

    def __next__(self):
        if self.given == 24:
            raise StopIteration
        self.given += 1
        if self.given == 9 and self.interrupts:
            self.interrupts = False
            raise KeyboardInterrupt
        return self.given

    def state_dict(self):
        return {"given": self.given}

    def load_state_dict(self, state):
        self.given = state["given"]


def test_a_state_behind_an_interrupt_can_be_loaded():
    with forebay.DataLoader(Counts(), 4, num_workers=0) as loader:
        batches = iter(loader)
        next(batches), next(batches)
        with pytest.raises(KeyboardInterrupt):
            next(batches)
        state = loader.state_dict()
    with forebay.DataLoader(Counts(), 4, num_workers=0) as loader:
        loader.load_state_dict(state)
        assert first_of(loader)[0] > 8


def test_set_epoch_keeps_what_the_dataset_has_gathered():
    dataset = Counts()
    dataset.interrupts = False
    with forebay.DataLoader(dataset, 4, num_workers=0) as loader:
        assert len(list(loader)) == 6
        between = loader.state_dict()
        loader.set_epoch(5)
        state = loader.state_dict()
    assert between["worker_states"] and state["epoch"] == 5
    assert state["worker_states"] == between["worker_states"]
