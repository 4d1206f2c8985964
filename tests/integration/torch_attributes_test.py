"""Attributes of loaders that training frameworks use."""

import copy
import inspect
import pickle
from typing import TypeVar

import pytest
import torch
from torch.utils.data import (BatchSampler, DataLoader, Dataset, DistributedSampler,
                              IterableDataset, RandomSampler)

import forebay
from drop_in import SAMPLES, ids
from forebay import transforms as T

# Attributes that torch's loader has and ours lacks, with the reasons.
LACKING = {
    "check_worker_number_rationality": "torch calls it itself; the daemon says how "
    "many workers run at once",
}
# Attributes that, on a loader without workers, differ from the arguments.
OF_WORKERS = {
    "num_workers": "no worker process runs, whatever was given",
    "timeout": "without workers torch takes 0 alone",
    "prefetch_factor": "without workers torch takes its default alone",
    "persistent_workers": "without workers torch takes False alone",
    "multiprocessing_context": "without workers torch takes None alone",
}
# Arguments that torch does not store in an attribute.
NOT_KEPT = {"self": "the loader", "shuffle": "the sampler has it",
            "sampler": "EpochOrder stands for torch's RandomSampler and "
                       "SequentialSampler if none is given",
            "batch_sampler": "BatchOrder stands for torch's BatchSampler if none is "
                             "given"}


Sample = TypeVar("Sample", covariant=True)


class Squares(Dataset):
    def __init__(self, size=10):
        self.size = size

    def __getitem__(self, index):
        return index ** 2

    def __len__(self):
        return self.size


class Counting(IterableDataset):
    def __iter__(self):
        return iter(range(5))


def init(worker):
    """A function for worker_init_fn."""


GIVEN = {"batch_size": 4, "drop_last": True, "worker_init_fn": init,
         "generator": torch.Generator().manual_seed(3), "num_workers": 2,
         "timeout": 50, "prefetch_factor": 3, "persistent_workers": True,
         "multiprocessing_context": "fork"}


def public(thing):
    return {name for name in dir(thing) if not name.startswith("_")} - {"next"}


def test_all_attributes_of_torchs_loader_are_there(image_folder):
    loaders = [(DataLoader(image_folder, 4), forebay.DataLoader(image_folder, 4)),
               (DataLoader(Squares(), 4), forebay.DataLoader(Squares(), 4)),
               (DataLoader(Counting(), 4), forebay.DataLoader(Counting(), 4))]
    for theirs, ours in loaders:
        with ours:
            assert public(theirs) - public(ours) == set(LACKING)


def test_all_arguments_of_torchs_loader_are_taken():
    theirs = inspect.signature(DataLoader.__init__).parameters
    ours = inspect.signature(forebay.DataLoader.__init__).parameters
    assert set(theirs) <= set(ours)
    assert [name for name in theirs if theirs[name].kind is
            inspect.Parameter.POSITIONAL_OR_KEYWORD] == [
        name for name in ours if ours[name].kind is
        inspect.Parameter.POSITIONAL_OR_KEYWORD]


@pytest.mark.parametrize("workers", [False, True], ids=["native", "workers"])
@pytest.mark.filterwarnings("ignore:unnecessary with Forebay")
def test_attributes_have_the_values_that_torchs_have(image_folder, workers):
    dataset = Squares() if workers else image_folder
    theirs = DataLoader(dataset, **GIVEN)
    with forebay.DataLoader(dataset, **GIVEN) as ours:
        for name in inspect.signature(DataLoader.__init__).parameters:
            if name not in NOT_KEPT and (workers or name not in OF_WORKERS):
                assert getattr(ours, name) == getattr(theirs, name), name
        for name in ("sampler", "batch_sampler"):
            assert len(getattr(ours, name)) == len(getattr(theirs, name))
        assert ours.batch_sampler.sampler is ours.sampler
        assert ours.batch_sampler.batch_size == 4 and ours.batch_sampler.drop_last


@pytest.mark.filterwarnings("ignore:unnecessary with Forebay")
def test_torchs_loader_can_be_made_of_our_attributes(image_folder):
    """Accelerate and Lightning make loaders in this way."""
    names = set(inspect.signature(DataLoader.__init__).parameters) - {
        "self", "shuffle", "batch_sampler"}
    for dataset in (image_folder, Squares()):
        with forebay.DataLoader(dataset, **GIVEN) as ours:
            theirs = DataLoader(**{name: getattr(ours, name) for name in names})
            assert [len(batch[0]) if isinstance(batch, list) else len(batch)
                    for batch in theirs] == len(ours) * [4]


def test_a_sampler_lists_the_epoch_that_comes(image_folder):
    for dataset, more in ((image_folder, {}), (Squares(), {"num_workers": 1})):
        with forebay.DataLoader(dataset, 4, shuffle=True, **more) as loader:
            read = []
            for epoch in (0, 1, 7):
                if epoch == 7:
                    loader.sampler.set_epoch(7)
                order = list(loader.sampler)
                batches = list(loader.batch_sampler)
                assert sum(batches, []) == order and len(batches) == len(loader)
                assert len(order) == len(loader.sampler) == len(dataset)
                seen = ([int(value ** .5) for batch in loader for value in batch]
                        if more else ids(loader))
                assert seen == order
                read.append(order)
            assert read[0] != read[1] != read[2]


