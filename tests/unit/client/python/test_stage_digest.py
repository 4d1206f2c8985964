"""Digests of the user's code: equal where it does the same, in any process."""

import os
import subprocess
import sys
import textwrap
import threading

import numpy
import pytest
import torch

from forebay._stage import digest

SOURCE = textwrap.dedent("""
    import functools, sys
    import numpy, torch, torchvision
    from forebay._stage import digest
    import mine

    FACTOR = {factor}
    NAMES = {{"b", "a", "c"}}

    def outer(scale):
        def inner(value):
            return mine.twice(value) * scale * FACTOR + len(NAMES)
        return inner

    class Base:
        kept = "in the class"
        def __len__(self): return 3

    class Data(Base):
        __slots__ = ()
        size = property(lambda self: 3)
        @staticmethod
        def name(): return {name!r}
        def __getitem__(self, number): return self.size + {constant}

    class Full(Data):
        def __init__(self):
            self.paths = [("a" * 3, n) for n in range(5)]
            self.array = numpy.arange(6).reshape(2, 3)
            self.tensor = torch.arange(3.)
            self.transform = torchvision.transforms.Compose(
                [torchvision.transforms.RandomCrop(4), outer(2)])
            self.partial = functools.partial(outer, scale=1.5)
            self.itself = self
            self.nested = {{"a": [1, [2, (3, {{4}})]], None: frozenset("xyz")}}

    print(digest.of((Full(), outer({closure}))).hex())
""")
PLAIN = {"factor": 2, "name": "n", "constant": 1, "closure": 3}


def run(folder, twice="return x * 2", seed="0", **changes):
    """The digest that another process finds."""
    (folder / "mine.py").write_text(f"def twice(x): {twice}\n")
    (folder / "script.py").write_text(SOURCE.format(**{**PLAIN, **changes}))
    done = subprocess.run(
        [sys.executable, "-B", "script.py"], cwd=folder, stdout=subprocess.PIPE,
        text=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed})
    return done.stdout


def test_is_the_same_in_every_process(tmp_path):
    assert len({run(tmp_path, seed=seed) for seed in "123"}) == 1


@pytest.mark.parametrize("change", [
    {"factor": 3}, {"name": "m"}, {"constant": 2}, {"closure": 4},
    {"twice": "return x + x"}])
def test_changes_with_whatever_the_code_does(tmp_path, change):
    assert run(tmp_path) != run(tmp_path, **change)


def test_the_working_directory_counts(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
    assert run(tmp_path / "a") != run(tmp_path / "b")


class Held:
    def __init__(self, value):
        self.value = value


@pytest.mark.parametrize("one, other", [
    (1, True), (1, 1.0), ("1", b"1"), ([1, 2], (1, 2)), ([1, [2]], [[1], 2]),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}), (numpy.zeros(3), numpy.zeros((3, 1))),
    (numpy.zeros(2, "f4"), numpy.zeros(1, "f8")),
    (torch.zeros(3), torch.ones(3)), (lambda x: x, lambda x: -x),
    (lambda x=1: x, lambda x=2: x), (numpy.sin, numpy.cos), (len, repr),
    ([1, 2].append, [1].append), (0.0, -0.0)])
def test_tells_values_apart(one, other):
    assert digest.of(Held(one)) != digest.of(Held(other))
    assert digest.of(Held(one)) == digest.of(Held(one))


def test_large_lists_are_quick_and_equal():
    names = [(f"folder/{number}.jpg", number) for number in range(100_000)]
    copy = [(name[:3] + name[3:], number) for name, number in names]
    assert digest.of(names) == digest.of(copy)
    copy[77_777] = ("else", 1)
    assert digest.of(names) != digest.of(copy)


@pytest.mark.parametrize("value, says", [
    (threading.Lock(), "_thread.lock"), (open(os.devnull), "TextIOWrapper"),
    ((number for number in range(3)), "generator"),
    ({(1, 2)}, "a set with a tuple")])
def test_says_what_has_no_digest(value, says):
    with pytest.raises(digest.Unknown, match=says):
        digest.of(Held(value))


def test_a_class_stays_the_same_when_its_objects_are_pickled():
    before = digest.of(Held(1))
    Held(2).__reduce_ex__(4)
    assert digest.of(Held(1)) == before
