"""Iterable datasets."""

import re
import warnings

import pytest
import torch
from torch.utils.data import ChainDataset, IterableDataset, get_worker_info

from sample_sets import Counted, Sharded, Sized, flat, stall, values


def test_batches_of_an_iterable(DataLoader):
    assert values(DataLoader(Counted(5), 2, num_workers=1)) == [[0, 1], [2, 3], [4]]


def test_single_samples_of_an_iterable(DataLoader):
    assert list(DataLoader(Counted(3), None, num_workers=1)) == [0, 1, 2]


def test_an_iterable_without_workers(DataLoader):
    assert values(DataLoader(Counted(3), 2, num_workers=0)) == [[0, 1], [2]]


def test_an_iterable_in_the_default_number_of_workers(DataLoader):
    assert values(DataLoader(Counted(3), 2)) == [[0, 1], [2]]


def test_without_sharding_each_worker_gives_everything(DataLoader):
    read = flat(DataLoader(Counted(5), 2, num_workers=2))
    assert sorted(read) == sorted(list(range(5)) * 2)


def test_shards_by_worker_info(DataLoader):
    read = values(DataLoader(Sharded(10), 2, num_workers=2))
    assert read == [[0, 2], [1, 3], [4, 6], [5, 7], [8], [9]]


def test_shards_without_workers(DataLoader):
    assert flat(DataLoader(Sharded(5), 2, num_workers=0)) == [0, 1, 2, 3, 4]


def test_each_worker_has_a_last_batch(DataLoader):
    read = values(DataLoader(Sharded(6), 2, num_workers=2))
    assert sorted(read) == [[0, 2], [1, 3], [4], [5]]


def test_each_worker_drops_its_last_batch(DataLoader):
    read = values(DataLoader(Sharded(6), 2, num_workers=2, drop_last=True))
    assert sorted(read) == [[0, 2], [1, 3]]


def test_workers_may_end_at_different_times(DataLoader):
    class Uneven(IterableDataset):
        def __iter__(self):
            return iter([10] * 7 if get_worker_info().id else [1])
    read = flat(DataLoader(Uneven(), 1, num_workers=2))
    assert read == [1] + [10] * 7


def test_a_worker_may_have_nothing(DataLoader):
    class One(IterableDataset):
        def __iter__(self):
            return iter([] if get_worker_info().id == 0 else [4, 5])
    assert values(DataLoader(One(), 2, num_workers=2)) == [[4, 5]]


@pytest.mark.parametrize("workers", [0, 1])
def test_the_iterator_of_an_iterable_has_no_length(DataLoader, workers):
    """list() does not ask the dataset for its length either; torch would warn of a
    wrong one."""
    class Wrong(Counted):
        def __len__(self):
            return 1
    batches = iter(DataLoader(Wrong(3), 2, num_workers=workers))
    with pytest.raises(TypeError):
        len(batches)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [batch.tolist() for batch in list(batches)] == [[0, 1], [2]]


def test_an_empty_iterable(DataLoader):
    assert list(DataLoader(Counted(0), 2, num_workers=2)) == []


def test_an_iterable_without_end(DataLoader):
    class Endless(IterableDataset):
        def __iter__(self):
            number = 0
            while True:
                yield number
                number += 1
    iterator = iter(DataLoader(Endless(), 2, num_workers=1))
    assert [next(iterator).tolist() for _ in range(3)] == [[0, 1], [2, 3], [4, 5]]


def test_a_slow_worker_does_not_change_the_order(DataLoader):
    class Slow(Sharded):
        def __iter__(self):
            for number in super().__iter__():
                if number % 2 == 0:
                    stall(0.05)
                yield number
    assert flat(DataLoader(Slow(8), 1, num_workers=2)) == list(range(8))


def test_a_dataset_that_is_its_own_iterator(DataLoader):
    class Own(IterableDataset):
        position = 0

        def __iter__(self):
            return self

        def __next__(self):
            if self.position == 4:
                raise StopIteration
            self.position += 1
            return self.position
    loader = DataLoader(Own(), 3, num_workers=1)
    assert [values(loader), values(loader)] == [[[1, 2, 3], [4]]] * 2


@pytest.mark.parametrize("workers", [0, 1])
def test_an_iterator_is_never_asked_for_another(DataLoader, workers):
    class Own(IterableDataset):
        def __iter__(self):
            self.position = 0
            return self

        def __next__(self):
            if self.position == 5:
                raise StopIteration
            self.position += 1
            return self.position
    loader = DataLoader(Own(), 2, num_workers=workers)
    assert [values(loader), values(loader)] == [[[1, 2], [3, 4], [5]]] * 2


@pytest.mark.parametrize("workers", [0, 1])
def test_an_iterator_that_has_ended_is_not_asked_again(DataLoader, workers):
    class Again(IterableDataset):
        def __iter__(self):
            return self

        position = 0

        def __next__(self):
            self.position += 1
            if self.position % 4 == 0:
                raise StopIteration
            return self.position
    assert values(DataLoader(Again(), 2, num_workers=workers)) == [[1, 2], [3]]


