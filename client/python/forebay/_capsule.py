"""DLPack's capsules. Needs CPython."""

from __future__ import annotations

import ctypes as c
from typing import Any

from . import _native

# Functions of our own: those of ctypes.pythonapi are everybody's.
_python = c.PyDLL(None)
_new = _python.PyCapsule_New
_new.restype, _new.argtypes = c.py_object, [c.c_void_p] * 3
_destructor = _native.lib.forebay_capsule_get_destructor(
    *(c.cast(function, c.c_void_p) for function in (
        _python.PyCapsule_IsValid, _python.PyCapsule_GetPointer)))


def new(managed: c.c_void_p, flags: int) -> Any:
    """A capsule that owns a managed tensor until a framework consumes it.

    Args:
      managed: what forebay_tensor_export has written.
      flags: that it had.
    """
    return _new(managed, _native.lib.forebay_capsule_name(flags), _destructor)
