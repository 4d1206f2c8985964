"""Torch's DataPipes."""

import random

import pytest
import torch
from torch.utils.data import IterDataPipe, MapDataPipe, get_worker_info
from torch.utils.data.datapipes.iter import IterableWrapper
from torch.utils.data.datapipes.map import SequenceWrapper

from sample_sets import flat, values


class Drawing(IterDataPipe):
    seed = None

    def set_seed(self, seed):
        self.seed = seed
        return self

    def __iter__(self):
        yield self.seed, random.random()


class Own(IterDataPipe):
    def __iter__(self):
        self.place = 0
        return self

    def __next__(self):
        if self.place == 5:
            raise StopIteration
        self.place += 1
        return self.place


class Parts(MapDataPipe):
    part = None

    def __len__(self):
        return 8

    def __getitem__(self, number):
        return self.part == (2, get_worker_info().id)

    def is_shardable(self):
        return True

    def apply_sharding(self, parts, part):
        self.part = parts, part


def numbers(size=20):
    return IterableWrapper(range(size))


def test_without_workers(DataLoader):
    loader = DataLoader(numbers(5).map(str), 2, num_workers=0)
    assert list(loader) == [["0", "1"], ["2", "3"], ["4"]]


def test_in_a_worker(DataLoader):
    assert values(DataLoader(numbers(5), 2, num_workers=1)) == [[0, 1], [2, 3], [4]]


def test_without_a_filter_each_worker_gives_everything(DataLoader):
    read = flat(DataLoader(numbers(), 3, num_workers=2))
    assert sorted(read) == sorted(2 * list(range(20)))


def test_a_sharding_filter_gives_each_worker_a_part(DataLoader):
    read = values(DataLoader(numbers(8).sharding_filter(), 2, num_workers=2))
    assert read == [[0, 2], [1, 3], [4, 6], [5, 7]]


@pytest.mark.parametrize("workers", [0, 1, 2, 3])
def test_a_sharding_filter_loses_nothing(DataLoader, workers):
    loader = DataLoader(numbers().sharding_filter(), 3, num_workers=workers)
    for _ in range(2):
        assert sorted(flat(loader)) == list(range(20))


def test_the_filter_is_in_the_trainers_pipe_for_all(DataLoader):
    pipe = numbers().sharding_filter()
    assert len(flat(DataLoader(pipe, 3, num_workers=2))) == 20
    assert list(pipe) == list(range(20))


def test_a_worker_has_its_part_before_worker_init_fn(DataLoader):
    def note(one):
        pipe = get_worker_info().dataset
        graph = torch.utils.data.graph_settings.get_all_graph_pipes(
            torch.utils.data.graph.traverse_dps(pipe))
        found = [one for one in graph if hasattr(one, "instance_id")]
        assert [one.instance_id for one in found] == [get_worker_info().id]
    pipe = numbers().sharding_filter()
    loader = DataLoader(pipe, 2, num_workers=2, worker_init_fn=note)
    assert sorted(flat(loader)) == list(range(20))


def test_two_filters_are_an_error(DataLoader):
    pipe = numbers().sharding_filter().sharding_filter()
    with pytest.raises(RuntimeError, match="only applied once|Sharding twice"):
        list(DataLoader(pipe, 2, num_workers=1))


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_workers_shuffle_alike(DataLoader, workers):
    loader = DataLoader(numbers(60).shuffle().sharding_filter(), 4,
                        num_workers=workers)
    epochs = [flat(loader) for _ in range(3)]
    for epoch in epochs:
        assert sorted(epoch) == list(range(60)) and epoch != list(range(60))
    assert epochs[0] != epochs[1] != epochs[2] != epochs[0]


def test_persistent_workers_shuffle_anew(DataLoader):
    loader = DataLoader(numbers(60).shuffle().sharding_filter(), 4, num_workers=2,
                        persistent_workers=True)
    epochs = [flat(loader) for _ in range(2)]
    assert [sorted(epoch) for epoch in epochs] == 2 * [list(range(60))]
    assert epochs[0] != epochs[1]


