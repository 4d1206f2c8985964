"""Makes DLPack's capsules. Needs CPython."""

from __future__ import annotations

import ctypes as c
from typing import Any

from . import _native

# A PyDLL of our own: types that are set on ctypes.pythonapi's functions would also
# change for other packages.
_python = c.PyDLL(None)
_new = _python.PyCapsule_New
_new.restype, _new.argtypes = c.py_object, [c.c_void_p] * 3
_destructor = _native.lib.forebay_capsule_get_destructor(
    *(c.cast(function, c.c_void_p) for function in (
        _python.PyCapsule_IsValid, _python.PyCapsule_GetPointer)))


def new(managed: c.c_void_p, flags: int) -> Any:
    """Makes a capsule that owns a managed tensor until a framework consumes it.

    Args:
      managed: the address that forebay_tensor_export has written.
      flags: the flags of that call.
    """
    return _new(managed, _native.lib.forebay_capsule_name(flags), _destructor)
