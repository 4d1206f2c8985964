"""Batches on a GPU: tensors of torch's, made of what the daemon copied there."""

from __future__ import annotations

import functools
import re
import warnings
from typing import Any, Callable, Optional, Set

from . import _native, errors

_warned: Set[str] = set()


def parse(device: Any, framework: str) -> Optional[int]:
    """The number of the GPU in this process that `device` names.

    Args:
      device: "cpu", "cuda", "cuda:N", a torch.device, or N.
      framework: "torch" or "numpy".

    Returns:
      None for the CPU.

    Raises:
      errors.InvalidArgument: there is no such GPU, or `device` is none.
      errors.Unsupported: torch has no CUDA here, or the framework is not torch.
    """
    name = f"cuda:{device}" if type(device) is int else str(device)
    if name == "cpu":
        return None
    match = re.fullmatch(r"cuda(?::([0-9]+))?", name)
    if match is None:
        raise errors.InvalidArgument(
            f'device must be "cpu" or such as "cuda:0", not {device!r}')
    if framework != "torch":
        raise errors.Unsupported(
            f'device={name!r} needs framework="torch": NumPy has no arrays on GPUs')
    import torch
    if not torch.cuda.is_available():
        raise errors.Unsupported(
            f"device={name!r}: torch {torch.__version__} finds no GPU in this "
            "process")
    number, count = match.group(1), torch.cuda.device_count()
    ordinal = torch.cuda.current_device() if number is None else int(number)
    if ordinal >= count:
        raise errors.InvalidArgument(
            f"device={name!r}: this process has {count} GPU" +
            ("s" if count != 1 else ""))
    return ordinal


def choose(device: Any, static_buffers: bool,
           framework: str) -> Optional[TorchDevice]:
    """The GPU that DataLoader's arguments ask for; None for the CPU.

    Raises:
      errors.ForebayError: see parse.
    """
    ordinal = parse(device, framework)
    if ordinal is not None:
        return TorchDevice(ordinal, static_buffers)
    if static_buffers:
        raise errors.InvalidArgument(
            "static_buffers=True is for batches on a GPU: give a device")
    return None


class TorchDevice:
    """Makes tensors of torch's on one GPU.

    Attributes:
      ordinal: torch's number of the GPU.
    """

    def __init__(self, ordinal: int, static_buffers: bool = False):
        """
        Args:
          static_buffers: whether all batches of one shape are written into the
            same tensors.
        """
        import torch
        self.ordinal = ordinal
        self._torch = torch
        self._device = torch.device("cuda", ordinal)
        self._static = static_buffers

    def __str__(self) -> str:
        return f'device="cuda:{self.ordinal}"'

    def warn_of_refusal(self, why: str, stacklevel: int) -> None:
        """Warns, once for each reason, that batches come by way of the host.

        Args:
          why: "" if they do not.
        """
        if not why or why in _warned:
            return
        _warned.add(why)
        warnings.warn(
            f"{self}: {why}: this process copies each batch to the GPU itself, "
            "which takes time of its own", stacklevel=stacklevel + 1)

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
        """A maker (see _batch.py) of a field that lies on the GPU.

        The tensor is ready for what the current stream does next.

        Args:
          index: of the field in its batch.
        """
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

    def copier(self, make_host: Callable) -> Callable:
        """A maker of a field that lies on the host: copies it to the GPU.

        Args:
          make_host: the maker of the field as a tensor on the host.
        """
        kept: Any = None

        def make(memory, offset):
            nonlocal kept
            tensor = make_host(memory, offset).pin_memory()
            if kept is None or not self._static:
                kept = tensor.to(self._device, non_blocking=True)
                return kept
            return kept.copy_(tensor, non_blocking=True)

        return make
