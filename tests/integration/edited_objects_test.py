"""Dataset objects whose lists were edited after they were made."""

import random
import warnings

import numpy
import pytest
import torch
from torch.utils.data import ConcatDataset, DataLoader, Subset
from torchvision import datasets, transforms

import forebay
import torch_layouts
from drop_in import TRANSFORM, check_equal


def shuffled(samples):
    made = list(samples)
    random.Random(3).shuffle(made)
    return made


def exchanged(samples):
    """Returns the list with two samples of one class exchanged."""
    return [samples[1], samples[0], *samples[2:]]


EDITS = {
    "reversed": lambda samples: samples[::-1], "shuffled": shuffled,
    "exchanged": exchanged, "repeated": lambda samples: samples[:3] * 2,
    "doubled": lambda samples: [one for one in samples for _ in range(2)],
    "cut": lambda samples: samples[:-2], "beheaded": lambda samples: samples[1:],
    "holed": lambda samples: samples[:2] + samples[3:],
    "relabelled": lambda samples: [(path, 7 - label) for path, label in samples]}
edits = pytest.mark.parametrize("edit", EDITS)


class Own(forebay.DataLoader):
    """A subclass that the user defines."""


def native(dataset, *arguments, **options):
    """Returns a loader whose samples the daemon reads."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return forebay.DataLoader(dataset, *arguments, **options)


def by_own_code(dataset, *arguments, says):
    with pytest.warns(UserWarning, match=f"worker processes make.*{says}"):
        return forebay.DataLoader(dataset, *arguments, num_workers=1)


def check_natively(dataset, batch_size=4):
    with native(dataset, batch_size) as ours:
        assert len(ours) == len(DataLoader(dataset, batch_size))
        assert check_equal(ours, DataLoader(dataset, batch_size)) == len(dataset)


@edits
def test_an_image_folder(image_folder, edit):
    image_folder.samples = EDITS[edit](image_folder.samples)
    check_natively(image_folder, 10)


@edits
def test_an_image_folder_edited_in_place(image_folder, edit):
    image_folder.samples[:] = EDITS[edit](image_folder.samples)
    check_natively(image_folder, 10)


@edits
def test_a_part_of_an_image_folder(image_folder, edit):
    image_folder.samples = EDITS[edit](image_folder.samples)
    count = len(image_folder)
    check_natively(Subset(image_folder, [count - 1, 2, 0, 5, 2]))
    check_natively(ConcatDataset([image_folder, Subset(image_folder, [4, 1])]), 10)


@edits
@pytest.mark.parametrize("layout", [torch_layouts.countries, torch_layouts.satellite])
def test_other_class_folders(shared_daemon, tmp_path, photos, edit, layout):
    dataset = layout(tmp_path, sorted(photos.glob("*/*.jpg")), transform=TRANSFORM)
    if edit == "cut":  # each layout has at least three images
        dataset.samples = dataset.samples[:-1]
    else:
        dataset.samples = EDITS[edit](dataset.samples)
    check_natively(dataset, 2)


@edits
def test_a_dataset_folder(shared_daemon, photos, edit):
    dataset = datasets.DatasetFolder(
        str(photos), datasets.folder.default_loader, datasets.folder.IMG_EXTENSIONS,
        transform=TRANSFORM)
    dataset.samples = EDITS[edit](dataset.samples)
    check_natively(dataset, 10)


def brighter(image):
    return image.point(lambda value: min(255, value + 9))


@edits
@pytest.mark.parametrize("kind", [forebay.DataLoader, Own])
def test_an_op_in_the_middle(image_folder, edit, kind):
    image_folder.transform = transforms.Compose(
        [transforms.CenterCrop(16), brighter, transforms.ToTensor()])
    image_folder.samples = EDITS[edit](image_folder.samples)
    with pytest.warns(UserWarning, match="between the ops of the daemon"):
        ours = kind(image_folder, 10, num_workers=1)
    with ours:
        assert isinstance(ours, kind) and len(ours) == len(DataLoader(image_folder, 10))
        for _ in range(2):
            assert check_equal(ours, DataLoader(image_folder, 10)) == len(image_folder)
        assert ours.stats()["samples_delivered"] == 2 * len(image_folder)


def test_images_from_elsewhere(image_folder, tmp_path, photos):
    other = tmp_path / "other.jpg"
    torch_layouts.copy(sorted(photos.glob("*/*.jpg"))[20], other)
    image_folder.samples[3] = (str(other), 1)
    check_natively(image_folder, 10)


def test_no_other_list_counts(image_folder):
    """torch's code takes images and labels only from `samples`."""
    image_folder.imgs = image_folder.imgs[::-1]
    image_folder.targets = [9]
    check_natively(image_folder, 10)


def test_labels_that_are_no_integers(image_folder):
    image_folder.samples = [(path, float(label))
                            for path, label in image_folder.samples]
    with by_own_code(image_folder, 10, says="targets that are not numbers") as ours:
        batches = list(zip(ours, DataLoader(image_folder, 10)))
    assert len(batches) == 5
    for ours, theirs in batches:
        assert ours[1].dtype == theirs[1].dtype == torch.float64
        assert torch.equal(ours[1], theirs[1])


@pytest.fixture
def arrays(shared_daemon, tmp_path):
    for number in range(8):
        folder = tmp_path / ("a", "b")[number % 2]
        folder.mkdir(exist_ok=True)
        numpy.save(folder / f"{number}.npy", numpy.full((2, 3), number, numpy.float32))
    return datasets.DatasetFolder(str(tmp_path), numpy.load, (".npy",))


@edits
def test_arrays_in_class_folders(arrays, edit):
    arrays.samples = EDITS[edit](arrays.samples)
    for dataset in (arrays, Subset(arrays, [1, 4, 2])):
        with by_own_code(dataset, 3, says="not those of its class folders") as ours:
            pairs = list(zip(ours, DataLoader(dataset, 3)))
        assert len(pairs) == len(DataLoader(dataset, 3))
        for ours, theirs in pairs:
            assert all(map(torch.equal, ours, theirs))


class Half(datasets.ImageFolder):
    """A dataset with its own definition of length."""

    def __len__(self):
        return len(self.samples) // 2


def test_a_length_of_its_own(image_folder):
    half = Half(image_folder.root, TRANSFORM)
    check_natively(half, 10)
    check_natively(ConcatDataset([half, half]), 10)


def test_a_part_that_grew_behind_its_concatenation(image_folder):
    """A concatenation keeps the sizes that its parts had when it was made, as torch's
    does."""
    both = ConcatDataset([image_folder, image_folder])
    image_folder.samples = image_folder.samples + image_folder.samples[:5]
    check_natively(both, 10)


class Batched(datasets.ImageFolder):
    """A dataset that makes batches by its own code."""

    def __getitems__(self, numbers):
        return [(self[number][0], -number) for number in numbers]


def test_code_of_its_own_for_whole_batches(image_folder):
    dataset = Batched(image_folder.root, TRANSFORM)
    with forebay.DataLoader(dataset, 5, num_workers=1) as loader:
        assert next(iter(loader))[1].tolist() == [0, -1, -2, -3, -4]
