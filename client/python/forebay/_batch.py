"""Batches as arrays or tensors that share the memory the daemon wrote."""

from __future__ import annotations

import collections
import copy
import functools
import keyword
import math
import operator
import re
import sys
from typing import Any, Callable, List, NamedTuple, Optional

from . import _native, _ragged, _varying, errors

# Formats that a loader remembers: of whole batches, of last ones, and spare.
_MAX_FORMATS = 64


def resolve_framework(framework):
    """Checks a name; None becomes "torch" if torch is imported, else "numpy"."""
    if framework is None:
        return "torch" if "torch" in sys.modules else "numpy"
    if framework not in ("torch", "numpy", "dlpack"):
        raise errors.InvalidArgument(
            'framework must be "torch", "numpy", "dlpack" or None, not '
            f"{framework!r}")
    return framework


# A framework is a function of (dtype, shape, copied) that returns a maker. A
# maker is a function of (buffer, offset): it returns a view of this part of the
# buffer, which keeps the buffer alive, or a copy. Makers are as flat as can be,
# as they run for each batch with cold caches.


def _numpy_framework():
    import numpy
    array = numpy.ndarray
    # NumPy has no bfloat16: its bits become uint16.
    dtypes = {dtype: numpy.dtype(name.replace("bfloat16", "uint16"))
              for dtype, name in _native.DTYPE_NAMES.items()}

    def maker(dtype, shape, copied):
        show = functools.partial(array, shape, dtypes[dtype])
        if not copied:
            return show
        return lambda buffer, offset: show(buffer, offset).copy()

    return maker


def _torch_framework():
    import torch
    try:
        import numpy
    except ImportError:
        return _torch_alone(torch)
    array, from_numpy = numpy.ndarray, torch.from_numpy
    # By way of NumPy, torch needs half the time.
    dtypes = {dtype: numpy.dtype(name) for dtype, name in _native.DTYPE_NAMES.items()
              if name != "bfloat16" and hasattr(torch, name)}
    alone = _torch_alone(torch)

    def maker(dtype, shape, copied):
        if dtype not in dtypes:
            return alone(dtype, shape, copied)
        show = functools.partial(array, shape, dtypes[dtype])
        if copied:
            return lambda buffer, offset: from_numpy(
                show(buffer, offset).copy())
        return lambda buffer, offset: from_numpy(show(buffer, offset))

    return maker


def _torch_alone(torch):
    dtypes = {dtype: getattr(torch, name)
              for dtype, name in _native.DTYPE_NAMES.items() if hasattr(torch, name)}

    def maker(dtype, shape, copied):
        if dtype not in dtypes:
            raise errors.Unsupported(
                f"this torch has no {_native.DTYPE_NAMES[dtype]}, which an array of "
                'the dataset is of: use framework="numpy"')
        dtype, count = dtypes[dtype], math.prod(shape)
        if count == 0:
            return lambda _, __: torch.empty(shape, dtype=dtype)

        def show(buffer, offset):
            return torch.frombuffer(buffer, dtype=dtype, count=count,
                                    offset=offset).view(shape)

        if not copied:
            return show
        return lambda buffer, offset: show(buffer, offset).clone()

    return maker


@functools.lru_cache(maxsize=None)
def _framework(name):
    return _torch_framework() if name == "torch" else _numpy_framework()


# Of batches, besides their fields.
_ATTRIBUTES = ("image_places", "of", "place_of", "sample_ids", "with_values")


def _identifiers(names):
    """Names for a named tuple's fields, made as DataLoader describes."""
    made = []
    for name in names:
        name = re.sub(r"\W", "_", name)
        while (not name[:1].isalpha() or keyword.iskeyword(name) or
               name in made or name in _ATTRIBUTES):
            name = "f_" + name
        made.append(name)
    return tuple(made)


def _named_list(names):
    """A list type whose items have names, as those of a named tuple."""

    class List(list):
        """A list with names."""

        _fields = names

        def _asdict(self):
            return dict(zip(names, self))

    def named(place):
        return property(operator.itemgetter(place),
                        lambda batch, value: batch.__setitem__(place, value))

    for place, name in enumerate(names):
        setattr(List, name, named(place))
    return List


@functools.lru_cache(maxsize=None)
def _batch_type(fields, images, is_list):
    """A named tuple type, or list type, that also carries the ids of its samples.

    Args:
      fields: tuple of the names of the dataset's fields.
      images: tuple of the indices of its fields of images.
      is_list: whether it is a list with names instead.
    """
    # The names are the dataset's, which no type checker can know.
    names = _identifiers(fields)
    base: Any = (_named_list(names) if is_list else
                 collections.namedtuple("Batch", names))  # type: ignore[misc]

    class Batch(base):
        """The fields of a batch, in the dataset's order.

        Attributes:
          sample_ids: int64 (N,), the samples' numbers in the dataset.
        """

        # A maker and the bytes it needs; made on demand, as few ask for ids.
        _ids: Any = None
        _made_ids: Any = None
        image_places = images

        def with_values(self, values):
            """A batch of the same samples and fields with other values."""
            made = Batch.of(values)
            made._ids = self._ids
            return made

        @staticmethod
        def place_of(field):
            """The index of a field of the dataset."""
            return fields.index(field)

        def __reduce__(self):
            return _restored, (fields, images, is_list, tuple(self),
                               self.sample_ids)

        # Not a cached_property: until Python 3.12 that takes a lock, which a
        # forked child may find locked forever.
        @property
        def sample_ids(self):
            if self._made_ids is None and self._ids is not None:
                make, content = self._ids
                self._made_ids = make(bytearray(content), 0)
            return self._made_ids

    # Makes a batch of values. Runs for each batch: no Python code lies between.
    make: Any = Batch if is_list else functools.partial(tuple.__new__, Batch)
    Batch.of = staticmethod(make)
    return Batch


