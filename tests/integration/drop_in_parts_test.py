"""Datasets that are composed of others, or that lie in memory."""

import numpy
import pytest
import torch
import torchvision
from torch.utils.data import ConcatDataset, DataLoader, Subset, TensorDataset
from torchvision import transforms as V

import forebay
from drop_in import TRANSFORM, check_equal


def test_subsets_and_concatenations(image_folder):
    subset = Subset(image_folder, [3, 40, 3, 17, -1, 0])
    both = ConcatDataset([subset, image_folder, Subset(subset, [5, 1])])
    split = torch.utils.data.random_split(image_folder, [40, 8])
    for dataset in (subset, both, *split):
        with forebay.DataLoader(dataset, 5) as ours:
            assert len(ours) == len(DataLoader(dataset, 5))
            assert check_equal(ours, DataLoader(dataset, 5)) == len(dataset)


def test_parts_with_different_transforms_are_read_by_their_own_code(
        image_folder, photos):
    flipped = V.Compose([V.RandomHorizontalFlip(1), TRANSFORM])
    other = torchvision.datasets.ImageFolder(str(photos), flipped)
    both = ConcatDataset([Subset(image_folder, range(9)), other])
    with pytest.warns(UserWarning, match="have different transforms"):
        loader = forebay.DataLoader(both, 5, num_workers=2)
    with loader:
        batches = list(zip(loader, DataLoader(both, 5)))
        assert len(batches) == len(loader)
    assert all(torch.equal(one, other) for ours, theirs in batches
               for one, other in zip(ours, theirs))


def in_memory(kind, shape, **attributes):
    """Makes one of torchvision's datasets in memory, in the state after it was read."""
    made = object.__new__(kind)
    generator = numpy.random.default_rng(4)
    made.data = generator.integers(0, 256, shape, numpy.uint8)
    made.targets = generator.integers(0, 10, shape[0]).tolist()
    made.classes = [f"class {number}" for number in range(10)]
    made.transform = made.target_transform = None
    vars(made).update(attributes)
    return made


def test_cifar_in_memory(shared_daemon):
    dataset = in_memory(torchvision.datasets.CIFAR10, (50, 32, 32, 3),
                        transform=TRANSFORM)
    with forebay.DataLoader(dataset, 16) as ours:
        assert check_equal(ours, DataLoader(dataset, 16)) == 50
    dataset.transform = V.Compose([
        V.RandomCrop(32, padding=4), V.RandomHorizontalFlip(), V.ToTensor()])
    with forebay.DataLoader(dataset, 50, shuffle=True) as ours:
        assert ours.dataset.classes == dataset.classes
        batch, = ours
        assert batch.image.shape == (50, 3, 32, 32)
        assert batch.label.tolist() == [
            dataset.targets[i] for i in batch.sample_ids]


def test_cifar_needs_no_crop(shared_daemon):
    dataset = in_memory(torchvision.datasets.CIFAR100, (50, 32, 32, 3),
                        transform=V.ToTensor())
    with forebay.DataLoader(dataset, 20) as ours:
        assert check_equal(ours, DataLoader(dataset, 20)) == 50


@pytest.mark.parametrize("kind", [torchvision.datasets.STL10,
                                  torchvision.datasets.SVHN])
def test_channels_may_come_first(shared_daemon, kind):
    dataset = in_memory(kind, (30, 3, 32, 40), transform=V.ToTensor())
    dataset.labels = numpy.asarray(dataset.targets, numpy.uint8)
    del dataset.targets
    with forebay.DataLoader(dataset, 20) as ours:
        assert check_equal(ours, DataLoader(dataset, 20)) == 30


@pytest.mark.parametrize("kind", [torchvision.datasets.USPS,
                                  torchvision.datasets.SEMEION])
def test_gray_images_of_arrays(shared_daemon, kind):
    dataset = in_memory(kind, (30, 16, 16), transform=V.ToTensor())
    dataset.labels = numpy.asarray(dataset.targets)
    with forebay.DataLoader(dataset, 20) as ours:
        assert check_equal(ours, DataLoader(dataset, 20)) == 30


@pytest.mark.parametrize("kind", [torchvision.datasets.MNIST,
                                  torchvision.datasets.FashionMNIST])
def test_mnist_stays_gray(shared_daemon, kind):
    dataset = in_memory(kind, (30, 28, 28), transform=V.Compose([
        V.ToTensor(), V.Normalize((0.1307,), (0.3081,))]))
    dataset.data = torch.from_numpy(dataset.data)
    dataset.targets = torch.tensor(dataset.targets)
    dataset = Subset(dataset, range(29, 3, -2))
    with forebay.DataLoader(dataset, 5) as ours:
        assert check_equal(ours, DataLoader(dataset, 5)) == len(dataset)


def test_tensors_are_delivered_as_they_are(shared_daemon):
    torch.manual_seed(1)
    dataset = TensorDataset(torch.rand(20, 3, 5), torch.arange(20) * 3,
                            torch.rand(20).double())
    for part in (dataset, ConcatDataset([dataset, Subset(dataset, [4, 4])])):
        with forebay.DataLoader(part, 6) as loader:
            for ours, theirs in zip(loader, DataLoader(part, 6)):
                assert ours._fields == ("tensor0", "tensor1", "tensor2")
                for got, wanted in zip(ours, theirs):
                    assert torch.equal(got, wanted) and got.dtype == wanted.dtype
    with pytest.raises(forebay.Unsupported, match="use batch_transform"):
        forebay.DataLoader(dataset, 6, transform=V.ToTensor())
