"""Pairs of jobs under one key with different code. The second job gets no wrong
sample."""

import os
import random
import signal
import time

import numpy
import pytest
import torch
from torch.utils.data import Dataset

import forebay
from keyed_jobs import first_loader
from stage_test import leaves_nothing, reachable  # noqa: F401

SIZE = 40


class Made(Dataset):
    """A dataset whose samples are a function of their number."""

    def __init__(self, make):
        self.make = make

    def __len__(self):
        return SIZE

    def __getitem__(self, number):
        return self.make(number)


def listed(samples):
    """A collate function, which makes whole batches."""
    return list(samples)


def pair_of(one, other, **arguments):
    """Returns the loaders of two jobs, and the iterator of the first job, which has
    begun."""
    arguments = {"batch_size": 8, "shuffle": True, "seed": 3, "num_workers": 2,
                 "share_key": "pair", **arguments}
    loaders = [first_loader(Made(make), **arguments) for make in (one, other)]
    first = iter(loaders[0])
    next(first)
    return loaders, first


def close(loaders):
    for loader in loaders:
        loader.close()


def image(number, scale=1.0):
    return torch.full((3, 4), number * scale)


def by_rank(rank):
    return lambda number: (image(number), number + rank)


def in_order(names):
    """Returns labels in the order of a set, which depends on the hash seed."""
    labels = {name: place for place, name in enumerate(names)}
    return lambda number: (image(number), labels["abc"[number % 3]])


