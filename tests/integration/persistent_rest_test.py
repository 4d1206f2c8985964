"""Persistent workers of a loader that rests for so long that its slots are taken
back."""

import os

import numpy
import pytest
from code_in_pipeline_test import loader_of as coded_loader_of
from daemons import serving
from stage_persistent_test import SAMPLES, WAYS, Caching, Remembering, epoch_of
from stage_persistent_test import loader_of
from torchvision import transforms as V
from trouble import ctl, until

import forebay
from own_processes import descendants, workers


@pytest.fixture(scope="module")
def impatient(tmp_path_factory):
    """A daemon that takes the slots of resting loaders back at once."""
    folder = tmp_path_factory.mktemp("impatient")
    config = folder / "forebayd.toml"
    config.write_text("[session]\nidle_seconds = 0.2\n")
    with serving(folder, "--config", str(config)) as daemon:
        yield daemon


@pytest.fixture(autouse=True)
def reachable(impatient, monkeypatch):
    monkeypatch.setenv("FOREBAY_RUNTIME_DIR", str(impatient.runtime_dir))
    before = descendants(os.getpid())
    yield
    until(lambda: not descendants(os.getpid()) - before, "no process is left")
    until(lambda: slots(impatient) == 0, "no slot is left")


def slots(daemon):
    """Returns the bytes of all loaders' slots."""
    return int(ctl(daemon, "status")["memory_slots"])


def rest(daemon, tmp_path):
    """Returns when loaders have rested for so long that other loaders lost their
    slots."""
    before = slots(daemon)
    numpy.save(tmp_path / "rows.npy", numpy.zeros((8, 4096), "float32"))
    with forebay.DataLoader(tmp_path / "rows.npy", 4) as other:
        assert sum(1 for _ in other) == 2
        assert slots(daemon) > before
        until(lambda: slots(daemon) <= before, "the other loader has no slots")


@pytest.mark.parametrize("arguments", [*WAYS, {"share_key": "mine"}])
def test_caches_outlive_a_rest(impatient, tmp_path, arguments):
    dataset = Caching()
    with loader_of(dataset, **arguments) as loader:
        first = sorted(number for numbers, _ in epoch_of(loader) for number in numbers)
        before, misses = workers(os.getpid()), dataset.misses.item()
        for _ in range(2):
            rest(impatient, tmp_path)
            assert workers(os.getpid()) == before
            assert sorted(number for numbers, _ in epoch_of(loader)
                          for number in numbers) == first
    assert dataset.misses.item() == misses
    assert misses <= SAMPLES + 1  # one more, to learn the layout of samples


def test_iterable_datasets_keep_theirs(impatient, tmp_path):
    with loader_of(Remembering(), num_workers=2) as loader:
        epoch_of(loader)
        before = workers(os.getpid())
        rest(impatient, tmp_path)
        # Each worker makes ten samples in an epoch.
        assert epoch_of(loader)[-1][1][-1] == 20
        assert workers(os.getpid()) == before


def test_ops_of_a_pipeline_keep_theirs(impatient, tmp_path, photos):
    def darker(image):
        return image.point(lambda value: value // 2)

    with coded_loader_of(photos, [V.RandomResizedCrop(32), darker, V.PILToTensor()],
                         num_workers=1, persistent_workers=True) as loader:
        count = len(list(loader))
        before = workers(os.getpid())
        rest(impatient, tmp_path)
        assert len(list(loader)) == count
        assert workers(os.getpid()) == before
