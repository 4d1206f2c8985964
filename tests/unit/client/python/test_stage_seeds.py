"""The generators whose states depend on a seed and on a stored state."""

import sys

import numpy
import pytest

from forebay._stage import seeds


@pytest.fixture(autouse=True)
def unused(monkeypatch):
    """Makes sys.modules lack numpy.random, which NumPy 2 imports only at its first
    use."""
    monkeypatch.delitem(sys.modules, "numpy.random", raising=False)
    with seeds.Kept():
        yield


def test_a_seed_decides_what_numpy_draws_first():
    drawn = []
    for _ in range(2):
        seeds.seed_generators(3)
        drawn.append(numpy.random.rand())
    assert drawn[0] == drawn[1]


def test_a_state_has_that_of_numpy_before_its_first_use():
    values = seeds.State().plain()
    before = seeds.State()
    drawn = [numpy.random.rand()]
    before.restore()
    drawn.append(numpy.random.rand())
    seeds.set_generators(values)
    drawn.append(numpy.random.rand())
    assert drawn[0] == drawn[1] == drawn[2]
