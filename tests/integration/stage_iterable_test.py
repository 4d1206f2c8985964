"""Iterable datasets, with one shard in each worker."""

import itertools
import random

import pytest
import torch
from torch.utils.data import ChainDataset, DataLoader, IterableDataset, get_worker_info

import forebay
from own_processes import WorkerKiller
from stage_test import leaves_nothing, reachable  # noqa: F401


class Sharded(IterableDataset):
    """Numbers, each with a random number. Each worker has a part of them."""

    def __init__(self, size=50, unevenly=False):
        self.size, self.unevenly = size, unevenly

    def __iter__(self):
        info = get_worker_info()
        worker, workers = (0, 1) if info is None else (info.id, info.num_workers)
        for number in range(self.size):
            mine = (number < 5) == (worker == 0) if self.unevenly else (
                number % workers == worker)
            if mine or workers == 1:
                yield number, random.random()


class Sized(Sharded):
    def __len__(self):
        return self.size


def numbers_of(batches):
    return [batch[0].tolist() for batch in batches]


@pytest.mark.parametrize("workers, unevenly", [
    (0, False), (1, False), (2, False), (2, True), (3, False)])
@pytest.mark.parametrize("arguments", [
    {}, {"batch_size": 7}, {"batch_size": 7, "drop_last": True}])
def test_gives_the_batches_that_torch_gives(workers, unevenly, arguments):
    dataset = Sharded(unevenly=unevenly)
    theirs = numbers_of(DataLoader(dataset, num_workers=workers, **arguments))
    with forebay.DataLoader(dataset, num_workers=workers, **arguments) as loader:
        assert numbers_of(loader) == theirs
        assert numbers_of(loader) == theirs


@pytest.mark.parametrize("workers", [0, 2])
def test_samples_alone(workers):
    with forebay.DataLoader(Sharded(9), None, num_workers=workers) as loader:
        assert sorted(number for number, _ in loader) == list(range(9))


def test_chains_and_plain_iterables():
    chained = ChainDataset([Sharded(5), Sharded(3)])
    with forebay.DataLoader(chained, 3) as loader:
        assert numbers_of(loader) == [[0, 1, 2], [3, 4, 0], [1, 2]]

    class Plain:
        def __iter__(self):
            return iter("abcde")

    with forebay.DataLoader(Plain(), 3) as loader:
        assert list(loader) == [["a", "b", "c"], ["d", "e"]]


def test_lengths():
    assert len(forebay.DataLoader(Sized(50), 7)) == 8
    assert len(forebay.DataLoader(Sized(50), 7, drop_last=True)) == 7
    assert len(forebay.DataLoader(Sized(50), None)) == 50
    with pytest.raises(TypeError):
        len(forebay.DataLoader(Sharded(50), 7))


@pytest.mark.parametrize("arguments", [
    {"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]},
    {"world_size": 2}])
def test_refuses_an_order(arguments):
    with pytest.raises(ValueError, match="own code of Sharded makes the order"):
        forebay.DataLoader(Sharded(), **arguments)


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_goes_on_from_a_state_with_the_same_bytes(workers):
    def loader():
        return forebay.DataLoader(Sharded(60), 4, seed=2, num_workers=workers)

    with loader() as first:
        batches = iter(first)
        seen = [repr(next(batches)) for _ in range(5)]
        state = first.state_dict()
        rest = list(map(repr, batches))
        assert len(seen + rest) == 15
    with loader() as second:
        second.load_state_dict(state)
        assert list(map(repr, second)) == rest


def test_goes_on_where_some_shards_have_ended():
    def loader():
        return forebay.DataLoader(Sharded(unevenly=True), 2, num_workers=2)

    with loader() as first:
        expected = list(map(repr, first))
        first.set_epoch(0)
        batches = iter(first)
        for _ in range(10):  # the first shard has three batches
            next(batches)
        state = first.state_dict()
    with loader() as second:
        second.load_state_dict(state)
        assert list(map(repr, second)) == expected[10:]


def test_each_epoch_draws_anew_and_the_same_in_every_run():
    with forebay.DataLoader(Sharded(), 5, num_workers=2) as loader:
        first, second = list(map(repr, loader)), list(map(repr, loader))
        loader.set_epoch(0)
        assert list(map(repr, loader)) == first != second


def test_shards_begin_once():
    begun = torch.zeros(1).share_memory_()

    class Counted(Sharded):
        def __iter__(self):
            begun.add_(1)
            return super().__iter__()

    with forebay.DataLoader(Counted(400), 2, num_workers=2) as loader:
        held = []
        for batch in loader:
            held = (held + [batch])[-6:]  # more batches than the daemon lends at once
    assert begun.item() == 2


def test_killed_workers_lose_and_double_nothing():
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)

    def run(disturb):
        killer, made = WorkerKiller(chance), []
        with forebay.DataLoader(Sharded(400), 4, seed=5,
                                num_workers=2) as loader:
            for batch in loader:
                made.append(repr(batch))
                if disturb:
                    killer.note_batch()
        return made

    assert run(True) == run(False)


@pytest.mark.parametrize("workers", [0, 2])
def test_exceptions_are_told_and_the_next_batch_follows(workers):
    class Faulty(Sharded):
        def __iter__(self):
            return Failing()

    class Failing:
        def __init__(self):
            self.number = -1

        def __iter__(self):
            return self

        def __next__(self):
            self.number += 1
            if self.number == 5:
                raise KeyError("five")
            if self.number == 12:
                raise StopIteration
            return self.number

    with forebay.DataLoader(Faulty(), 3, num_workers=min(workers, 1)) as loader:
        batches = iter(loader)
        assert next(batches).tolist() == [0, 1, 2]
        with pytest.raises(KeyError, match="five"):
            next(batches)
        assert [batch.tolist() for batch in batches] == [[6, 7, 8], [9, 10, 11]]


def test_endless_ones_can_be_left():
    class Endless(IterableDataset):
        def __iter__(self):
            return itertools.count()

    for number in (0, 2):
        with forebay.DataLoader(Endless(), 4, num_workers=number) as loader:
            batches = list(itertools.islice(loader, 30))
        assert len(batches) == 30
