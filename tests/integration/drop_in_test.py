"""A PyTorch script's own datasets, samplers and transforms, as they are."""

import warnings

import numpy
import PIL.Image
import pytest
import torch
import torchvision
from torch.utils.data import (ConcatDataset, DataLoader, Dataset,
                              DistributedSampler, IterableDataset,
                              RandomSampler, SequentialSampler, Subset,
                              SubsetRandomSampler, WeightedRandomSampler)
from torchvision import transforms as V

import forebay
from forebay import _torch_arguments

SAMPLES = 48
TRANSFORM = V.Compose([V.CenterCrop(64), V.ToTensor(),
                       V.Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4])])


@pytest.fixture
def folder(shared_daemon, photos):
    return torchvision.datasets.ImageFolder(str(photos), TRANSFORM)


def ids(batches):
    return [int(i) for batch in batches for i in batch.sample_ids]


def check_equal(ours, theirs):
    """Whether two loaders give the same batches, to one level of 255 before
    they are normalised."""
    count = 0
    for (images, labels), (wanted, wanted_labels) in zip(ours, theirs):
        assert images.dtype == wanted.dtype
        assert images.shape == wanted.shape
        assert (images - wanted).abs().max() <= 1.01 / 255 / 0.2
        torch.testing.assert_close(labels, wanted_labels)
        count += len(labels)
    return count


def test_an_image_folder_gives_what_torch_gives(folder):
    theirs = DataLoader(folder, 10)
    with forebay.DataLoader(folder, 10) as ours:
        assert len(ours) == len(theirs)
        assert ours.dataset is folder
        assert ours.batch_size == theirs.batch_size
        assert check_equal(ours, theirs) == SAMPLES


def test_takes_torchs_arguments_by_position(folder):
    arguments = (10, False, SequentialSampler(folder), None, 0, None, False, True)
    theirs = DataLoader(folder, *arguments)
    with forebay.DataLoader(folder, *arguments) as ours:
        assert len(ours) == len(theirs) == 4
        assert check_equal(ours, theirs) == 40


def test_says_once_what_is_unnecessary(folder, monkeypatch):
    monkeypatch.setattr(_torch_arguments, "_told", set())
    arguments = {"num_workers": 8, "persistent_workers": True,
                 "prefetch_factor": 4}
    with pytest.warns(UserWarning, match="num_workers, prefetch_factor, "
                      "persistent_workers") as told:
        forebay.DataLoader(folder, 8, **arguments).close()
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forebay.DataLoader(folder, 8, **arguments).close()


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


@pytest.mark.parametrize("make,message", [
    (lambda f: {"dataset": Squares()}, "Squares has code of its own"),
    (lambda f: {"dataset": Renamed(f.root)}, "Renamed has code of its own"),
    (lambda f: {"dataset": Endless()}, "Endless is an iterable dataset"),
    (lambda f: {"dataset": f, "collate_fn": list}, "use batch_transform="),
    (lambda f: {"dataset": f, "batch_sampler": [[0, 1]]}, "pass batch_size"),
    (lambda f: {"dataset": f, "batch_size": None}, "use batch_size=1"),
    (lambda f: {"dataset": torchvision.datasets.ImageFolder(
        f.root, TRANSFORM, loader=PIL.Image.open)}, "a loader of its own"),
    (lambda f: {"dataset": torchvision.datasets.ImageFolder(
        f.root, TRANSFORM, is_valid_file=lambda path: "1" in path)},
     "use torch.utils.data.Subset"),
])
def test_refuses_what_it_cannot_do(folder, make, message):
    with pytest.raises(forebay.Unsupported, match=message):
        forebay.DataLoader(**make(folder))


@pytest.mark.parametrize("arguments,message", [
    ({"transform": TRANSFORM}, "the dataset has a transform"),
    ({"shuffle": True, "sampler": [1, 2]}, "mutually exclusive"),
    ({"sampler": SequentialSampler(range(7))}, "made for 7 samples"),
    ({"sampler": [1, 2], "rank": 1, "world_size": 2}, "which samples this"),
    ({"generator": torch.Generator().manual_seed(3), "seed": 4},
     "give one of them"),
    ({"batch_transform": 3}, "must be a function"),
])
def test_refuses_what_contradicts_itself(folder, arguments, message):
    with pytest.raises(forebay.InvalidArgument, match=message):
        forebay.DataLoader(folder, 8, **arguments)


def test_refuses_a_folder_whose_samples_were_changed(folder):
    folder.samples = [(path, 2 - label) for path, label in folder.samples]
    with pytest.raises(forebay.Unsupported, match="not those of its class"):
        forebay.DataLoader(folder, 8)


