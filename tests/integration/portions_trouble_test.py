"""Long samplers that fail, or that a signal handler interrupts, between two
portions."""

import signal

import numpy
import pytest
import torch
from torch.utils.data import Sampler

import forebay
from forebay._stage import drawing
from portions_test import make_rows, shorten_portions  # noqa: F401
from portions_test import ROWS, SAMPLERS, Sizeless, ids, open_loader, seeded, some

pytestmark = pytest.mark.usefixtures("shared_daemon")


class Fragile:
    """A sampler that a signal handler interrupts once."""

    def __init__(self, generator):
        self.generator = generator
        self.is_interrupted = False

    def __iter__(self):
        for number in range(300):
            if number == 200 and not self.is_interrupted:
                self.is_interrupted = True
                raise KeyboardInterrupt
            yield int(torch.randint(ROWS, (), generator=self.generator))

    def __len__(self):
        return 300


def test_an_interrupted_draw_is_repeated(rows, short_portions, monkeypatch):
    monkeypatch.setattr(drawing, "_PORTION", 16)
    wanted = [int(torch.randint(ROWS, (), generator=generator))
              for generator in [seeded()] for _ in range(300)]
    with open_loader(rows, Fragile(seeded())) as loader:
        iterator, read = iter(loader), []
        with pytest.raises(KeyboardInterrupt):
            for batch in iterator:
                read += batch.sample_ids.tolist()
        assert 100 < len(read) < 200
        for batch in iterator:
            read += batch.sample_ids.tolist()
        assert read == wanted
        assert loader.sampler.is_interrupted


@pytest.mark.parametrize("is_late", [False, True])
def test_an_interrupted_start_is_repeated(rows, short_portions, is_late):
    with open_loader(rows, SAMPLERS["sizeless"]()) as loader:
        iterator, start = iter(loader), loader._attachment.start

        def interrupted(*arguments):
            loader._attachment.start = start
            if is_late:
                start(*arguments)
            raise KeyboardInterrupt

        read = some(iterator, 3)
        loader._attachment.start = interrupted
        with pytest.raises(KeyboardInterrupt):
            while True:
                read += some(iterator, 1)
        assert len(read) == 9
        assert sum(read + ids(iterator), []) == list(Sizeless(200))


@pytest.mark.parametrize("damage, message", [
    ({"generators": 3}, "its generators are 3"),
    ({"generators": {"python": 1}}, "the state is damaged"),
    ({"portion": 10 ** 6}, "its portion is 1000000"),
    ({"portion": 0, "position": 70}, "its portion is 0, but its position 70"),
])
def test_a_damaged_state_is_refused(rows, short_portions, damage, message):
    with open_loader(rows, SAMPLERS["replacement"]()) as loader:
        some(loader, 12)
        state = {**loader.state_dict(), **damage}
        with pytest.raises(forebay.StateError, match=message):
            loader.load_state_dict(state)
            iter(loader)


@pytest.mark.parametrize("length", [70, 120])
def test_a_state_of_a_longer_sampler_is_refused(rows, short_portions, length):
    with open_loader(rows, Sizeless(200)) as loader:
        iterator = iter(loader)
        some(iterator, 18)
        state = loader.state_dict()
    with open_loader(rows, Sizeless(length)) as loader:
        loader.load_state_dict(state)
        with pytest.raises(forebay.StateError, match="after sample 12[0-9] of an "
                           f"epoch, but the Sizeless lists {length}: load it with"):
            iter(loader)


def test_a_late_key_that_is_no_sample_is_refused(rows, short_portions):
    keys = [1] * 200 + [ROWS] + [1] * 100
    with open_loader(rows, keys) as loader:
        iterator = iter(loader)
        assert len(some(iterator, 18)) == 18
        with pytest.raises(forebay.InvalidArgument,
                           match=f"list yields {ROWS}, but the dataset has {ROWS}"):
            list(iterator)


class WithNumPys(Sampler):
    """A sampler whose attribute `generator` is NumPy's."""

    def __init__(self):
        self.generator = numpy.random.default_rng(5)

    def __iter__(self):
        return iter(self.generator.integers(ROWS, size=300).tolist())

    def __len__(self):
        return 300


def test_a_sampler_may_draw_by_a_generator_of_numpys(rows):
    with open_loader(rows, WithNumPys()) as loader:
        assert sum(ids(loader), []) == list(WithNumPys())


@pytest.mark.parametrize("batches", [9, 12])  # at the end of a portion, and within one
def test_a_daemon_that_restarts_goes_on(daemon, rows, short_portions, batches):
    with open_loader(rows, Sizeless(200)) as loader:
        iterator = iter(loader)
        read = some(iterator, batches)
        daemon.stop(signal.SIGKILL)
        daemon.start()
        assert sum(read + ids(iterator), []) == list(Sizeless(200))
