"""Epochs without batches are empty, as torch's are."""

import pytest
import torch
from torch.utils.data import (BatchSampler, DataLoader, Dataset, Subset,
                              TensorDataset)

import forebay


class Squares(Dataset):
    def __init__(self, size):
        self.size = size

    def __getitem__(self, index):
        return index ** 2

    def __len__(self):
        return self.size


def pairs(samples):
    """A collate_fn, which makes whole batches."""
    return torch.tensor(samples)


ORDERS = {
    "rows": {}, "shuffled": {"shuffle": True}, "whole": {"collate_fn": pairs},
    "whole_shuffled": {"collate_fn": pairs, "shuffle": True},
    "listed": {"sampler": [2, 0, 1, 2, 1]},
    "whole_listed": {"collate_fn": pairs, "sampler": [2, 0, 1, 2, 1]},
}


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("order", ORDERS)
def test_fewer_samples_than_a_batch_are_an_empty_epoch(shared_daemon, order, workers):
    arguments = {"batch_size": 8, "drop_last": True, "num_workers": workers,
                 **ORDERS[order]}
    with forebay.DataLoader(Squares(3), **arguments) as loader:
        assert len(loader) == len(DataLoader(Squares(3), **arguments)) == 0
        for epoch in range(3):
            assert loader.state_dict()["epoch"] == epoch
            assert list(loader) == []


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("order", ORDERS)
def test_a_state_of_an_epochs_end_is_an_empty_rest(shared_daemon, order, drop_last,
                                                   workers):
    arguments = {"batch_size": 2, "drop_last": drop_last, "num_workers": workers,
                 **ORDERS[order]}
    with forebay.DataLoader(Squares(5), **arguments) as loader, \
            forebay.DataLoader(Squares(5), **arguments) as other:
        iterator = iter(loader)
        for _ in range(len(loader)):
            next(iterator)
        state = loader.state_dict()
        assert state["epoch"] == 0 and state["position"] > 0
        for again in (other, loader):
            again.load_state_dict(state)
            assert list(again) == []
            assert again.state_dict()["epoch"] == 1
        assert [batch.tolist() for batch in other] == [
            batch.tolist() for batch in loader]


@pytest.mark.parametrize("workers", [0, 1])
def test_a_batch_sampler_without_batches(shared_daemon, workers):
    for batches in ([], BatchSampler([0, 1], 3, drop_last=True)):
        with forebay.DataLoader(Squares(3), batch_sampler=batches,
                                num_workers=workers) as loader:
            assert len(loader) == 0 and list(loader) == [] and list(loader) == []


def test_native_epochs_without_batches(image_folder):
    for dataset in (image_folder, Subset(image_folder, [3, 4]),
                    TensorDataset(torch.rand(3, 2))):
        for more in ({}, {"shuffle": True}, {"sampler": [1, 0]}):
            with forebay.DataLoader(dataset, 64, drop_last=True, **more) as loader:
                assert len(loader) == 0 and list(loader) == [] and list(loader) == []
    with forebay.DataLoader(image_folder, 16, sampler=[]) as loader:
        assert len(loader) == 0 and list(loader) == [] and list(loader) == []


def test_datasets_without_samples(image_folder):
    for dataset in (Subset(image_folder, []), TensorDataset(torch.rand(0, 2))):
        for more in ({}, {"num_workers": 2}, {"drop_last": True}):
            with forebay.DataLoader(dataset, 4, **more) as loader:
                assert len(loader) == len(DataLoader(dataset, 4)) == 0
                assert list(loader) == [] and list(loader) == []


def test_a_native_state_of_an_epochs_end(image_folder):
    for batch_size, drop_last in ((16, False), (20, True), (20, False)):
        with forebay.DataLoader(image_folder, batch_size,
                                drop_last=drop_last) as loader:
            iterator = iter(loader)
            for _ in range(len(loader)):
                next(iterator)
            state = loader.state_dict()
            assert state["epoch"] == 0
            loader.load_state_dict(state)
            assert list(loader) == []
            assert loader.state_dict()["epoch"] == 1
            assert len(list(loader)) == len(loader)
