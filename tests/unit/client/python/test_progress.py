"""Where a loader's iter() begins if it does not succeed at the first try."""

import pytest
import torch

import forebay
from forebay import _connection

SIZE = 30


class Connection:
    """A connection to a daemon that refuses the first `refusals` epochs."""

    dataset_version = bytes(16)
    dataset_size = samples_per_epoch = SIZE
    batches_per_epoch = 8
    classes = ["one"]
    refusal = ""

    def __init__(self):
        self.refusals = 0
        self.started = []  # epoch and indices of each epoch that began

    def start_epoch(self, epoch, _, indices=None):
        if self.refusals:
            self.refusals -= 1
            raise forebay.ResourceExhausted("not now")
        self.started.append(
            (epoch, indices if indices is None else indices.tolist()))

    def batch_reader(self, _):
        return self

    def next(self):
        raise AssertionError("no batch is asked for")

    def stop_epoch(self):
        pass

    def close(self):
        pass


@pytest.fixture
def connection(monkeypatch):
    made = Connection()
    monkeypatch.setattr(_connection, "Connection", lambda *_: made)
    return made


class Shuffled(torch.utils.data.Sampler):
    """A sampler whose order depends on its generator, and differs in each epoch."""

    def __init__(self):
        self.generator = torch.Generator()
        self.generator.manual_seed(5)

    def __iter__(self):
        return iter(torch.randperm(SIZE, generator=self.generator).tolist())

    def __len__(self):
        return SIZE


def open_loader(folder, **arguments):
    return forebay.DataLoader(folder, batch_size=4, framework="numpy",
                              autostart=False, **arguments)


def begin(loader):
    """Begins the next epoch by calling iter() until it succeeds. Returns how often it
    failed."""
    refused = 0
    while True:
        try:
            # The iterator is held, because a dropped one would not count as begun.
            loader.iterators = [*getattr(loader, "iterators", ()), iter(loader)]
            return refused
        except forebay.ResourceExhausted:
            refused += 1


def test_an_order_is_drawn_once_however_often_it_is_refused(tmp_path,
                                                            connection):
    drawn = Shuffled()
    expected = [list(drawn), list(drawn)]
    loader = open_loader(tmp_path, sampler=Shuffled())
    connection.refusals = 2
    assert begin(loader) == 2
    connection.refusals = 1
    assert begin(loader) == 1
    assert connection.started == list(enumerate(expected))


def test_a_state_has_the_order_that_was_refused(tmp_path, connection):
    loader = open_loader(tmp_path, sampler=Shuffled())
    connection.refusals = 1
    with pytest.raises(forebay.ResourceExhausted):
        iter(loader)
    resumed = open_loader(tmp_path, sampler=Shuffled())
    resumed.load_state_dict(loader.state_dict())
    for one in (loader, resumed, loader, resumed):
        begin(one)
    first, same_first, second, same_second = connection.started
    assert first == same_first and second == same_second
    assert first[1] != second[1]


def test_a_state_stays_loaded_where_it_is_refused(tmp_path, connection):
    """The loaded state decides, not the epoch that the sampler was told before."""
    sampler = torch.utils.data.DistributedSampler(
        range(SIZE), num_replicas=1, rank=0)
    loader = open_loader(tmp_path, sampler=sampler)
    loader.set_epoch(3)
    state = loader.state_dict()
    sampler.set_epoch(0)
    loader.load_state_dict(state)
    connection.refusals = 1
    assert begin(loader) == 1
    assert connection.started == [(3, None)]
