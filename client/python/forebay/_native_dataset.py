"""Makes native datasets of the sources in _source.py."""

from __future__ import annotations

import csv
import ctypes as c
import io
import os

from . import _native, errors
from ._lmdb import LMDB
from ._source import (Arrays, Concat, Folder, LabelledFiles, NpyClasses, Rows,
                      Subset)

_KINDS = {"image": _native.IMAGE, "label": _native.LABEL,
          "array": _native.ARRAY}
_DTYPES = {name: dtype for dtype, name in _native.DTYPE_NAMES.items()
           if name != "bfloat16"}  # NumPy lacks bfloat16
_NAMED_PARTS = 3


class NativeDataset:
    """A native dataset, for a native loader's options. The dataset lives as long as
    this object.

    A loader that reconnects sends the dataset again. A forked child may use the object
    that it inherits.

    Attributes:
      handle: ctypes.c_void_p, a forebay_dataset.
    """

    def __init__(self, make, *arguments):
        """Makes the dataset by `make`, a native function. `make` gets the arguments,
        then an out pointer."""
        self.handle = c.c_void_p()
        _native.check(make(*arguments, c.byref(self.handle)))

    def __del__(self, lib=_native.lib):
        if self.handle:
            lib.forebay_dataset_free(self.handle)


def describe(source):
    """Returns a source's location, for messages."""
    if isinstance(source, (Folder, LabelledFiles, NpyClasses, Rows, LMDB)):
        return os.fsdecode(source.path)
    if isinstance(source, Subset):
        return describe(source.source)
    if isinstance(source, Arrays):
        return "arrays in memory"
    parts = [describe(part) for part in source.parts]
    more = len(parts) - _NAMED_PARTS
    return " + ".join(parts[:_NAMED_PARTS]) + (f" + {more} more" if more > 0
                                               else "")


def build(source, place_options):
    """Makes the NativeDataset of a source.

    Args:
      place_options: a function that returns the _native.LoaderOptions for a Folder,
        LabelledFiles, NpyClasses, Rows or LMDB.
    """
    lib = _native.lib
    if isinstance(source, (Folder, NpyClasses, Rows, LMDB)):
        place = NativeDataset(lib.forebay_dataset_from_place,
                              c.byref(place_options(source)))
        keys = source.keys if isinstance(source, LMDB) else None
        return place if keys is None else _select(place, keys)
    if isinstance(source, LabelledFiles):
        table = _table(source)
        return NativeDataset(lib.forebay_dataset_from_table,
                             c.byref(place_options(source)), table, len(table))
    if isinstance(source, Arrays):
        return _build_arrays(source)
    if isinstance(source, Subset):
        whole = build(source.source, place_options)
        indices = _int64(source.indices, "indices")
        return NativeDataset(lib.forebay_dataset_subset, whole.handle,
                             indices.ctypes.data, len(indices))
    if isinstance(source, Concat):
        parts = [build(part, place_options) for part in source.parts]
        handles = (c.c_void_p * len(parts))(*(p.handle for p in parts))
        return NativeDataset(lib.forebay_dataset_concatenate, handles,
                             len(parts))
    raise errors.InvalidArgument(f"{source!r} is not a source of samples")


def from_workers(uri, identity, samples, fields, affinity_workers=0, live=False,
                 host_fields=0):
    """Makes the NativeDataset of samples that workers make.

    Args:
      uri: bytes, for people.
      identity: 16 bytes, equal for equal datasets.
      fields: tuples of (name, NumPy's name of the type, shape of one sample).
      affinity_workers: worker k % affinity_workers makes sample k; 0: any worker makes
        any sample.
      live: whether one worker makes each sample once. A new loader then joins the other
        loaders at their present sample.
      host_fields: the number of first fields that lie on the host even for loaders on
        GPUs.
    """
    native = (_native.Array * len(fields))()
    for into, (name, dtype, shape) in zip(native, fields):
        into.name, into.kind = name.encode(), _native.ARRAY
        into.dtype, into.rank = _DTYPES[dtype], len(shape) + 1
        into.shape[1:len(shape) + 1] = shape
    made = NativeDataset(_native.lib.forebay_dataset_from_producers, uri,
                         identity, samples, native, len(native))
    if affinity_workers:
        _native.check(_native.lib.forebay_dataset_set_lanes(made.handle,
                                                            affinity_workers))
    if live:
        _native.check(_native.lib.forebay_dataset_set_live(made.handle))
    if host_fields:
        _native.check(_native.lib.forebay_dataset_set_host_fields(made.handle,
                                                                  host_fields))
    return made


def _select(place, keys):
    lengths = (c.c_uint32 * len(keys))(*map(len, keys))
    return NativeDataset(_native.lib.forebay_dataset_select, place.handle,
                         b"".join(keys), lengths, len(keys))


def _table(files):
    """Returns the CSV that lists LabelledFiles."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("image", "label"))
    writer.writerows(zip(files.names, files.labels.tolist()))
    return os.fsencode(text.getvalue())


def _int64(values, name):
    import numpy
    array = numpy.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iub"):
        raise errors.InvalidArgument(
            f"{name} must be integers, one after the other, not "
            f"{array.dtype} {array.shape}")
    return numpy.ascontiguousarray(array, dtype=numpy.int64)


def _build_arrays(source):
    import numpy
    copied = []  # keeps the arrays alive until the library has copied them
    native = (_native.Array * len(source.fields))()
    for into, (name, kind, array) in zip(native, source.fields):
        array = (_int64(array, name) if kind == "label" else
                 numpy.ascontiguousarray(array))
        if kind not in _KINDS:
            raise errors.InvalidArgument(
                f"{name}: a field is an image, a label or an array, not "
                f"{kind!r}")
        dtype = _DTYPES.get(array.dtype.name)
        if dtype is None or not array.dtype.isnative:
            raise errors.Unsupported(
                f"{name}: batches cannot have {array.dtype}")
        # If the rank is too large for the struct, the library refuses it.
        shape = array.shape[:len(into.shape)]
        copied.append(array)
        into.name, into.kind, into.dtype = name.encode(), _KINDS[kind], dtype
        into.rank, into.data = array.ndim, array.ctypes.data
        into.shape[:len(shape)] = shape
    return NativeDataset(_native.lib.forebay_dataset_from_arrays,
                         describe(source).encode(), native, len(native))
