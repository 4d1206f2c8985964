"""Samplers that list more keys than fit in memory. Their keys are drawn as needed."""

import itertools
import random

import pytest
import torch
from torch.utils.data import BatchSampler, Dataset, RandomSampler, Sampler

import forebay

pytestmark = pytest.mark.usefixtures("shared_daemon")
LENGTH = 10 ** 10


class Draws(Dataset):
    """Samples that consist of their number and a random number."""

    def __getitem__(self, index):
        return index, random.random()

    def __len__(self):
        return 100


class Thrown(Sampler):
    """A sampler of the user, which draws by Python's generator."""

    def __init__(self):
        pass

    def __iter__(self):
        for _ in range(LENGTH):
            yield random.randrange(100)

    def __len__(self):
        return LENGTH


def seeded(seed=5):
    return torch.Generator().manual_seed(seed)


def long_sampler(generator=None):
    return RandomSampler(Draws(), replacement=True, num_samples=LENGTH,
                         generator=generator)


def some(loader, count):
    return [[value.tolist() for value in batch]
            for batch in itertools.islice(loader, count)]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("generator", [seeded, lambda: None], ids=["own", "torchs"])
def test_a_random_sampler_is_drawn_as_torch_draws_it(workers, generator):
    torch.manual_seed(9)
    wanted = list(itertools.islice(long_sampler(generator()), 160))
    torch.manual_seed(9)
    with forebay.DataLoader(Draws(), 16, sampler=long_sampler(generator()),
                            num_workers=workers) as loader:
        assert len(loader) == LENGTH // 16
        read = some(loader, 10)
    assert sum((keys for keys, _ in read), []) == wanted


@pytest.mark.parametrize("length", [1, 31, 32, 1000, (1 << 16) + 7, 1 << 18])
def test_all_keys_are_those_of_torch(length):
    from forebay._stage import drawing
    sampler = RandomSampler(range(77), replacement=True, num_samples=length,
                            generator=seeded())
    ours = list(drawing.keys_of(sampler))
    after = sampler.generator.get_state()
    sampler.generator = seeded()
    assert ours == list(sampler)
    assert torch.equal(after, sampler.generator.get_state())


def lengthless():
    while True:
        yield random.randrange(100)


class Endless:
    """A sampler without a length."""

    def __iter__(self):
        return lengthless()


SAMPLERS = {
    "own": lambda: {"sampler": long_sampler(seeded())},
    "torchs": lambda: {"sampler": long_sampler()},
    "users": lambda: {"sampler": Thrown()},
    "endless": lambda: {"sampler": Endless()},
    "batches": lambda: {"batch_sampler": BatchSampler(long_sampler(), 4, False),
                        "batch_size": 1},
}


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("kind", SAMPLERS)
def test_a_state_goes_on_with_the_same_keys(kind, workers):
    def open_loader():
        return forebay.DataLoader(Draws(), num_workers=workers, seed=5,
                                  **{"batch_size": 4, **SAMPLERS[kind]()})

    def shake(seed):
        random.seed(seed)
        torch.manual_seed(seed)

    shake(1)
    with open_loader() as loader:
        iterator = iter(loader)
        some(iterator, 5)
        state = loader.state_dict()
        wanted = some(iterator, 5)
    assert len(str(state)) < 100_000
    shake(2)
    before = random.getstate(), torch.get_rng_state()
    with open_loader() as loader:
        loader.load_state_dict(state)
        assert some(loader, 5) == wanted
        assert random.getstate() == before[0]
        assert torch.equal(torch.get_rng_state(), before[1])


@pytest.mark.parametrize("damaged", [3, {"python": 1}])
def test_a_damaged_state_is_refused(damaged):
    with forebay.DataLoader(Draws(), 4, sampler=Thrown(), num_workers=0) as loader:
        some(loader, 2)
        state = dict(loader.state_dict(), generators=damaged)
        with pytest.raises(forebay.StateError, match="the state is damaged"):
            loader.load_state_dict(state)
            iter(loader)
