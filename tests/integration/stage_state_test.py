"""States of iterable datasets, as the datasets report them."""

import copy
import os
import pickle
import random
import signal

import numpy
import pytest
import torch
from torch.utils.data import IterableDataset, get_worker_info

import forebay
from own_processes import hosts, workers
from stage_test import leaves_nothing, reachable  # noqa: F401

SIZE = 61


def part():
    info = get_worker_info()
    return (0, 1) if info is None else (info.id, info.num_workers)


def drawn():
    return random.random(), numpy.random.rand(), torch.rand(()).item()


class Plain(IterableDataset):
    """Numbers, some with random ones; without a state. Counts what it makes."""

    def __init__(self, size=SIZE):
        self.size = size
        self.made = torch.zeros(1).share_memory_()

    def sample(self, number):
        self.made.add_(1)
        return (number, *drawn())

    def __iter__(self):
        worker, workers = part()
        for number in range(worker, self.size, workers):
            yield self.sample(number)


class OfDataset(Plain):
    """The dataset's state is the position of its generator, which begins there."""

    place = 0

    def __iter__(self):
        worker, workers = part()
        while self.place * workers + worker < self.size:
            self.place += 1
            yield self.sample((self.place - 1) * workers + worker)
        self.place = 0

    def state_dict(self):
        return {"place": self.place}

    def load_state_dict(self, state):
        self.place = state["place"]


class Iterator:
    def __init__(self, dataset):
        self.dataset = dataset
        self.place, self.sum = 0, 0
        self.first = random.random()

    def __iter__(self):
        raise AssertionError("an iterator was asked for another one")

    def __next__(self):
        worker, workers = part()
        number = self.place * workers + worker
        if number >= self.dataset.size:
            raise StopIteration
        self.place, self.sum = self.place + 1, self.sum + number
        return (*self.dataset.sample(number), self.sum, self.first)

    def state_dict(self):
        return vars(self).copy() | {"dataset": None}

    def load_state_dict(self, state):
        dataset = self.dataset
        vars(self).update(state)
        self.dataset = dataset


class OfIterator(Plain):
    def __iter__(self):
        return Iterator(self)


class OfBoth(OfIterator):
    """The state of the dataset is the number of its epochs, and that of the iterator is
    its position."""

    epochs = 0

    def __iter__(self):
        self.epochs += 1
        return super().__iter__()

    def sample(self, number):
        return (*super().sample(number), self.epochs)

    def state_dict(self):
        return {"epochs": self.epochs - 1}

    def load_state_dict(self, state):
        self.epochs = state["epochs"]


class Own(Plain):
    """A dataset that is its own iterator. Each iter() starts at the beginning."""

    def __iter__(self):
        self.place = 0
        return self

    def __next__(self):
        worker, workers = part()
        number = self.place * workers + worker
        if number >= self.size:
            raise StopIteration
        self.place += 1
        return self.sample(number)

    def state_dict(self):
        return {"place": self.place}

    def load_state_dict(self, state):
        self.place = state["place"]


STATEFUL = [OfDataset, OfIterator, OfBoth, Own]


def loader_of(dataset, workers, batch_size=4, **arguments):
    return forebay.DataLoader(dataset, batch_size, num_workers=workers, seed=7,
                              **arguments)


def samples_in(batches, batch_size):
    return len(batches) * (batch_size or 1)


@pytest.mark.parametrize("batch_size", [4, None])
@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("kind", [Plain, *STATEFUL])
def test_goes_on_with_the_same_bytes(kind, count, batch_size):
    with loader_of(kind(), count, batch_size) as loader:
        undisturbed = list(map(repr, loader))
    with loader_of(kind(), count, batch_size) as loader:
        states = [loader.state_dict()]
        for _ in loader:
            states.append(loader.state_dict())
    assert len(states) == len(undisturbed) + 1
    for taken in (1, 5, len(undisturbed) - 1):
        dataset = kind()
        state = pickle.loads(pickle.dumps(states[taken]))
        with loader_of(dataset, count, batch_size) as loader:
            loader.load_state_dict(state)
            rest = []
            for batch in loader:
                rest.append(repr(batch))
                again = loader.state_dict()
                if kind is not Plain and taken == 5 and len(rest) == 3:
                    assert _known(again) == _known(states[taken + 3])
        assert rest == undisturbed[taken:]
        if kind is not Plain:  # no sample was made twice
            left = SIZE - taken * (batch_size or 1)
            assert dataset.made.item() <= left + (batch_size or 1)


def _known(state):
    """Returns the states of those workers that have delivered a batch."""
    return [one and {**one, "generators": None} for one in state["worker_states"]]


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("kind", [Plain, *STATEFUL])
def test_the_next_epoch_is_the_same_too(kind, persistent):
    arguments = {"persistent_workers": persistent}
    with loader_of(kind(), 2, **arguments) as loader:
        epochs = [list(map(repr, loader)) for _ in range(3)]
    dataset = kind()
    with loader_of(dataset, 2, **arguments) as loader:
        batches = iter(loader)
        for _ in range(6):
            next(batches)
        middle = loader.state_dict()
        assert len(list(batches)) == len(epochs[0]) - 6
        between = loader.state_dict()
    for state, expected in ((middle, [epochs[0][6:], *epochs[1:]]),
                            (between, epochs[1:])):
        with loader_of(kind(), 2, **arguments) as loader:
            loader.load_state_dict(state)
            assert [list(map(repr, loader)) for _ in expected] == expected


def test_without_workers_the_dataset_keeps_its_state():
    with loader_of(OfBoth(), 0) as loader:
        epochs = [list(map(repr, loader)) for _ in range(2)]
        between = loader.state_dict()
        epochs.append(list(map(repr, loader)))
    with loader_of(OfBoth(), 0) as loader:
        loader.load_state_dict(between)
        assert list(map(repr, loader)) == epochs[2]


