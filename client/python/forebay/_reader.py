"""Native readers, which read single samples of a dataset, by number."""

from __future__ import annotations

import ctypes as c
import json
import os

from . import _native, errors
from ._connection import SLICE_SECONDS, _build_pipeline, _wait

MAX_FETCH = 1024  # the most samples of one fetch


class Reader:
    """A native reader, open at one daemon.

    A single thread at a time may use it, in the process that created it.

    Attributes:
      dataset_version: bytes.
      dataset_size: int.
      classes: list of str, in label order.
    """

    def __init__(self, options, transform, decode):
        """Opens the reader, and waits until the dataset is indexed.

        Args:
          options: dict of fields of _native.LoaderOptions.
          transform: a Transform or None.
          decode: whether images come as pixels.
        """
        self._lib = _native.lib
        self._handle = c.c_void_p()  # null until it is created
        self._pid = os.getpid()
        self._is_asked = False
        pipeline = _build_pipeline(transform)
        try:
            _native.check(self._lib.forebay_reader_create(
                c.byref(_native.loader_options(options)), pipeline, decode,
                c.byref(self._handle)))
        finally:
            self._lib.forebay_pipeline_free(pipeline)
        _wait(lambda: self._lib.forebay_reader_open(self._handle,
                                                    SLICE_SECONDS))
        info = _native.ReaderInfo()
        _native.check(
            self._lib.forebay_reader_get_info(self._handle, c.byref(info)))
        self.dataset_version = bytes(info.dataset_version)
        self.dataset_size = info.dataset_size
        self._fields = range(info.field_count)
        self._names = options["fields"]  # of tar shards, which may have JSON
        self._decode = decode
        self.classes = _native.class_names(
            self._lib.forebay_reader_class_name, self._handle, info.class_count)

    def fetch(self, samples):
        """Fetches 1 to MAX_FETCH samples by number. Returns a list with a tuple of
        values for each sample.

        Raises:
          errors.ForebayError: the error of the first sample that failed.
        """
        self._ask(samples)
        return [tuple(self._value(at, number, field) for field in self._fields)
                for at, number in enumerate(samples)]

    def _ask(self, samples):
        """Waits until the samples are in the reader's memory. Raises as `fetch` does,
        but all samples that did not fail are in the memory."""
        numbers = (c.c_int64 * len(samples))(*samples)
        self._is_asked = True
        try:
            _native.check(self._lib.forebay_reader_ask(
                self._handle, numbers, len(numbers)))
            _wait(lambda: self._lib.forebay_reader_await(self._handle,
                                                         SLICE_SECONDS))
        except errors.PASSING:
            raise  # the next try uses another reader
        except errors.ForebayError:
            self._is_asked = False
            raise
        self._is_asked = False

    def is_usable(self):
        """Whether the reader can be used. It cannot be used in a forked child, or if an
        answer was not awaited because the daemon has gone, for example."""
        return self._pid == os.getpid() and not self._is_asked

    def _value(self, at, number, index):
        field = _native.Field()
        _native.check(self._lib.forebay_reader_field(
            self._handle, at, index, c.byref(field)))
        kind = field.kind
        if kind == _native.LABEL:
            return c.c_int64.from_address(field.data).value
        if kind == _native.ARRAY or kind == _native.IMAGE and self._decode:
            return _array(field)
        content = c.string_at(field.data, field.bytes)
        if kind == _native.TEXT:
            return content.decode()
        if kind != _native.JSON:
            return content
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            name = os.fsdecode(self._names[index])
            raise errors.DataError(
                f"sample {number}: {name}: is not JSON: {error}") from None

    def __del__(self):
        if self._handle:
            self._lib.forebay_reader_free(self._handle)


def _array(field):
    """Copies a field as an array."""
    import numpy
    shape = tuple(field.shape[:field.rank])
    # NumPy lacks bfloat16, so its bits become uint16.
    name = _native.DTYPE_NAMES.get(field.dtype, "").replace("bfloat16", "uint16")
    if not name:
        raise errors.DataError(
            f"a field has type {field.dtype}, which this client does not know: "
            "upgrade it")
    made = numpy.empty(shape, name)
    c.memmove(made.ctypes.data, field.data, field.bytes)
    return made
