"""The CUDA driver that the process finds (device/fake_libcuda), by ctypes. Does what a
framework would do with the driver."""

import ctypes
import functools

library = ctypes.CDLL("libcuda.so.1")


def check(status):
    if status != 0:
        raise RuntimeError(f"CUDA error {status}")


@functools.lru_cache(maxsize=None)
def _context(ordinal):
    """Returns the primary context of a GPU."""
    check(library.cuInit(0))
    device, context = ctypes.c_int(), ctypes.c_void_p()
    check(library.cuDeviceGet(ctypes.byref(device), ordinal))
    check(library.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    return context


class Entered:
    """While a `with` block lasts, the thread uses a GPU."""

    def __init__(self, ordinal):
        self._context = _context(ordinal)

    def __enter__(self):
        check(library.cuCtxPushCurrent_v2(self._context))

    def __exit__(self, *_):
        check(library.cuCtxPopCurrent_v2(None))


class Stream:
    """A stream of one GPU.

    Attributes:
      cuda_stream: int, the value of the CUstream.
    """

    def __init__(self, ordinal):
        self._ordinal = ordinal
        stream = ctypes.c_void_p()
        with Entered(ordinal):
            check(library.cuStreamCreateWithPriority(
                ctypes.byref(stream), 1, 0))
        self.cuda_stream = stream.value

    def synchronize(self):
        with Entered(self._ordinal):
            check(library.cuStreamSynchronize(ctypes.c_void_p(self.cuda_stream)))

    def fill(self, address, value, count):
        """Queues a call that sets `count` bytes of the GPU's memory to `value`."""
        content = (ctypes.c_uint8 * count)(*[value] * count)
        with Entered(self._ordinal):
            check(library.cuMemcpyHtoDAsync_v2(
                ctypes.c_uint64(address), content, ctypes.c_size_t(count),
                ctypes.c_void_p(self.cuda_stream)))

    def read(self, address, to, count):
        """Copies `count` bytes to host memory at `to`, and waits for the copy."""
        with Entered(self._ordinal):
            check(library.cuMemcpyDtoHAsync_v2(
                ctypes.c_void_p(to), ctypes.c_uint64(address),
                ctypes.c_size_t(count), ctypes.c_void_p(self.cuda_stream)))
        self.synchronize()


@functools.lru_cache(maxsize=None)
def stream(ordinal):
    """Returns the stream on which a framework works."""
    return Stream(ordinal)


def count():
    """Returns the number of GPUs."""
    found = ctypes.c_int()
    check(library.cuInit(0))
    check(library.cuDeviceGetCount(ctypes.byref(found)))
    return found.value


def free_bytes(ordinal=0):
    """Returns the free bytes of a GPU's memory."""
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    with Entered(ordinal):
        check(library.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)))
    return free.value
