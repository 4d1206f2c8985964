"""The arrays of a batch, if the length of their first axis differs from sample to
sample."""

from __future__ import annotations

import math
import numbers
import struct
import sys
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

from . import _gpu, _native, errors


class Ragged(NamedTuple):
    """Arrays that differ in length, one after the other.

    Attributes:
      values: the elements, of shape (sum of lengths, ...).
      offsets: int64 (N + 1,). Sample i is values[offsets[i]:offsets[i + 1]].
    """

    values: Any
    offsets: Any


class Padded(NamedTuple):
    """Arrays that differ in length, each padded at its end to the longest.

    Attributes:
      values: the elements, of shape (N, largest length, ...).
      lengths: the lengths before padding, int64 (N,).
    """

    values: Any
    lengths: Any


class Form(NamedTuple):
    """The form in which a loader gives arrays that differ in length.

    Attributes:
      name: "list", "offsets", "nested" or "pad".
      padding: the value of the elements that "pad" adds.
    """

    name: str
    padding: float


def form(name: Optional[str], padding: Any, framework: str) -> Form:
    """Checks DataLoader's arguments `ragged` and `padding_value`.

    Raises:
      errors.InvalidArgument: an argument has a value that is not allowed.
      errors.Unsupported: the framework does not have this form.
    """
    if not isinstance(padding, bool) and isinstance(padding, numbers.Real):
        padding = getattr(padding, "item", lambda: padding)()  # a NumPy number
    if isinstance(padding, bool) or not isinstance(padding, (int, float)):
        raise errors.InvalidArgument(
            f"padding_value must be a number, not {padding!r}")
    if padding != 0 and name != "pad":
        raise errors.InvalidArgument(
            f'padding_value={padding!r} is of ragged="pad", but ragged is {name!r}')
    if name is None:
        return Form("offsets" if framework == "torch" else "list", padding)
    if name not in ("list", "offsets", "nested", "pad"):
        raise errors.InvalidArgument(
            'ragged must be "offsets", "nested", "pad", "list" or None, not '
            f"{name!r}")
    if name == "nested":
        _check_nested(framework)
    return Form(name, padding)


def _check_nested(framework: str) -> None:
    if framework != "torch":
        raise errors.Unsupported('ragged="nested" needs framework="torch"')
    import torch
    if not hasattr(torch, "jagged"):
        raise errors.Unsupported(
            f'ragged="nested" needs torch 2.2 or newer, and this is '
            f'{torch.__version__}: use "offsets" or "pad"')


_WHOLE = {_native.BOOL: (0, 1), _native.UINT8: (0, 2**8 - 1),
          _native.UINT16: (0, 2**16 - 1), _native.UINT32: (0, 2**32 - 1),
          _native.UINT64: (0, 2**64 - 1), _native.INT8: (-2**7, 2**7 - 1),
          _native.INT16: (-2**15, 2**15 - 1), _native.INT32: (-2**31, 2**31 - 1),
          _native.INT64: (-2**63, 2**63 - 1)}
_LARGEST = {_native.FLOAT16: 65504.0, _native.BFLOAT16: 3.3895313892515355e38,
            _native.FLOAT32: 3.4028234663852886e38}


def _check_padding(padding: float, name: str, dtype: int) -> None:
    if dtype in _WHOLE:
        least, most = _WHOLE[dtype]
        fits = padding == padding and least <= padding <= most and (
            padding == math.floor(padding))
        what = f"whole numbers from {least} to {most}"
    else:
        largest = _LARGEST.get(dtype, sys.float_info.max)
        fits = (padding != padding or abs(padding) == math.inf
                or abs(padding) <= largest)
        what = f"numbers up to {largest:g}"
    if not fits:
        raise errors.InvalidArgument(
            f"padding_value={padding!r} does not fit the field {name}, which has "
            f"{what}")


def maker(way: Form, view: Callable, name: str, dtype: int, shape: tuple, count: int,
          splits_offset: int, gpu: Optional[_gpu.Gpu]) -> Callable:
    """Returns a function of (memory, offset) that makes a batch's arrays of a field.

    Unless the arrays are padded, they share the batch's memory.

    Args:
      way: the form of the arrays.
      view: the framework, a function: see _batch.py.
      name: the field's name.
      dtype: the arrays' type.
      shape: the shape of one row (the elements at one index of the first axis).
      count: the number of samples.
      splits_offset: the offset of the row splits in the memory.
      gpu: the GPU to which torch's tensors are copied; None: they stay on the host.

    Raises:
      errors.InvalidArgument: the padding does not fit the dtype.
    """
    _check_padding(way.padding, name, dtype)
    move = _same if gpu is None else gpu.move
    unpack = struct.Struct(f"={count + 1}q").unpack
    view_splits = view(_native.INT64, (count + 1,), True)
    make = {"list": _list, "offsets": _offsets, "nested": _nested,
            "pad": _padded}[way.name]

    def made(memory: Any, offset: int) -> Any:
        bounds = unpack(memory.read(splits_offset, 8 * (count + 1)))
        values = view(dtype, (bounds[-1], *shape), False)(memory, offset)
        splits = view_splits(memory, splits_offset)
        return make(move(values), move(splits), bounds, way.padding)

    return made


def _same(value: Any) -> Any:
    return value


# Each function below makes the result of one form. Its arguments are the values, the
# row splits as an array, and the row splits as a list of numbers.


def _list(values: Any, splits: Any, bounds: Tuple[int, ...],
          padding: float) -> List[Any]:
    return [values[begin:end] for begin, end in zip(bounds, bounds[1:])]


def _offsets(values: Any, splits: Any, bounds: Tuple[int, ...],
             padding: float) -> Ragged:
    return Ragged(values, splits)


def _nested(values: Any, splits: Any, bounds: Tuple[int, ...],
            padding: float) -> Any:
    import torch
    module: Any = torch  # the type checker does not know nested tensors
    if hasattr(module.nested, "nested_tensor_from_jagged"):
        return module.nested.nested_tensor_from_jagged(values, splits)
    return module.nested.as_nested_tensor(
        _list(values, splits, bounds, padding), layout=module.jagged)


def _padded(values: Any, splits: Any, bounds: Tuple[int, ...],
            padding: float) -> Padded:
    lengths = splits[1:] - splits[:-1]
    longest = max((end - begin for begin, end in zip(bounds, bounds[1:])), default=0)
    shape = (len(bounds) - 1, longest, *values.shape[1:])
    if hasattr(values, "new_full"):  # a torch tensor
        rows = values.new_full(shape, padding)
    else:
        import numpy
        rows = numpy.full(shape, padding, values.dtype)
    for row, begin, end in zip(rows, bounds, bounds[1:]):
        row[:end - begin] = values[begin:end]
    return Padded(rows, lengths)
