"""The default collation: every kind of sample, and the errors."""

import collections
import dataclasses
import enum
import warnings

import numpy
import pytest
import torch

from sample_sets import Made

Point = collections.namedtuple("Point", "x y")


class Level(enum.IntEnum):
    LOW, HIGH = 0, 1


class Items(collections.UserList):
    """A sequence type of the user."""


class Fields(collections.UserDict):
    """A mapping type of the user."""


@dataclasses.dataclass
class Record:
    number: int


def collated(DataLoader, make, size=2, **arguments):
    """Returns the one batch of the samples `make(0)`, `make(1)`, ..."""
    batch, = DataLoader(Made(make, size), size, num_workers=1, **arguments)
    return batch


def check(batch, wanted):
    """Checks that `batch` has the structures, types and values of `wanted`."""
    assert type(batch) is type(wanted)
    if isinstance(wanted, torch.Tensor):
        assert batch.dtype == wanted.dtype and batch.shape == wanted.shape
        assert torch.equal(batch, wanted)
    elif isinstance(wanted, (dict, Fields)):
        assert list(batch) == list(wanted)
        for key in wanted:
            check(batch[key], wanted[key])
    elif isinstance(wanted, (list, tuple, Items)):
        assert len(batch) == len(wanted)
        for got, value in zip(batch, wanted):
            check(got, value)
    else:
        assert batch == wanted


INTS = torch.tensor([0, 1])


@pytest.mark.parametrize("make,wanted", [
    (lambda i: i, INTS),
    (lambda i: i / 2, torch.tensor([0, 0.5], dtype=torch.float64)),
    (lambda i: i > 0, torch.tensor([False, True])),
    (lambda i: Level(i), INTS),
    (lambda i: f"text {i}", ["text 0", "text 1"]),
    (lambda i: b"%d" % i, [b"0", b"1"]),
    (lambda i: "ä\0€", ["ä\0€", "ä\0€"]),
], ids=["int", "float", "bool", "enum", "str", "bytes", "unicode"])
def test_pythons_scalars(DataLoader, make, wanted):
    check(collated(DataLoader, make), wanted)


@pytest.mark.parametrize("name", [
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32",
    "float64", "complex64"])
def test_numpys_scalars(DataLoader, name):
    wanted = torch.tensor([0, 1], dtype=getattr(torch, name))
    check(collated(DataLoader, lambda i: numpy.dtype(name).type(i)), wanted)


@pytest.mark.parametrize("name", [
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32",
    "float64", "complex64", "complex128"])
def test_arrays(DataLoader, name):
    wanted = torch.tensor([[[0, 0, 0]], [[1, 1, 1]]], dtype=getattr(torch, name))
    check(collated(DataLoader, lambda i: numpy.full((1, 3), i, name)), wanted)


@pytest.mark.parametrize("name", [
    "bool", "uint8", "int16", "int64", "float16", "bfloat16", "float32",
    "float64", "complex64"])
def test_tensors(DataLoader, name):
    kind = getattr(torch, name)
    wanted = torch.tensor([[0, 0], [1, 1]], dtype=kind)
    check(collated(DataLoader, lambda i: torch.full((2,), i, dtype=kind)), wanted)


@pytest.mark.parametrize("make,wanted", [
    (lambda i: (i, str(i)), [INTS, ("0", "1")]),
    (lambda i: [i, [i, i]], [INTS, [INTS, INTS]]),
    (lambda i: {"b": i, "a": (i,)}, {"b": INTS, "a": [INTS]}),
    (lambda i: Point(i, {"z": i}), Point(INTS, {"z": INTS})),
    (lambda i: {1: i, None: "x"}, {1: INTS, None: ["x", "x"]}),
    (lambda i: collections.OrderedDict([("b", i), ("a", i)]),
     collections.OrderedDict([("b", INTS), ("a", INTS)])),
    (lambda i: Fields(a=i), Fields(a=INTS)),
    (lambda i: Items([i, "x"]), Items([INTS, ("x", "x")])),
    (lambda i: range(i, i + 2), [INTS, INTS + 1]),
    (lambda i: ((((i,),),),), [[[[INTS]]]]),
    (lambda i: (), []),
    (lambda i: {}, {}),
    (lambda i: bytearray([i]), [INTS]),
], ids=["tuple", "list", "dict", "namedtuple", "keys", "ordered", "mapping",
        "sequence", "range", "deep", "empty-tuple", "empty-dict", "bytearray"])
def test_structures(DataLoader, make, wanted):
    check(collated(DataLoader, make), wanted)


@pytest.mark.parametrize("make,shape", [
    (lambda i: torch.tensor(i), (2,)),
    (lambda i: numpy.array(i), (2,)),
    (lambda i: torch.zeros(0, 3), (2, 0, 3)),
    (lambda i: numpy.zeros((3, 0), "f4"), (2, 3, 0)),
    (lambda i: torch.ones(1).expand(5), (2, 5)),
    (lambda i: torch.arange(6).reshape(2, 3).t(), (2, 3, 2)),
    (lambda i: torch.arange(10)[::3], (2, 4)),
    (lambda i: numpy.arange(10)[1::3], (2, 3)),
    (lambda i: numpy.asfortranarray(numpy.ones((2, 3))), (2, 2, 3)),
    (lambda i: numpy.arange(6, dtype=">i4").astype("<i4"), (2, 6)),
], ids=["0-d", "0-d-array", "none", "none-array", "expanded", "transposed",
        "strided", "strided-array", "fortran", "byte-order"])
