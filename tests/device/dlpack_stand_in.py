"""Stands in for a framework that takes tensors by DLPack, such as CuPy and JAX."""

import ctypes as c
import math

import numpy

import cuda_driver

_api = c.PyDLL(None)
_api.PyCapsule_GetName.restype = c.c_char_p
_api.PyCapsule_GetName.argtypes = [c.py_object]
_api.PyCapsule_GetPointer.restype = c.c_void_p
_api.PyCapsule_GetPointer.argtypes = [c.py_object, c.c_char_p]
_api.PyCapsule_SetName.argtypes = [c.py_object, c.c_char_p]
_USED = {b"dltensor": b"used_dltensor",
         b"dltensor_versioned": b"used_dltensor_versioned"}
# The kinds of elements of NumPy, by DLPack's numbers for them.
_KINDS = {0: "i", 1: "u", 2: "f", 4: "u", 6: "b"}


class _Tensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("device_type", c.c_int32),
                ("ordinal", c.c_int32), ("rank", c.c_int32),
                ("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16),
                ("shape", c.POINTER(c.c_int64)),
                ("strides", c.POINTER(c.c_int64)), ("byte_offset", c.c_uint64)]


_DELETER = c.CFUNCTYPE(None, c.c_void_p)


class _Managed(c.Structure):
    _fields_ = [("tensor", _Tensor), ("context", c.c_void_p),
                ("deleter", _DELETER)]


class _Versioned(c.Structure):
    _fields_ = [("major", c.c_uint32), ("minor", c.c_uint32),
                ("context", c.c_void_p), ("deleter", _DELETER),
                ("flags", c.c_uint64), ("tensor", _Tensor)]


class Array:
    """A tensor that a framework has taken; it owns the memory until it is freed.

    Attributes:
      version: DLPack's version, or None if the tensor has no version.
      flags: the flags of a versioned tensor, or None.
      code: DLPack's number for the kind of its elements.
    """

    def __init__(self, capsule):
        name = _api.PyCapsule_GetName(capsule)
        self._address = _api.PyCapsule_GetPointer(capsule, name)
        _api.PyCapsule_SetName(capsule, _USED[name])
        versioned = name == b"dltensor_versioned"
        self._managed = (_Versioned if versioned else _Managed).from_address(
            self._address)
        self.version = ((self._managed.major, self._managed.minor)
                        if versioned else None)
        self.flags = self._managed.flags if versioned else None
        tensor = self._managed.tensor
        assert tensor.device_type == 2 and tensor.lanes == 1
        assert tensor.byte_offset == 0
        self.code = tensor.code
        self.address = tensor.data or 0
        self.shape = tuple(tensor.shape[:tensor.rank])
        self.dtype = numpy.dtype(_KINDS[tensor.code] + str(tensor.bits // 8))
        strides = tuple(tensor.strides[:tensor.rank])
        assert strides == tuple(math.prod(self.shape[i + 1:])
                                for i in range(tensor.rank))
        self.ordinal = tensor.ordinal

    def numpy(self, stream=None):
        """Returns a copy on the host, which is made on `stream` behind its queued
        work."""
        copied = numpy.empty(self.shape, self.dtype)
        if copied.nbytes:
            (stream or cuda_driver.stream(self.ordinal)).read(
                self.address, copied.ctypes.data, copied.nbytes)
        return copied

    def free(self):
        self._managed.deleter(self._address)
        self._managed = None

    def __del__(self):
        if self._managed is not None:
            self.free()


def from_dlpack(tensor, stream=None, **arguments):
    """Takes a tensor as frameworks do.

    Args:
      stream: a cuda_driver.Stream; None: the current stream of the tensor's GPU.
      arguments: further arguments of __dlpack__.
    """
    kind, ordinal = tensor.__dlpack_device__()
    assert kind == 2
    stream = stream or cuda_driver.stream(ordinal)
    return Array(tensor.__dlpack__(stream=stream.cuda_stream, **arguments))
