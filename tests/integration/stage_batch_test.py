"""Batches of any structure that the user's own code makes: with collate functions,
batch samplers, single samples, and samples of differing structure."""

import collections
import itertools
import pathlib
import pickle
import random

import numpy
import pytest
import torch
from torch.utils.data import BatchSampler, Dataset, RandomSampler, default_collate

import forebay
from stage_test import Made, leaves_nothing, reachable  # noqa: F401

Point = collections.namedtuple("Point", ["x", "y"])


class Own:
    """A class that the user defines."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return type(other) is Own and other.value == self.value


class Several(Dataset):
    """A dataset whose samples are a function of their number."""

    def __init__(self, make, size=23):
        self.make, self.size = make, size

    def __len__(self):
        return self.size

    def __getitem__(self, number):
        return self.make(number)


def plain(samples):
    return samples


def equal(one, other):
    """Returns whether two structures are equal, with types, strides and everything."""
    if isinstance(other, torch.Tensor):
        return (type(one) is type(other) and one.dtype == other.dtype and
                is_like(one, other) and
                one.requires_grad == other.requires_grad and
                torch.equal(one.detach(), other.detach()))
    if isinstance(other, numpy.ndarray):
        return (one.dtype == other.dtype and one.shape == other.shape and
                one.tolist() == other.tolist())
    if type(one) is not type(other):
        return False
    if isinstance(other, dict):
        return list(one) == list(other) and all(
            equal(one[key], other[key]) for key in other)
    if isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(equal, one, other))
    return one == other


def is_like(one, other):
    """Returns whether the elements lie in the same order, without gaps."""
    return one.stride() == torch.empty_like(other).stride()


def odd(number):
    """Returns values of every kind, small and large."""
    size = 1000 if number % 2 else 3
    square = torch.arange(size * 4.).reshape(2, -1)
    return {
        "text": "é" * number, 7: None, "own": Own(number), "bytes": b"\0" * number,
        "point": Point(number, [1.5, True]), "empty": torch.zeros(0, 3),
        "strided": square.t(), "every second": square[:, ::2],
        "last": torch.zeros(2, size, 4, 4).to(memory_format=torch.channels_last),
        "bfloat16": square.bfloat16(), "grad": square.clone().requires_grad_(),
        "expanded": torch.ones(1).expand(size), "bool": square > 3,
        "complex": torch.complex(square, square).conj(),
        "fortran": numpy.asfortranarray(square.numpy()),
        "backward": numpy.arange(size)[::-1], "objects": numpy.array([1, "a"],
                                                                     object),
        "structured": numpy.zeros(size, [("a", "u1"), ("b", "f8")]),
        "generator": numpy.float16(2), "set": {1, 2}}


def test_any_structure_comes_out_as_it_went_in():
    dataset = Several(odd)
    with forebay.DataLoader(dataset, 4, collate_fn=plain, num_workers=2) as loader:
        batches = list(loader)
    assert len(batches) == 6
    for number, sample in enumerate(itertools.chain(*batches)):
        for key, value in odd(number).items():
            assert equal(sample[key], value), (number, key)


def test_large_arrays_are_the_slots_memory_and_live_as_long_as_they_are_used():
    dataset = Several(lambda number: torch.full((1000,), float(number)), size=40)
    with forebay.DataLoader(dataset, 4, collate_fn=torch.stack,
                            num_workers=2) as loader:
        batches = iter(loader)
        batch = next(batches)
        assert "memfd:forebay" in mapping_of(batch.data_ptr())
        batches = [batch, *batches]
        for number, batch in enumerate(batches):
            assert batch[:, 5].tolist() == [number * 4. + i for i in range(4)]
            batch += 1  # changes the trainer's own copy


def mapping_of(address):
    """Returns the line of /proc/self/maps that contains an address."""
    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        begin, _, end = line.split()[0].partition("-")
        if int(begin, 16) <= address < int(end, 16):
            return line


def test_batches_larger_than_all_before_get_larger_slots():
    sizes = [10 ** (number % 8) for number in range(24)]
    dataset = Several(lambda number: (numpy.full(sizes[number], number, "u1"),
                                      number), size=24)
    with forebay.DataLoader(dataset, None, num_workers=2) as loader:
        for _ in range(2):
            made = [(len(data), int(data[-1]), number) for data, number in loader]
            assert made == [(sizes[number], number, number)
                            for number in range(24)]


@pytest.mark.parametrize("arguments", [
    {"num_workers": 0}, {"num_workers": 1}, {"num_workers": 3},
    {"num_workers": 2, "collate_fn": plain},
    {"num_workers": 2, "collate_fn": lambda samples: default_collate(samples)},
    {"num_workers": 0, "collate_fn": plain},
    {"num_workers": 2, "batch_sampler": BatchSampler(range(23), 5, False),
     "batch_size": 1},
    {"num_workers": 2, "batch_sampler": [[3, 1], [0], [22, 2]], "batch_size": 1},
    {"num_workers": 2, "batch_size": None}])
def test_what_is_drawn_depends_on_the_sample_alone(arguments):
    def rows_of(batch):
        if isinstance(batch[0], int):
            return [batch]
        return batch if isinstance(batch[0], tuple) else zip(*batch)

    def drawn(batches):
        found = {}
        for batch in batches:
            for number, *values in rows_of(batch):
                found[int(number)] = [float(value) for value in values]
        return found

    dataset = Several(lambda number: (number, random.random(),
                                      numpy.random.rand(), torch.rand(())))
    arguments = {"batch_size": 5, **arguments}
    with forebay.DataLoader(dataset, 5, seed=3, num_workers=2) as loader:
        expected = drawn(loader)
    with forebay.DataLoader(dataset, seed=3, **arguments) as loader:
        loader.set_epoch(0)
        made = drawn(loader)
        assert made and made == {number: expected[number] for number in made}
        again = drawn(loader)
        assert all(again[number] != made[number] for number in made)


def test_repeated_samples_differ():
    dataset = Several(lambda number: (number, random.random()))
    for workers in (0, 2):
        with forebay.DataLoader(dataset, 4, sampler=[5, 5, 6, 5],
                                collate_fn=plain, num_workers=workers) as loader:
            [batch] = loader
        assert len({drawn for _, drawn in batch}) == 4


@pytest.mark.parametrize("make", [
    lambda: {"sampler": RandomSampler(range(69), generator=seeded())},
    lambda: {"sampler": RandomSampler(range(23), True, 50, generator=seeded())},
    lambda: {"shuffle": True}, lambda: {"shuffle": True, "drop_last": True},
    lambda: {"shuffle": True, "rank": 1, "world_size": 3},
    lambda: {"batch_size": 1, "batch_sampler": Varying()},
    lambda: {"batch_size": 1, "batch_sampler": Endless()},
    lambda: {"sampler": itertools.cycle(range(7))},
    lambda: {"batch_size": None, "shuffle": True},
    lambda: {"batch_size": None, "sampler": itertools.cycle([2, 4, 6])}])
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("collate", [None, plain])
def test_goes_on_from_a_state_with_the_same_bytes(make, workers, collate):
    dataset = Several(lambda number: (number, random.random()), size=69)

    def loader():
        arguments = {"batch_size": 4, "seed": 9, "num_workers": workers, **make()}
        if arguments.get("sampler") is not None and hasattr(
                arguments["sampler"], "generator"):
            arguments["seed"] = 0
        return forebay.DataLoader(dataset, collate_fn=collate, **arguments)

    with loader() as first:
        batches = iter(first)
        seen = [repr(next(batches)) for _ in range(3)]
        state = pickle.loads(pickle.dumps(first.state_dict()))
        rest = [repr(batch) for batch in itertools.islice(batches, 2)]
        assert len(seen + rest) == 5
        del batches
    with loader() as second:
        second.load_state_dict(state)
        assert [repr(batch) for batch in itertools.islice(second, 2)] == rest


def seeded():
    return torch.Generator().manual_seed(4)


class Varying:
    """A batch sampler of batches of random sizes."""

    def __iter__(self):
        numbers = list(range(23))
        random.shuffle(numbers)
        while numbers:
            size = random.randrange(1, 5)
            yield numbers[:size]
            numbers = numbers[size:]

    def __len__(self):
        return 23


class Endless:
    """A batch sampler without end."""

    def __iter__(self):
        for number in itertools.count():
            yield [number % 23, number * 5 % 23]


def test_batch_samplers_are_asked_in_each_epoch():
    class Counted(Varying):
        epoch, epochs = 0, []

        def set_epoch(self, epoch):
            self.epoch = epoch
            self.epochs.append(epoch)

    sampler = Counted()
    with forebay.DataLoader(Several(int), batch_sampler=sampler,
                            num_workers=2) as loader:
        assert len(loader) == 23
        for epoch in range(2):
            loader.set_epoch(epoch)
            batches = [batch.tolist() for batch in loader]
            assert sorted(itertools.chain(*batches)) == list(range(23))
    assert Counted.epochs == [0, 1]


def test_keys_may_be_anything():
    dataset = {"a": 1, ("b", 2): 3, -4: 5}
    for workers in (0, 2):
        for arguments in ({"sampler": list(dataset)}, {"sampler": iter(dataset)},
                          {"batch_sampler": [[-4, "a"], [("b", 2)]]}):
            with forebay.DataLoader(dataset, num_workers=workers,
                                    **arguments) as loader:
                made = [int(value) for batch in loader for value in batch]
            assert sorted(made) == [1, 3, 5]
    with forebay.DataLoader(dataset, sampler=list(dataset)) as loader:
        with pytest.raises(forebay.Unsupported, match="keys are not numbers"):
            iterator = iter(loader)
            loader.state_dict()
        del iterator


def test_all_samples_of_a_batch_at_once():
    class AtOnce(Several):
        def __getitems__(self, numbers):
            assert isinstance(numbers, list)
            return [(number, len(numbers), random.random()) for number in numbers]

    for workers in (0, 2):
        with forebay.DataLoader(AtOnce(int), 5, num_workers=workers) as loader:
            numbers, sizes, drawn = zip(*loader)
        assert torch.cat(numbers).tolist() == list(range(23))
        assert torch.cat(sizes).tolist() == [5] * 20 + [3] * 3
        assert len(set(torch.cat(drawn).tolist())) == 23


@pytest.mark.parametrize("workers", [0, 2])
def test_what_fails_is_told_and_the_next_batch_follows(workers):
    def collate(samples):
        if 8 in samples:
            raise KeyError("eight" * 1000)
        if 12 in samples:
            return lambda: samples  # cannot be pickled
        return samples

    with forebay.DataLoader(Several(int), 4, collate_fn=collate,
                            num_workers=workers) as loader:
        batches = iter(loader)
        assert [next(batches) for _ in range(2)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
        with pytest.raises(KeyError, match="eight" * 1000):
            next(batches)
        if workers == 0:
            assert callable(next(batches))
        else:
            with pytest.raises(AttributeError, match="(?s)worker process.*pickle"):
                next(batches)
        assert list(batches) == [[16, 17, 18, 19], [20, 21, 22]]


def test_a_batch_that_transforms_badly_comes_again_and_is_then_dropped():
    tries = []

    def transform(samples):
        if samples == [4, 5]:
            tries.append(samples)
            raise ValueError("not these")
        return samples

    with forebay.DataLoader(Several(int, 8), 2, collate_fn=lambda s: {"it": s},
                            batch_transform=lambda made: transform(made["it"]),
                            num_workers=2) as loader:
        batches = iter(loader)
        assert [next(batches), next(batches)] == [[0, 1], [2, 3]]
        for _ in range(2):
            with pytest.raises(ValueError, match="not these"):
                next(batches)
        assert list(batches) == [[6, 7]] and len(tries) == 2


# The statistics that the docstring of DataLoader.stats names.
STATS = {"samples_delivered", "batches_delivered", "bytes_delivered", "bytes_read",
         "samples_decoded", "samples_substituted", "cpu_nanos", "wait_nanos",
         "batches_copied", "batches_held", "lacks_share_key"}


@pytest.mark.parametrize("arguments", [
    {}, {"collate_fn": plain}, {"num_workers": 0}, {"sampler": list(range(23))},
    {"collate_fn": plain, "sampler": list(range(23)), "sharing": "off"}])
def test_stats_are_those_of_all_epochs(arguments):
    arguments = {"num_workers": 2, **arguments}
    with forebay.DataLoader(Several(int), 4, **arguments) as loader:
        names = set(loader.stats())
        assert not any(value for name, value in loader.stats().items()
                       if name != "lacks_share_key")
        for epoch in range(1, 3):
            assert len(list(loader)) == 6
            stats = loader.stats()
            assert stats["samples_delivered"] == epoch * 23
            assert stats["batches_delivered"] == epoch * 6
            assert stats["batches_held"] == 0
            assert set(stats) == names == STATS
        next(iter(loader))
        assert loader.stats()["samples_delivered"] >= 2 * 23


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("collate", [None, plain])
def test_an_iterator_keeps_its_loader(workers, collate):
    made = []
    for batch in forebay.DataLoader(Several(int), 4, collate_fn=collate,
                                    num_workers=workers):
        made += [int(number) for number in batch]
    assert made == list(range(23))


def test_the_trainers_own_generators_stay_as_they_are():
    random.seed(1), numpy.random.seed(1), torch.manual_seed(1)
    expected = random.random(), numpy.random.rand(), torch.rand(()).item()
    random.seed(1), numpy.random.seed(1), torch.manual_seed(1)
    dataset = Several(lambda number: random.random() + torch.rand(()).item())
    assert len(list(forebay.DataLoader(dataset, 4, num_workers=0, seed=0))) == 6
    assert (random.random(), numpy.random.rand(), torch.rand(()).item()) == expected


def test_numpy_alone_gets_arrays():
    dataset = Several(lambda number: {"text": "x" * number, "number": number,
                                      "array": numpy.zeros((2, 3), "f4")})
    with forebay.DataLoader(dataset, 4, framework="numpy") as loader:
        batch = next(iter(loader))
    assert batch["text"] == ["", "x", "xx", "xxx"]
    assert batch["number"].tolist() == [0, 1, 2, 3]
    assert batch["array"].shape == (4, 2, 3) and batch["array"].dtype == "f4"


@pytest.mark.parametrize("context", ["spawn", "forkserver"])
def test_workers_start_as_the_context_says(context):
    with forebay.DataLoader(Made(9), 4, collate_fn=plain, num_workers=2,
                            multiprocessing_context=context) as loader:
        made = [number for batch in loader for _, number, _ in batch]
    assert made == list(range(9))
