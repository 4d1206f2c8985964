"""The structure of samples, and of the batches that torch's default_collate makes
of them.

A structure is a tree. Its leaves are numbers and arrays, which have one type and shape
in all samples. Its nodes are the containers that default_collate keeps.
"""

from __future__ import annotations

import collections.abc
import functools
import sys
from typing import (Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple,
                    Type)

MAX_FIELDS = 15
_DTYPES = frozenset((
    "uint8", "float16", "float32", "int64", "float64", "int32", "int16", "int8",
    "bool", "uint16", "uint32", "uint64"))


class Irregular(Exception):
    """Samples do not have one structure of numbers and arrays."""


class Leaf(NamedTuple):
    """A field of a batch.

    Attributes:
      kind: the Python type of the samples' values: int, float or bool; None for
        tensors, arrays and NumPy's numbers.
      dtype: NumPy's name of the elements' type.
      shape: the shape of one sample's value.
    """

    kind: Optional[Type[Any]]
    dtype: str
    shape: Tuple[int, ...]


class Node(NamedTuple):
    """A container.

    Attributes:
      type: the type of the samples' containers.
      keys: the keys of a mapping; None for a sequence.
      children: Leaf or Node, in order.
    """

    type: Type[Any]
    keys: Optional[Tuple[Any, ...]]
    children: Tuple[Any, ...]


_NUMBERS: Dict[Type[Any], str] = {bool: "bool", int: "int64", float: "float64"}


