"""Reads the batches of a native loader: the code that runs for each batch.

In CPython, the module _cbatch_reader does this work in C++. Interpreters that cannot
load it use ctypes, which has the same interface but is slower.
"""

from __future__ import annotations

import ctypes as c
import functools
import importlib.machinery
import importlib.util
import struct
import weakref
from typing import Any

from . import _native

# A _native.BatchView begins with batch, data, bytes, layout and next_sample.
_HEAD = struct.Struct("@PPQQQ")
_SUFFIX = ".abi3.so"


def _release_function():
    function = _native.lib["forebay_batch_release"]
    # The second argument is the weak reference, which its callback gets.
    function.restype, function.argtypes = None, [c.c_void_p, c.py_object]
    return function


_release = _release_function()


def _read(memory, offset, length):
    return memory[offset:offset + length]


@functools.lru_cache(maxsize=None)
def _memory_type(size):
    """Returns the type of a buffer of `size` bytes that knows its batch."""
    return type("Memory", (c.c_char * size,), {
        "__slots__": ("layout", "next_sample", "batch", "lease"),
        "read": _read})


class CtypesBatchReader:
    """Waits for the batches of a loader. One thread at a time uses it.

    A signal handler may raise after each step of Python. A batch that was read
    therefore stays pending until the caller hands it out.

    Attributes:
      pending: the memory that was read last; None if there is none. The caller sets it
        to None when it hands the batch out.
    """

    _view: Any = None  # stays None if __init__ fails
    pending: Any = None

    def __init__(self, loader, seconds, view, owner):
        """
        Args:
          loader: the native loader's address.
          seconds: the longest wait of next().
          view: the _native.BatchView that describes the batch which was read last.
          owner: an object that keeps the loader alive.
        """
        self._owner = owner
        self._view = view
        self._next_view = functools.partial(
            _native.lib.forebay_loader_next_view, loader, seconds,
            c.byref(view))

    def next(self):
        """Returns the pending memory, or waits for the memory of the next batch.
        Returns a status if no batch comes.

        The memory is a writable buffer; the lease ends when the buffer is freed. Its
        attribute `layout` grows when the fields differ from those of the previous
        batch. `next_sample` is the position, in this rank's epoch, after the batch's
        last sample. `batch` is the native batch's address. The method `read(offset,
        length)` copies bytes.
        """
        if self.pending is None:
            # If the view has a batch already, a signal has interrupted the previous
            # call after it had read that batch.
            if not self._view.batch:
                status = self._next_view()
                if status != _native.OK:
                    return status
            batch, data, size, layout, next_sample = _HEAD.unpack_from(
                self._view)
            memory = _memory_type(size).from_address(data)
            memory.layout, memory.next_sample = layout, next_sample
            memory.batch, memory.lease = batch, None
            self.pending = memory
        memory = self.pending
        self._view.batch = None
        if memory.lease is None:
            # A weak reference's callback ends the lease when the memory is freed.
            # __del__ would not do: Python drops exceptions raised there, such as a
            # signal's KeyboardInterrupt.
            memory.lease = weakref.ref(
                memory, functools.partial(_release, memory.batch))
        return memory

    def __del__(self, lib=_native.lib):
        batch = None if self._view is None else self._view.batch
        if self.pending is not None and self.pending.lease is None:
            batch = self.pending.batch  # nothing else would end its lease
        if batch:
            lib.forebay_batch_release(batch)


def _load_cbatch_reader():
    """Loads the module _cbatch_reader, which lies beside libforebay.so. Returns None if
    this interpreter cannot load it."""
    # Only CPython has a stable ABI, but not its free-threaded build.
    if _SUFFIX not in importlib.machinery.EXTENSION_SUFFIXES:
        return None
    name = "_cbatch_reader"
    path = str(_native.path.with_name(name + _SUFFIX))
    loader = importlib.machinery.ExtensionFileLoader(f"forebay.{name}", path)
    spec = importlib.machinery.ModuleSpec(f"forebay.{name}", loader, origin=path)
    try:
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
    except ImportError:  # it is not installed
        return None
    return module


_cbatch_reader = _load_cbatch_reader()


def _address(function):
    return c.cast(function, c.c_void_p).value


def create(loader, seconds, view, owner):
    """Makes a batch reader. Its interface and its arguments are those of
    CtypesBatchReader."""
    if _cbatch_reader is None:
        return CtypesBatchReader(loader, seconds, view, owner)
    lib = _native.lib
    return _cbatch_reader.BatchReader(
        _address(lib.forebay_loader_next_view),
        _address(lib.forebay_batch_release), loader, seconds,
        c.addressof(view), (view, owner))
