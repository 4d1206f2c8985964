"""Makes batches of arrays or tensors that share the memory to which the daemon
wrote."""

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

# The largest number of formats that a loader remembers. It needs one for whole batches
# and one for last batches; all further formats are a reserve.
_MAX_FORMATS = 64


def resolve_framework(framework):
    """Checks the name of a framework. Returns "torch" for None if torch is imported,
    and "numpy" if it is not."""
    if framework is None:
        return "torch" if "torch" in sys.modules else "numpy"
    if framework not in ("torch", "numpy", "dlpack"):
        raise errors.InvalidArgument(
            'framework must be "torch", "numpy", "dlpack" or None, not '
            f"{framework!r}")
    return framework


# A framework is a function of (dtype, shape, copied) that returns a maker. A maker is a
# function of (buffer, offset): it returns a view of that part of the buffer, or a copy.
# A view keeps the buffer alive. Makers call as few functions as possible, because they
# run for each batch with cold CPU caches.


def _numpy_framework():
    import numpy
    array = numpy.ndarray
    # NumPy lacks bfloat16, so its bits become uint16.
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
    # torch makes a tensor from a NumPy array in half the time that it needs to make
    # one from a buffer.
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


# The attributes that batches have besides their fields.
_ATTRIBUTES = ("image_places", "of", "place_of", "sample_ids", "with_values")


def _identifiers(names):
    """Returns the names that a named tuple's fields get, as DataLoader's docstring
    describes."""
    made = []
    for name in names:
        name = re.sub(r"\W", "_", name)
        while (not name[:1].isalpha() or keyword.iskeyword(name) or
               name in made or name in _ATTRIBUTES):
            name = "f_" + name
        made.append(name)
    return tuple(made)


def _named_list(names):
    """Returns a list type whose items have names, like the items of a named tuple."""

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
    """Returns a type for batches: a named tuple or a list, which also holds the
    samples' numbers.

    Args:
      fields: tuple of the names of the dataset's fields.
      images: tuple of the indices of the fields that are images.
      is_list: whether the type is a list with names.
    """
    # No type checker can know the names, which are the dataset's.
    names = _identifiers(fields)
    base: Any = (_named_list(names) if is_list else
                 collections.namedtuple("Batch", names))  # type: ignore[misc]

    class Batch(base):
        """The fields of a batch, in the dataset's order.

        Attributes:
          sample_ids: int64 (N,), the samples' numbers in the dataset.
        """

        # The maker of the ids, and its arguments. Ids are made on demand, because few
        # users ask for them.
        _ids: Any = None
        _made_ids: Any = None
        image_places = images

        def with_values(self, values):
            """Returns a batch of the same samples and fields with other values."""
            made = Batch.of(values)
            made._ids = self._ids
            return made

        @staticmethod
        def place_of(field):
            """Returns the index of the dataset's field `field`."""
            return fields.index(field)

        def __reduce__(self):
            return _restored, (fields, images, is_list, tuple(self),
                               self.sample_ids)

        # This is not a cached_property. Before Python 3.12, cached_property takes a
        # lock, which may stay locked for ever in a forked child.
        @property
        def sample_ids(self):
            if self._made_ids is None and self._ids is not None:
                make, content = self._ids
                self._made_ids = make(bytearray(content), 0)
            return self._made_ids

    # The function that makes a batch from values. It runs for each batch, so it calls
    # the type directly, without any Python code.
    make: Any = Batch if is_list else functools.partial(tuple.__new__, Batch)
    Batch.of = staticmethod(make)
    return Batch


def _restored(fields, images, is_list, values, ids):
    """Makes a batch again that was copied or pickled.

    Args:
      fields, images, is_list: the arguments of _batch_type.
      ids: the batch's sample_ids.
    """
    made = _batch_type(fields, images, is_list).of(values)
    made._made_ids = ids
    return made


class View:
    """The memory in which a native loader describes its next batch.

    Attributes:
      native: a _native.BatchView.
      layout: the number of the last batch's layout; 0 if there was no batch.
      format: the _Format of that batch.
    """

    __slots__ = ("native", "layout", "format")

    def __init__(self):
        self.native = _native.BatchView()
        self.layout = 0
        self.format: Optional[_Format] = None


class _Format(NamedTuple):
    """The functions that make a batch from memory. All batches of one layout share
    them."""

    of: Callable  # makes a batch of values
    makers: list  # a maker for each field, with the field's offset
    ids: Optional[tuple]  # offset and bytes of the samples' numbers
    make_ids: Optional[Callable]  # the maker of these numbers


class Wrapper:
    """Makes a named tuple, or a list with names, of each of a loader's batches.

    Makes a format for the first batch of each layout, and reuses that format. Several
    threads may use a Wrapper, each with its own View.
    """

    def __init__(self, framework, gpu=None, ragged=None, makes_lists=False):
        """
        Args:
          framework: "torch", "numpy" or "dlpack"; with "dlpack", arrays on the host
            are NumPy's.
          gpu: the _gpu.Gpu that gets images, labels and arrays; None: they stay on the
            host.
          ragged: the _ragged.Form that arrays of different lengths get; None:
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
        """Warns that batches lie on the host; see _gpu.Gpu."""
        if self._gpu is not None:
            self._gpu.warn_of_refusal(why, stacklevel + 1)

    def another(self):
        """Makes an equal Wrapper that has its own static buffers."""
        return Wrapper(self._framework,
                       None if self._gpu is None else self._gpu.another(),
                       self._ragged, self._makes_lists)

    def close(self):
        """Frees what this object keeps. Batches that it has made stay valid."""
        if self._gpu is not None:
            self._formats.clear()  # formats hold memory of the GPU's
            self._gpu.close()

    def wrap(self, memory, view):
        """Makes the batch that lies in `memory`. A batch reader has read `memory`, and
        `view` describes it.

        On the host, images and arrays are writable views of the leased memory. Other
        fields are copies, so they do not keep the batch's lease alive.

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
                # The field's length differs from batch to batch, and each length would
                # need another format. The row splits also tell the length.
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
        """Returns a maker of images, labels or arrays."""
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
        numbers = fields[-1]  # the field of the samples' numbers
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
