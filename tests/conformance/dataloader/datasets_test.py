"""Map-style datasets of every kind."""

import os
import threading

import numpy
import pytest
import torch
from torch.utils.data import (ConcatDataset, Dataset, Subset, TensorDataset,
                              random_split)

from sample_sets import Made, Numbers, flat, values


class Plain:
    """A dataset that does not derive from torch's Dataset."""

    def __getitem__(self, index):
        return index + 1

    def __len__(self):
        return 5


def test_a_user_defined_dataset(DataLoader):
    loader = DataLoader(Numbers(6, 3), batch_size=2, num_workers=2)
    assert values(loader) == [[0, 3], [6, 9], [12, 15]]


def test_a_class_without_torchs_base(DataLoader):
    assert values(DataLoader(Plain(), 3, num_workers=1)) == [[1, 2, 3], [4, 5]]


@pytest.mark.parametrize("dataset", [
    range(5, 10), [5, 6, 7, 8, 9], (5, 6, 7, 8, 9), numpy.arange(5, 10),
    torch.arange(5, 10)], ids=["range", "list", "tuple", "array", "tensor"])
def test_a_sequence_is_a_dataset(DataLoader, dataset):
    loader = DataLoader(dataset, batch_size=3, num_workers=1)
    assert values(loader) == [[5, 6, 7], [8, 9]]


def test_a_text_is_a_dataset(DataLoader):
    assert list(DataLoader("abc", 2, num_workers=1)) == [["a", "b"], ["c"]]


def test_a_dict_with_a_sampler_of_its_keys(DataLoader):
    loader = DataLoader({"a": 1, "b": 2, "c": 3}, 2, sampler=["c", "a", "b"],
                        num_workers=1)
    assert values(loader) == [[3, 1], [2]]


def test_keys_that_are_tuples(DataLoader):
    loader = DataLoader(Made(lambda key: key[0] * 10 + key[1]), 2,
                        sampler=[(1, 2), (3, 4)], num_workers=1)
    assert values(loader) == [[12, 34]]


def test_a_dataset_without_length_takes_a_sampler(DataLoader):
    class Endless(Dataset):
        def __getitem__(self, index):
            return -index
    loader = DataLoader(Endless(), 2, sampler=[4, 8, 1], num_workers=1)
    assert values(loader) == [[-4, -8], [-1]]
    assert len(loader) == 2


def test_whole_batches_by_getitems(DataLoader):
    class Batched(Numbers):
        def __getitem__(self, index):
            raise AssertionError("__getitems__ comes first")

        def __getitems__(self, indices):
            return [index + 100 for index in indices]
    loader = DataLoader(Batched(5), 2, num_workers=1)
    assert values(loader) == [[100, 101], [102, 103], [104]]


def test_single_samples_do_not_use_getitems(DataLoader):
    class Batched(Numbers):
        def __getitems__(self, indices):
            raise AssertionError("there is no batch")
    assert list(DataLoader(Batched(3), None, num_workers=1)) == [0, 1, 2]


def test_indices_are_pythons_integers(DataLoader):
    kinds = Made(lambda index: type(index).__name__, 4)
    for shuffle in (False, True):
        loader = DataLoader(kinds, 4, shuffle=shuffle, num_workers=1)
        assert list(loader) == [["int"] * 4]


def test_a_tensor_dataset_gives_lists_of_tensors(DataLoader):
    dataset = TensorDataset(torch.rand(5, 2), torch.arange(5))
    for batch in DataLoader(dataset, 5, num_workers=1):
        assert type(batch) is list
        assert torch.equal(batch[0], dataset.tensors[0])
        assert torch.equal(batch[1], dataset.tensors[1])


def test_a_subset(DataLoader):
    loader = DataLoader(Subset(Numbers(9, 2), [8, 0, 3, 3]), 3, num_workers=1)
    assert values(loader) == [[16, 0, 6], [6]]


def test_a_subset_of_a_subset(DataLoader):
    inner = Subset(Numbers(9), [8, 0, 3, 5])
    assert values(DataLoader(Subset(inner, [3, 0]), 2, num_workers=1)) == [[5, 8]]


