"""Labels that are not integers, in datasets in memory."""

import warnings

import numpy
import pytest
import torch
import torchvision
from torch.utils.data import ConcatDataset, DataLoader, Subset, TensorDataset
from torchvision import transforms as V

import forebay
from drop_in import check_equal
from drop_in_parts_test import in_memory

FLOATS = [0.1 * number for number in range(20)]


def dataset_of(kind, targets, **attributes):
    shape = {"CIFAR10": (20, 32, 32, 3), "STL10": (20, 3, 32, 32),
             "SVHN": (20, 3, 32, 32)}.get(kind.__name__, (20, 28, 28))
    made = in_memory(kind, shape, **{
        "transform": V.ToTensor(), "targets": targets, "labels": targets,
        **attributes})
    if kind.__name__.endswith("MNIST"):
        made.data = torch.from_numpy(made.data)
    return made


def check(dataset, own_code=False):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        loader = forebay.DataLoader(dataset, 6, num_workers=1)
    assert own_code == any("worker processes make" in str(one.message) for one in told)
    with loader:
        assert check_equal(loader, DataLoader(dataset, 6)) == len(dataset)


@pytest.mark.parametrize("targets", [
    FLOATS, numpy.array(FLOATS, numpy.float32), numpy.array(FLOATS),
    torch.tensor(FLOATS), torch.tensor(FLOATS, dtype=torch.float16),
    list(numpy.array(FLOATS, numpy.float32)), [True, False] * 10,
    numpy.arange(20, dtype=numpy.int32), numpy.arange(20) > 3,
    torch.arange(20, dtype=torch.uint8), torch.arange(20), numpy.arange(20)])
def test_labels_keep_value_and_type(shared_daemon, targets):
    dataset = dataset_of(torchvision.datasets.CIFAR10, targets)
    check(dataset)
    check(ConcatDataset([Subset(dataset, [3, 19, 0]), dataset]))


@pytest.mark.parametrize("targets", [
    [0.5, 1] * 10, [1, 0.5] * 10, [True, 1] * 10, [[0.5, 1.0]] * 20,
    numpy.full((20, 2), 0.5), torch.rand(20, 3), list(torch.rand(20)),
    torch.arange(20).bfloat16()])
def test_others_are_made_by_their_own_code(shared_daemon, targets):
    dataset = dataset_of(torchvision.datasets.CIFAR10, targets)
    if isinstance(targets, list) and isinstance(targets[0], list):
        with pytest.warns(UserWarning, match="worker processes make"):
            forebay.DataLoader(dataset, 6, num_workers=1).close()
    else:
        check(dataset, own_code=True)


@pytest.mark.parametrize("kind", [
    torchvision.datasets.MNIST, torchvision.datasets.USPS, torchvision.datasets.SVHN,
    torchvision.datasets.SEMEION, torchvision.datasets.STL10])
@pytest.mark.parametrize("targets", [
    [number * 1.5 - 4 for number in range(20)], list(range(20)),
    numpy.arange(20) * -0.75, torch.arange(20).double() / 3])
def test_classes_that_cut_their_labels(shared_daemon, kind, targets):
    """The code of these datasets calls int(label)."""
    check(dataset_of(kind, targets))


@pytest.mark.parametrize("targets", [
    FLOATS, numpy.array(FLOATS, numpy.float32), numpy.arange(20, dtype=numpy.uint8),
    torch.arange(20)])
def test_a_function_of_the_label_gets_it_whole(shared_daemon, targets):
    dataset = dataset_of(torchvision.datasets.CIFAR10, targets,
                         target_transform=lambda label: label * 10)
    check(dataset, own_code=True)


@pytest.mark.parametrize("targets", [[float("nan")] * 20, list(range(19))])
def test_labels_that_its_own_code_refuses(shared_daemon, targets):
    dataset = dataset_of(torchvision.datasets.MNIST, targets)
    with pytest.warns(UserWarning, match="worker processes make"):
        forebay.DataLoader(dataset, 6, num_workers=1).close()


def test_more_labels_than_images(shared_daemon):
    check(dataset_of(torchvision.datasets.CIFAR10, list(range(25))))


def test_images_that_are_no_bytes(shared_daemon):
    dataset = dataset_of(torchvision.datasets.CIFAR10, list(range(20)))
    dataset.data = dataset.data.astype(numpy.float32)
    with pytest.warns(UserWarning, match="worker processes make.*float32"):
        forebay.DataLoader(dataset, 6, num_workers=1).close()


@pytest.mark.parametrize("parts", [
    lambda: [dataset_of(torchvision.datasets.CIFAR10, targets, transform=None)
             for targets in (FLOATS, list(range(20)))],
    lambda: [TensorDataset(torch.arange(4)), TensorDataset(torch.rand(4))]])
def test_parts_whose_labels_differ(shared_daemon, parts):
    with pytest.warns(UserWarning, match="worker processes make.*of different types"):
        forebay.DataLoader(ConcatDataset(parts()), 4, num_workers=1).close()


@pytest.mark.parametrize("tensor", [torch.arange(8).bfloat16(),
                                    torch.arange(8).to(torch.complex64)])
def test_tensors_that_numpy_or_batches_lack(shared_daemon, tensor):
    dataset = TensorDataset(tensor)
    with pytest.warns(UserWarning, match="worker processes make.*a tensor of torch"):
        loader = forebay.DataLoader(dataset, 8, num_workers=1)
    with loader:
        (batch,), = loader
    assert torch.equal(batch, tensor)
