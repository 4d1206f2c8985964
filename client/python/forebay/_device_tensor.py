"""Tensors on a GPU for any framework: CuPy, JAX and others, by DLPack."""

from __future__ import annotations

import ctypes as c
from typing import Any, Callable, Optional, Tuple

from . import _native, errors
from ._gpu import Gpu

_CUDA = 2  # DLPack's number of CUDA's devices
_LEGACY_STREAM = 1
_VERSIONED, _IS_COPIED = 1, 2  # forebay_export_flags
_MAX_GPUS = 1 << 31


class _Pool:
    """The native pool of a GPU's memory, open as long as this object lives."""

    handle: Any = None  # stays None if __init__ fails

    def __init__(self, ordinal: int):
        self._close = _native.lib.forebay_tensor_pool_close
        self.handle = c.c_void_p()
        _native.check(
            _native.lib.forebay_tensor_pool_open(ordinal, c.byref(self.handle)))

    def __del__(self):
        if self.handle:
            self._close(self.handle)


class DeviceTensor:
    """A tensor on a GPU, in C order, for frameworks that take it by DLPack without
    a copy, such as `cupy.from_dlpack(tensor)`.

    A framework's array of the tensor is writable, and keeps the tensor's memory. Once
    the array is dropped, a later batch reuses the memory. The reuse waits for all work
    queued by then on the stream that the framework gave, so the stream must outlive the
    array. A framework that works on other streams, as JAX does, needs
    `on_any_stream()`. After a fork, the child cannot use the tensor.

    Attributes:
      shape: tuple of int.
      dtype: str, such as "float16".
      device: str, such as "cuda:0".
    """

    _handle: Any = None  # stays None if __init__ fails

    def __init__(self, dtype: str, shape: tuple, ordinal: int):
        """Makes an object without memory. The caller then lets the library write a
        native tensor to `_handle`."""
        self._release = _native.lib.forebay_tensor_release
        # The handle is made before the tensor. A signal can therefore not leave a
        # tensor without an owner.
        self._handle = c.c_void_p()
        self.shape, self.dtype, self.device = shape, dtype, f"cuda:{ordinal}"
        self._ordinal = ordinal

    def __del__(self):
        if self._handle:
            self._release(self._handle)

    def __repr__(self) -> str:
        return f"DeviceTensor(shape={self.shape}, {self.dtype}, {self.device})"

    def __len__(self) -> int:
        return self.shape[0]

    def __reduce__(self) -> Any:
        # A copy would free the same native tensor a second time.
        raise TypeError("a DeviceTensor can be neither copied nor pickled: take it by "
                        "DLPack, which makes copies, too")

    def __dlpack_device__(self) -> Tuple[int, int]:
        return _CUDA, self._ordinal

    def _copy(self) -> "DeviceTensor":
        made = DeviceTensor(self.dtype, self.shape, self._ordinal)
        _native.check(_native.lib.forebay_tensor_copy(
            self._handle, c.byref(made._handle)))
        return made

    def on_any_stream(self) -> "DeviceTensor":
        """Tells the library that a framework, such as JAX, uses the tensor on streams
        which it does not give to `__dlpack__`:
        `jax.dlpack.from_dlpack(tensor.on_any_stream())`.

        The memory is reused only once the GPU is idle. `next()` may wait for that; this
        wait breaks the capture of a CUDA graph, if one is under way.

        Returns:
          The tensor itself.

        Raises:
          errors.StateError: this is a forked child.
        """
        _native.check(_native.lib.forebay_tensor_use_anywhere(self._handle))
        return self

    def __dlpack__(self, *, stream: Optional[int] = None,
                   max_version: Optional[Tuple[int, int]] = None,
                   dl_device: Optional[Tuple[int, int]] = None,
                   copy: Optional[bool] = None) -> Any:
        """Makes a DLPack capsule: see the array API standard.

        Args:
          stream: the stream that waits until the tensor is made: a CUstream, 1 or None
            for the legacy default stream, 2 for the per-thread default stream, or -1
            for no stream. With 2 and -1, the memory is reused as on_any_stream() says.
          max_version: the newest DLPack version that the framework knows.
          dl_device: the device on which the framework wants the tensor; None: the
            tensor's own.
          copy: whether the framework wants a copy; None: no.

        Raises:
          BufferError: the framework wants the tensor on another device.
          errors.InvalidArgument: there is no such stream.
          errors.StateError: a CUDA graph captures the stream, or this is a forked
            child.
        """
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"the tensor lies on {self.device}, not on DLPack's "
                              f"device {tuple(dl_device)}")
        if stream is None:
            stream = _LEGACY_STREAM
        if type(stream) is not int or not -2 ** 63 <= stream < 2 ** 63:
            raise errors.InvalidArgument(
                f"stream must be an integer or None, not {stream!r}")
        tensor = self._copy() if copy else self
        versioned = max_version is not None and max_version[0] >= 1
        flags = (_VERSIONED | (_IS_COPIED if copy else 0)) if versioned else 0
        from . import _capsule  # _capsule needs CPython
        managed = c.c_void_p()
        _native.check(_native.lib.forebay_tensor_export(
            tensor._handle, flags, stream, c.byref(managed)))
        return _capsule.new(managed, flags)


class DlpackGpu(Gpu):
    """Makes DeviceTensors."""

    def __init__(self, number: str):
        """
        Args:
          number: CUDA's number of the GPU; "" is the first GPU.

        Raises:
          errors.InvalidArgument: there is no such GPU.
          errors.Unsupported: there is no GPU plug-in, or no driver.
        """
        ordinal = int(number or 0)
        if ordinal >= _MAX_GPUS:
            raise errors.InvalidArgument(f"there is no cuda:{number}")
        super().__init__(ordinal)
        self._pool: Optional[_Pool] = _Pool(self.ordinal)

    def putter(self, index: int, dtype: int, shape: tuple) -> Callable:
        ordinal = self.ordinal
        name = _native.DTYPE_NAMES[dtype]
        native = _native.lib.forebay_tensor_make

        def make(memory, _):
            pool = self._pool
            if pool is None:
                raise errors.StateError("the loader is closed")
            tensor = DeviceTensor(name, shape, ordinal)
            status = native(pool.handle, memory.batch, index,
                            c.byref(tensor._handle))
            if status != _native.OK:
                _native.check(status)
            return tensor

        return make

    def copier(self, index: int, dtype: int, shape: tuple,
               make_host: Callable) -> Callable:
        return self.putter(index, dtype, shape)

    def _make(self, piece: Any, native: Callable[..., int], *which: Any) -> Any:
        """Makes a tensor of `piece` by the native function `native`, with the arguments
        `which`."""
        pool = self._pool
        if pool is None:
            raise errors.StateError("the loader is closed")
        kind = _native.TensorType(_native.DTYPES[piece.dtype], len(piece.shape))
        kind.shape[:len(piece.shape)] = piece.shape
        tensor = DeviceTensor(piece.dtype, tuple(piece.shape), self.ordinal)
        _native.check(native(pool.handle, *which, c.byref(kind),
                             c.byref(tensor._handle)))
        return tensor

    def put_piece(self, batch: int, index: int, piece: Any) -> Any:
        return self._make(piece, _native.lib.forebay_tensor_make_part, batch, index,
                          piece.offset)

    def upload(self, elements: Any, piece: Any) -> Any:
        return self._make(piece, _native.lib.forebay_tensor_from_host,
                          elements.ctypes.data)

    def close(self) -> None:
        self._pool = None
