"""Loaders without a seed argument, in scripts that seed torch."""

import copy
import os
import pickle
import subprocess
import sys

import numpy
import pytest
import torch
from torch.utils.data import Dataset, IterableDataset, SequentialSampler

import forebay
from stage_test import leaves_nothing, reachable  # noqa: F401

SAMPLES = 64


class Drawing(Dataset):
    """Samples that tell their random draws."""

    def __len__(self):
        return SAMPLES

    def __getitem__(self, number):
        return number, torch.rand(()).item()


class Stream(IterableDataset):
    def __iter__(self):
        for number in range(SAMPLES):
            yield number, torch.rand(()).item()


def plain(samples):
    return samples


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.npy"
    numpy.save(path, numpy.arange(SAMPLES))
    return path


KINDS = {"files": lambda rows: {"dataset": rows, "shuffle": True},
         "rows": lambda rows: {"dataset": Drawing(), "shuffle": True},
         "batches": lambda rows: {"dataset": Drawing(), "shuffle": True,
                                  "collate_fn": plain},
         "inline": lambda rows: {"dataset": Drawing(), "shuffle": True,
                                 "num_workers": 0},
         "iterated": lambda rows: {"dataset": Stream()}}


@pytest.fixture(params=KINDS)
def arguments(request, rows):
    made = KINDS[request.param](rows)
    return {"batch_size": 8, **made} if request.param in ("files", "iterated") else {
        "batch_size": 8, "num_workers": 1, **made}


def listed(batches):
    """Returns the batches as plain values."""
    return [[part.tolist() if hasattr(part, "tolist") else part for part in batch]
            for batch in batches]


def batches_of(arguments, script=None, **more):
    """Returns the batches of a loader's first epoch, in a script that seeds torch with
    `script`."""
    if script is not None:
        torch.manual_seed(script)
    with forebay.DataLoader(**{**arguments, **more}) as loader:
        return listed(loader)


def test_the_seed_of_torch_counts(arguments):
    found = batches_of(arguments, 3)
    assert batches_of(arguments, 3) == found
    assert batches_of(arguments, 4) != found
    torch.manual_seed(3)
    assert batches_of(arguments) == found
    assert batches_of(arguments) != found, "two loaders of one script"
    assert batches_of(arguments, 4, seed=9) == batches_of(arguments, 3, seed=9)


def test_without_a_seed_orders_are_as_ever(arguments):
    torch.seed()
    state = torch.get_rng_state()
    assert batches_of(arguments) == batches_of(arguments, seed=0)
    if arguments.get("num_workers") != 0:
        assert torch.equal(torch.get_rng_state(), state)


def seed_of(rows, **more):
    with forebay.DataLoader(rows, **more) as loader:
        return loader.state_dict()["seed"]


def test_torch_moves_on_by_one_number(rows):
    torch.manual_seed(3)
    number = int(torch.empty((), dtype=torch.int64).random_().item())
    state = torch.get_rng_state()
    torch.manual_seed(3)
    assert seed_of(rows) == number
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("more", [
    {"seed": 5}, {"seed": 0}, {"rank": 1, "world_size": 2},
    {"generator": torch.Generator().manual_seed(5)},
    {"sampler": range(4)}, {"sampler": SequentialSampler(range(SAMPLES))}])
def test_what_says_more_leaves_torch_alone(rows, more):
    torch.manual_seed(3)
    state = torch.get_rng_state()
    assert seed_of(rows, **more) == (5 if "generator" in more else more.get("seed", 0))
    assert torch.equal(torch.get_rng_state(), state)


