"""Datasets and transforms of a PyTorch script, used unchanged."""

import copy
import pickle
import warnings

import numpy
import PIL.Image
import pytest
import torch
import torchvision
from torch.utils.data import (DataLoader, Dataset, IterableDataset,
                              SequentialSampler)
from torchvision import transforms as V

import forebay
from drop_in import SAMPLES, TRANSFORM, check_equal, ids
from forebay import _effects
from forebay import transforms as T


def test_an_image_folder_gives_what_torch_gives(image_folder):
    theirs = DataLoader(image_folder, 10)
    with forebay.DataLoader(image_folder, 10) as ours:
        assert len(ours) == len(theirs)
        assert ours.dataset is image_folder
        assert ours.batch_size == theirs.batch_size
        assert check_equal(ours, theirs) == SAMPLES


def test_takes_torchs_arguments_by_position(image_folder):
    arguments = (10, False, SequentialSampler(image_folder), None, 0, None, False, True)
    theirs = DataLoader(image_folder, *arguments)
    with forebay.DataLoader(image_folder, *arguments) as ours:
        assert len(ours) == len(theirs) == 4
        assert check_equal(ours, theirs) == 40


def test_says_once_what_is_unnecessary(image_folder, monkeypatch):
    monkeypatch.setattr(_effects, "_told", set())
    arguments = {"num_workers": 8, "persistent_workers": True,
                 "prefetch_factor": 4}
    with pytest.warns(UserWarning, match="num_workers, prefetch_factor, "
                      "persistent_workers") as told:
        forebay.DataLoader(image_folder, 8, **arguments).close()
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forebay.DataLoader(image_folder, 8, **arguments).close()


class Squares(Dataset):
    def __getitem__(self, index):
        return index ** 2

    def __len__(self):
        return 10


class Renamed(torchvision.datasets.ImageFolder):
    def __getitem__(self, index):
        return super().__getitem__(index)[0]


class Endless(IterableDataset):
    def __iter__(self):
        return iter(())


@pytest.mark.parametrize("workers", [None, 0, 2])
def test_code_of_a_datasets_own_runs(image_folder, workers):
    transform = V.Compose([V.CenterCrop(32), V.ToTensor()])
    renamed = Renamed(image_folder.root, transform)
    for dataset in (Squares(), renamed):
        with forebay.DataLoader(dataset, 4, num_workers=workers) as ours:
            batches = list(zip(ours, DataLoader(dataset, 4)))
            assert len(batches) == len(ours)
        assert all(torch.equal(one, other) for one, other in batches)


@pytest.mark.parametrize("arguments", [
    {"collate_fn": list}, {"batch_size": 1, "batch_sampler": [[0, 1], [5]]},
    {"batch_size": None}])
def test_what_makes_batches_runs_in_workers(image_folder, arguments):
    arguments = {"batch_size": 16, **arguments}
    with forebay.DataLoader(image_folder, num_workers=2, **arguments) as ours:
        batches = list(ours)
    theirs = list(DataLoader(image_folder, **arguments))
    assert len(batches) == len(theirs)
    assert torch.equal(images_of(batches), images_of(theirs))


def images_of(batches):
    """Returns all images of batches, which may have any structure."""
    found = []
    for batch in batches:
        for sample in batch if isinstance(batch[0], tuple) else [batch]:
            found += list(sample[0].reshape(-1, 3, *sample[0].shape[-2:]))
    return torch.stack(found)


@pytest.mark.parametrize("make,message", [
    (lambda root: torchvision.datasets.ImageFolder(
        root, TRANSFORM, loader=PIL.Image.open), "a loader of its own"),
    (lambda root: torchvision.datasets.ImageFolder(
        root, TRANSFORM, is_valid_file=lambda path: "1" in path),
     "is_valid_file"),
    (lambda root: torchvision.datasets.ImageFolder(
        root, V.Compose([V.Lambda(lambda image: image.rotate(90)), TRANSFORM])),
     "has no counterpart"),
    (lambda root: torchvision.datasets.ImageFolder(root, V.ToTensor()),
     "may differ in size"),
])
def test_what_the_daemon_cannot_do_runs_in_workers(image_folder, make, message):
    dataset = make(image_folder.root)
    with pytest.warns(UserWarning, match=f"worker processes make.*{message}") as told:
        loader = forebay.DataLoader(dataset, 16, num_workers=2)
    assert told[0].filename == __file__
    with loader:
        batches = list(zip(loader, DataLoader(dataset, 16)))
        assert len(batches) == len(loader)
    assert all(torch.equal(one, other) for ours, theirs in batches
               for one, other in zip(ours, theirs))


@pytest.mark.parametrize("make,message", [
    (lambda f: {"dataset": f.root, "collate_fn": list}, "use batch_transform="),
    (lambda f: {"dataset": f.root, "batch_sampler": [[0, 1]]}, "pass batch_size"),
    (lambda f: {"dataset": f.root, "batch_size": None}, "use batch_size=1"),
])
def test_refuses_what_it_cannot_do(image_folder, make, message):
    with pytest.raises(forebay.Unsupported, match=message):
        forebay.DataLoader(**make(image_folder))


