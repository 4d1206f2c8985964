"""Stands in for the CUDA that Debian's torch lacks: the five calls that the
client makes, on the driver that the process finds (device/fake_libcuda).

    import torch_stand_in
    torch_stand_in.install()
    ...
    tensor.cpu()  # of a batch on a GPU: a real tensor
"""

import ctypes
import functools
import math

import torch

_cuda = ctypes.CDLL("libcuda.so.1")
_real_empty = torch.empty


def _check(status):
    if status != 0:
        raise RuntimeError(f"CUDA error {status}")


@functools.lru_cache(maxsize=None)
def _context(ordinal):
    """The primary context of a GPU."""
    _check(_cuda.cuInit(0))
    device, context = ctypes.c_int(), ctypes.c_void_p()
    _check(_cuda.cuDeviceGet(ctypes.byref(device), ordinal))
    _check(_cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    return context


class _Entered:
    def __init__(self, ordinal):
        self._context = _context(ordinal)

    def __enter__(self):
        _check(_cuda.cuCtxPushCurrent_v2(self._context))

    def __exit__(self, *_):
        _check(_cuda.cuCtxPopCurrent_v2(None))


class Stream:
    """A stream of one GPU."""

    def __init__(self, ordinal):
        self._ordinal = ordinal
        stream = ctypes.c_void_p()
        with _Entered(ordinal):
            _check(_cuda.cuStreamCreateWithPriority(
                ctypes.byref(stream), 1, 0))
        self.cuda_stream = stream.value

    def synchronize(self):
        with _Entered(self._ordinal):
            _check(_cuda.cuStreamSynchronize(ctypes.c_void_p(self.cuda_stream)))


@functools.lru_cache(maxsize=None)
def _stream(ordinal):
    return Stream(ordinal)


class Tensor:
    """A tensor on a GPU."""

    def __init__(self, shape, dtype, device):
        self.shape, self.dtype, self.device = tuple(shape), dtype, device
        self._host = _real_empty(self.shape, dtype=dtype)
        self._bytes = self._host.element_size() * math.prod(self.shape)
        self._address = ctypes.c_uint64()
        with _Entered(device.index):
            _check(_cuda.cuMemAlloc_v2(ctypes.byref(self._address),
                                       ctypes.c_size_t(max(self._bytes, 1))))

    def data_ptr(self):
        return self._address.value

    def cpu(self):
        """Waits for the current stream, as torch does."""
        stream = _stream(self.device.index)
        copied = _real_empty(self.shape, dtype=self.dtype)
        with _Entered(self.device.index):
            _check(_cuda.cuMemcpyDtoHAsync_v2(
                ctypes.c_void_p(copied.data_ptr()), self._address,
                ctypes.c_size_t(self._bytes),
                ctypes.c_void_p(stream.cuda_stream)))
        stream.synchronize()
        return copied

    def __del__(self):
        # torch's caching allocator gives memory to the same stream again.
        try:
            _stream(self.device.index).synchronize()
            with _Entered(self.device.index):
                _cuda.cuMemFree_v2(self._address)
        except RuntimeError:
            pass  # the context is lost, and its memory with it


def _empty(*shape, dtype=None, device=None, **others):
    if device is None or torch.device(device).type != "cuda":
        return _real_empty(*shape, dtype=dtype, **others)
    return Tensor(shape[0], dtype, torch.device(device))


def _count():
    count = ctypes.c_int()
    _check(_cuda.cuInit(0))
    _check(_cuda.cuDeviceGetCount(ctypes.byref(count)))
    return count.value


def free_bytes(ordinal=0):
    """The memory of a GPU that nobody has."""
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    with _Entered(ordinal):
        _check(_cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)))
    return free.value


def install():
    torch.empty = _empty
    torch.cuda.is_available = lambda: True
    torch.cuda.device_count = _count
    torch.cuda.current_device = lambda: 0
    torch.cuda.current_stream = lambda device: _stream(device.index)
    torch.Tensor.pin_memory = lambda self: self
    real_to = torch.Tensor.to

    def to(self, *target, **others):
        device = target[0] if target else None
        if not isinstance(device, torch.device) or device.type != "cuda":
            return real_to(self, *target, **others)
        made = Tensor(self.shape, self.dtype, device)
        with _Entered(device.index):
            _check(_cuda.cuMemcpyHtoDAsync_v2(
                made._address, ctypes.c_void_p(self.data_ptr()),
                ctypes.c_size_t(made._bytes),
                ctypes.c_void_p(_stream(device.index).cuda_stream)))
        _stream(device.index).synchronize()
        return made

    torch.Tensor.to = to
