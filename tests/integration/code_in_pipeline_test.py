"""Pipelines in which workers run the user's ops between the daemon's ops."""

import os
import threading
import warnings

import numpy
import pytest
import torch
import torchvision.transforms as V
from torchvision.datasets import ImageFolder

import forebay
from forebay import transforms as T
from forebay._stage import seeds
from keyed_jobs import CHECKED, another_job, checks_at_iter_alone  # noqa: F401
from own_processes import hosts, workers
from stage_sharing_test import interleaved, made
from stage_test import leaves_nothing, reachable  # noqa: F401
from trouble import until

SIZE = 48
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
pytestmark = pytest.mark.filterwarnings("ignore:without a counterpart")


def same(value):
    """The user's op that changes nothing."""
    return value


def mirrored(image):
    """The user's op that mirrors half of the images, drawn by NumPy."""
    pixels = numpy.asarray(image)
    return pixels[:, ::-1] if numpy.random.random() < 0.5 else pixels


class Counted:
    """An op that changes nothing, and counts its calls in a file."""

    def __init__(self, path):
        self.path = str(path)

    def __call__(self, image):
        with open(self.path, "ab") as file:
            file.write(b".")
        return image


def loader_of(photos, ops, **arguments):
    arguments = {"batch_size": 7, "shuffle": True, "seed": 5, **arguments}
    another_job()
    return forebay.DataLoader(ImageFolder(str(photos), V.Compose(ops)), **arguments)


def contents_of(loader):
    """Returns a dict: by sample number, its image and its label."""
    found = {}
    for batch in loader:
        for number, image, label in zip(batch.sample_ids, batch.image, batch.label):
            assert int(number) not in found
            found[int(number)] = image.clone(), int(label)
    return found


def read(photos, ops, **arguments):
    with loader_of(photos, ops, **arguments) as loader:
        return contents_of(loader)


def assert_equal(found, expected):
    assert found.keys() == expected.keys() and found
    for number, (image, label) in found.items():
        assert label == expected[number][1]
        assert image.dtype == expected[number][0].dtype
        assert torch.equal(image, expected[number][0]), number


@pytest.mark.parametrize("before, behind", [
    ([], [V.ToTensor(), V.Normalize(MEAN, STD)]),
    ([], [V.ToTensor()]),
    ([], [V.Grayscale(), V.ToTensor()]),
    ([], [V.CenterCrop(40), V.Resize((20, 30)), V.PILToTensor()]),
    ([V.Grayscale(1)], [V.ToTensor()]),
    ([V.PILToTensor()], [V.ConvertImageDtype(torch.float32),
                         V.Normalize(MEAN, STD)]),
    ([V.PILToTensor()], [V.CenterCrop(20)]),
])
def test_ops_that_change_nothing_leave_the_bytes(photos, before, behind):
    before = [V.RandomResizedCrop(SIZE), *before]
    found = read(photos, [*before, same, *behind], num_workers=2)
    assert_equal(found, read(photos, before + behind))


def albumentations(name, call=None, **attributes):
    """Returns an op like Albumentations', which tells its class and its arguments."""
    kind = type(name, (), {"__call__": call, "p": 1.0})
    kind.__module__ = "albumentations.augmentations"
    op = kind()
    vars(op).update(attributes)
    return op


def test_albumentations_ops_get_arrays_by_name(photos):
    def inverted(op, *, image):
        assert image.shape == (SIZE, SIZE, 3) and image.dtype == numpy.uint8
        return {"image": 255 - image}

    def all_of(*middle):
        transform = albumentations("Compose", transforms=[
            albumentations("Resize", height=SIZE, width=SIZE, interpolation=1),
            *middle, albumentations("HorizontalFlip", p=0.0),
            albumentations("ToTensorV2")], processors={})
        with forebay.DataLoader(str(photos), batch_size=8, seed=2,
                                transform=transform, framework="torch") as loader:
            return contents_of(loader)

    found = all_of(albumentations("InvertImg", inverted))
    assert_equal(found, {number: (255 - image, label) for number, (image, label)
                         in all_of().items()})


@pytest.mark.parametrize("workers", [1, 3])
def test_draws_depend_on_seed_epoch_and_sample_alone(photos, workers):
    crop = V.RandomResizedCrop(SIZE)
    with loader_of(photos, [crop, mirrored, V.ToTensor()],
                   num_workers=workers) as loader:
        for epoch in range(2):
            found = contents_of(loader)
            with loader_of(photos, [crop]) as plain:
                plain.set_epoch(epoch)
                pixels = contents_of(plain)
            expected = {}
            with seeds.Kept():
                for number, (image, label) in pixels.items():
                    seeds.seed_generators(seeds.of_sample(5, epoch, number, 0))
                    array = image.numpy().transpose(1, 2, 0)
                    expected[number] = (
                        V.functional.to_tensor(mirrored(array).copy()), label)
            assert_equal(found, expected)