def test_default_collate_is_no_code_of_the_users(folder):
    collate = torch.utils.data.default_collate
    with forebay.DataLoader(folder, 48, collate_fn=collate) as loader:
        assert ids(loader) == list(range(SAMPLES))


def test_target_transform_runs_on_labels(folder):
    folder.target_transform = [7.5, 8.5, 9.5].__getitem__
    with forebay.DataLoader(folder, 16) as loader:
        labels = torch.cat([labels for _, labels in loader])
    assert labels.tolist() == 16 * [7.5] + 16 * [8.5] + 16 * [9.5]


def test_batch_transform_gets_whole_batches(folder):
    def mix(images, labels):
        return images.mul(0.5).add(images.flip(0), alpha=0.5), labels * 10

    with forebay.DataLoader(folder, 16) as plain:
        batches = [(images.clone(), labels) for images, labels in plain]
    with forebay.DataLoader(folder, 16, batch_transform=mix) as loader:
        for batch, (images, labels) in zip(loader, batches):
            torch.testing.assert_close(batch.image, mix(images, labels)[0])
            assert batch.label.tolist() == (labels * 10).tolist()
            assert len(batch.sample_ids) == 16
    with forebay.DataLoader(folder, 48, batch_transform=lambda images, _: 3) as it:
        assert list(it) == [3]


def test_an_error_of_batch_transform_loses_no_batch(folder):
    fails = iter([False, True, False])

    def transform(images, labels):
        if next(fails):
            raise ZeroDivisionError
        return images, labels

    with forebay.DataLoader(folder, 16, batch_transform=transform) as loader:
        iterator = iter(loader)
        assert ids([next(iterator)]) == list(range(16))
        with pytest.raises(ZeroDivisionError):
            next(iterator)
        assert ids(iterator) == list(range(32, 48))


class Half:
    """Code that the daemon has no counterpart of."""

    def __call__(self, image):
        assert isinstance(image, torch.Tensor) and image.shape == (3, 64, 64)
        return image * 0.5


def test_trailing_code_runs_in_the_trainer(folder):
    folder.transform = V.Compose([V.CenterCrop(64), V.ToTensor(), Half(),
                                  V.Lambda(lambda image: image - 1)])
    with pytest.warns(UserWarning, match="Half, Lambda: runs in the trainer"):
        ours = forebay.DataLoader(folder, 16)
    with ours:
        assert check_equal(ours, DataLoader(folder, 16)) == SAMPLES


@pytest.mark.parametrize("end", [
    lambda image: image.rotate(90),
    lambda image: torch.from_numpy(numpy.array(image)).permute(2, 0, 1)])
def test_trailing_code_gets_pil_images(folder, end):
    folder.transform = V.Compose([V.CenterCrop((64, 60)), end])
    with pytest.warns(UserWarning, match="<lambda>"):
        ours = forebay.DataLoader(folder, 48)
    with ours:
        (images, _), = ours
    wanted = end(V.CenterCrop((64, 60))(PIL.Image.open(folder.samples[5][0])))
    if isinstance(wanted, PIL.Image.Image):
        wanted = torch.from_numpy(numpy.array(wanted)).permute(2, 0, 1)
    assert images.dtype == torch.uint8
    torch.testing.assert_close(images[5], wanted)


def test_what_ends_as_pil_images_comes_as_bytes(folder):
    folder.transform = V.CenterCrop(32)
    with forebay.DataLoader(folder, 48) as loader:
        (images, _), = loader
    assert images.dtype == torch.uint8 and images.shape == (48, 3, 32, 32)


@pytest.mark.parametrize("drop_last", [False, True])
def test_a_distributed_sampler_shards(folder, drop_last):
    seen = []
    for rank in range(5):
        sampler = DistributedSampler(folder, 5, rank, shuffle=False,
                                     drop_last=drop_last)
        with forebay.DataLoader(folder, 4, sampler=sampler) as loader:
            assert len(loader) == len(DataLoader(folder, 4, sampler=sampler))
            assert ids(loader) == list(sampler)
            seen += ids(loader)
    assert len(set(seen)) == (45 if drop_last else 48)


def test_a_distributed_samplers_epoch_counts(folder):
    sampler = DistributedSampler(folder, 2, 1, seed=5)
    with forebay.DataLoader(folder, 4, sampler=sampler) as loader:
        epochs = {}
        for epoch in (0, 3, 1):
            loader.sampler.set_epoch(epoch)
            epochs[epoch] = ids(loader)
        with pytest.warns(UserWarning, match="set_epoch before each"):
            assert ids(loader) == epochs[1]
        loader.set_epoch(3)
        assert sampler.epoch == 3
        assert ids(loader) == epochs[3]
        state = loader.state_dict()
    assert len({tuple(order) for order in epochs.values()}) == 3
    with forebay.DataLoader(folder, 4, shuffle=True, seed=5, rank=1,
                            world_size=2) as native:
        native.set_epoch(3)
        assert ids(native) == epochs[3]
    assert state["epoch"] == 4


