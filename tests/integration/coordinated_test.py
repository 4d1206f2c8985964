"""Loaders in coordinated order get each sample once in each epoch."""

import json
import os
import signal
import subprocess
import sys

import pytest

import forebay
from daemons import serving
from forebay import transforms as T

TRANSFORM = T.Compose([T.RandomResizedCrop(32), T.RandomHorizontalFlip(),
                       T.ToImage()])
READER = """
import json, sys
import forebay
from forebay import transforms as T
uri, batch_size, seed, epochs = sys.argv[1], *map(int, sys.argv[2:5])
found = []
with forebay.DataLoader(
        uri, batch_size=batch_size, shuffle=True, seed=seed,
        order="coordinated", framework="numpy",
        transform=T.Compose([T.RandomResizedCrop(32), T.ToImage()])) as loader:
    for _ in range(epochs):
        found.append([int(i) for batch in loader for i in batch.sample_ids])
    print(json.dumps([found, loader.stats()["samples_decoded"]]))
"""


def _open(folder, **options):
    return forebay.DataLoader(
        str(folder), **dict(dict(
            batch_size=5, shuffle=True, seed=3, order="coordinated",
            transform=TRANSFORM, framework="numpy"), **options))


def _samples(batches):
    """Returns each sample's bytes by its number."""
    return {int(number): image.tobytes() for batch in batches
            for image, number in zip(batch.image, batch.sample_ids)}


def test_each_loader_sees_each_sample_once_an_epoch(daemon, photos):
    epochs = 5
    running = [
        subprocess.Popen(
            [sys.executable, "-c", READER, str(photos), str(batch_size),
             str(seed), str(epochs)],
            env=dict(os.environ, FOREBAY_JOB=str(seed)),
            stdout=subprocess.PIPE)
        for seed, batch_size in enumerate((3, 7, 16))]
    for process in running:
        found, _ = json.loads(process.communicate(timeout=60)[0])
        assert process.returncode == 0
        assert len(found) == epochs
        for order in found:
            assert sorted(order) == list(range(48))
        assert len(set(map(tuple, found))) == epochs


def test_samples_are_those_of_the_exact_order(daemon, photos):
    """Only the order of the samples differs."""
    with _open(photos) as loader, _open(photos, order="exact") as exact:
        for _ in range(2):
            assert _samples(loader) == _samples(exact)


def test_an_epoch_goes_on_where_its_state_was_taken(daemon, photos):
    with _open(photos) as loader:
        whole = _samples(loader)
    with _open(photos) as loader:
        batches = iter(loader)
        seen = _samples(next(batches) for _ in range(4))
        state = json.loads(json.dumps(loader.state_dict()))
    assert len(seen) == 20
    with _open(photos, batch_size=9) as loader:
        loader.load_state_dict(state)
        assert loader.state_dict() == state
        rest = _samples(loader)
        assert not set(rest) & set(seen)
        assert {**seen, **rest} == whole
        # The next epoch is a whole one.
        assert len(_samples(loader)) == 48


def test_it_goes_on_with_daemons_that_were_started_again(tmp_path, photos):
    with serving(tmp_path) as daemon:
        with _open(photos) as loader:
            whole = _samples(loader)
            loader.set_epoch(0)
            batches = iter(loader)
            parts = [_samples(next(batches) for _ in range(2))]
            state = loader.state_dict()
        with _open(photos) as loader:
            loader.load_state_dict(state)
            batches = iter(loader)
            for how in (signal.SIGKILL, signal.SIGTERM):
                parts.append(_samples(next(batches) for _ in range(2)))
                daemon.stop(how)
                daemon.start()
            parts.append(_samples(batches))
        assert sum(map(len, parts)) == 48
        assert {number: image for part in parts
                for number, image in part.items()} == whole


@pytest.mark.parametrize("options, complaint", [
    (dict(shuffle=False), "needs shuffle=True, not False"),
    (dict(shuffle="block"), "needs shuffle=True, not 'block'"),
    (dict(world_size=2), "has no ranks, but world_size is 2"),
    (dict(on_error="substitute"), "exactly once"),
])
def test_what_it_can_not_do_is_said(daemon, photos, options, complaint):
    with pytest.raises(forebay.errors.InvalidArgument) as caught:
        _open(photos, **options)
    assert complaint in str(caught.value)


def test_a_state_that_does_not_fit_is_said(daemon, photos):
    with _open(photos) as loader:
        state = loader.state_dict()
        for seen in (None, 7, "", "AAAA", "no base64", state["seen"] + "AAAA"):
            with pytest.raises(forebay.errors.StateError) as caught:
                loader.load_state_dict(dict(state, seen=seen))
            assert "which samples of the epoch" in str(caught.value)
        assert len(_samples(loader)) == 48