def test_ops_on_floats_run_in_workers_up_to_the_end(photos):
    def noisy(image):
        return image + torch.randn(image.shape) * 0.1

    crop = V.RandomResizedCrop(SIZE)
    found = read(photos, [crop, V.ToTensor(), noisy, V.Normalize(MEAN, STD)])
    expected = {}
    with seeds.Kept():
        for number, (image, label) in read(photos, [crop]).items():
            seeds.seed_generators(seeds.of_sample(5, 0, number, 0))
            expected[number] = V.functional.normalize(
                noisy(image.float() / 255), MEAN, STD), label
    for number, (image, label) in found.items():
        assert label == expected[number][1]
        assert torch.allclose(image, expected[number][0], atol=1e-6)


def test_results_of_other_types_and_shapes_come_as_they_are(photos):
    def edges(image):
        return numpy.diff(numpy.asarray(image).astype(numpy.int16), axis=0)

    found = read(photos, [V.RandomResizedCrop(SIZE), edges, torch.from_numpy,
                          V.Lambda(same), V.RandomHorizontalFlip(0.0)])
    for image, _ in found.values():
        assert image.shape == (SIZE - 1, SIZE, 3) and image.dtype == torch.int16


def test_says_once_what_workers_run(photos):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with loader_of(photos, [V.RandomResizedCrop(SIZE), same, V.ToTensor()],
                       num_workers=1, timeout=60) as loader:
            assert loader.num_workers == 1 and len(loader) == 7
            assert type(next(iter(loader))).__name__ == "Batch"
    assert [str(warning.message) for warning in told] == [
        "without a counterpart in forebay.transforms: same: worker processes run "
        "it, between the ops of the daemon"]
    assert told[0].filename == __file__


def test_where_images_differ_in_size_workers_do_all(photos):
    with pytest.warns(UserWarning, match="images of different sizes come to it"):
        loader = loader_of(photos, [same, V.RandomResizedCrop(SIZE), V.ToTensor()])
    with loader:
        assert sum(len(batch[0]) for batch in loader) == 48


@pytest.mark.parametrize("ops, arguments, why", [
    ([same, T.RandomResizedCrop(8), T.ToImage()], {}, "images of different sizes"),
    ([T.RandomResizedCrop(8), same, V.ToTensor()], {"num_workers": 0},
     "num_workers=0"),
    ([T.RandomResizedCrop(8), same, V.ToTensor()],
     {"order": "coordinated", "shuffle": True}, "coordinated"),
    ([V.RandomResizedCrop(8), str, V.ToTensor()], {},
     "str returns a value of builtins.str"),
    ([V.RandomResizedCrop(8), lambda image: None, V.RandomHorizontalFlip()], {},
     "<lambda> "),
    ([V.RandomResizedCrop(8), lambda image: image.getpixel((9, 9)), V.ToTensor()],
     {}, "cannot be tried on an image of noise"),
])
def test_refuses_by_name_where_there_are_files_alone(photos, ops, arguments, why):
    with pytest.raises((forebay.errors.Unsupported,
                        forebay.errors.InvalidArgument), match=why):
        forebay.DataLoader(str(photos), transform=V.Compose(ops), **arguments)


def test_equal_loaders_run_the_code_once(photos, tmp_path):
    path = tmp_path / "made"
    loaders = [loader_of(photos, [V.RandomResizedCrop(SIZE), Counted(path),
                                  V.ToTensor()], num_workers=2, share_key="equal")
               for _ in range(3)]
    looks = made(path)
    assert looks == 3  # once for each loader, on an image of noise
    # Calls that each loader makes in an epoch to compare the results of its code.
    again = 3 * 2 * CHECKED
    for _ in range(2):
        found = interleaved([map(list, loader) for loader in loaders])
        assert found[0] == found[1] == found[2]
    assert made(path) == looks + 2 * (48 + again)
    for loader in loaders:
        loader.close()


def test_another_loader_takes_over_when_one_closes(photos):
    loaders = [loader_of(photos, [V.RandomResizedCrop(SIZE), same, V.ToTensor()],
                         batch_size=1, num_workers=1, share_key="equal")
               for _ in range(3)]
    with loader_of(photos, [V.RandomResizedCrop(SIZE), same, V.ToTensor()],
                   batch_size=1) as alone:
        expected = contents_of(alone)
    first, *others = map(iter, loaders)
    next(first)
    found = [{}, {}]
    for step in range(48):
        if step == 4:
            host, = hosts(os.getpid())
            loaders[0].close()
            until(lambda: host not in hosts(os.getpid()), "its host ends")
        for iterator, contents in zip(others, found):
            batch = next(iterator)
            number = int(batch.sample_ids[0])
            assert number not in contents
            contents[number] = batch.image[0].clone(), int(batch.label[0])
    for contents in found:
        assert_equal(contents, expected)
    for loader in loaders:
        loader.close()