class Grouped(forebay.DataLoader):
    """A subclass that the user defines."""

    def __len__(self):
        return 7


def test_a_subclass_stays_one():
    with Grouped(Squares(), 4) as loader:
        assert isinstance(loader, Grouped) and len(loader) == 7
        assert len(list(loader)) == 3


@pytest.mark.parametrize("dataset", [3, None])
def test_refuses_what_is_no_dataset_at_all(shared_daemon, dataset):
    with pytest.raises(forebay.InvalidArgument, match="must be a path or a URI"):
        forebay.DataLoader(dataset, 8)


@pytest.mark.parametrize("arguments,message", [
    ({"transform": TRANSFORM}, "the dataset has a transform"),
    ({"shuffle": True, "sampler": [1, 2]}, "mutually exclusive"),
    ({"sampler": SequentialSampler(range(7))}, "made for 7 samples"),
    ({"sampler": [1, 2], "rank": 1, "world_size": 2}, "which samples this"),
    ({"generator": torch.Generator().manual_seed(3), "seed": 4},
     "give one of them"),
    ({"batch_transform": 3}, "must be a function"),
])
def test_refuses_what_contradicts_itself(image_folder, arguments, message):
    with pytest.raises(forebay.InvalidArgument, match=message):
        forebay.DataLoader(image_folder, 8, **arguments)


def test_a_split_of_imagenet(image_folder, photos, tmp_path):
    (tmp_path / "val").symlink_to(photos)
    made = object.__new__(torchvision.datasets.ImageNet)
    vars(made).update(vars(torchvision.datasets.ImageFolder(
        str(tmp_path / "val"), TRANSFORM)), root=str(tmp_path), split="val")
    with forebay.DataLoader(made, 10) as ours:
        assert check_equal(ours, DataLoader(image_folder, 10)) == SAMPLES


def test_default_collate_is_no_code_of_the_users(image_folder):
    collate = torch.utils.data.default_collate
    with forebay.DataLoader(image_folder, 48, collate_fn=collate) as loader:
        assert ids(loader) == list(range(SAMPLES))


@pytest.mark.parametrize("make", [
    lambda batch: batch, copy.copy, copy.deepcopy,
    lambda batch: pickle.loads(pickle.dumps(batch))])
@pytest.mark.parametrize("more", [
    {}, {"batch_transform": lambda images, labels: (images, labels)}])
def test_batches_of_a_dataset_object_are_lists_with_names(image_folder, make, more):
    with forebay.DataLoader(image_folder, 10, **more) as loader:
        batch = make(next(iter(loader)))
    assert isinstance(batch, list) and len(batch) == 2
    assert batch.sample_ids.tolist() == list(range(10))
    images, labels = batch
    assert batch.image is images and batch.label is labels
    batch[0] = batch[0] * 2
    assert torch.equal(batch.image, images * 2)
    batch.label = labels + 1
    assert torch.equal(batch[1], labels + 1)
    # Accelerate and Lightning move batches to devices in this way.
    moved = type(batch)(value + 0 for value in batch)
    assert torch.equal(moved.image, batch[0]) and moved.sample_ids is None


def test_batches_of_all_else_are_named_tuples(image_folder):
    with forebay.DataLoader(image_folder.root, 10, transform=T.CenterCrop(8)) as loader:
        assert isinstance(next(iter(loader)), tuple)


def test_target_transform_runs_on_labels(image_folder):
    image_folder.target_transform = [7.5, 8.5, 9.5].__getitem__
    with forebay.DataLoader(image_folder, 16) as loader:
        labels = torch.cat([labels for _, labels in loader])
    assert labels.tolist() == 16 * [7.5] + 16 * [8.5] + 16 * [9.5]


def test_batch_transform_gets_whole_batches(image_folder):
    def mix(images, labels):
        return images.mul(0.5).add(images.flip(0), alpha=0.5), labels * 10

    with forebay.DataLoader(image_folder, 16) as plain:
        batches = [(images.clone(), labels) for images, labels in plain]
    with forebay.DataLoader(image_folder, 16, batch_transform=mix) as loader:
        for batch, (images, labels) in zip(loader, batches):
            torch.testing.assert_close(batch.image, mix(images, labels)[0])
            assert batch.label.tolist() == (labels * 10).tolist()
            assert len(batch.sample_ids) == 16
    with forebay.DataLoader(image_folder, 48,
                            batch_transform=lambda *_: 3) as loader:
        assert list(loader) == [3]