# The code of the two jobs, and the field that differs.
PAIRS = {
    "another scale": (lambda n: (image(n), n), lambda n: (image(n, 2.0), n), r"\[0\]"),
    "another label": (by_rank(0), by_rank(1), r"\[1\]"),
    "the order of a set": (in_order("abc"), in_order("cab"), r"\[1\]"),
    "two fields swapped": (lambda n: (float(n), -float(n)),
                           lambda n: (-float(n), float(n)), r"\[0\]"),
    "another draw": (lambda n: random.random(),
                     lambda n: (random.random(), random.random())[1], ""),
    "an error": (lambda n: image(n), lambda n: image(1 // 0), r"\(whole\)"),
}


# Loaders without collate_fn do not get this error: the sample that is made first raises
# it.
@pytest.mark.parametrize("pair,arguments", [
    *((pair, {}) for pair in PAIRS if pair != "an error"),
    *((pair, {"collate_fn": listed}) for pair in PAIRS)])
def test_different_code_is_found_before_the_first_batch(pair, arguments):
    one, other, field = PAIRS[pair]
    loaders, _ = pair_of(one, other, **arguments)
    second = iter(loaders[1])
    with pytest.raises(forebay.errors.StateError,
                       match=f"sample.* has another .*{field}.*share_key 'pair'"):
        next(second)
    with pytest.raises((forebay.errors.StateError, StopIteration)):
        next(second)
    close(loaders)


# Structures that differ between two jobs.
STRUCTURES = {
    "keys in another order": (lambda n: {"a": n, "b": -n}, lambda n: {"b": -n, "a": n}),
    "another key": (lambda n: {"a": n}, lambda n: {"b": n}),
    "another container": (lambda n: (n, n), lambda n: [n, n]),
    "another type": (lambda n: n, lambda n: float(n)),
}


@pytest.mark.parametrize("pair", STRUCTURES)
def test_rows_of_another_structure_share_nothing(pair):
    one, other = STRUCTURES[pair]
    loaders, _ = pair_of(one, other)
    with first_loader(Made(other), 8, shuffle=True, seed=3, num_workers=1) as alone:
        expected = [str(batch) for batch in alone]
    assert [str(batch) for batch in loaders[1]] == expected
    close(loaders)


@pytest.mark.parametrize("pair", STRUCTURES)
def test_batches_of_another_structure_are_found(pair):
    loaders, _ = pair_of(*STRUCTURES[pair], collate_fn=listed)
    with pytest.raises(forebay.errors.StateError, match="has another"):
        next(iter(loaders[1]))
    close(loaders)


class Drawing:
    """A dataset that draws by a generator of its own, which no epoch seeds."""

    def __init__(self):
        self.generator = numpy.random.default_rng(0)

    def __call__(self, number):
        return image(number), self.generator.random()


class Alternating:
    """A dataset that makes every other sample in another way."""

    def __init__(self):
        self.made = 0

    def __call__(self, number):
        self.made += 1
        return image(number), self.made % 2


# Code that makes a different sample at each call, and equal code of several kinds.
EQUAL = {
    "own generator": Drawing(),
    "every other": Alternating(),
    "process": lambda n: (image(n), os.getpid()),
    "time": lambda n: (image(n), time.monotonic_ns()),
    "draws": lambda n: (torch.rand(3), numpy.random.rand(), random.random()),
    "worker": lambda n: (image(n), torch.utils.data.get_worker_info().id),
    "text": lambda n: {"text": f"number {n}", "array": numpy.arange(n)},
    "set": lambda n: [{n, "a"}, frozenset("abc"), None, b"bytes", slice(n)],
}


@pytest.mark.parametrize("arguments", [
    {}, {"collate_fn": listed}, {"batch_size": 3}, {"batch_size": None},
    {"rank": 1, "world_size": 3}, {"persistent_workers": True},
    {"shuffle": None, "sampler": [*range(SIZE - 1, -1, -1), 5, 5]},
    {"shuffle": None, "sampler": [7, 7, 7, 9], "collate_fn": listed}])
@pytest.mark.parametrize("kind", EQUAL)
def test_equal_code_is_shared(kind, arguments):
    if kind in ("text", "set") and arguments.get("collate_fn") is None:
        arguments = {**arguments, "collate_fn": listed}
    loaders, first = pair_of(EQUAL[kind], EQUAL[kind], **arguments)
    for _ in range(2):
        assert len(list(loaders[1])) == len(loaders[1])
        for loader in loaders[:1]:
            list(loader)
    close(loaders)
    del first


@pytest.mark.parametrize("arguments", [{}, {"collate_fn": listed}])
def test_what_differs_later_is_found_at_the_next_iter(arguments):
    scale = torch.ones(1)
    loaders, first = pair_of(image, lambda n: image(n) * scale, **arguments)
    second = iter(loaders[1])
    next(second)
    list(first), list(second)
    scale[0] = 2.0  # changes it in the second job alone
    first = iter(loaders[0])
    next(first)
    with pytest.raises(forebay.errors.StateError, match="has another"):
        next(iter(loaders[1]))
    close(loaders)


@pytest.mark.parametrize("arguments", [{}, {"collate_fn": listed}])
def test_what_differs_is_found_on_the_way(monkeypatch, arguments):
    monkeypatch.setattr(forebay._stage.shared_check, "_INTERVAL", 1)
    loaders, first = pair_of(image, lambda n: image(n if n < 24 else 0),
                             shuffle=False, **arguments)
    second, seen = iter(loaders[1]), 0
    with pytest.raises(forebay.errors.StateError, match="has another"):
        for batch in second:
            seen += len(batch)
            next(first)
    assert seen == 24
    close(loaders)


def test_an_interrupted_check_lets_no_batch_through(monkeypatch):
    check = forebay._stage.shared_check.SharedCheck
    compare = check.compare

    def interrupt(*_):
        monkeypatch.setattr(check, "compare", compare)
        raise KeyboardInterrupt

    monkeypatch.setattr(check, "compare", interrupt)
    loaders, first = pair_of(image, lambda n: image(n, 2.0))
    second = iter(loaders[1])
    with pytest.raises(KeyboardInterrupt):
        next(second)
    with pytest.raises(forebay.errors.StateError, match="call iter"):
        next(second)
    close(loaders)
    del first


@pytest.mark.parametrize("handler", [signal.SIG_IGN, lambda *_: None])
def test_a_trainer_may_handle_the_ends_of_its_children(handler):
    before = signal.signal(signal.SIGCHLD, handler)
    try:
        loaders, first = pair_of(image, image)
        assert len(list(loaders[1])) == len(loaders[1])
        close(loaders)
        del first
    finally:
        signal.signal(signal.SIGCHLD, before)
