"""Orders: shuffling, samplers and batch samplers."""

import itertools
import os

import pytest
import torch
import torch.utils.data
from torch.utils.data import (BatchSampler, DistributedSampler, RandomSampler,
                              Sampler, SequentialSampler, SubsetRandomSampler,
                              WeightedRandomSampler)

from sample_sets import Made, Numbers, flat, values


def seeded(seed=5):
    return torch.Generator().manual_seed(seed)


def test_shuffling_gives_each_sample_once(DataLoader):
    read = flat(DataLoader(Numbers(50), 8, shuffle=True, num_workers=1))
    assert read != list(range(50)) and sorted(read) == list(range(50))


def test_each_epoch_has_another_order(DataLoader):
    loader = DataLoader(Numbers(50), 8, shuffle=True, num_workers=1)
    assert flat(loader) != flat(loader)


def test_a_generator_repeats_the_order(DataLoader):
    read = [flat(DataLoader(Numbers(50), 8, shuffle=True, generator=seeded(),
                            num_workers=1)) for _ in range(2)]
    assert read[0] == read[1]


def test_torchs_seed_repeats_the_order(DataLoader):
    read = []
    for _ in range(2):
        torch.manual_seed(3)
        read.append(flat(DataLoader(Numbers(50), 8, shuffle=True, num_workers=1)))
    assert read[0] == read[1]


def test_two_epochs_of_a_generator_repeat(DataLoader):
    read = []
    for _ in range(2):
        loader = DataLoader(Numbers(20), 8, shuffle=True, generator=seeded(),
                            num_workers=1)
        read.append([flat(loader), flat(loader)])
    assert read[0] == read[1] and read[0][0] != read[0][1]


def test_the_order_is_torchs_for_the_same_seed(DataLoader):
    read = [flat(kind(Numbers(30), 8, shuffle=True, generator=seeded(),
                      num_workers=1))
            for kind in (DataLoader, torch.utils.data.DataLoader)]
    assert read[0] == read[1]


def test_workers_do_not_change_the_order(DataLoader):
    read = [flat(DataLoader(Numbers(30), 4, shuffle=True, generator=seeded(),
                            num_workers=workers)) for workers in (0, 1, 2)]
    assert read[0] == read[1] == read[2]


def test_a_list_of_indices(DataLoader):
    loader = DataLoader(Numbers(9), 2, sampler=[7, 0, 7], num_workers=1)
    assert values(loader) == [[7, 0], [7]] and len(loader) == 2


def test_a_sampler_of_the_users(DataLoader):
    class Backwards(Sampler):
        def __init__(self, source):
            self.source = source

        def __iter__(self):
            return iter(range(len(self.source) - 1, -1, -1))

        def __len__(self):
            return len(self.source)
    dataset = Numbers(5)
    loader = DataLoader(dataset, 2, sampler=Backwards(dataset), num_workers=1)
    assert values(loader) == [[4, 3], [2, 1], [0]] and len(loader) == 3


def test_the_sampler_is_asked_anew_each_epoch(DataLoader):
    class Moving:
        epoch = 0

        def __iter__(self):
            return iter([self.epoch, self.epoch + 1])

        def __len__(self):
            return 2
    sampler = Moving()
    loader = DataLoader(Numbers(9), 2, sampler=sampler, num_workers=1)
    assert values(loader) == [[0, 1]]
    sampler.epoch = 5
    assert values(loader) == [[5, 6]]


def test_a_sampler_without_length(DataLoader):
    class Unsized:
        def __iter__(self):
            return iter([3, 1])
    loader = DataLoader(Numbers(9), 2, sampler=Unsized(), num_workers=1)
    assert values(loader) == [[3, 1]]
    with pytest.raises(TypeError):
        len(loader)


def test_a_sampler_without_end_is_drawn_as_needed(DataLoader):
    class Endless:
        def __iter__(self):
            return itertools.cycle([2, 0])
    iterator = iter(DataLoader(Numbers(3), 3, sampler=Endless(), num_workers=1))
    assert next(iterator).tolist() == [2, 0, 2]
    assert next(iterator).tolist() == [0, 2, 0]


def test_the_sampler_runs_in_the_trainer(DataLoader):
    class Here:
        def __iter__(self):
            yield os.getpid()
    loader = DataLoader(Made(lambda index: (index, os.getpid())), 1,
                        sampler=Here(), num_workers=1)
    [(sampled, read)] = list(loader)
    assert sampled.item() == os.getpid() != read.item()


def test_indices_are_drawn_a_bounded_number_ahead(DataLoader):
    drawn = []

    class Noting:
        def __iter__(self):
            for index in range(100):
                drawn.append(index)
                yield index
    iterator = iter(DataLoader(Numbers(100), 1, sampler=Noting(), num_workers=1,
                               prefetch_factor=3))
    next(iterator)
    assert 1 <= len(drawn) <= 4


def test_a_list_of_batches(DataLoader):
    loader = DataLoader(Numbers(9), batch_sampler=[[1, 2, 3], [8], [0, 0]],
                        num_workers=2)
    assert values(loader) == [[1, 2, 3], [8], [0, 0]] and len(loader) == 3


