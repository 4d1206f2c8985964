"""The choice of where a loader's batches lie."""

from __future__ import annotations

from typing import Any, Optional

from . import errors
from ._device_tensor import DlpackGpu
from ._gpu import Gpu, parse
from ._torch_gpu import TorchGpu


def choose(device: Any, static_buffers: bool, framework: str) -> Optional[Gpu]:
    """Returns the GPU that DataLoader's arguments ask for; None for the CPU.

    Raises:
      errors.ForebayError: an error of a fitting class; its message is one sentence that
        says why.
    """
    number = parse(device)
    if number is None:
        if static_buffers:
            raise errors.InvalidArgument(
                "static_buffers=True is for batches on a GPU: give a device")
        if framework == "dlpack":
            raise errors.InvalidArgument(
                'framework="dlpack" is for batches on a GPU: give a device')
        return None
    if framework == "torch":
        return TorchGpu(number, static_buffers)
    if framework != "dlpack":
        raise errors.Unsupported(
            f"device={str(device)!r}: NumPy has no arrays on GPUs: use "
            'framework="torch", or "dlpack" for CuPy, JAX and others')
    if static_buffers:
        raise errors.Unsupported('static_buffers=True needs framework="torch"')
    return DlpackGpu(number)
