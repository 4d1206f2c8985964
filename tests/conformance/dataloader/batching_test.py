"""Batch sizes, last batches and lengths."""

import pytest
from torch.utils.data import RandomSampler

from sample_sets import Made, Numbers, stall, values


@pytest.mark.parametrize("size,batch_size,drop_last", [
    (0, 1, False), (0, 4, True), (1, 1, False), (3, 4, False), (3, 4, True),
    (4, 4, False), (8, 4, True), (9, 4, False), (9, 4, True), (5, 1, True)])
def test_batches_and_length(DataLoader, size, batch_size, drop_last):
    loader = DataLoader(Numbers(size), batch_size, drop_last=drop_last,
                        num_workers=1)
    whole = [list(range(begin, min(begin + batch_size, size)))
             for begin in range(0, size, batch_size)]
    wanted = [batch for batch in whole if len(batch) == batch_size or not drop_last]
    assert values(loader) == wanted
    assert len(loader) == len(wanted)


@pytest.mark.parametrize("arguments", [
    {"batch_size": 2}, {"batch_size": 2, "drop_last": True}, {"batch_size": None},
    {"batch_size": 2, "collate_fn": list}, {"sampler": [4, 0, 2]},
    {"batch_sampler": [[0, 1], [], [4]]}])
@pytest.mark.parametrize("workers", [0, 1])
def test_an_iterator_has_the_length_of_the_whole_epoch(DataLoader, workers, arguments):
    loader = DataLoader(Numbers(5), num_workers=workers, **{
        "collate_fn": lambda samples: samples, **arguments})
    batches = iter(loader)
    assert len(batches) == len(loader) > 1
    next(batches)
    assert len(batches) == len(loader)
    assert len(list(batches)) == len(loader) - 1
    assert len(batches) == len(loader)


@pytest.mark.parametrize("workers", [0, 1])
def test_the_iterator_of_an_empty_epoch_has_length_0(DataLoader, workers):
    batches = iter(DataLoader(Numbers(0), 3, num_workers=workers))
    assert len(batches) == 0 and list(batches) == [] and len(batches) == 0
    assert next(batches, None) is None and iter(batches) is batches


def test_the_iterator_of_a_sampler_without_length_has_none(DataLoader):
    class Unsized:
        def __iter__(self):
            return iter([2, 0, 1])
    batches = iter(DataLoader(Numbers(5), 2, sampler=Unsized(), num_workers=1))
    with pytest.raises(TypeError):
        len(batches)
    assert [batch.tolist() for batch in list(batches)] == [[2, 0], [1]]


def test_the_default_is_batches_of_one(DataLoader):
    assert values(DataLoader(Numbers(2))) == [[0], [1]]


def test_more_workers_than_batches(DataLoader):
    assert values(DataLoader(Numbers(2), 2, num_workers=2)) == [[0, 1]]


def test_an_empty_dataset_with_workers_ends_at_once(DataLoader):
    assert list(DataLoader(Numbers(0), 3, num_workers=2)) == []


def test_an_empty_dataset_in_random_order_is_as_its_sampler_says(DataLoader):
    try:
        RandomSampler(Numbers(0))
    except ValueError as refused:  # torch 1.13 refuses this; later versions do not
        with pytest.raises(ValueError, match=str(refused)):
            DataLoader(Numbers(0), 3, shuffle=True, num_workers=1)
    else:
        assert list(DataLoader(Numbers(0), 3, shuffle=True, num_workers=1)) == []


def test_single_samples(DataLoader):
    loader = DataLoader(Numbers(3), batch_size=None, num_workers=2)
    assert list(loader) == [0, 1, 2]
    assert len(loader) == 3


def test_single_samples_in_random_order(DataLoader):
    loader = DataLoader(Numbers(20), batch_size=None, shuffle=True, num_workers=1)
    read = list(loader)
    assert read != list(range(20)) and sorted(read) == list(range(20))


def test_samples_that_are_batches_already(DataLoader):
    loader = DataLoader(Made(lambda indices: [i * 2 for i in indices]),
                        batch_size=None, sampler=[[0, 1], [2]], num_workers=1)
    assert list(loader) == [[0, 2], [4]]


def test_order_is_kept_whichever_worker_is_slow(DataLoader):
    def make(index):
        if index < 2:
            stall(0.3)
        return index
    loader = DataLoader(Made(make, 12), 2, num_workers=2)
    assert values(loader) == [[i, i + 1] for i in range(0, 12, 2)]


def test_a_batch_of_many_samples(DataLoader):
    batch, = DataLoader(Numbers(20000), 20000, num_workers=1)
    assert batch.tolist() == list(range(20000))


def test_many_small_batches(DataLoader):
    loader = DataLoader(Numbers(600), 1, num_workers=2)
    assert values(loader) == [[i] for i in range(600)]