def test_a_sampler_has_the_samples_of_its_rank(image_folder):
    for pad, drop_last in (("wrap", False), ("drop", True)):
        for rank in range(5):
            with forebay.DataLoader(image_folder, 4, rank=rank, world_size=5,
                                    pad=pad) as loader:
                assert list(loader.sampler) == list(DistributedSampler(
                    image_folder, 5, rank, shuffle=False, drop_last=drop_last))
                assert len(loader.sampler) == len(list(loader.sampler))


@pytest.mark.parametrize("arguments", [
    {"shuffle": "block"}, {"shuffle": True, "order": "coordinated"}])
def test_a_sampler_whose_order_nobody_can_tell_says_so(image_folder, arguments):
    with forebay.DataLoader(image_folder, 4, **arguments) as loader:
        assert len(loader.sampler) == SAMPLES and len(loader.batch_sampler) == 12
        with pytest.raises(forebay.Unsupported, match="daemon alone knows"):
            list(loader.sampler)


def test_a_given_sampler_is_the_attribute(image_folder):
    sampler = RandomSampler(image_folder, num_samples=5)
    batches = BatchSampler(sampler, 2, drop_last=True)
    with forebay.DataLoader(image_folder, 4, sampler=sampler) as loader:
        assert loader.sampler is loader.batch_sampler.sampler is sampler
    with forebay.DataLoader(image_folder, batch_sampler=batches) as loader:
        assert loader.batch_sampler is batches and loader.batch_size is None
        assert loader.drop_last is DataLoader(
            image_folder, batch_sampler=batches).drop_last
        assert len(loader) == 2 and len(list(loader)) == 2
    with forebay.DataLoader(Squares(), batch_size=None) as loader:
        assert loader.batch_sampler is None


def test_what_decides_batches_cannot_be_changed(image_folder):
    for dataset in (image_folder, Squares()):
        with forebay.DataLoader(dataset, 4) as loader:
            for name in ("batch_size", "batch_sampler", "sampler", "drop_last",
                         "dataset", "persistent_workers"):
                for kind in (DataLoader(dataset, 4), loader):
                    with pytest.raises(ValueError):
                        setattr(kind, name, None)
            loader.worker_init_fn = init  # Lightning does the same
            loader.notes = "the user's own"


@pytest.mark.parametrize("make", [
    lambda folder: (folder, {}),
    lambda folder: (folder.root, {"transform": T.CenterCrop(16)}),
    lambda folder: (Squares(), {"num_workers": 1}),
    lambda folder: (Squares(), {"num_workers": 0})])
def test_an_iterator_has_the_length_of_the_whole_epoch(image_folder, make):
    dataset, more = make(image_folder)
    with forebay.DataLoader(dataset, 3, **more) as loader:
        first, batches = iter(loader), iter(loader)
        assert len(batches) == len(loader)
        for _ in range(2):
            next(batches)
        next(first)  # reads from the earlier iterator beside the later one
        assert len(batches) == len(first) == len(loader)
        state = loader.state_dict()
        assert len(list(batches)) == len(loader) - 2 and next(batches, None) is None
        loader.load_state_dict(state)
        again = iter(loader)
        assert len(again) == len(loader) and len(list(again)) == len(loader) - 2
    assert list(batches) == [] and batches


def test_an_iterator_without_length_is_true(shared_daemon, photos):
    with forebay.DataLoader(Counting(), 3, num_workers=1) as loader:
        batches = iter(loader)
        with pytest.raises(TypeError, match="iterable"):
            len(batches)
        assert batches and len(list(batches)) == 2


class Named(forebay.DataLoader[Sample]):
    """A subclass that the user defines, with further arguments."""

    def __init__(self, name, *arguments, **others):
        self.before = name
        super().__init__(*arguments, **others)
        self.after = name


def pickled(loader):
    return pickle.loads(pickle.dumps(loader))


def content(loader):
    return [batch.tolist() if isinstance(batch, torch.Tensor) else
            (batch.sample_ids.tolist(), batch.image.sum().item())
            for batch in loader]


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, pickled])
def test_a_copy_of_a_loader_that_has_not_begun_equals_it(image_folder, make):
    crop = T.Compose([T.RandomResizedCrop(16), T.ToImage(), T.ToDtype("float32")])
    for dataset, more in ((image_folder.root, {"transform": crop}), (Squares(), {})):
        with Named[int]("mine", dataset, 4, shuffle=True, seed=5, **more) as loader:
            loader.set_epoch(3)
            with make(loader) as made:
                assert isinstance(made, Named) and len(made) == len(loader)
                assert (made.before, made.after) == ("mine", "mine")
                assert content(made) == content(loader)
                assert content(made) == content(loader)
                with pytest.raises(TypeError, match="has begun"):
                    make(loader)
