"""Tensors on a GPU for any framework: CuPy, JAX and others, by DLPack."""

from __future__ import annotations

import ctypes as c
from typing import Any, Callable, Optional, Tuple

from . import _native, errors
from ._gpu import Gpu

_CUDA = 2  # DLPack's number of CUDA's devices
_LEGACY_STREAM = 1
_VERSIONED, _IS_COPIED = 1, 2  # forebay_export_flags


class _Pool:
    """The native pool of one GPU's memory, open as long as this lives."""

    handle: Any = None  # stays None if __init__ fails

    def __init__(self, ordinal: int):
        self._close = _native.lib.forebay_tensor_pool_close
        handle = c.c_void_p()
        _native.check(
            _native.lib.forebay_tensor_pool_open(ordinal, c.byref(handle)))
        self.handle = handle

    def __del__(self):
        if self.handle:
            self._close(self.handle)


class DeviceTensor:
    """A tensor on a GPU, in C order, for frameworks that take it by DLPack:
    `cupy.from_dlpack(tensor)`, `jax.dlpack.from_dlpack(tensor)`, without a copy.

    What a framework has made of it is writable, and keeps its memory. That goes
    to a later batch once it was dropped, after all that the stream which the
    framework has given by then has queued. So that stream exists until then.
    After a fork, the child cannot use it.

    Attributes:
      shape: tuple of int.
      dtype: str, such as "float16".
      device: str, such as "cuda:0".
    """

    _handle: Any = None  # stays None if __init__ fails

    def __init__(self, handle: c.c_void_p, dtype: str, shape: tuple,
                 ordinal: int):
        """Owns a native tensor; loaders call this."""
        self._release = _native.lib.forebay_tensor_release
        self._handle = handle
        self.shape, self.dtype, self.device = shape, dtype, f"cuda:{ordinal}"
        self._ordinal = ordinal

    def __del__(self):
        if self._handle:
            self._release(self._handle)

    def __repr__(self) -> str:
        return f"DeviceTensor(shape={self.shape}, {self.dtype}, {self.device})"

    def __len__(self) -> int:
        return self.shape[0]

    def __dlpack_device__(self) -> Tuple[int, int]:
        return _CUDA, self._ordinal

    def _copy(self) -> "DeviceTensor":
        handle = c.c_void_p()
        _native.check(_native.lib.forebay_tensor_copy(
            self._handle, c.byref(handle)))
        return DeviceTensor(handle, self.dtype, self.shape, self._ordinal)

    def __dlpack__(self, *, stream: Optional[int] = None,
                   max_version: Optional[Tuple[int, int]] = None,
                   dl_device: Optional[Tuple[int, int]] = None,
                   copy: Optional[bool] = None) -> Any:
        """A DLPack capsule: see the array API standard.

        Args:
          stream: which goes on only once the tensor is made: a CUstream, 1 (None,
            too) for the legacy default stream, 2 for the per-thread one, or -1
            for none. Memory that was given without a stream, or on 2, is used
            again only when the GPU is at rest, which next() may wait for.
          max_version: the newest DLPack that the framework knows.
          dl_device: where it wants the tensor, if not where it lies.
          copy: whether it wants a copy; None: no.

        Raises:
          BufferError: it wants the tensor elsewhere.
          errors.InvalidArgument: there is no such stream.
          errors.StateError: a CUDA graph captures the stream, or this is a forked
            child.
        """
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"the tensor lies on {self.device}, not on DLPack's "
                              f"device {tuple(dl_device)}")
        if stream is None:
            stream = _LEGACY_STREAM
        if type(stream) is not int:
            raise errors.InvalidArgument(
                f"stream must be an integer or None, not {stream!r}")
        tensor = self._copy() if copy else self
        versioned = max_version is not None and max_version[0] >= 1
        flags = (_VERSIONED | (_IS_COPIED if copy else 0)) if versioned else 0
        from . import _capsule  # not every interpreter has what it needs
        managed = c.c_void_p()
        _native.check(_native.lib.forebay_tensor_export(
            tensor._handle, flags, stream, c.byref(managed)))
        return _capsule.new(managed, flags)


class DlpackGpu(Gpu):
    """Makes DeviceTensors."""

    def __init__(self, number: str):
        """
        Args:
          number: CUDA's, of the GPU; "" is the first.

        Raises:
          errors.InvalidArgument: there is no such GPU.
          errors.Unsupported: there is no plug-in, or no driver.
        """
        super().__init__(int(number or 0))
        self._pool: Optional[_Pool] = _Pool(self.ordinal)

    def putter(self, index: int, dtype: int, shape: tuple) -> Callable:
        if self._pool is None:
            raise errors.StateError("the loader is closed")
        pool: _Pool = self._pool
        ordinal = self.ordinal
        name = _native.DTYPE_NAMES[dtype]
        native = _native.lib.forebay_tensor_make

        def make(memory, _):
            handle = c.c_void_p()
            status = native(pool.handle, memory.batch, index, c.byref(handle))
            if status != _native.OK:
                _native.check(status)
            return DeviceTensor(handle, name, shape, ordinal)

        return make

    def copier(self, index: int, dtype: int, shape: tuple,
               make_host: Callable) -> Callable:
        return self.putter(index, dtype, shape)

    def close(self) -> None:
        self._pool = None