def _restored(fields, images, is_list, values, ids):
    """A batch that was copied or pickled.

    Args:
      fields, images, is_list: as _batch_type's.
      ids: its sample_ids.
    """
    made = _batch_type(fields, images, is_list).of(values)
    made._made_ids = ids
    return made


class View:
    """The memory in which a native loader describes its next batch.

    Attributes:
      native: a _native.BatchView.
      layout: of the batch before; 0 if there was none.
      format: the _Format of that batch.
    """

    __slots__ = ("native", "layout", "format")

    def __init__(self):
        self.native = _native.BatchView()
        self.layout = 0
        self.format: Optional[_Format] = None


class _Format(NamedTuple):
    """How a batch is made of memory; the same for batches of one layout."""

    of: Callable  # makes a batch of values
    makers: list  # of the fields, each with its offset
    ids: Optional[tuple]  # offset and bytes of the samples' numbers
    make_ids: Optional[Callable]  # of those bytes


class Wrapper:
    """Makes named tuples of a loader's batches, or lists with names.

    Works out a format for the first batch of a layout and reuses it. May be
    used by several threads, each with a view of its own.
    """

    def __init__(self, framework, gpu=None, ragged=None, makes_lists=False):
        """
        Args:
          framework: "torch", "numpy" or "dlpack"; of the last, NumPy's arrays lie
            on the host.
          gpu: a _gpu.Gpu for images, labels and arrays; None leaves them on the
            host.
          ragged: a _ragged.Form, of arrays that differ in length; None: as
            DataLoader's default.
          makes_lists: whether batches are lists, as torch's are.
        """
        self._makes_lists = makes_lists
        self._framework = framework
        self._maker = _framework(framework)
        self._gpu = gpu
        self._ragged = ragged or _ragged.form(None, 0, framework)
        self._formats = {}

    def warn_of_refusal(self, why, stacklevel):
        """See _gpu.Gpu."""
        if self._gpu is not None:
            self._gpu.warn_of_refusal(why, stacklevel + 1)

    def another(self):
        """Makes an equal wrapper, with static buffers of its own."""
        return Wrapper(self._framework,
                       None if self._gpu is None else self._gpu.another(),
                       self._ragged, self._makes_lists)

    def close(self):
        """Wraps no more batches; those that were stay."""
        if self._gpu is not None:
            self._formats.clear()  # they have the GPU's memory
            self._gpu.close()

    def wrap(self, memory, view):
        """The batch in `memory`, which a batch reader read and a View describes.

        On the host, images and arrays are the leased memory itself, writable. All
        else is copied, so that holding it keeps no batch alive.

        Returns:
          A named tuple, or list, of arrays and lists, with the attribute
          `sample_ids`.
        """
        if memory.layout != view.layout:
            view.format = self._format(view.native)
            view.layout = memory.layout
        of, makers, ids, make_ids = view.format
        made = of([make(memory, offset) for make, offset in makers])
        if ids is not None:
            made._ids = make_ids, memory.read(*ids)
        return made

    def _format(self, native):
        fields = native.fields[:native.info.field_count]
        for number, field in enumerate(fields):
            if field.row_splits_offset:
                # Its length differs from batch to batch; the row splits tell
                # it, too.
                field = fields[number] = copy.copy(field)
                field.shape[0] = field.bytes = 0
        key = b"".join(map(bytes, fields))
        found = self._formats.get(key)
        if found is None:
            if len(self._formats) >= _MAX_FORMATS:
                self._formats.clear()
            found = self._formats[key] = self._new_format(fields)
        return found

    def _number_maker(self, index, field, shape):
        """A maker of images, labels or arrays."""
        if field.place == _native.ON_DEVICE:
            return self._gpu.putter(index, field.dtype, shape)
        copied = field.kind not in (_native.IMAGE, _native.ARRAY)
        make = self._maker(field.dtype, shape, copied)
        if self._gpu is None:
            return make
        return self._gpu.copier(index, field.dtype, shape, make)

    def _new_format(self, fields):
        names: List[str] = []
        makers, ids, make_ids, images = [], None, None, []
        numbers = fields[-1]  # of the samples
        for index, field in enumerate(fields):
            shape = tuple(field.shape[:field.rank])
            if field.kind == _native.SAMPLE_ID:
                ids = field.offset, field.bytes
                make_ids = self._maker(field.dtype, shape, True)
                continue
            if field.kind == _native.IMAGE:
                images.append(len(names))
            names.append(field.name.decode(errors="replace"))
            if field.row_splits_offset and field.kind == _native.ARRAY:
                make = _ragged.maker(
                    self._ragged, self._maker, names[-1], field.dtype, shape[1:],
                    numbers.shape[0], field.row_splits_offset, self._gpu)
            elif field.row_splits_offset:
                make = _varying.maker(
                    field.kind, names[-1], numbers.shape[0],
                    field.row_splits_offset, numbers.offset)
            else:
                make = self._number_maker(index, field, shape)
            makers.append((make, field.offset))
        kind = _batch_type(tuple(names), tuple(images), self._makes_lists)
        return _Format(kind.of, makers, ids, make_ids)