class Scaled:
    """An op with an attribute that the user may change."""

    factor = 1

    def __call__(self, image):
        return image.point(lambda value: value // self.factor)


def test_code_that_changed_between_epochs_is_run_as_it_is(photos):
    scaled = Scaled()
    crop = V.RandomResizedCrop(SIZE)
    with loader_of(photos, [crop, scaled, V.PILToTensor()]) as loader:
        first = contents_of(loader)
        scaled.factor = 3
        second = contents_of(loader)
    with loader_of(photos, [crop, V.PILToTensor()]) as plain:
        assert_equal(first, contents_of(plain))
        assert_equal(second, {number: (image // 3, label) for
                              number, (image, label) in contents_of(plain).items()})


def test_without_a_key_each_loader_runs_the_code(photos, tmp_path):
    path = tmp_path / "made"
    for key, runs in ((None, 2), ("mine", 1)):
        loaders = [loader_of(photos, [V.RandomResizedCrop(SIZE), Counted(path),
                                      V.ToTensor()], num_workers=2, share_key=key)
                   for _ in range(2)]
        looks = made(path)
        found = interleaved([map(list, loader) for loader in loaders])
        assert found[0] == found[1]
        assert made(path) == looks + runs * 48 + (2 * 2 * CHECKED if key else 0)
        for loader in loaders:
            loader.close()


@pytest.mark.parametrize("key", [None, "mine"])
def test_code_that_changed_before_the_first_epoch_is_run_as_it_is(photos, key):
    scaled = Scaled()
    crop = V.RandomResizedCrop(SIZE)
    with loader_of(photos, [crop, scaled, V.PILToTensor()], share_key=key) as loader:
        scaled.factor = 3
        first = contents_of(loader)
        total = loader.stats()["samples_delivered"]
        contents_of(loader)
        assert loader.stats()["samples_delivered"] == 2 * total
    with loader_of(photos, [crop, V.PILToTensor()]) as plain:
        assert_equal(first, {number: (image // 3, label) for
                             number, (image, label) in contents_of(plain).items()})


def test_persistent_workers_run_code_as_it_was(photos):
    class Scaled:
        def __init__(self):
            self.factor = 1
            self.lock = threading.Lock()

        def __call__(self, image):
            return image.point(lambda value: value // self.factor)

    scaled = Scaled()
    with loader_of(photos, [V.RandomResizedCrop(SIZE), scaled, V.PILToTensor()],
                   persistent_workers=True) as loader:
        contents_of(loader)
        found = workers(os.getpid())
        scaled.factor = 3
        second = contents_of(loader)
        assert workers(os.getpid()) == found
    with loader_of(photos, [V.RandomResizedCrop(SIZE), V.PILToTensor()]) as plain:
        contents_of(plain)
        assert_equal(second, contents_of(plain))


def test_an_error_keeps_its_type_and_passes_over_one_batch(photos):
    class Wrong(ValueError):
        pass

    def fails(image):
        if numpy.asarray(image).sum() % 5 == 0:
            raise Wrong("five")
        return image

    seen, failed = 0, 0
    with loader_of(photos, [V.RandomResizedCrop(SIZE), fails, V.ToTensor()],
                   batch_size=4, num_workers=2) as loader:
        batches = iter(loader)
        while True:
            try:
                seen += len(next(batches)[0])
            except StopIteration:
                break
            except Wrong as error:
                assert "worker process of" in str(error) and "fails" in str(error)
                failed += 4
            # The error's class is one that no other module has.
            except RuntimeError as error:
                assert "Wrong: five" in str(error) and "in fails" in str(error)
                failed += 4
    assert seen + failed == 48 and seen and failed


def test_results_must_be_alike(photos):
    def odd(image):
        return image.resize((9, 9)) if numpy.asarray(image).sum() % 2 else image

    with loader_of(photos, [V.RandomResizedCrop(SIZE), odd, V.ToTensor()]) as loader:
        with pytest.raises(Exception, match="must become what the first one did"):
            for _ in range(10):
                list(loader)


def test_a_state_goes_on_with_the_same_bytes(photos):
    ops = [V.RandomResizedCrop(SIZE), mirrored, V.ToTensor()]
    with loader_of(photos, ops) as loader:
        whole = [batch.image.clone() for batch in loader]
        loader.set_epoch(0)
        batches = iter(loader)
        for _ in range(3):
            next(batches)
        state = loader.state_dict()
    with loader_of(photos, ops) as loader:
        loader.load_state_dict(state)
        rest = [batch.image.clone() for batch in loader]
        assert len(rest) == 4 and all(map(torch.equal, rest, whole[3:]))
