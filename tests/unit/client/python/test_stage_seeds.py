"""The generators that a seed, and a kept state, decide."""

import sys

import numpy
import pytest

from forebay._stage import seeds


@pytest.fixture(autouse=True)
def unused(monkeypatch):
    """NumPy 2 imports numpy.random at its first use: sys.modules lacks it here."""
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