@pytest.mark.parametrize("times", [1, 2])
def test_an_error_of_batch_transform_loses_no_batch(image_folder, times):
    """A batch is lost only if its transform fails twice. If it were never lost, no
    epoch could go on."""
    fails = iter([False] + times * [True] + 2 * [False])

    def transform(images, labels):
        if next(fails):
            raise ZeroDivisionError
        return images, labels

    with forebay.DataLoader(image_folder, 16, batch_transform=transform) as loader:
        iterator = iter(loader)
        assert ids([next(iterator)]) == list(range(16))
        for failures in range(times):
            with pytest.raises(ZeroDivisionError):
                next(iterator)
            assert loader.state_dict()["position"] == 16 + 16 * failures
        assert ids(iterator) == list(range(16 if times == 1 else 32, 48))


def test_without_a_gpu_there_is_no_pinned_memory(image_folder):
    with pytest.warns(UserWarning, match="torch finds no GPU") as told:
        loader = forebay.DataLoader(image_folder, 48, pin_memory=True)
    assert told[0].filename == __file__
    with loader:
        assert ids(loader) == list(range(SAMPLES))
    with pytest.warns(UserWarning, match="torch finds no GPU") as told:
        forebay.DataLoader(Squares(), 4, pin_memory=True).close()
    assert told[0].filename == __file__


class Half:
    """A transform without a counterpart in the daemon."""

    def __call__(self, image):
        assert isinstance(image, torch.Tensor) and image.shape == (3, 64, 64)
        return image * 0.5


def test_trailing_code_runs_in_the_trainer(image_folder):
    image_folder.transform = V.Compose([
        V.CenterCrop(64), V.ToTensor(), Half(),
        V.Lambda(lambda image: image - 1)])
    with pytest.warns(UserWarning, match="Half, Lambda: runs in the trainer") as told:
        ours = forebay.DataLoader(image_folder, 16)
    assert told[0].filename == __file__
    with ours:
        assert check_equal(ours, DataLoader(image_folder, 16)) == SAMPLES


@pytest.mark.parametrize("end", [
    lambda image: image.rotate(90),
    lambda image: torch.from_numpy(numpy.array(image)).permute(2, 0, 1)])
def test_trailing_code_gets_pil_images(image_folder, end):
    image_folder.transform = V.Compose([V.CenterCrop((64, 60)), end])
    with pytest.warns(UserWarning, match="<lambda>"):
        ours = forebay.DataLoader(image_folder, 48)
    with ours:
        (images, _), = ours
    wanted = end(V.CenterCrop((64, 60))(PIL.Image.open(image_folder.samples[5][0])))
    if isinstance(wanted, PIL.Image.Image):
        wanted = torch.from_numpy(numpy.array(wanted)).permute(2, 0, 1)
    assert images.dtype == torch.uint8
    torch.testing.assert_close(images[5], wanted)


def test_what_ends_as_pil_images_comes_as_bytes(image_folder):
    image_folder.transform = V.CenterCrop(32)
    with forebay.DataLoader(image_folder, 48) as loader:
        (images, _), = loader
    assert images.dtype == torch.uint8 and images.shape == (48, 3, 32, 32)


class Solarize:
    """A transform like those of Albumentations, which get their input by keyword."""

    p = 1.0

    def __call__(self, *, image):
        assert image.dtype == numpy.uint8 and image.shape == (40, 48, 3)
        return {"image": 255 - image}


Solarize.__module__ = "albumentations.augmentations.transforms"


@pytest.mark.parametrize("framework", ["numpy", "torch"])
def test_trailing_code_gets_arrays_by_name(image_folder, framework):
    resize = type("Resize", (), {"p": 1.0, "interpolation": 1, "height": 40,
                                 "width": 48})
    resize.__module__ = Solarize.__module__
    compose = type("Compose", (), {"p": 1.0, "processors": {},
                                   "transforms": [resize(), Solarize()]})
    compose.__module__ = "albumentations.core.composition"
    place = image_folder.root
    ours = T.Compose([T.Resize((40, 48), antialias=False), T.ToImage("NHWC")])
    with forebay.DataLoader(place, 48, transform=ours, framework="numpy") as loader:
        (wanted, _), = loader
    with pytest.warns(UserWarning, match="Solarize: runs in the trainer"):
        loader = forebay.DataLoader(place, 48, transform=compose(),
                                    framework=framework)
    with loader:
        (images, _), = loader
    assert isinstance(images, torch.Tensor) == (framework == "torch")
    numpy.testing.assert_array_equal(numpy.asarray(images), 255 - wanted)


def test_code_of_torchvisions_gets_tensors_in_numpys_batches(image_folder):
    image_folder.transform = V.Compose([V.CenterCrop(64), V.ToTensor(), Half()])
    with pytest.warns(UserWarning, match="Half"):
        loader = forebay.DataLoader(image_folder, 48, framework="numpy")
    with loader:
        (images, _), = loader
    assert isinstance(images, numpy.ndarray) and images.dtype == numpy.float32
    assert 0.3 < images.max() <= 0.5
