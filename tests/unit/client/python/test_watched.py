"""_watched tells whether objects have changed."""

import pathlib

import numpy
import pytest

from forebay import _memory_digest, _watched
from forebay._watched import Watched


class Op:
    """Stands for a class of torchvision's."""

    def __init__(self, **attributes):
        vars(self).update(attributes)


Op.__module__ = "torchvision.transforms.transforms"


class Own:
    def __init__(self):
        self.calls = 0


@pytest.mark.parametrize("make,change", [
    (lambda: [1, 2, 3], lambda items: items.reverse()),
    (lambda: [1, 2, 3], lambda items: items.__setitem__(1, 2.0)),
    (lambda: [1, 2, 3], lambda items: items.append(4)),
    (lambda: [0, 1], lambda items: items.__setitem__(0, False)),
    (lambda: [("a", 1), ("b", 2)], lambda items: items.__setitem__(0, ("a", 1.0))),
    (lambda: [["a", 1], ["b", 2]], lambda items: items[1].__setitem__(1, 3)),
    (lambda: [pathlib.Path("a")], lambda items: items.__setitem__(
        0, pathlib.Path("b"))),
    (lambda: {"a": [1]}, lambda items: items["a"].append(2)),
    (lambda: {"a": 1}, lambda items: items.update(b=2)),
    (lambda: Op(size=3), lambda op: setattr(op, "size", 4)),
    (lambda: Op(ops=[Op(size=3)]), lambda op: setattr(op.ops[0], "size", 4)),
    (lambda: Op(mean=(0.5,)), lambda op: setattr(op, "mean", (0.6,))),
    (lambda: Op(size=3), lambda op: setattr(op, "__class__", type("Op", (Op,), {}))),
    (lambda: Op(code=Own()), lambda op: setattr(op, "code", Own())),
    (lambda: numpy.arange(9), lambda array: array.__setitem__(3, 7)),
    (lambda: numpy.arange(9.), lambda array: numpy.negative(array, out=array)),
    (lambda: Op(data=numpy.ones((4, 4))), lambda op: setattr(
        op, "data", op.data.astype("float32"))),
    (lambda: Op(data=numpy.arange(16).reshape(4, 4)), lambda op: setattr(
        op, "data", op.data.T)),
    (lambda: Op(data=numpy.arange(16).reshape(4, 4)), lambda op: setattr(
        op, "data", op.data[::-1])),
    (lambda: numpy.array([[1], "a"], object), lambda array: array.__setitem__(1, "b"))])
def test_what_changed(make, change):
    thing = make()
    watched = Watched([thing])
    assert not watched.has_changed()
    change(thing)
    assert watched.has_changed()


@pytest.mark.parametrize("make,change", [
    (lambda: Op(items=[1000, 2000]), lambda op: setattr(
        op, "items", [int("1000"), int("2000")])),
    (lambda: Op(data=numpy.ones(9)), lambda op: setattr(op, "data", numpy.ones(9))),
    (lambda: Op(code=Own()), lambda op: setattr(op.code, "calls", 1)),
    (lambda: Op(size=int("1000")), lambda op: setattr(op, "size", int("1000")))])
def test_what_did_not_change(make, change):
    thing = make()
    watched = Watched([thing])
    change(thing)
    assert not watched.has_changed()


def test_models_are_not_looked_into():
    model = Op(weight=1)
    model.__class__ = type("Model", (), {"__module__": "torchvision.models.resnet"})
    watched = Watched(Op(model=model))
    model.weight = 2
    assert not watched.has_changed()


def test_things_that_hold_each_other():
    one, other = Op(), Op(size=1)
    one.other, other.other = other, one
    watched = Watched(one)
    assert not watched.has_changed()
    other.size = 2
    assert watched.has_changed()


def test_large_arrays_count_by_their_identity(monkeypatch):
    monkeypatch.setattr(_watched, "MAX_BYTES", 64)
    op = Op(data=numpy.zeros(9))
    watched = Watched(op)
    op.data[2] = 1
    assert not watched.has_changed()
    op.data = op.data.copy()
    assert watched.has_changed()


@pytest.mark.parametrize("view", [
    lambda array: array, lambda array: array.transpose(2, 0, 1),
    lambda array: array[::2, 1:], lambda array: array[:, ::-1]])
def test_a_digest_sees_each_number_of_an_array(monkeypatch, view):
    monkeypatch.setattr(_memory_digest, "_CHUNK", 96)
    array = view(numpy.arange(9 * 8 * 3).reshape(9, 8, 3))
    before = _memory_digest.of(array)
    assert len(before) > 1
    for place in numpy.ndindex(array.shape):
        array[place] ^= 1
        assert _memory_digest.of(array) != before
        array[place] ^= 1
    assert _memory_digest.of(array) == before