def test_shapes_and_strides(DataLoader, make, shape):
    batch = collated(DataLoader, make)
    assert batch.shape == shape and batch.is_contiguous()
    for index in range(2):
        assert torch.equal(batch[index], torch.as_tensor(make(index)))


def test_read_only_arrays(DataLoader):
    def make(index):
        array = numpy.full(3, index)
        array.flags.writeable = False
        return array
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        batch = collated(DataLoader, make)
    batch += 1
    assert batch.tolist() == [[1, 1, 1], [2, 2, 2]]


def test_the_first_sample_says_the_type_of_numbers(DataLoader):
    mixed = collated(DataLoader, lambda i: 1 if i == 0 else 0.5)
    assert mixed.dtype == torch.float32 and mixed.tolist() == [1, 0.5]
    mixed = collated(DataLoader, lambda i: 0.5 if i == 0 else 1)
    assert mixed.dtype == torch.float64 and mixed.tolist() == [0.5, 1]


def test_the_first_sample_says_which_keys_there_are(DataLoader):
    batch = collated(DataLoader, lambda i: {"a": i} if i == 0 else {"a": i, "b": 2})
    check(batch, {"a": INTS})


def test_texts_may_have_other_things_among_them(DataLoader):
    assert collated(DataLoader, lambda i: "a" if i == 0 else 5) == ["a", 5]


@pytest.mark.parametrize("make,error,message", [
    (lambda i: None, TypeError, "found <class 'NoneType'>"),
    (lambda i: {i}, TypeError, "found <class 'set'>"),
    (lambda i: Record(i), TypeError, "found <class '.*Record'>"),
    (lambda i: complex(i), TypeError, "found <class 'complex'>"),
    (lambda i: (i, None), TypeError, "found <class 'NoneType'>"),
    (lambda i: numpy.array(["a"]), TypeError, "found <U1"),
    (lambda i: numpy.array([None]), TypeError, "found object"),
    (lambda i: numpy.datetime64("2020-01-01"), TypeError, "datetime64"),
    (lambda i: torch.zeros(i + 1), RuntimeError, "equal size"),
    (lambda i: [0] * (i + 1), RuntimeError,
     "each element in list of batch should be of equal size"),
    (lambda i: {"a": 1} if i else {"a": 1, "b": 2}, KeyError, "'b'"),
    (lambda i: 1 if i == 0 else "x", TypeError, "invalid data type 'str'"),
    # torch 1.13 raises RuntimeError, 2.15 ValueError.
    (lambda i: 2 ** 63 + i, (RuntimeError, ValueError), "(?i)overflow"),
    (lambda i: numpy.arange(3)[::-1], ValueError, "stride"),
], ids=["None", "set", "dataclass", "complex", "nested", "texts", "objects",
        "date", "shapes", "lengths", "keys", "kinds", "large", "backwards"])
def test_errors(DataLoader, make, error, message):
    with pytest.raises(error, match=message):
        collated(DataLoader, make)


def test_errors_say_whose_collation_failed(DataLoader):
    with pytest.raises(TypeError) as caught:
        collated(DataLoader, lambda i: object())
    assert "default_collate: batch must contain tensors, numpy arrays" in str(
        caught.value)


@pytest.mark.parametrize("make,wanted", [
    (lambda i: i, 0),
    (lambda i: "text", "text"),
    (lambda i: None, None),
    (lambda i: numpy.float32(2), torch.tensor(2.0)),
    (lambda i: numpy.array([1.0, 2.0]), torch.tensor([1.0, 2.0]).double()),
    (lambda i: (1, numpy.array([2])), [1, torch.tensor([2])]),
    (lambda i: {"a": numpy.array([2]), "b": {3}}, {"a": torch.tensor([2]), "b": {3}}),
    (lambda i: Point(numpy.array(1), "x"), Point(torch.tensor(1), "x")),
    (lambda i: Record(7), Record(7)),
    (lambda i: torch.ones(2), torch.ones(2)),
], ids=["int", "str", "None", "scalar", "array", "tuple", "dict", "namedtuple",
        "object", "tensor"])
def test_single_samples_are_converted(DataLoader, make, wanted):
    sample, = DataLoader(Made(make, 1), batch_size=None, num_workers=1)
    check(sample, wanted)


def test_arrays_of_texts_are_not_converted(DataLoader):
    sample, = DataLoader(Made(lambda i: numpy.array(["a", "b"]), 1), None,
                         num_workers=1)
    assert isinstance(sample, numpy.ndarray) and sample.tolist() == ["a", "b"]


def test_a_type_that_torch_was_taught(DataLoader, monkeypatch):
    table = pytest.importorskip(
        "torch.utils.data._utils.collate").default_collate_fn_map
    monkeypatch.setitem(table, Record, lambda batch, *, collate_fn_map=None: [
        record.number for record in batch])
    assert collated(DataLoader, Record) == [0, 1]