@pytest.mark.parametrize("workers", [0, 1])
def test_shuffle_false_switches_shufflers_off(DataLoader, workers):
    loader = DataLoader(numbers().shuffle(), 4, shuffle=False, num_workers=workers)
    assert flat(loader) == list(range(20))


def test_shuffle_true_switches_shufflers_on(DataLoader):
    pipe = numbers(60).shuffle().set_shuffle(False)
    read = flat(DataLoader(pipe, 4, shuffle=True, num_workers=1))
    assert sorted(read) == list(range(60)) and read != list(range(60))


def test_shufflers_that_are_switched_off_stay_so(DataLoader):
    pipe = numbers().shuffle().set_shuffle(False)
    assert flat(DataLoader(pipe, 4, num_workers=1)) == list(range(20))


def test_shuffle_true_warns_where_there_is_no_shuffler(DataLoader):
    with pytest.warns(UserWarning, match="does not contain a `Shuffler`"):
        DataLoader(numbers(), 4, shuffle=True, num_workers=1)


@pytest.mark.filterwarnings("ignore:.*does not contain a `Shuffler`")
def test_shuffle_adds_no_shuffler(DataLoader):
    read = flat(DataLoader(numbers(60), 4, shuffle=True, num_workers=1))
    assert read == list(range(60))


def test_random_pipes_get_one_seed(DataLoader):
    read = list(DataLoader(Drawing(), None, num_workers=2))
    assert len(read) == 2
    assert read[0][0] == read[1][0] is not None
    assert read[0][1] != read[1][1]


def test_batches_of_a_pipe(DataLoader):
    loader = DataLoader(numbers(5).batch(2), None, num_workers=1)
    assert list(map(list, loader)) == [[0, 1], [2, 3], [4]]


def test_a_pipe_that_is_its_own_iterator(DataLoader):
    loader = DataLoader(Own(), 2, num_workers=1)
    assert [values(loader) for _ in range(2)] == 2 * [[[1, 2], [3, 4], [5]]]


def test_forks_and_zips(DataLoader):
    one, other = numbers(6).fork(2)
    loader = DataLoader(one.map(float).zip(other.map(str)), 3, num_workers=1)
    assert [[part if isinstance(part[0], str) else part.tolist() for part in batch]
            for batch in loader] == [[[0, 1, 2], ("0", "1", "2")],
                                     [[3, 4, 5], ("3", "4", "5")]]


def test_length(DataLoader):
    loader = DataLoader(numbers(9).map(abs), 2, num_workers=1)
    assert len(loader) == 5
    with pytest.raises(TypeError):
        len(DataLoader(numbers(9).filter(bool), 2, num_workers=1))


@pytest.mark.parametrize("arguments", [{"sampler": [0]}, {"batch_sampler": [[0]]}],
                         ids=["sampler", "batch_sampler"])
def test_a_pipe_takes_no_sampler(DataLoader, arguments):
    with pytest.raises(ValueError, match="IterableDataset: expected unspecified"):
        DataLoader(numbers(), **arguments)


@pytest.mark.parametrize("workers", [0, 2])
def test_pipes_with_numbers(DataLoader, workers):
    loader = DataLoader(SequenceWrapper(range(10)).map(float), 4,
                        num_workers=workers)
    assert len(loader) == 3
    assert values(loader) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_pipes_with_numbers_in_random_order(DataLoader):
    loader = DataLoader(SequenceWrapper(range(60)), 4, shuffle=True, num_workers=2)
    epochs = [flat(loader) for _ in range(2)]
    assert [sorted(epoch) for epoch in epochs] == 2 * [list(range(60))]
    assert list(range(60)) != epochs[0] != epochs[1]


def test_pipes_with_numbers_get_their_part(DataLoader):
    assert all(flat(DataLoader(Parts(), 1, num_workers=2)))