def test_a_state_outlasts_a_sampler_that_was_told_nothing(folder):
    def new():
        sampler = DistributedSampler(folder, 1, 0)
        return sampler, forebay.DataLoader(folder, 8, sampler=sampler)

    sampler, loader = new()
    with loader:
        sampler.set_epoch(2)
        iterator = iter(loader)
        seen = ids([next(iterator), next(iterator)])
        state = loader.state_dict()
    for told in (None, 2):
        sampler, loader = new()
        with loader:
            loader.load_state_dict(state)
            if told is not None:
                sampler.set_epoch(told)
            rest = ids(loader)
            assert sorted(seen + rest) == list(range(SAMPLES))


def test_random_samplers_take_the_generators_seed(folder):
    orders = []
    for seed in (7, 8):
        generator = torch.Generator().manual_seed(seed)
        for arguments in ({"shuffle": True, "generator": generator},
                          {"sampler": RandomSampler(folder, generator=generator)},
                          {"shuffle": True, "seed": seed}):
            with forebay.DataLoader(folder, 8, **arguments) as loader:
                orders.append(ids(loader))
    assert sorted(orders[0]) == list(range(SAMPLES))
    assert orders[0] == orders[1] == orders[2]
    assert orders[3] == orders[4] == orders[5]
    assert orders[0] != orders[3]


def samplers(folder, seed):
    generator = torch.Generator().manual_seed(seed)
    return [
        SubsetRandomSampler(range(0, 48, 3), generator=generator),
        WeightedRandomSampler([1.0] * 24 + [5.0] * 24, 100, generator=generator),
        RandomSampler(folder, replacement=True, generator=generator),
        RandomSampler(folder, num_samples=30, replacement=True,
                      generator=generator),
        [5, 5, -1, 0, numpy.int64(7)],
    ]


@pytest.mark.parametrize("number", range(5))
def test_other_samplers_say_every_epochs_order(folder, number):
    ours = samplers(folder, 3)[number]
    theirs = samplers(folder, 3)[number]
    with forebay.DataLoader(folder, 7, sampler=ours, drop_last=True) as loader:
        count = len(theirs) // 7 * 7
        assert len(loader) == count // 7
        for _ in range(3):
            order = [int(i) % SAMPLES for i in theirs]
            assert ids(loader) == order[:count]


@pytest.mark.parametrize("number", range(4))
def test_a_listed_order_is_resumed(folder, number):
    with forebay.DataLoader(folder, 4, sampler=samplers(folder, 3)[number]) as it:
        whole = [ids(it), ids(it), ids(it)]
    with forebay.DataLoader(folder, 4, sampler=samplers(folder, 3)[number]) as it:
        next(iter(it))
        iterator = iter(it)
        seen = ids([next(iterator), next(iterator)])
        state = it.state_dict()
    assert seen == whole[1][:8]
    # However far its generator is: the order, and what comes after it, are the
    # state's.
    sampler = samplers(folder, 3)[number]
    list(sampler)
    with forebay.DataLoader(folder, 5, sampler=sampler) as it:
        assert ids(it) == whole[1]
        it.load_state_dict(state)
        assert it.state_dict() == state
        assert ids(it) == whole[1][8:]
        assert ids(it) == whole[2]


@pytest.mark.parametrize("sampler,message", [
    ([0, 48], "yields 48, but the dataset has 48"),
    ([[0, 1], [2]], "something else than integers"),
    ([0.5], "something else than integers"),
])
def test_refuses_indices_that_are_none(folder, sampler, message):
    with forebay.DataLoader(folder, 4, sampler=sampler) as loader:
        with pytest.raises(forebay.InvalidArgument, match=message):
            iter(loader)


def test_subsets_and_concatenations(folder):
    subset = Subset(folder, [3, 40, 3, 17, -1, 0])
    both = ConcatDataset([subset, folder, Subset(subset, [5, 1])])
    for dataset in (subset, both, *torch.utils.data.random_split(folder, [40, 8])):
        with forebay.DataLoader(dataset, 5) as ours:
            assert len(ours) == len(DataLoader(dataset, 5))
            assert check_equal(ours, DataLoader(dataset, 5)) == len(dataset)


def test_parts_with_different_transforms_are_refused(folder, photos):
    other = torchvision.datasets.ImageFolder(str(photos), V.ToTensor())
    with pytest.raises(forebay.Unsupported, match="have different transforms"):
        forebay.DataLoader(ConcatDataset([folder, other]))
