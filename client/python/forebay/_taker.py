"""Takes batches off a native loader: what runs for each of them.

In C++ where the interpreter can load the module _ctaker (CPython), else by
ctypes: the same to those who use it, but slower.
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
    # A weak reference passes itself, too.
    function.restype, function.argtypes = None, [c.c_void_p, c.py_object]
    return function


_release = _release_function()


def _read(memory, offset, length):
    return memory[offset:offset + length]


@functools.lru_cache(maxsize=None)
def _memory_type(size):
    """A buffer of `size` bytes that knows its batch."""
    return type("Memory", (c.c_char * size,), {
        "__slots__": ("layout", "next_sample", "batch", "lease"),
        "read": _read})


class CtypesTaker:
    """Waits for the batches of one loader; used by one thread at a time.

    A signal handler may raise after each step of Python: a batch that was taken
    is kept until the caller, who hands it out, says that it need not be.

    Attributes:
      kept: the memory taken last; None, also by the caller's hand: none is.
    """

    _view: Any = None  # of one that was not made to the end
    kept: Any = None

    def __init__(self, loader, seconds, view, owner):
        """
        Args:
          loader: the native loader's address.
          seconds: that take() waits at most.
          view: a _native.BatchView, which tells of the batch taken last.
          owner: what keeps the loader alive.
        """
        self._owner = owner
        self._view = view
        self._next_view = functools.partial(
            _native.lib.forebay_loader_next_view, loader, seconds,
            c.byref(view))

    def take(self):
        """The memory that is kept, else of the next batch, or a status: there
        is none.

        Memory is a writable buffer, whose lease ends with it, and has the
        attributes `layout`, which grows when the fields are not those of the
        batch before, and `next_sample`, of this rank's epoch, after its last,
        and the method `read(offset, length)`, which copies bytes.
        """
        if self.kept is None:
            # Not null: a batch that was taken, and not kept yet.
            if not self._view.batch:
                status = self._next_view()
                if status != _native.OK:
                    return status
            batch, data, size, layout, next_sample = _HEAD.unpack_from(
                self._view)
            memory = _memory_type(size).from_address(data)
            memory.layout, memory.next_sample = layout, next_sample
            memory.batch, memory.lease = batch, None
            self.kept = memory
        memory = self.kept
        self._view.batch = None
        if memory.lease is None:
            # Ends with the memory. Not by __del__: a signal's exception, such
            # as KeyboardInterrupt, is lost if it is raised in Python code there.
            memory.lease = weakref.ref(
                memory, functools.partial(_release, memory.batch))
        return memory

    def __del__(self):
        batch = None if self._view is None else self._view.batch
        if self.kept is not None and self.kept.lease is None:
            batch = self.kept.batch  # nobody else ends its lease
        if batch:
            _native.lib.forebay_batch_release(batch)


def _load_ctaker():
    """The module beside libforebay.so; None: not to be used here."""
    # Free-threaded interpreters, and others than CPython, have no stable ABI.
    if _SUFFIX not in importlib.machinery.EXTENSION_SUFFIXES:
        return None
    path = _native.path.with_name("_ctaker" + _SUFFIX)
    loader = importlib.machinery.ExtensionFileLoader("forebay._ctaker",
                                                     str(path))
    spec = importlib.machinery.ModuleSpec("forebay._ctaker", loader,
                                          origin=str(path))
    try:
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
    except ImportError:  # it is not installed
        return None
    return module


_ctaker = _load_ctaker()


def _address(function):
    return c.cast(function, c.c_void_p).value


def new_taker(loader, seconds, view, owner):
    """A taker as CtypesTaker says, with the same arguments."""
    if _ctaker is None:
        return CtypesTaker(loader, seconds, view, owner)
    lib = _native.lib
    return _ctaker.Taker(
        _address(lib.forebay_loader_next_view),
        _address(lib.forebay_batch_release), loader, seconds,
        c.addressof(view), (view, owner))