def test_processes_of_one_job_keep_one_order(rows, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    for arguments in ({}, {"distributed": True}):
        torch.manual_seed(3)
        assert seed_of(rows, **arguments) == 0
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert seed_of(rows) != 0


def test_a_loaded_state_wins(arguments):
    torch.manual_seed(3)
    with forebay.DataLoader(**arguments) as loader:
        batches = iter(loader)
        listed([next(batches), next(batches)])
        state = loader.state_dict()
        rest = listed(batches) + listed(loader)
    torch.manual_seed(4)
    with forebay.DataLoader(**arguments) as loader:
        other = listed(loader)
        loader.load_state_dict(state)
        assert loader.state_dict() == state
        assert listed(loader) + listed(loader) == rest
    assert other[2:] != rest[:6]
    torch.seed()
    with forebay.DataLoader(**arguments) as loader:
        loader.load_state_dict(state)
        assert listed(loader) + listed(loader) == rest
    with forebay.DataLoader(**arguments, seed=4) as loader:
        with pytest.raises(forebay.StateError, match="another seed"):
            loader.load_state_dict(state)


def test_a_state_of_other_data_brings_no_seed(rows, tmp_path):
    torch.manual_seed(3)
    numpy.save(tmp_path / "others.npy", numpy.arange(SAMPLES + 1))
    with forebay.DataLoader(rows, 8, shuffle=True) as loader:
        before = loader.state_dict()
        with forebay.DataLoader(tmp_path / "others.npy", 8) as other:
            with pytest.raises(forebay.StateError, match="another version"):
                loader.load_state_dict(other.state_dict())
        assert loader.state_dict() == before


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_that_is_refused_brings_no_seed(rows, kind):
    """The state is refused because its order differs, although the data is the same."""
    arguments = {"num_workers": 1, **KINDS[kind](rows), "batch_size": 8}
    other = {**arguments, "shuffle": False}
    if kind == "iterated":  # has no order, so the number of workers differs
        arguments, other = {**arguments, "num_workers": 2}, arguments
    torch.manual_seed(3)
    with forebay.DataLoader(**arguments) as loader:
        next(iter(loader))
        state = loader.state_dict()
    torch.manual_seed(4)
    expected = batches_of(other)
    torch.manual_seed(4)
    with forebay.DataLoader(**other) as loader:
        before = loader.state_dict()
        assert before["seed"] != state["seed"]
        for _ in range(2):
            with pytest.raises(forebay.StateError):
                loader.load_state_dict(state)
            assert loader.state_dict() == before
        assert listed(loader) == expected


def test_a_seed_that_cannot_be_taken_leaves_the_one_before(rows, monkeypatch):
    def refuse(*_):
        raise forebay.ResourceExhausted("no room")
    torch.manual_seed(3)
    with forebay.DataLoader(rows, 8, shuffle=True) as first, \
            forebay.DataLoader(rows, 8, shuffle=True) as other:
        before = other.state_dict()
        with monkeypatch.context() as patched:
            patched.setattr(forebay.DataLoader, "_attach", refuse)
            with pytest.raises(forebay.ResourceExhausted):
                other.load_state_dict(first.state_dict())
        assert other.state_dict() == before
        with copy.copy(other) as equal:
            assert listed(other) == listed(equal) != listed(first)


def pickled(loader):
    return pickle.loads(pickle.dumps(loader))


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, pickled])
def test_copies_are_equal(arguments, make):
    torch.manual_seed(3)
    with forebay.DataLoader(**arguments) as first:
        state = first.state_dict()
        expected = listed(first)
    with forebay.DataLoader(**arguments) as loader, make(make(loader)) as other:
        assert listed(loader) == listed(other) != expected
    with forebay.DataLoader(**arguments) as loader, make(make(loader)) as other:
        other.load_state_dict(state)
        assert listed(other) == expected
    with forebay.DataLoader(**arguments, seed=4) as loader, make(loader) as other:
        with pytest.raises(forebay.StateError, match="another seed"):
            other.load_state_dict(state)


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, pickled])
def test_copies_begin_in_the_epoch_that_the_sampler_was_told(arguments, make):
    if arguments.get("shuffle") is None:
        pytest.skip("an iterable dataset has no sampler")
    with forebay.DataLoader(**arguments) as loader:
        loader.sampler.set_epoch(5)
        with make(loader) as other:
            assert listed(other) == listed(loader)
            assert listed(other) == listed(loader)


def test_torch_is_not_imported_for_it(rows):
    subprocess.run([sys.executable, "-c", f"""
import sys, forebay
with forebay.DataLoader({str(rows)!r}, 8, shuffle=True) as loader:
    assert loader.state_dict()["seed"] == 0 and len(list(loader)) == 8
assert "torch" not in sys.modules
"""], check=True, env=dict(os.environ), timeout=60)