def test_a_state_is_as_of_the_batch_that_was_returned():
    with loader_of(OfIterator(400), 2, 1) as loader:
        batches = iter(loader)
        for number in range(12):
            next(batches)
            states = loader.state_dict()["worker_states"]
            assert [one and one["iterator"]["place"] for one in states] == [
                number // 2 + 1, (number + 1) // 2 or None]


def test_a_left_epoch_goes_on():
    for count in (0, 2):
        with loader_of(OfIterator(), count) as loader:
            undisturbed = list(map(repr, loader))
            loader.set_epoch(0)
            for number, _ in enumerate(loader):
                if number == 4:
                    break
            state = loader.state_dict()
        with loader_of(OfIterator(), count) as loader:
            loader.load_state_dict(state)
            assert loader.state_dict() == state
            assert list(map(repr, loader)) == undisturbed[5:]


def test_workers_are_given_a_loaded_state_though_they_are_persistent():
    with loader_of(OfIterator(), 2, persistent_workers=True) as loader:
        batches = iter(loader)
        first = [repr(next(batches)) for _ in range(3)]
        state = loader.state_dict()
        rest = list(map(repr, batches))
        loader.load_state_dict(state)
        assert list(map(repr, loader)) == rest
        loader.set_epoch(0)
        assert list(map(repr, loader)) == first + rest


@pytest.mark.parametrize("victim", ["worker", "host"])
@pytest.mark.parametrize("kind", [Plain, *STATEFUL])
def test_after_deaths_the_batches_are_the_same(kind, victim):
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)
    with loader_of(kind(300), 2) as loader:
        undisturbed = list(map(repr, loader))
    dataset = kind(300)
    made, deaths = [], 0
    with loader_of(dataset, 2) as loader:
        for batch in loader:
            made.append(repr(batch))
            if chance.random() < 0.15:
                found = (workers if victim == "worker" else hosts)(os.getpid())
                if found:
                    deaths += 1
                    os.kill(chance.choice(found), signal.SIGKILL)
    assert made == undisturbed
    if kind is not Plain:
        # The difference is the batches that were being made and, if a host died, not
        # delivered.
        assert dataset.made.item() <= 300 + deaths * 4 * (
            1 if victim == "worker" else 8)


def test_a_batch_that_needs_more_room_makes_none_again():
    class Growing(OfIterator):
        def sample(self, number):
            super().sample(number)
            return number, torch.zeros((1 << 20) if number == 40 else 1)

    dataset = Growing()
    with loader_of(dataset, 1, None) as loader:
        numbers = [batch[0] for batch in loader]
    assert numbers == list(range(SIZE))
    assert dataset.made.item() <= SIZE + 20


@pytest.mark.parametrize("count", [0, 2])
def test_goes_on_behind_an_error(count):
    class Failing(OfDataset):
        def sample(self, number):
            if number == 20:
                raise KeyError(number)
            return super().sample(number)

    def rest_of(batches):
        found = []
        while True:
            try:
                found.append(repr(next(batches)))
            except KeyError:
                found.append("error")
            except StopIteration:
                return found

    with loader_of(Failing(), count) as loader:
        undisturbed = rest_of(iter(loader))
        assert "error" in undisturbed
    with loader_of(Failing(), count) as loader:
        batches = iter(loader)
        with pytest.raises(KeyError):
            for taken in range(100):
                next(batches)
        state = loader.state_dict()
    with loader_of(Failing(), count) as loader:
        loader.load_state_dict(state)
        assert rest_of(iter(loader)) == undisturbed[taken + 1:]


def test_a_state_that_cannot_be_told_is_an_error():
    class Broken(OfDataset):
        def state_dict(self):
            raise OSError("no state today")

    with loader_of(Broken(), 1) as loader:
        with pytest.raises(OSError, match="no state today"):
            next(iter(loader))


def test_refuses_states_of_others():
    with loader_of(OfIterator(), 2) as loader:
        batches = iter(loader)
        for _ in range(3):
            next(batches)
        state = loader.state_dict()
    with loader_of(OfIterator(), 3) as loader:
        with pytest.raises(forebay.errors.StateError, match="saved with 2 workers"):
            loader.load_state_dict(state)
    with loader_of(OfIterator(), 2) as loader:
        for spoil in (lambda one: one.update(worker_states=[None]),
                      lambda one: one["worker_states"][0].update(batches=99),
                      lambda one: one["worker_states"][0].update(epoch=5),
                      lambda one: one["worker_states"][0].update(batches="x"),
                      lambda one: one["worker_states"][1].pop("iterator"),
                      lambda one: one["worker_states"].__setitem__(0, 3)):
            damaged = copy.deepcopy(state)
            spoil(damaged)
            with pytest.raises(forebay.errors.StateError, match="damaged"):
                loader.load_state_dict(damaged)
        damaged = copy.deepcopy(state)
        damaged["worker_states"][1]["generators"] = {"python": 1}
        with pytest.raises(forebay.errors.StateError, match="damaged"):
            loader.load_state_dict(damaged)


def test_a_dataset_with_workers_zero_or_one_is_the_same():
    with loader_of(OfIterator(), 0) as loader:
        undisturbed = list(map(repr, loader))
        loader.set_epoch(0)
        batches = iter(loader)
        for _ in range(4):
            next(batches)
        state = loader.state_dict()
    with loader_of(OfIterator(), 1) as loader:
        loader.load_state_dict(state)
        assert list(map(repr, loader)) == undisturbed[4:]
