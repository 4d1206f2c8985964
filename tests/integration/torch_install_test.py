"""forebay.torch.install(), for libraries that make torch's DataLoaders themselves."""

import os
import subprocess
import sys

import pytest

import forebay
from stage_test import leaves_nothing, reachable  # noqa: F401

LIBRARY = """
import typing
import torch
from torch.utils.data import DataLoader
from torch.utils import data

class Own(DataLoader):
    pass

Sample = typing.TypeVar("Sample", covariant=True)

class Generic(DataLoader[Sample]):
    loaders: "list[DataLoader[Sample]]"

    def give(self) -> DataLoader[Sample]:
        return self

def held(dataset):
    return DataLoader(dataset, batch_size=4)

def looked_up(dataset):
    return data.DataLoader(dataset, batch_size=4)
"""


@pytest.fixture
def run(tmp_path):
    """A function that runs code in another process, with a module `library`."""
    (tmp_path / "library.py").write_text(LIBRARY)

    def run(code):
        done = subprocess.run(
            [sys.executable, "-W", "always", "-c", f"import sys\n{code}"], text=True,
            capture_output=True, timeout=120, check=False, cwd=tmp_path,
            env=dict(os.environ, PYTHONPATH=os.pathsep.join(
                [str(tmp_path), *sys.path])))
        assert done.returncode == 0, done.stderr
        return done.stderr
    return run


def test_libraries_imported_afterwards_use_it(run):
    said = run("""
import forebay
assert "torch" not in sys.modules
assert forebay.torch.install() == []
assert forebay.torch.install() == []
import library
numbers = list(range(10))
for make in (library.held, library.looked_up, library.Own, library.Generic,
             library.Generic[int]):
    with make(numbers) as loader:
        assert isinstance(loader, forebay.DataLoader), type(loader)
        assert len(loader) == len(iter(loader)) == len(list(loader))
        batches = [len(batch) for batch in loader]
        assert batches[-1] == (2 if make in (library.held, library.looked_up) else 1)
""")
    assert "install()" not in said


def test_it_names_what_was_imported_before(run):
    said = run("""
import library, forebay, torch
before = library.held([1, 2])
assert forebay.torch.install() == [
    "library.DataLoader", "library.Generic", "library.Own"]
assert type(library.held([1, 2])) is type(before)
assert type(before).__module__ == "torch.utils.data.dataloader"
assert [batch.tolist() for batch in before] == [[1, 2]]
with library.looked_up([1, 2]) as loader:
    assert isinstance(loader, forebay.DataLoader)
""")
    assert ("library.DataLoader, library.Generic, library.Own: code there goes on with "
            "torch's" in said)


def test_attributes_stay_those_of_torch(run):
    run("""
import torch, forebay
numbers = list(range(10))
def attributes(loader):
    return {name: getattr(loader, name) for name in (
        "prefetch_factor", "timeout", "persistent_workers", "multiprocessing_context")}
for workers in 0, 2:
    made = torch.utils.data.dataloader.DataLoader(numbers, num_workers=workers)
    forebay.torch.install()
    with torch.utils.data.DataLoader(numbers, num_workers=workers) as loader:
        assert type(loader) is not type(made)
        assert attributes(loader) == attributes(made)
""")


def test_it_is_part_of_the_package():
    assert "torch" in forebay.__all__
