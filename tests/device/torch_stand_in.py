"""Stands in for the CUDA support that Debian's torch lacks. It provides the five
functions of torch that the client calls, on the driver that the process finds
(device/fake_libcuda).

    import torch_stand_in
    torch_stand_in.install()
    ...
    tensor.cpu()  # for a batch's tensor on a GPU: returns a real torch.Tensor
"""

import ctypes
import math

import torch

import cuda_driver

_real_empty = torch.empty


class Tensor:
    """A tensor on a GPU."""

    requires_grad = is_quantized = False
    layout = torch.strided
    # Makes isinstance(tensor, torch.Tensor) true.
    __class__ = property(lambda self: torch.Tensor)

    def __init__(self, shape, dtype, device):
        self.shape, self.dtype, self.device = tuple(shape), dtype, device
        self._host = _real_empty(self.shape, dtype=dtype)
        self._bytes = self._host.element_size() * math.prod(self.shape)
        self._address = ctypes.c_uint64()
        with cuda_driver.Entered(device.index):
            cuda_driver.check(cuda_driver.library.cuMemAlloc_v2(
                ctypes.byref(self._address),
                ctypes.c_size_t(max(self._bytes, 1))))

    def data_ptr(self):
        return self._address.value

    def copy_(self, source, non_blocking=False):
        assert source.is_contiguous() and source.dtype is self.dtype
        assert source.shape == self.shape
        with cuda_driver.Entered(self.device.index):
            cuda_driver.check(cuda_driver.library.cuMemcpyHtoDAsync_v2(
                self._address, ctypes.c_void_p(source.data_ptr()),
                ctypes.c_size_t(self._bytes),
                ctypes.c_void_p(cuda_driver.stream(self.device.index).cuda_stream)))
        cuda_driver.stream(self.device.index).synchronize()
        return self

    def requires_grad_(self):
        self.requires_grad = True
        return self

    def permute(self, places):
        return Permuted(self, places)

    def numel(self):
        return math.prod(self.shape)

    def detach(self):
        return self

    def __getitem__(self, row):
        return Row(self, row)

    def cpu(self):
        """Waits for the current stream, as torch does."""
        copied = _real_empty(self.shape, dtype=self.dtype)
        cuda_driver.stream(self.device.index).read(
            self._address.value, copied.data_ptr(), self._bytes)
        return copied

    def __del__(self):
        # torch's caching allocator reuses memory only on the same stream.
        try:
            cuda_driver.stream(self.device.index).synchronize()
            with cuda_driver.Entered(self.device.index):
                cuda_driver.library.cuMemFree_v2(self._address)
        except RuntimeError:
            pass  # the context is lost, and its memory with the context


class Permuted:
    """A view of a tensor with its dimensions in another order."""

    def __init__(self, tensor, places):
        self._tensor, self._places = tensor, places
        self.device, self.dtype = tensor.device, tensor.dtype
        self.shape = tuple(tensor.shape[place] for place in places)

    def cpu(self):
        return self._tensor.cpu().permute(self._places)


class Row:
    """A part of a tensor."""

    def __init__(self, tensor, row):
        self._tensor, self._row = tensor, row

    def cpu(self):
        return self._tensor.cpu()[self._row]


def _empty(*shape, dtype=None, device=None, **others):
    if device is None or torch.device(device).type != "cuda":
        return _real_empty(*shape, dtype=dtype, **others)
    return Tensor(shape[0], dtype, torch.device(device))


def install():
    torch.empty = _empty
    torch.cuda.is_available = lambda: True
    torch.cuda.device_count = cuda_driver.count
    torch.cuda.current_device = lambda: 0
    torch.cuda.current_stream = lambda device: cuda_driver.stream(device.index)
    torch.Tensor.pin_memory = lambda self: self
    real_to = torch.Tensor.to

    def to(self, *target, **others):
        device = target[0] if target else None
        if not isinstance(device, torch.device) or device.type != "cuda":
            return real_to(self, *target, **others)
        return Tensor(self.shape, self.dtype, device).copy_(self.contiguous())

    torch.Tensor.to = to
