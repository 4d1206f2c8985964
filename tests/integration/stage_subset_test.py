"""Subsets of datasets of the user's code. From torch 2.1 on, every Subset has a
__getitems__, whatever its dataset."""

import random

import pytest
import torch
from torch.utils.data import Dataset

import forebay


class Drawn(Dataset):
    """Samples that are a number, and a random number."""

    def __len__(self):
        return 40

    def __getitem__(self, number):
        return number, random.random()


class AtOnce(Drawn):
    """Samples that tell how many samples were requested together."""

    def __getitems__(self, numbers):
        return [(number, float(len(numbers))) for number in numbers]


class Subset21(torch.utils.data.Subset):
    """The Subset of torch 2.1."""

    def __getitems__(self, numbers):
        numbers = [self.indices[number] for number in numbers]
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__(numbers)
        return [self.dataset[number] for number in numbers]


Subset21.__getitems__.__module__ = "torch.utils.data.dataset"
Subset = (torch.utils.data.Subset if hasattr(torch.utils.data.Subset, "__getitems__")
          else Subset21)


def made_of(dataset, batch_size, workers):
    """Returns a dict of the samples' values by their numbers."""
    with forebay.DataLoader(dataset, batch_size, num_workers=workers, seed=3) as loader:
        return {number: value for numbers, values in loader
                for number, value in zip(numbers.tolist(), values.tolist())}


@pytest.mark.parametrize("workers", [0, 2])
def test_what_is_drawn_does_not_depend_on_the_batch_size(daemon, workers):
    subset = Subset(Subset(Drawn(), range(5, 40)), range(0, 30, 2))
    drawn = made_of(subset, 4, workers)
    assert len(drawn) == 15 and len(set(drawn.values())) == 15
    assert made_of(subset, 6, workers) == drawn


class Transformed(Subset):
    """A subset whose __getitem__ changes the samples. torch does not call it for whole
    batches."""

    def __getitem__(self, number):
        number, _ = super().__getitem__(number)
        return number, 100.0


@pytest.mark.parametrize("workers", [0, 2])
def test_a_subclass_makes_what_torch_would_have_it_make(daemon, workers):
    try:
        subset = Transformed(AtOnce(), range(20))
    except NotImplementedError:
        pytest.skip("this torch makes no subsets of such classes")
    expected = {number: 8.0 if number < 16 else 4.0 for number in range(20)}
    assert made_of(subset, 8, workers) == expected


@pytest.mark.parametrize("workers", [0, 2])
def test_datasets_that_make_batches_at_once_do_so(daemon, workers):
    subset = Subset(AtOnce(), range(10, 30))
    made = made_of(subset, 8, workers)
    assert made == {number: 8.0 if number < 26 else 4.0 for number in range(10, 30)}