def test_a_concatenation(DataLoader):
    both = ConcatDataset([Numbers(2), Numbers(3, 10)])
    assert values(DataLoader(both, 4, num_workers=1)) == [[0, 1, 0, 10], [20]]


def test_a_sum_of_datasets(DataLoader):
    loader = DataLoader(Numbers(2) + Numbers(1) + Numbers(2, 5), 9, num_workers=1)
    assert values(loader) == [[0, 1, 0, 0, 5]]


def test_a_random_split(DataLoader):
    parts = random_split(Numbers(10), [7, 3],
                         generator=torch.Generator().manual_seed(1))
    read = [flat(DataLoader(part, 4, num_workers=1)) for part in parts]
    assert [len(part) for part in read] == [7, 3]
    assert sorted(read[0] + read[1]) == list(range(10))
    assert read[0] == parts[0].indices


def test_a_local_class_with_a_closure(DataLoader):
    offset = 40

    class Local(Dataset):
        def __getitem__(self, index):
            return index + offset

        def __len__(self):
            return 2
    assert values(DataLoader(Local(), 2, num_workers=1)) == [[40, 41]]


def test_lambdas_within_the_dataset(DataLoader):
    loader = DataLoader(Made(lambda index: index ** 2), 4, num_workers=1)
    assert values(loader) == [[0, 1, 4, 9]]


def test_a_dataset_with_a_lock(DataLoader):
    class Guarded(Numbers):
        def __init__(self, size):
            super().__init__(size)
            self.lock = threading.Lock()

        def __getitem__(self, index):
            with self.lock:
                return index
    assert values(DataLoader(Guarded(3), 3, num_workers=2)) == [[0, 1, 2]]


def test_a_dataset_with_an_open_file(DataLoader, tmp_path):
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(50, 60)))
    with open(path, "rb") as file:
        dataset = Made(lambda index: os.pread(file.fileno(), 1, index)[0], 10)
        loader = DataLoader(dataset, 5, num_workers=2)
        assert flat(loader) == list(range(50, 60))


def test_a_memory_map(DataLoader, tmp_path):
    numpy.save(tmp_path / "a.npy", numpy.arange(6.0).reshape(3, 2))
    mapped = numpy.load(tmp_path / "a.npy", mmap_mode="r+")
    batch, = DataLoader(mapped, 3, num_workers=1)
    assert batch.dtype == torch.float64
    assert batch.tolist() == [[0, 1], [2, 3], [4, 5]]


@pytest.mark.parametrize("workers", [0, 2])
def test_changes_in_the_trainer_reach_the_next_epoch(DataLoader, workers):
    dataset = Numbers(3)
    loader = DataLoader(dataset, 3, num_workers=workers)
    assert values(loader) == [[0, 1, 2]]
    dataset.factor = 7
    assert values(loader) == [[0, 7, 14]]


def test_a_dataset_may_grow_between_epochs(DataLoader):
    dataset = Numbers(2)
    loader = DataLoader(dataset, 2, num_workers=1)
    assert flat(loader) == [0, 1]
    dataset.size = 5
    assert len(loader) == 3
    assert flat(loader) == [0, 1, 2, 3, 4]


def test_changes_in_a_worker_stay_there(DataLoader):
    class Noting(Numbers):
        noted = ()

        def __getitem__(self, index):
            self.noted += (index,)
            return index
    dataset = Noting(4)
    assert flat(DataLoader(dataset, 2, num_workers=2)) == [0, 1, 2, 3]
    assert dataset.noted == ()


def test_without_workers_the_trainers_object_is_used(DataLoader):
    seen = []

    def make(index):
        seen.append(index)
        return index
    assert flat(DataLoader(Made(make, 3), 2, num_workers=0)) == [0, 1, 2]
    assert seen == [0, 1, 2]


def test_a_huge_dataset_is_read_lazily(DataLoader):
    iterator = iter(DataLoader(Numbers(1 << 40), 2, num_workers=1))
    assert [next(iterator).tolist() for _ in range(3)] == [[0, 1], [2, 3], [4, 5]]


def test_an_attribute_of_the_dataset_through_the_loader(DataLoader):
    dataset = Numbers(3)
    loader = DataLoader(dataset, 2, num_workers=1)
    assert loader.dataset is dataset
    assert len(loader.dataset) == 3
