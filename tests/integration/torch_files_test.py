"""torchvision's datasets whose samples are image files with targets."""

import os
import warnings

import PIL.Image
import pytest
import torch
import torchvision
from torch.utils.data import ConcatDataset, DataLoader, Subset
from torchvision import datasets
from torchvision import transforms as V

import forebay
import torch_layouts
from drop_in import TRANSFORM, check_equal, ids
from forebay import transforms as T
from torch_layouts import LAYOUTS
from trouble import CROP

GRAY = V.Compose([V.CenterCrop(64), V.ToTensor()])


@pytest.fixture(autouse=True)
def fakes(shared_daemon, monkeypatch):
    torch_layouts.use_fake_scipy(monkeypatch)
    torch_layouts.accept_all_files(monkeypatch)


@pytest.fixture
def pictures(photos):
    return sorted(photos.glob("*/*.jpg"))[::3]


def made(layout, folder, pictures, **arguments):
    arguments.setdefault(
        "transform", GRAY if layout is torch_layouts.letters else TRANSFORM)
    return layout(folder, pictures, **arguments)


def native(dataset, *arguments, **options):
    """Returns a loader whose samples the daemon reads."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return forebay.DataLoader(dataset, *arguments, **options)


def check_targets(ours, theirs):
    if isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs):
            check_targets(one, other)
    else:
        assert ours.dtype == theirs.dtype
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gives_what_torch_gives(tmp_path, pictures, layout):
    dataset = made(layout, tmp_path, pictures)
    assert len(dataset) >= 3
    with native(dataset, 4) as ours:
        assert len(ours) == len(DataLoader(dataset, 4))
        assert check_equal(ours, DataLoader(dataset, 4)) == len(dataset)
        assert ours.dataset is dataset
    parts = ConcatDataset([Subset(dataset, [2, 0, 2]), Subset(dataset, [1])])
    if layout is not torch_layouts.faces:
        with native(parts, 3) as ours:
            assert check_equal(ours, DataLoader(parts, 3)) == 4
    with native(dataset, len(dataset), shuffle=True) as ours:
        batch, = ours
    numbers = [int(number) for number in batch.sample_ids]
    assert sorted(numbers) == list(range(len(dataset)))
    check_targets(batch.label, next(iter(DataLoader(
        Subset(dataset, numbers), len(dataset))))[1])


@pytest.mark.parametrize("layout", [
    torch_layouts.flowers, torch_layouts.pets, torch_layouts.faces,
    torch_layouts.places])
def test_a_function_of_the_target(tmp_path, pictures, layout):
    options = {"target_type": "identity"} if layout is torch_layouts.faces else {}
    dataset = made(layout, tmp_path, pictures,
                   target_transform=lambda target: torch.as_tensor(target) * 10 + 1,
                   **options)
    with native(dataset, 4) as ours:
        assert check_equal(ours, DataLoader(dataset, 4)) == len(dataset)


@pytest.mark.parametrize("layout,argument,types", [
    (torch_layouts.faces, "target_type", "identity"),
    (torch_layouts.faces, "target_type", "landmarks"),
    (torch_layouts.faces, "target_type", ["identity", "attr", "bbox"]),
    (torch_layouts.species, "target_type", "phylum"),
    (torch_layouts.species, "target_type", ["genus", "full"]),
    (torch_layouts.pets, "target_types", ["category", "category"]),
    (torch_layouts.caltech101, "target_type", ["category"])])
def test_targets_of_several_types(tmp_path, pictures, layout, argument, types):
    dataset = made(layout, tmp_path, pictures, **{argument: types})
    with native(dataset, 3) as ours:
        for (images, targets), (wanted, wanted_targets) in zip(
                ours, DataLoader(dataset, 3)):
            assert images.shape == wanted.shape
            check_targets(targets, wanted_targets)


@pytest.mark.parametrize("name,change", [
    ("Imagenette", lambda dataset: {"_samples": list(zip(
        dataset._image_files, dataset._labels))}),
    ("OxfordIIITPet", lambda dataset: {
        "_images": dataset._image_files, "_labels": [7] * len(dataset),
        "_bin_labels": dataset._labels, "_target_types": ["binary-category"],
        "transforms": torchvision.datasets.vision.StandardTransform(TRANSFORM)})])
def test_newer_classes(tmp_path, pictures, name, change):
    """Classes with the attributes that torchvision 0.20 gives them."""
    dataset = made(torch_layouts.flowers, tmp_path, pictures)
    kind = type(name, (), {"__getitem__": lambda *_: None,
                           "__len__": lambda _: len(dataset)})
    kind.__module__ = f"torchvision.datasets.{name.lower()}"
    newer = kind()
    vars(newer).update(root=dataset.root, transform=TRANSFORM, target_transform=None,
                       **change(dataset))
    with native(newer, 4) as ours:
        assert check_equal(ours, DataLoader(dataset, 4)) == len(dataset)


class Renumbered(datasets.Flowers102):
    def __getitem__(self, number):
        image, label = super().__getitem__(number)
        return image, -label


def test_a_class_with_code_of_its_own_runs_it(tmp_path, pictures, monkeypatch):
    made(torch_layouts.flowers, tmp_path, pictures)
    dataset = Renumbered(str(tmp_path), transform=TRANSFORM)
    with native(dataset, 6, num_workers=1) as ours:
        assert next(iter(ours))[1].tolist() == [-label for label in dataset._labels]


def replace(dataset, **attributes):
    vars(dataset).update(attributes)


@pytest.mark.parametrize("layout,arguments,change,says", [
    (torch_layouts.places, {"loader": PIL.Image.open}, None, "a loader of its own"),
    (torch_layouts.people, {}, lambda dataset: replace(
        dataset, _loader=PIL.Image.open), "a loader of its own"),
    (torch_layouts.letters, {"transform": TRANSFORM}, lambda dataset: replace(
        dataset, loader=datasets.folder.default_loader), "a loader of its own"),
    (torch_layouts.pets, {"transform": None, "transforms": lambda image, target: (
        TRANSFORM(image), target)}, None, "for image and target together"),
    (torch_layouts.pets, {
        "target_types": "segmentation",
        "target_transform": GRAY}, None, r"of the types \['segmentation'\]"),
    (torch_layouts.flowers, {}, lambda dataset: dataset._labels.pop(),
     "6 images and 5 targets"),
    (torch_layouts.flowers, {}, lambda dataset: replace(
        dataset, _labels=["rose"] * 6), "targets that are not numbers"),
    (torch_layouts.flowers, {}, lambda dataset: replace(
        dataset, _labels=[True] * 6), "targets that are bool"),
    (torch_layouts.flowers, {}, lambda dataset: replace(
        dataset, _labels=[1 << 63] * 6), "targets that are not numbers"),
    (torch_layouts.flowers, {}, lambda dataset: replace(
        dataset, _labels=[], _image_files=[]), "0 images"),
    (torch_layouts.shapes, {"split": "test"}, None, "targets that are not numbers"),
    (torch_layouts.satellite, {"transform": V.ToTensor()}, None, "may differ in size"),
    (torch_layouts.flowers, {"transform": V.Compose([V.Resize(32), V.ToTensor()])},
     None, "may differ in size")])
def test_what_the_daemon_cannot_read_runs_its_own_code(
        tmp_path, pictures, layout, arguments, change, says):
    dataset = made(layout, tmp_path, pictures, **arguments)
    if change is not None:
        change(dataset)
    with pytest.warns(UserWarning, match=f"worker processes make.*{says}"):
        forebay.DataLoader(dataset, 4, num_workers=1).close()


def test_joint_transforms_keep_those_of_the_beginning(tmp_path, pictures):
    dataset = made(torch_layouts.pets, tmp_path, pictures)
    dataset.transform = dataset.target_transform = None  # the dataset never calls these
    with native(dataset, 4) as ours:
        assert check_equal(ours, DataLoader(dataset, 4)) == len(dataset)


def test_a_single_class_folder_of_a_split(tmp_path, pictures):
    """The class name is also that of the first folder above it."""
    for split in ("train", "valid"):
        torch_layouts.copy(pictures[split == "train"],
                           tmp_path / "country211" / split / "country211" / "1.jpg")
    for split in ("train", "valid"):
        dataset = datasets.Country211(str(tmp_path), split, TRANSFORM)
        with native(dataset, 4) as ours:
            assert check_equal(ours, DataLoader(dataset, 4)) == 1


def test_a_missing_image_is_named(tmp_path, pictures):
    dataset = made(torch_layouts.flowers, tmp_path, pictures)
    os.remove(dataset._image_files[2])
    with pytest.raises(forebay.NotFound) as caught:
        forebay.DataLoader(dataset, 4)
    folder = tmp_path / "flowers-102" / "jpg"
    assert str(caught.value).startswith(
        f"{folder}: the table: line 4: image_00009.jpg: ")


def test_links_may_lead_to_extra_roots(tmp_path, pictures):
    dataset = made(torch_layouts.flowers, tmp_path, pictures)
    images = tmp_path / "flowers-102" / "jpg"
    images.rename(tmp_path / "elsewhere")
    images.mkdir()
    for path in (tmp_path / "elsewhere").iterdir():
        (images / path.name).symlink_to(path)
    with pytest.raises(forebay.PermissionDenied, match="extra_roots"):
        forebay.DataLoader(dataset, 4)
    with native(dataset, 4, extra_roots=[tmp_path / "elsewhere"]) as ours:
        assert check_equal(ours, DataLoader(dataset, 4)) == len(dataset)


def test_a_version_is_that_of_the_list(tmp_path, pictures):
    first = made(torch_layouts.food, tmp_path, pictures)
    again = made(torch_layouts.food, tmp_path, pictures)
    with native(first, 3) as one, native(again, 3) as other:
        for ours, theirs in zip(one, other):
            assert torch.equal(ours.image, theirs.image)
        version = one.state_dict()["dataset_version"]
        assert other.state_dict()["dataset_version"] == version
    again._labels[3] += 1
    with native(first, 7) as one, native(again, 7) as other:
        assert one.state_dict()["dataset_version"] == version
        assert other.state_dict()["dataset_version"] != version
        change = next(iter(other)).label - next(iter(one)).label
        assert change.tolist() == [0, 0, 0, 1, 0, 0, 0]


def test_goes_on_with_a_daemon_that_restarted(tmp_path, pictures, daemon):
    dataset = made(torch_layouts.food, tmp_path, pictures)
    with native(dataset, 2, depth=1) as loader:
        iterator = iter(loader)
        seen = ids([next(iterator)])
        state = loader.state_dict()
        daemon.stop()
        daemon.start()
        seen += ids(iterator)
        assert seen == list(range(7))
        loader.load_state_dict(state)
        assert ids(loader) == list(range(2, 7))


def test_a_transform_of_the_loaders_own(tmp_path, pictures):
    dataset = made(torch_layouts.food, tmp_path, pictures, transform=None)
    with native(dataset, 7, transform=T.CenterCrop(CROP), framework="numpy") as loader:
        batch, = loader
    assert batch.image.shape == (7, 3, *CROP)
    assert batch.label.tolist() == dataset._labels
