"""Datasets in memory whose whole transform is the user's own code."""

import os
import warnings

import pytest
import torch
import torchvision
from torch.utils.data import ConcatDataset, DataLoader, Subset
from torchvision import transforms as V

import forebay
from drop_in_parts_test import in_memory
from stage_test import leaves_nothing, reachable  # noqa: F401

AUGMENTED = V.Compose([V.RandomResizedCrop(24), V.RandomGrayscale(0.5), V.ToTensor()])


class TwoViews:
    """Makes two views of an image, as contrastive learning needs them, and adds the id
    of the process that made them."""

    def __init__(self, transform):
        self.transform = transform

    def __call__(self, image):
        return [self.transform(image), self.transform(image), os.getpid()]


class ByName:
    """A transform like those of Albumentations, which get an array by keyword."""

    p = 1.0

    def __call__(self, *, image):
        return {"image": 255 - image}


ByName.__module__ = "albumentations.augmentations.transforms"


def cifar(transform):
    return in_memory(torchvision.datasets.CIFAR10, (50, 32, 32, 3), transform=transform)


def makers(loader):
    """Returns the process ids that samples name as their makers."""
    with loader:
        return {maker for views, _ in loader for maker in views[2].tolist()}


@pytest.mark.parametrize("part", [
    lambda dataset: dataset, lambda dataset: Subset(dataset, range(3, 40)),
    lambda dataset: ConcatDataset([dataset, dataset])])
def test_workers_make_what_torch_gives(part):
    dataset = part(cifar(TwoViews(V.ToTensor())))
    with pytest.warns(UserWarning, match="worker processes make the samples: the "
                      "dataset's transform is TwoViews") as told:
        loader = forebay.DataLoader(dataset, 16, num_workers=2)
    assert told[0].filename == __file__
    with loader:
        count = 0
        for ours, theirs in zip(loader, DataLoader(dataset, 16)):
            assert len(ours[0]) == 3 and os.getpid() not in ours[0][2].tolist()
            assert torch.equal(ours[0][0], theirs[0][0])
            assert torch.equal(ours[0][1], theirs[0][1])
            assert torch.equal(ours[1], theirs[1])
            count += 1
        assert count == len(loader)


@pytest.mark.filterwarnings("ignore:worker processes make")
def test_views_differ_and_repeat_with_the_seed():
    dataset = cifar(TwoViews(AUGMENTED))
    found = []
    for _ in range(2):
        with forebay.DataLoader(dataset, 50, num_workers=2, seed=4) as loader:
            (views, _), = loader
        found.append(views[:2])
    assert not torch.equal(*found[0])
    assert torch.equal(found[0][0], found[1][0])


@pytest.mark.filterwarnings("ignore:worker processes make")
def test_a_transform_that_changes_is_that_of_the_next_epoch():
    dataset = cifar(TwoViews(V.ToTensor()))
    with forebay.DataLoader(dataset, 50, num_workers=1) as loader:
        (first, _), = loader
        dataset.transform.transform = V.Compose([V.ToTensor(), torch.neg])
        (second, _), = loader
    assert torch.equal(first[0], -second[0])


@pytest.mark.parametrize("more", [
    {"num_workers": 0}, {"on_error": "substitute"}, {"shuffle": "block"},
    {"order": "coordinated", "shuffle": True}])
def test_the_trainer_runs_it_where_workers_cannot(more):
    with pytest.warns(UserWarning, match="TwoViews: runs in the trainer"):
        loader = forebay.DataLoader(cifar(TwoViews(AUGMENTED)), 16, **more)
    assert makers(loader) == {os.getpid()}


def test_the_end_of_a_pipeline_stays_in_the_trainer():
    def here(image):
        return image, os.getpid()

    ends = V.Compose([V.RandomHorizontalFlip(), V.ToTensor(), here])
    with pytest.warns(UserWarning, match="here: runs in the trainer"):
        loader = forebay.DataLoader(cifar(ends), 16)
    with loader:
        assert {maker for (_, made_by), _ in loader for maker in made_by.tolist()} == {
            os.getpid()}


def test_what_takes_arrays_by_name_stays_in_the_trainer():
    dataset = cifar(ByName())
    with pytest.warns(UserWarning, match="ByName: runs in the trainer"):
        loader = forebay.DataLoader(dataset, 50, framework="numpy")
    with loader:
        (images, _), = loader
    assert (images == 255 - dataset.data).all()


def test_nothing_is_said_of_transforms_that_the_daemon_does():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with forebay.DataLoader(cifar(V.ToTensor()), 16) as loader:
            assert len(list(loader)) == 4