def test_chained_iterables(DataLoader):
    chain = ChainDataset([Counted(3), Counted(2)])
    assert values(DataLoader(chain, 2, num_workers=1)) == [[0, 1], [2, 0], [1]]


def test_a_sum_of_iterables(DataLoader):
    loader = DataLoader(Counted(2) + Counted(3), 8, num_workers=1)
    assert values(loader) == [[0, 1, 0, 1, 2]]


def test_an_iterable_without_length(DataLoader):
    with pytest.raises(TypeError, match="has no len"):
        len(DataLoader(Counted(3), 2, num_workers=1))


@pytest.mark.parametrize("batch_size,drop_last,wanted", [
    (3, False, 4), (3, True, 3), (None, False, 10), (16, True, 0)])
def test_an_iterable_with_length(DataLoader, batch_size, drop_last, wanted):
    loader = DataLoader(Sized(10), batch_size, drop_last=drop_last, num_workers=1)
    assert len(loader) == wanted


def test_more_samples_than_the_length_said(DataLoader):
    loader = DataLoader(Sized(5, says=3), batch_size=None, num_workers=1)
    assert len(loader) == 3
    with pytest.warns(UserWarning, match="was reported to be 3"):
        assert list(loader) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("workers", [0, 2])
def test_the_warning_says_what_may_be_the_cause(DataLoader, workers):
    loader = DataLoader(Sized(4), batch_size=1, num_workers=workers)
    assert len(loader) == 4
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        read = flat(loader)
    # torch 2.15 omits the space before the bracket.
    texts = [str(one.message) for one in told if re.search(
        r"was reported to be 4 ?\(when accessing len\(dataloader\)\), but 5 samples",
        str(one.message))]
    assert len(texts) == (workers > 0)
    assert len(read) == 4 * max(workers, 1)
    assert all("IterableDataset replica at each worker" in text for text in texts)


def test_nobody_warns_if_nobody_asked_for_the_length(DataLoader):
    loader = DataLoader(Sized(5, says=3), batch_size=None, num_workers=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(loader) == [0, 1, 2, 3, 4]


def test_fewer_samples_than_the_length_said(DataLoader):
    loader = DataLoader(Sized(3, says=30), 2, num_workers=1)
    assert len(loader) == 15 and values(loader) == [[0, 1], [2]]


@pytest.mark.parametrize("arguments", [
    {"shuffle": True}, {"sampler": [0]}, {"batch_sampler": [[0]]}],
    ids=["shuffle", "sampler", "batch_sampler"])
def test_an_iterable_takes_no_order(DataLoader, arguments):
    with pytest.raises(ValueError, match="IterableDataset: expected unspecified"):
        DataLoader(Counted(3), **arguments)


def test_an_iterable_takes_shuffle_false(DataLoader):
    loader = DataLoader(Counted(3), 3, shuffle=False, num_workers=1)
    assert values(loader) == [[0, 1, 2]]


def test_the_iterable_is_asked_anew_in_each_epoch(DataLoader):
    loader = DataLoader(Counted(3), 3, num_workers=1)
    assert [flat(loader), flat(loader)] == [[0, 1, 2]] * 2


def test_a_buffer_that_shuffles(DataLoader):
    class Shuffling(Sharded):
        def __iter__(self):
            numbers = list(super().__iter__())
            order = torch.randperm(len(numbers)).tolist()
            return iter([numbers[i] for i in order])
    loader = DataLoader(Shuffling(60), 4, num_workers=2)
    epochs = [flat(loader) for _ in range(2)]
    assert all(sorted(epoch) == list(range(60)) for epoch in epochs)
    assert epochs[0] != epochs[1]


def test_an_error_in_an_iterable(DataLoader):
    class Broken(IterableDataset):
        def __iter__(self):
            yield 1
            raise ValueError("the stream broke")
    iterator = iter(DataLoader(Broken(), 1, num_workers=1))
    assert next(iterator).tolist() == [1]
    with pytest.raises(ValueError, match="the stream broke"):
        next(iterator)


def test_an_error_as_an_iterable_begins(DataLoader):
    class Broken(IterableDataset):
        def __iter__(self):
            raise ConnectionError("no server")
    with pytest.raises(ConnectionError, match="no server"):
        list(DataLoader(Broken(), 1, num_workers=1))


def test_an_error_in_one_shard_comes_in_its_place(DataLoader):
    class Broken(Sharded):
        def __iter__(self):
            for number in super().__iter__():
                if number == 3:
                    raise KeyError(number)
                yield number
    iterator = iter(DataLoader(Broken(8), 1, num_workers=2))
    assert [next(iterator).item() for _ in range(3)] == [0, 1, 2]
    with pytest.raises(KeyError, match="3"):
        next(iterator)
