"""Long samplers of loaders that the daemon serves. Their keys are drawn portion by
portion."""

import itertools
import random

import numpy
import pytest
import torch
import torchvision.transforms as V
from torch.utils.data import (RandomSampler, Sampler, SubsetRandomSampler,
                              WeightedRandomSampler)
from torchvision.datasets import ImageFolder

import forebay
from forebay import _portions
from forebay._stage import drawing

pytestmark = pytest.mark.usefixtures("shared_daemon")
LONG = 10 ** 10
ROWS = 100


@pytest.fixture(name="rows", scope="module")
def make_rows(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.npy"
    numpy.save(path, numpy.arange(ROWS))
    return path


def seeded():
    return torch.Generator().manual_seed(5)


def with_replacement(length=LONG, generator=None):
    return RandomSampler(range(ROWS), True, length, generator)


def open_loader(rows, sampler, batch_size=7, **arguments):
    return forebay.DataLoader(rows, batch_size, sampler=sampler, framework="torch",
                              seed=arguments.pop("seed", 0), **arguments)


def ids(batches):
    return [batch.sample_ids.tolist() for batch in batches]


def some(iterator, count):
    return ids(itertools.islice(iterator, count))


def grouped(keys, batch_size, drop_last=False):
    made = [keys[at:at + batch_size] for at in range(0, len(keys), batch_size)]
    return made[:-1] if drop_last and len(made[-1]) < batch_size else made


def test_the_first_batches_are_torchs(rows):
    theirs = torch.utils.data.DataLoader(
        range(ROWS), 16, sampler=with_replacement(generator=seeded()))
    with open_loader(rows, with_replacement(generator=seeded()), 16) as loader:
        assert len(loader) == LONG // 16
        for batch, wanted in itertools.islice(zip(loader, theirs), 20):
            assert torch.equal(batch.array, wanted)


def test_a_sampler_draws_by_torchs_generator(rows):
    torch.manual_seed(9)
    wanted = list(itertools.islice(with_replacement(), 160))
    torch.manual_seed(9)
    with open_loader(rows, with_replacement(), 16) as loader:
        assert sum(some(loader, 10), []) == wanted


def test_batches_pass_from_portion_to_portion(rows, monkeypatch):
    monkeypatch.setattr(_portions, "PORTION", 70_000)
    wanted = list(itertools.islice(with_replacement(generator=seeded()), 163_840))
    with open_loader(rows, with_replacement(generator=seeded()), 4096) as loader:
        iterator = iter(loader)
        assert sum(some(iterator, 30), []) == wanted[:122_880]
        state = loader.state_dict()
        assert sum(some(iterator, 10), []) == wanted[122_880:]
        loader.load_state_dict(state)
        assert sum(some(loader, 10), []) == wanted[122_880:]


def test_a_long_sampler_without_replacement(tmp_path):
    size, wanted = 10 ** 7, seeded()
    numpy.save(tmp_path / "rows.npy", numpy.arange(size, dtype=numpy.uint8))
    sampler = RandomSampler(range(size), num_samples=size - 1, generator=seeded())
    with open_loader(tmp_path / "rows.npy", sampler, 100) as loader:
        assert len(loader) == 100_000
        read = sum(some(loader, 10), [])
    assert read == torch.randperm(size, generator=wanted)[:1000].tolist()


class NeverAsked:
    def __iter__(self):
        raise AssertionError("the sampler is drawn")

    def __len__(self):
        return LONG


def test_the_length_is_known_without_keys(rows):
    with open_loader(rows, NeverAsked()) as loader:
        assert len(loader) == -(-LONG // 7)


@pytest.fixture(name="short_portions")
def shorten_portions(monkeypatch):
    """Makes portions so short that a short epoch has several."""
    monkeypatch.setattr(_portions, "PORTION", 64)
    monkeypatch.setattr(drawing, "MOST_LISTED", 100)


class Thrown(Sampler):
    """A sampler that draws by Python's own generator."""

    def __init__(self, length=300):
        self.length = length

    def __iter__(self):
        return (random.randrange(ROWS) for _ in range(self.length))

    def __len__(self):
        return self.length


class Endless:
    """A sampler without a length, whose keys never end."""

    def __iter__(self):
        return itertools.cycle(range(-1, ROWS))


class Sizeless:
    def __init__(self, length):
        self.length = length

    def __iter__(self):
        return (number * 7 % ROWS for number in range(self.length))


SAMPLERS = {
    "replacement": lambda: with_replacement(300, seeded()),
    "several times": lambda: RandomSampler(range(ROWS), num_samples=301,
                                           generator=seeded()),
    "weighted": lambda: WeightedRandomSampler([1.0] * ROWS, 448, generator=seeded()),
    "subset": lambda: SubsetRandomSampler([*range(ROWS)] * 2, generator=seeded()),
    "sizeless": lambda: Sizeless(200),
    "one portion": lambda: Sizeless(64),
    "listed": lambda: list(range(ROWS)),
    "two portions": lambda: [*range(ROWS), *range(28)],
}


@pytest.mark.usefixtures("short_portions")
@pytest.mark.parametrize("batch_size, drop_last", [
    (1, False), (7, True), (7, False), (50, True), (64, False)])
@pytest.mark.parametrize("kind", SAMPLERS)
def test_each_epoch_is_what_the_sampler_lists(rows, kind, batch_size, drop_last):
    theirs = SAMPLERS[kind]()
    with open_loader(rows, SAMPLERS[kind](), batch_size, drop_last=drop_last) as loader:
        for _ in range(3):
            wanted = grouped(list(theirs), batch_size, drop_last)
            assert ids(loader) == wanted


@pytest.mark.usefixtures("short_portions")
def test_keys_of_pythons_generator_are_those_of_the_sampler_alone(rows):
    random.seed(3)
    wanted = list(Thrown())
    random.seed(3)
    with open_loader(rows, Thrown()) as loader:
        read = []
        for batch in loader:
            read += batch.sample_ids.tolist()
            random.random()
    assert read == wanted


@pytest.mark.usefixtures("short_portions")
def test_a_sampler_without_end(rows):
    with open_loader(rows, Endless(), 50) as loader:
        with pytest.raises(TypeError):
            len(loader)
        read = sum(some(loader, 30), [])
    assert read == [key % ROWS for key in itertools.islice(Endless(), 1500)]


@pytest.mark.usefixtures("short_portions")
@pytest.mark.parametrize("kind", ["replacement", "several times", "sizeless"])
def test_a_state_goes_on_anywhere(rows, kind):
    with open_loader(rows, SAMPLERS[kind]()) as loader:
        epochs = [ids(loader) for _ in range(3)]
    with open_loader(rows, SAMPLERS[kind]()) as loader:
        for batch in loader:
            pass
        states = [loader.state_dict()]
        for batch in loader:
            states.append(loader.state_dict())
    keys = sum(epochs[1], [])
    with open_loader(rows, SAMPLERS[kind]()) as loader, \
            open_loader(rows, SAMPLERS[kind](), 5) as other:
        for number, state in enumerate(states):
            list(loader.sampler)  # the state decides, wherever the sampler itself is
            loader.load_state_dict(state)
            assert loader.state_dict() == state
            assert ids(loader) == epochs[1][number:]
            assert ids(loader) == epochs[2]
            rest = grouped(keys[number * 7:], 5)
            if len(rest) > 3:
                other.load_state_dict(state)
                assert some(other, 3) == rest[:3]
                other.load_state_dict(other.state_dict())
                assert ids(other) == rest[3:]


@pytest.mark.usefixtures("short_portions")
def test_a_state_is_short_and_loading_it_disturbs_nothing(rows):
    with open_loader(rows, with_replacement(generator=seeded())) as loader:
        iterator = iter(loader)
        some(iterator, 35)
        state = loader.state_dict()
        wanted = some(iterator, 3)
    assert len(str(state)) < 100_000
    other = seeded()
    torch.rand(10, generator=other)
    before = random.getstate(), torch.get_rng_state()
    with open_loader(rows, with_replacement(generator=other)) as loader:
        loader.load_state_dict(state)
        assert some(loader, 3) == wanted
    assert random.getstate() == before[0]
    assert torch.equal(torch.get_rng_state(), before[1])


@pytest.mark.usefixtures("short_portions")
def test_an_epoch_may_be_left(rows):
    with open_loader(rows, SAMPLERS["replacement"]()) as loader:
        for number, _ in enumerate(loader):
            if number == 20:
                break
        assert len(ids(loader)) == 43
        left = iter(loader)
        wanted = some(left, 12)
        state = loader.state_dict()
        wanted += ids(left)
        loader.load_state_dict(state)
        assert ids(loader) == wanted[12:]


@pytest.mark.usefixtures("short_portions")
def test_set_epoch_begins_an_epoch(rows):
    with open_loader(rows, SAMPLERS["sizeless"]()) as loader:
        next(iter(loader))
        loader.set_epoch(5)
        state = loader.state_dict()
        assert state["epoch"] == 5
        assert sum(ids(loader), []) == list(Sizeless(200))


@pytest.mark.usefixtures("short_portions")
@pytest.mark.parametrize("kind", ["replacement", "several times", "users"])
def test_two_iterators_do_not_disturb_one_another(rows, kind, monkeypatch):
    # Number of keys that the sampler draws at once.
    monkeypatch.setattr(drawing, "_PORTION", 16)
    make = {**SAMPLERS, "users": Thrown}[kind]
    random.seed(3)
    wanted = grouped(list(make()), 7)
    random.seed(3)
    with open_loader(rows, make()) as loader:
        first = iter(loader)
        read = some(first, 5)
        second = iter(loader)
        others = some(second, 3)
        for _ in range(10):
            read += some(first, 3)
            others += some(second, 2)
        state = loader.state_dict()
        rest = ids(second)
        read += ids(first)
        assert read == wanted
        assert len(others + rest) == len(wanted)
        loader.load_state_dict(state)
        assert ids(loader) == rest


@pytest.mark.usefixtures("short_portions")
def test_each_portion_augments_anew_and_a_state_augments_alike(photos):
    crop = forebay.transforms.RandomResizedCrop(24)
    keys = [number % 8 for number in range(256)]

    def open_photos():
        return forebay.DataLoader(photos, 8, sampler=keys, transform=crop, seed=7,
                                  framework="numpy")

    with open_photos() as loader:
        states, images = [], []
        for batch in loader:
            states.append(loader.state_dict())
            images.append(batch.image.copy())
    pixels = {image.tobytes() for batch in images for image in batch}
    assert len(pixels) > 200  # a portion has 64 keys
    for at in (2, 7, 8, 20, 30):
        with open_photos() as loader:
            loader.load_state_dict(states[at])
            for wanted, batch in zip(images[at + 1:], loader):
                assert (batch.image == wanted).all()


def same(value):
    """An op that only Python can run."""
    return value


@pytest.mark.usefixtures("short_portions")
@pytest.mark.filterwarnings("ignore:without a counterpart")
@pytest.mark.parametrize("are_persistent", [False, True])
def test_workers_go_on_with_each_portion(photos, are_persistent):
    keys = [number * 5 % 48 for number in range(200)]
    folder = ImageFolder(str(photos), V.Compose([V.CenterCrop(24), same, V.ToTensor()]))
    with forebay.DataLoader(folder, 8, sampler=keys, num_workers=2,
                            persistent_workers=are_persistent) as loader:
        for _ in range(2):
            iterator = iter(loader)
            read = some(iterator, 12)
            state = loader.state_dict()
            rest = ids(iterator)
            assert sum(read + rest, []) == keys
        loader.load_state_dict(state)
        assert ids(loader) == rest
