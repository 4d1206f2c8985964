"""Dataset objects that change while a loader reads them natively. Each iter() follows
the changes, as torch's DataLoader does."""

import os
import warnings

import numpy
import pytest
import torch
import torchvision
from torch.utils.data import ConcatDataset, DataLoader, Subset, TensorDataset
from torchvision import transforms as V

import forebay
import torch_layouts
from drop_in import TRANSFORM, check_equal, ids
from drop_in_parts_test import in_memory
from forebay import _watched
from forebay._stage import coded_loader

SHORT = V.Compose([V.CenterCrop(20), V.ToTensor()])


@pytest.fixture
def cifar(shared_daemon):
    return in_memory(torchvision.datasets.CIFAR10, (50, 32, 32, 3),
                     transform=V.Compose([V.CenterCrop(24), V.ToTensor()]))


@pytest.fixture
def folder(photos, shared_daemon):
    return torchvision.datasets.ImageFolder(str(photos), V.Compose(
        [V.Resize((64, 80)), V.CenterCrop(32), V.ToTensor()]))


def check_follows(dataset, change, batch_size=16):
    """Checks that the epoch after a change has the same samples as torch's."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with forebay.DataLoader(dataset, batch_size) as ours:
            theirs = DataLoader(dataset, batch_size)
            assert check_equal(ours, theirs) == len(dataset)
            change(dataset)
            assert len(ours) == len(theirs)
            assert check_equal(ours, theirs) == len(dataset)
            assert len(ours) == len(theirs)
            assert check_equal(ours, theirs) == len(dataset)
            assert ours.dataset is dataset


def reverse(items):
    items[:] = items[::-1].copy()


@pytest.mark.parametrize("change", [
    lambda dataset: setattr(dataset, "transform", SHORT),
    lambda dataset: setattr(dataset.transform.transforms[0], "size", (16, 20)),
    lambda dataset: dataset.transform.transforms.append(
        V.Normalize([0.5] * 3, [0.25] * 3)),
    lambda dataset: setattr(dataset, "target_transform", lambda label: label * 3 + 1),
    lambda dataset: dataset.targets.__setitem__(3, 77),
    lambda dataset: setattr(dataset, "targets", [5] * 50),
    lambda dataset: setattr(dataset, "data", 255 - dataset.data),
    lambda dataset: dataset.data.__setitem__(
        (7, 12, 9, 1), dataset.data[7, 12, 9, 1] ^ 128),
    lambda dataset: reverse(dataset.data),
    lambda dataset: setattr(dataset, "data", dataset.data.transpose(0, 2, 1, 3)),
    lambda dataset: vars(dataset).update(data=dataset.data[:20],
                                         targets=dataset.targets[:20])])
def test_images_in_memory(cifar, change):
    check_follows(cifar, change)


@pytest.mark.parametrize("change", [
    lambda dataset: setattr(dataset, "transform", SHORT),
    lambda dataset: setattr(dataset.transform.transforms[0], "size", (40, 50)),
    lambda dataset: dataset.samples.reverse(),
    lambda dataset: dataset.samples.__delitem__(slice(9, None)),
    lambda dataset: setattr(dataset, "samples", dataset.samples * 2),
    lambda dataset: setattr(dataset, "target_transform", [7, 8, 9].__getitem__)])
def test_a_folder(folder, change):
    check_follows(folder, change)


def test_parts_of_a_folder(folder):
    check_follows(ConcatDataset([folder, Subset(folder, [5, 3])]),
                  lambda both: both.datasets[0].samples.reverse())


def test_files_and_labels(shared_daemon, tmp_path, photos, monkeypatch):
    torch_layouts.use_fake_scipy(monkeypatch)
    torch_layouts.accept_all_files(monkeypatch)
    dataset = torch_layouts.flowers(tmp_path, sorted(photos.glob("*/*.jpg"))[::3],
                                    transform=TRANSFORM)
    check_follows(dataset, lambda dataset: dataset._labels.reverse(), 4)
    check_follows(dataset, lambda dataset: dataset._image_files.reverse(), 4)


@pytest.mark.parametrize("kind", [list, numpy.array, torch.tensor])
def test_the_indices_of_a_subset_that_grows(folder, kind):
    """In active learning, a subset grows between epochs."""
    subset = Subset(folder, kind([3, 1, 40]))
    check_follows(subset, lambda subset: setattr(
        subset, "indices", kind([3, 1, 40, 7, 7, 30])), 2)
    check_follows(subset, lambda subset: subset.indices.__setitem__(1, 11), 2)


def test_an_order_goes_on_where_the_dataset_grows(folder):
    subset = Subset(folder, list(range(10)))
    with forebay.DataLoader(subset, 4, shuffle=True, seed=5) as loader:
        first = ids(loader)
        subset.indices.extend(range(20, 26))
        second = ids(loader)
        third = ids(loader)
    assert sorted(first) == list(range(10))
    assert sorted(second) == sorted(third) == list(range(16))
    with forebay.DataLoader(subset, 4, shuffle=True, seed=5) as loader:
        loader.set_epoch(1)
        assert [ids(loader), ids(loader)] == [second, third]


@pytest.mark.parametrize("change", [
    lambda tensors: tensors[0].mul_(-1),
    lambda tensors: tensors[1].__setitem__(3, 99),
    lambda tensors: tensors[0].numpy().__setitem__((2, 1), 5),
    lambda tensors: tensors[0].data.zero_(), lambda tensors: tensors[2].neg_()])
def test_tensors(shared_daemon, change):
    tensors = torch.rand(20, 4), torch.arange(20), torch.rand(20).double()
    dataset = TensorDataset(*tensors)
    with forebay.DataLoader(dataset, 6) as loader:
        for _ in range(2):
            for ours, theirs in zip(loader, DataLoader(dataset, 6)):
                assert all(map(torch.equal, ours, theirs))
            change(tensors)


def test_large_tensors_by_their_versions(shared_daemon, monkeypatch):
    monkeypatch.setattr(_watched, "MAX_BYTES", 100)
    tensor = torch.rand(20, 4)
    with forebay.DataLoader(TensorDataset(tensor), 20) as loader:
        list(loader)
        tensor[7] = 3
        assert torch.equal(next(iter(loader))[0], tensor)


def test_nothing_changes_within_an_epoch(cifar):
    labels = list(cifar.targets)
    with forebay.DataLoader(cifar, 10) as loader:
        iterator = iter(loader)
        seen = next(iterator).label.tolist()
        cifar.targets[:] = [3] * 50
        for batch in iterator:
            seen += batch.label.tolist()
        assert seen == labels
        assert next(iter(loader)).label.tolist() == [3] * 10


def test_what_did_not_change_keeps_its_connection(cifar):
    with forebay.DataLoader(cifar, 10) as loader:
        before = loader._attachment.connection
        for _ in range(3):
            list(loader)
            cifar.data = cifar.data.copy()
        assert loader._attachment.connection is before


def test_an_epoch_of_which_nothing_was_taken_begins_again(cifar):
    with forebay.DataLoader(cifar, 50, shuffle=True, seed=1) as loader:
        iter(loader)
        cifar.targets[3] = 8
        order = ids(loader)
        loader.set_epoch(0)
        assert ids(loader) == order
        iter(loader)
        cifar.data, cifar.targets = cifar.data[:20], cifar.targets[:20]
        assert sorted(ids(loader)) == list(range(20))
        assert loader.state_dict()["epoch"] == 2


def test_a_forked_child_follows_its_own_copy(cifar):
    with forebay.DataLoader(cifar, 10) as loader:
        list(loader)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                cifar.targets[:] = [4] * 50
                labels = [batch.label.tolist() for batch in loader]
                status = labels != [[4] * 10] * 5
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        assert check_equal(loader, DataLoader(cifar, 10)) == 50


class Brighter:
    def __call__(self, image):
        return image.point(lambda value: min(255, value * 2))


def test_code_of_the_users_comes_and_goes(cifar):
    pipelines = [
        V.Compose([Brighter(), V.ToTensor()]), V.Compose([V.ToTensor(), torch.neg]),
        V.Compose([V.CenterCrop(20), Brighter(), V.ToTensor()]), SHORT]
    with forebay.DataLoader(cifar, 16, num_workers=1) as loader:
        for pipeline in pipelines:
            list(loader)
            cifar.transform = pipeline
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert check_equal(loader, DataLoader(cifar, 16)) == 50


def test_only_workers_can_go_on(folder):
    with forebay.DataLoader(folder, 48, shuffle=True, num_workers=1, seed=3) as loader:
        list(loader)
        folder.loader = lambda path: torchvision.datasets.folder.default_loader(
            path).rotate(180)
        with pytest.warns(UserWarning, match="worker processes make.*loader of its own"
                          ) as told:
            iterator = iter(loader)
        assert told[0].filename == __file__
        images, labels = next(iterator)
        for _ in loader:
            pass
    with forebay.DataLoader(folder.root, 48, shuffle=True, seed=3,
                            transform=folder.transform) as again:
        again.set_epoch(1)
        numbers = ids(again)
    assert labels.tolist() == [folder.samples[number][1] for number in numbers]
    assert all(torch.equal(image, folder[number][0])
               for image, number in zip(images, numbers))


def test_persistent_workers_keep_what_they_began_with(cifar):
    with forebay.DataLoader(cifar, 50, num_workers=1,
                            persistent_workers=True) as loader:
        cifar.targets[0] = 33  # before the first epoch
        assert next(iter(loader)).label[0] == 33
        cifar.targets[0] = 44
        assert next(iter(loader)).label[0] == 33


def test_a_failure_is_tried_again(folder, tmp_path):
    subset = Subset(folder, [1, 2])
    with forebay.DataLoader(subset, 2) as loader:
        list(loader)
        subset.indices = [1, 2, 99]
        for _ in range(2):
            with pytest.raises(forebay.InvalidArgument, match="the index 99"):
                iter(loader)
        subset.indices = [5]
        assert ids(loader) == [0]


class Own(forebay.DataLoader):
    """A subclass that the user defines."""


@pytest.mark.parametrize("kind", [forebay.DataLoader, Own])
@pytest.mark.parametrize("ops", [[], [Brighter()]], ids=["native", "with code"])
def test_a_change_that_is_refused_leaves_the_loader_as_it_was(folder, kind, ops):
    """After the change, workers would make the samples, which does not go together with
    `on_error`."""
    before = V.Compose([V.CenterCrop(32), *ops, V.ToTensor()])
    folder.transform = before
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loader = kind(folder, 16, num_workers=1, on_error="substitute")
        assert check_equal(loader, DataLoader(folder, 16)) == 48
        state, length = loader.state_dict(), len(loader)
        folder.transform = V.ToTensor()
        for attempt in (iter, list, lambda loader: loader.load_state_dict(state)):
            with pytest.raises(forebay.Unsupported, match="on_error"):
                attempt(loader)
            assert len(loader) == length and "DataLoader(" in repr(loader)
            assert loader.state_dict() == state and isinstance(loader, kind)
            with pytest.raises(ValueError, match="make another loader"):
                loader.batch_size = 3
        folder.transform = before
        assert check_equal(loader, DataLoader(folder, 16)) == 48
        assert loader.stats()["samples_delivered"] == 48
        loader.close()


def test_workers_that_cannot_be_had_are_asked_for_again(folder, monkeypatch):
    def refuse(*_):
        raise forebay.ResourceExhausted("no room")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with forebay.DataLoader(folder, 16, num_workers=1) as loader:
            list(loader)
            folder.transform = V.Compose([V.CenterCrop(32), Brighter(), V.ToTensor()])
            with monkeypatch.context() as patched:
                patched.setattr(coded_loader.CodedLoader, "_attach", refuse)
                with pytest.raises(forebay.ResourceExhausted, match="no room"):
                    iter(loader)
            with pytest.raises(forebay.StateError, match="closed"):
                loader.stats()
            assert check_equal(loader, DataLoader(folder, 16)) == 48


def test_a_file_that_is_gone_is_an_error_until_it_is_back(tmp_path, photos, folder):
    root = tmp_path / "photos"
    for path, _ in folder.samples[::4]:
        torch_layouts.copy(path, root / path[len(folder.root) + 1:])
    dataset = torchvision.datasets.ImageFolder(str(root), TRANSFORM)
    gone = root / dataset.samples[4][0][len(str(root)) + 1:]
    with forebay.DataLoader(dataset, 5) as loader:
        list(loader)
        gone.rename(tmp_path / "elsewhere.jpg")
        dataset.transform = SHORT
        for _ in range(2):
            with pytest.raises(forebay.NotFound, match=gone.name):
                iter(loader)
        (tmp_path / "elsewhere.jpg").rename(gone)
        assert check_equal(loader, DataLoader(dataset, 5)) == len(dataset)


def test_a_state_of_another_number_of_samples(folder):
    subset = Subset(folder, list(range(10)))
    with forebay.DataLoader(subset, 2) as loader:
        next(iter(loader))
        state = loader.state_dict()
        loader.load_state_dict(state)
        subset.indices.append(30)
        with pytest.raises(forebay.StateError, match="loaded for 10 samples.*has 11"):
            iter(loader)
        assert ids(loader) == list(range(11))
        with pytest.raises(forebay.StateError, match="another version"):
            loader.load_state_dict(state)
        subset.indices.pop()
        loader.load_state_dict(state)
        assert ids(loader) == list(range(2, 10))
        assert isinstance(loader.sampler.epoch, type(None))


def test_a_pipeline_of_the_loaders_own(shared_daemon, photos):
    pipeline = V.Compose([V.CenterCrop(32), V.ToTensor()])
    with forebay.DataLoader(str(photos), 4, transform=pipeline) as loader:
        assert next(iter(loader)).image.shape == (4, 3, 32, 32)
        pipeline.transforms[0].size = (20, 24)
        assert next(iter(loader)).image.shape == (4, 3, 20, 24)
