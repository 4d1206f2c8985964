"""torch's samplers, used unchanged."""

import numpy
import pytest
import torch
from torch.utils.data import (DataLoader, DistributedSampler, RandomSampler,
                              SubsetRandomSampler, WeightedRandomSampler)

import forebay
from drop_in import SAMPLES, ids


@pytest.mark.parametrize("drop_last", [False, True])
def test_a_distributed_sampler_shards(image_folder, drop_last):
    seen = []
    for rank in range(5):
        sampler = DistributedSampler(image_folder, 5, rank, shuffle=False,
                                     drop_last=drop_last)
        with forebay.DataLoader(image_folder, 4, sampler=sampler) as loader:
            assert len(loader) == len(DataLoader(image_folder, 4, sampler=sampler))
            assert ids(loader) == list(sampler)
            seen += ids(loader)
    assert len(set(seen)) == (45 if drop_last else 48)


def test_a_distributed_samplers_epoch_counts(image_folder):
    sampler = DistributedSampler(image_folder, 2, 1, seed=5)
    with forebay.DataLoader(image_folder, 4, sampler=sampler) as loader:
        epochs = {}
        for epoch in (0, 3, 1):
            loader.sampler.set_epoch(epoch)
            epochs[epoch] = ids(loader)
        with pytest.warns(UserWarning, match="set_epoch before each"):
            assert ids(loader) == epochs[1]
        loader.set_epoch(3)
        assert sampler.epoch == 3
        assert ids(loader) == epochs[3]
        state = loader.state_dict()
    assert len({tuple(order) for order in epochs.values()}) == 3
    with forebay.DataLoader(image_folder, 4, shuffle=True, seed=5, rank=1,
                            world_size=2) as native:
        native.set_epoch(3)
        assert ids(native) == epochs[3]
    assert state["epoch"] == 4


def test_a_state_outlasts_a_sampler_that_was_told_nothing(image_folder):
    def new():
        sampler = DistributedSampler(image_folder, 1, 0)
        return sampler, forebay.DataLoader(image_folder, 8, sampler=sampler)

    sampler, loader = new()
    with loader:
        sampler.set_epoch(2)
        iterator = iter(loader)
        seen = ids([next(iterator), next(iterator)])
        state = loader.state_dict()
    for told in (None, 2):
        sampler, loader = new()
        with loader:
            loader.load_state_dict(state)
            if told is not None:
                sampler.set_epoch(told)
            rest = ids(loader)
            assert sorted(seen + rest) == list(range(SAMPLES))


def test_random_samplers_take_the_generators_seed(image_folder):
    orders = []
    for seed in (7, 8):
        generator = torch.Generator().manual_seed(seed)
        for arguments in ({"shuffle": True, "generator": generator},
                          {"sampler": RandomSampler(image_folder, generator=generator)},
                          {"shuffle": True, "seed": seed}):
            with forebay.DataLoader(image_folder, 8, **arguments) as loader:
                orders.append(ids(loader))
    assert sorted(orders[0]) == list(range(SAMPLES))
    assert orders[0] == orders[1] == orders[2]
    assert orders[3] == orders[4] == orders[5]
    assert orders[0] != orders[3]


def samplers(image_folder, seed):
    generator = torch.Generator().manual_seed(seed)
    return [
        SubsetRandomSampler(range(0, 48, 3), generator=generator),
        WeightedRandomSampler([1.0] * 24 + [5.0] * 24, 100, generator=generator),
        RandomSampler(image_folder, replacement=True, generator=generator),
        RandomSampler(image_folder, num_samples=30, replacement=True,
                      generator=generator),
        [5, 5, -1, 0, numpy.int64(7)],
    ]


@pytest.mark.parametrize("number", range(5))
def test_other_samplers_say_every_epochs_order(image_folder, number):
    ours = samplers(image_folder, 3)[number]
    theirs = samplers(image_folder, 3)[number]
    with forebay.DataLoader(image_folder, 7, sampler=ours, drop_last=True) as loader:
        count = len(theirs) // 7 * 7
        assert len(loader) == count // 7
        for _ in range(3):
            order = [int(i) % SAMPLES for i in theirs]
            assert ids(loader) == order[:count]


@pytest.mark.parametrize("number", range(4))
def test_a_listed_order_is_resumed(image_folder, number):
    sampler = samplers(image_folder, 3)[number]
    with forebay.DataLoader(image_folder, 4, sampler=sampler) as it:
        whole = [ids(it), ids(it), ids(it)]
    sampler = samplers(image_folder, 3)[number]
    with forebay.DataLoader(image_folder, 4, sampler=sampler) as it:
        next(iter(it))
        iterator = iter(it)
        seen = ids([next(iterator), next(iterator)])
        state = it.state_dict()
        for _ in iterator:
            pass
        at_the_end = it.state_dict()
    assert seen == whole[1][:8]
    # The state decides this order and the next ones, whatever the state of the
    # sampler's generator.
    sampler = samplers(image_folder, 3)[number]
    list(sampler)
    with forebay.DataLoader(image_folder, 5, sampler=sampler) as it:
        assert ids(it) == whole[1]
        it.load_state_dict(state)
        assert it.state_dict() == state
        assert ids(it) == whole[1][8:]
        assert ids(it) == whole[2]
        it.load_state_dict(at_the_end)
        assert ids(it) == whole[2]


@pytest.mark.parametrize("sampler,message", [
    ([0, 48], "yields 48, but the dataset has 48"),
    ([[0, 1], [2]], "something else than integers"),
    ([0.5], "something else than integers"),
])
def test_refuses_indices_that_are_none(image_folder, sampler, message):
    with forebay.DataLoader(image_folder, 4, sampler=sampler) as loader:
        with pytest.raises(forebay.InvalidArgument, match=message):
            iter(loader)