def array_of(value: Any) -> Any:
    """Returns the value as a NumPy array. Returns None if it is not a tensor, an array
    or one of NumPy's numbers."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        if type(value) is torch.Tensor:
            try:
                return value.numpy()  # raises for tensors refused below
            except (TypeError, RuntimeError):
                pass
        if value.layout is not torch.strided or value.device.type != "cpu":
            raise Irregular(f"a tensor of {value.layout} on {value.device}")
        if value.dtype is torch.bfloat16 or value.is_quantized:
            raise Irregular(f"a tensor of {value.dtype}")
        if value.requires_grad:
            raise Irregular("a tensor that requires grad")
        return value.detach().resolve_conj().resolve_neg().numpy()
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
        return numpy.asarray(value)
    return None


def describe(sample: Any) -> Any:
    """Returns the structure of a sample: a Leaf or a Node.

    Raises:
      Irregular: a value is not a number, tensor or array that batches can have, or
        there are too many values. The message says which.
    """
    made = _describe(sample)
    if not 1 <= len(leaves(made)) <= MAX_FIELDS:
        raise Irregular(f"{len(leaves(made))} values a sample")
    return made


def _describe(value: Any) -> Any:
    kind = type(value)
    if kind in _NUMBERS:
        if kind is int and not -2 ** 63 <= value < 2 ** 63:
            raise Irregular("an integer of more than 64 bits")
        return Leaf(kind, _NUMBERS[kind], ())
    if isinstance(value, (tuple, list)):
        return Node(kind, None, tuple(map(_describe, value)))
    array = array_of(value)
    if array is not None:
        if array.dtype.name not in _DTYPES or not array.dtype.isnative:
            raise Irregular(f"an array of {array.dtype}")
        if array.ndim > 5:
            raise Irregular(f"an array of {array.ndim} dimensions")
        return Leaf(None, array.dtype.name, array.shape)
    if isinstance(value, collections.abc.Mapping):
        return Node(kind, tuple(value),
                    tuple(_describe(value[key]) for key in value))
    raise Irregular(f"a value of {kind.__module__}.{kind.__qualname__}")


def names(structure: Any) -> Any:
    """Returns the keys of mappings and the types of containers in a structure, as plain
    values that can be compared between processes."""
    if isinstance(structure, Leaf):
        return None
    keys = structure.keys and [
        key if isinstance(key, (str, int, float)) else type(key).__qualname__
        for key in structure.keys]
    return [f"{structure.type.__module__}.{structure.type.__qualname__}", keys,
            [names(child) for child in structure.children]]


def places(structure: Any) -> List[str]:
    """Returns the place of each leaf in a sample, in order, as text for people."""
    return list(_places(structure, ""))


def _places(structure: Any, place: str) -> Iterator[str]:
    if isinstance(structure, Leaf):
        yield place
        return
    names = getattr(structure.type, "_fields", None)
    keys = structure.keys or range(len(structure.children))
    for key, child in zip(keys, structure.children):
        yield from _places(child, f"{place}.{names[key]}" if names and
                           not structure.keys else f"{place}[{key!r}]")


def leaves(structure: Any) -> List[Leaf]:
    """Returns all leaves, in order."""
    if isinstance(structure, Leaf):
        return [structure]
    return [leaf for child in structure.children for leaf in leaves(child)]


def writer(structure: Any) -> Callable[[Any, List[Any], int], None]:
    """Returns a function of (sample, arrays, row) that writes the sample's values into
    row `row` of the arrays. There is one array for each leaf.

    The function raises Irregular if the sample has another structure.
    """
    count = len(leaves(structure))

    def write(sample: Any, arrays: List[Any], row: int) -> None:
        values = row_of(structure, sample)
        for number in range(count):
            arrays[number][row] = values[number]

    return write


def row_of(structure: Any, sample: Any) -> List[Any]:
    """Returns the values of a sample, one for each leaf.

    Raises:
      Irregular: the sample has another structure.
    """
    values: List[Any] = []
    _flatten(structure, sample, values)
    return values


def _flatten(structure: Any, value: Any, values: List[Any]) -> None:
    if isinstance(structure, Leaf):
        values.append(_checked(structure, value))
        return
    if structure.keys is not None:
        if (not isinstance(value, collections.abc.Mapping) or
                len(value) != len(structure.keys)):
            raise Irregular(_differs(structure, value))
        for key, child in zip(structure.keys, structure.children):
            _flatten(child, value[key], values)
        return
    if (not isinstance(value, (tuple, list)) or
            len(value) != len(structure.children)):
        raise Irregular(_differs(structure, value))
    for child, part in zip(structure.children, value):
        _flatten(child, part, values)


def _checked(leaf: Leaf, value: Any) -> Any:
    if leaf.kind is not None:
        if type(value) is leaf.kind and (
                leaf.kind is not int or -2 ** 63 <= value < 2 ** 63):
            return value
        raise Irregular(_differs(leaf, value))
    array = array_of(value)
    if array is None or array.shape != leaf.shape or (
            # Types are compared first, because NumPy takes microseconds to make a
            # type's name.
            array.dtype is not _native_dtype(leaf.dtype) and
            array.dtype.name != leaf.dtype):
        raise Irregular(_differs(leaf, value))
    return array


@functools.lru_cache(maxsize=None)
def _native_dtype(name: str) -> Any:
    import numpy
    return numpy.dtype(name)


def _differs(structure: Any, value: Any) -> str:
    return (f"each sample must be like the first: {_name(structure)}, not "
            f"{_name_of(value)}")


def _name(structure: Any) -> str:
    if isinstance(structure, Node):
        return f"{structure.type.__name__} of {len(structure.children)}"
    if structure.kind is not None:
        return structure.kind.__name__
    return f"{structure.dtype} of shape {list(structure.shape)}"


def _name_of(value: Any) -> str:
    try:
        array = array_of(value)
    except Irregular as error:
        return str(error)
    if array is not None:
        return f"{array.dtype} of shape {list(array.shape)}"
    if isinstance(value, (tuple, list, collections.abc.Mapping)):
        return f"{type(value).__name__} of {len(value)}"
    return type(value).__name__


def collated(structure: Any, fields: List[Any]) -> Any:
    """Returns the batch that default_collate would make, from a batch's fields."""
    return _collated(structure, iter(fields))


def pinned(batch: Any) -> Any:
    """Returns the batch with its tensors in page-locked memory."""
    if hasattr(batch, "pin_memory"):
        return batch.pin_memory()
    if isinstance(batch, dict):
        return {key: pinned(value) for key, value in batch.items()}
    if not isinstance(batch, (tuple, list)):
        return batch
    parts = map(pinned, batch)
    return (type(batch)(*parts) if hasattr(batch, "_fields") else
            type(batch)(parts))


def _collated(structure: Any, fields: Any) -> Any:
    if isinstance(structure, Leaf):
        return next(fields)
    parts = [_collated(child, fields) for child in structure.children]
    kind = structure.type
    if structure.keys is not None:
        made = dict(zip(structure.keys, parts))
        try:
            return made if kind is dict else kind(made)
        except TypeError:  # the mapping's type does not take a dict
            return made
    if hasattr(kind, "_fields"):  # a named tuple
        return kind(*parts)
    if kind in (tuple, list):
        return parts
    try:
        return kind(parts)
    except TypeError:
        return parts
