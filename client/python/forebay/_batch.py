"""Batches as arrays or tensors of the very memory that the daemon wrote."""

from __future__ import annotations

import collections
import ctypes as c
import functools
import sys

from . import _native, errors


class _Lease:
    """Ends the batch's lease when the last array of it is gone."""

    __slots__ = ("_handle", "_release")

    def __init__(self, handle):
        self._handle = handle
        self._release = _native.lib.forebay_batch_release

    def __del__(self):
        self._release(self._handle)


def resolve_framework(framework):
    """None becomes "torch" if torch is imported already, else "numpy"."""
    if framework is None:
        return "torch" if "torch" in sys.modules else "numpy"
    if framework not in ("torch", "numpy"):
        raise errors.InvalidArgument(
            f'framework must be "torch", "numpy" or None, not {framework!r}')
    return framework


def _numpy_maker():
    import numpy
    # NumPy has no bfloat16: its bits come as uint16.
    dtypes = {
        _native.UINT8: numpy.dtype("uint8"),
        _native.FLOAT16: numpy.dtype("float16"),
        _native.BFLOAT16: numpy.dtype("uint16"),
        _native.FLOAT32: numpy.dtype("float32"),
        _native.INT64: numpy.dtype("int64"),
    }

    def make(memory, dtype, shape, copy):
        array = numpy.frombuffer(memory, dtypes[dtype]).reshape(shape)
        return array.copy() if copy else array

    def empty(dtype, shape):
        return numpy.empty(shape, dtypes[dtype])

    return make, empty


def _torch_maker():
    import torch
    dtypes = {
        _native.UINT8: torch.uint8,
        _native.FLOAT16: torch.float16,
        _native.BFLOAT16: torch.bfloat16,
        _native.FLOAT32: torch.float32,
        _native.INT64: torch.int64,
    }

    def make(memory, dtype, shape, copy):
        tensor = torch.frombuffer(memory, dtype=dtypes[dtype]).view(shape)
        return tensor.clone() if copy else tensor

    def empty(dtype, shape):
        return torch.empty(shape, dtype=dtypes[dtype])

    return make, empty


@functools.lru_cache(maxsize=None)
def _maker(framework):
    return _torch_maker() if framework == "torch" else _numpy_maker()


@functools.lru_cache(maxsize=None)
def _tuple_type(names):
    """A named tuple that also carries the ids of its samples."""
    base = collections.namedtuple("Batch", names)
    return type("Batch", (base,), {
        "__doc__": "The fields of a batch, in the dataset's order.\n\n"
                   "sample_ids: int64 (N,), the samples' numbers in the "
                   "dataset.",
        "__module__": __name__,
        "sample_ids": None,
    })


def wrap(handle, framework):
    """The batch of a forebay_batch handle, which it takes over.

    Images are the leased memory itself, writable; labels and ids are copied, so
    that keeping them keeps no batch alive.

    Returns:
      A named tuple of arrays, with the attribute `sample_ids`, and the number
      of samples.
    """
    lease = _Lease(handle)
    info = _native.BatchInfo()
    _native.lib.forebay_batch_get_info(handle, c.byref(info))
    make, empty = _maker(framework)
    field = _native.Field()
    names, values, sample_ids = [], [], None
    for index in range(info.field_count):
        _native.check(
            _native.lib.forebay_batch_field(handle, index, c.byref(field)))
        shape = tuple(field.shape[:field.rank])
        if field.bytes == 0:
            value = empty(field.dtype, shape)
        else:
            memory = (c.c_ubyte * field.bytes).from_address(field.data)
            memory.lease = lease
            value = make(memory, field.dtype, shape,
                         copy=field.kind != _native.IMAGE)
        if field.kind == _native.SAMPLE_ID:
            sample_ids = value
        else:
            names.append(field.name.decode())
            values.append(value)
    batch = _tuple_type(tuple(names))(*values)
    batch.sample_ids = sample_ids
    return batch, info.sample_count