def test_torchs_batch_sampler(DataLoader):
    batches = BatchSampler(SequentialSampler(Numbers(7)), 3, drop_last=True)
    loader = DataLoader(Numbers(7), batch_sampler=batches, num_workers=1)
    assert values(loader) == [[0, 1, 2], [3, 4, 5]] and len(loader) == 2


def test_batches_by_a_generator_function(DataLoader):
    class Growing:
        def __iter__(self):
            for size in (1, 2, 3):
                yield tuple(range(size))

        def __len__(self):
            return 3
    loader = DataLoader(Numbers(5), batch_sampler=Growing(), num_workers=1)
    assert values(loader) == [[0], [0, 1], [0, 1, 2]]


def test_a_batch_sampler_as_sampler_of_single_items(DataLoader):
    batches = BatchSampler(SequentialSampler(range(5)), 2, drop_last=False)
    dataset = Made(lambda indices: torch.tensor(indices) * 10)
    loader = DataLoader(dataset, batch_size=None, sampler=batches, num_workers=1)
    assert values(loader) == [[0, 10], [20, 30], [40]]


def test_drawing_with_replacement(DataLoader):
    dataset = Numbers(3)
    sampler = RandomSampler(dataset, replacement=True, num_samples=40,
                            generator=seeded())
    wanted = list(RandomSampler(dataset, replacement=True, num_samples=40,
                                generator=seeded()))
    loader = DataLoader(dataset, 16, sampler=sampler, num_workers=1)
    assert flat(loader) == wanted and len(loader) == 3


def test_fewer_random_samples_than_there_are(DataLoader):
    dataset = Numbers(30)
    sampler = RandomSampler(dataset, num_samples=10, generator=seeded())
    read = flat(DataLoader(dataset, 4, sampler=sampler, num_workers=1))
    assert len(set(read)) == 10


def test_a_random_sampler_with_its_own_generator(DataLoader):
    dataset = Numbers(30)
    wanted = list(RandomSampler(dataset, generator=seeded()))
    sampler = RandomSampler(dataset, generator=seeded())
    assert flat(DataLoader(dataset, 4, sampler=sampler, num_workers=1)) == wanted


def test_weights(DataLoader):
    weights = [0.0, 1.0, 0.0, 3.0]
    wanted = list(WeightedRandomSampler(weights, 50, generator=seeded()))
    sampler = WeightedRandomSampler(weights, 50, generator=seeded())
    read = flat(DataLoader(Numbers(4), 16, sampler=sampler, num_workers=1))
    assert read == wanted and set(read) == {1, 3}


def test_a_random_subset(DataLoader):
    wanted = list(SubsetRandomSampler([2, 3, 5, 7], generator=seeded()))
    sampler = SubsetRandomSampler([2, 3, 5, 7], generator=seeded())
    loader = DataLoader(Numbers(9), 3, sampler=sampler, num_workers=1)
    assert flat(loader) == wanted and len(loader) == 2


def test_ranks_share_the_samples(DataLoader):
    dataset = Numbers(11)
    read = [flat(DataLoader(dataset, 2, num_workers=1, sampler=DistributedSampler(
        dataset, num_replicas=2, rank=rank, seed=4))) for rank in range(2)]
    assert len(read[0]) == len(read[1]) == 6
    assert set(read[0] + read[1]) == set(range(11))


def test_ranks_may_leave_out_the_rest(DataLoader):
    dataset = Numbers(11)
    read = [flat(DataLoader(dataset, 2, num_workers=1, sampler=DistributedSampler(
        dataset, num_replicas=2, rank=rank, shuffle=False, drop_last=True)))
        for rank in range(2)]
    assert read == [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]


def test_set_epoch_changes_the_order_of_ranks(DataLoader):
    dataset = Numbers(20)
    sampler = DistributedSampler(dataset, num_replicas=2, rank=1, seed=4)
    loader = DataLoader(dataset, 4, sampler=sampler, num_workers=1)
    read = []
    for epoch in (0, 1, 0):
        sampler.set_epoch(epoch)
        read.append(flat(loader))
    assert read[0] == read[2] != read[1]


def test_without_set_epoch_ranks_repeat_their_order(DataLoader):
    dataset = Numbers(20)
    sampler = DistributedSampler(dataset, num_replicas=2, rank=1, seed=4)
    loader = DataLoader(dataset, 4, sampler=sampler, num_workers=1)
    assert flat(loader) == flat(loader)


def test_an_error_in_the_sampler_reaches_the_trainer(DataLoader):
    class Broken:
        def __iter__(self):
            yield 1
            raise ZeroDivisionError("in the sampler")
    with pytest.raises(ZeroDivisionError, match="^in the sampler$"):
        list(DataLoader(Numbers(3), 1, sampler=Broken(), num_workers=1))


def test_an_index_outside_is_the_datasets_own_error(DataLoader):
    loader = DataLoader([1, 2, 3], 1, sampler=[0, 9], num_workers=1)
    with pytest.raises(IndexError, match="list index out of range"):
        list(loader)


def test_negative_indices_reach_the_dataset(DataLoader):
    assert values(DataLoader(Numbers(9), 2, sampler=[-1, -2], num_workers=1)) == [
        [-1, -2]]
