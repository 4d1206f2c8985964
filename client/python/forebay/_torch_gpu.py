"""Batches on a GPU: tensors of torch's, made of what the daemon copied there."""

from __future__ import annotations

import functools
from typing import Any, Callable

from . import _native, errors
from ._gpu import Gpu


class TorchGpu(Gpu):
    """Makes tensors in memory of torch's, ready for its current stream."""

    def __init__(self, number: str, static_buffers: bool = False):
        """
        Args:
          number: torch's, of the GPU; "" is the current one.
          static_buffers: whether all batches of one shape are written into the
            same tensors.

        Raises:
          errors.InvalidArgument: there is no such GPU.
          errors.Unsupported: torch has no CUDA here.
        """
        import torch
        name = "cuda" + (":" + number if number else "")
        if not torch.cuda.is_available():
            raise errors.Unsupported(
                f"device={name!r}: torch {torch.__version__} finds no GPU in this "
                "process")
        count = torch.cuda.device_count()
        ordinal = int(number) if number else torch.cuda.current_device()
        if ordinal >= count:
            raise errors.InvalidArgument(
                f"device={name!r}: this process has {count} GPU" +
                ("s" if count != 1 else ""))
        super().__init__(ordinal)
        self._torch = torch
        self._device = torch.device("cuda", ordinal)
        self._static = static_buffers

    def _empty(self, dtype: int, shape: tuple) -> Callable:
        name = _native.DTYPE_NAMES[dtype]
        if not hasattr(self._torch, name):
            raise errors.Unsupported(
                f"this torch has no {name}, which an array of the dataset is of: "
                'use device="cpu" and framework="numpy"')
        make = functools.partial(
            self._torch.empty, shape, dtype=getattr(self._torch, name),
            device=self._device)
        if not self._static:
            return make
        kept = make()
        return lambda: kept

    def putter(self, index: int, dtype: int, shape: tuple) -> Callable:
        empty = self._empty(dtype, shape)
        put = _native.lib.forebay_batch_put
        current_stream, device = self._torch.cuda.current_stream, self._device

        def make(memory, _):
            tensor = empty()
            status = put(memory.batch, index, tensor.data_ptr(),
                         current_stream(device).cuda_stream)
            if status != _native.OK:
                _native.check(status)
            return tensor

        return make

    def copier(self, index: int, dtype: int, shape: tuple,
               make_host: Callable) -> Callable:
        kept: Any = None

        def make(memory, offset):
            nonlocal kept
            tensor = make_host(memory, offset).pin_memory()
            if kept is None or not self._static:
                kept = tensor.to(self._device, non_blocking=True)
                return kept
            return kept.copy_(tensor, non_blocking=True)

        return make
