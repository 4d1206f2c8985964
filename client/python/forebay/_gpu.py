"""The interface by which batches put their fields on a GPU."""

from __future__ import annotations

import re
import warnings
from typing import Any, Callable, Optional, Set

from . import errors

_warned: Set[str] = set()


def parse(device: Any) -> Optional[str]:
    """Returns the number of the GPU that `device` names; "" if it names a GPU without
    a number; None for the CPU.

    Args:
      device: "cpu", "cuda", "cuda:N", a torch.device, or N.

    Raises:
      errors.InvalidArgument: the argument does not name a device.
    """
    name = f"cuda:{device}" if type(device) is int else str(device)
    if name == "cpu":
        return None
    match = re.fullmatch(r"cuda(?::([0-9]+))?", name)
    if match is None:
        raise errors.InvalidArgument(
            f'device must be "cpu" or such as "cuda:0", not {device!r}')
    return match.group(1) or ""


class Gpu:
    """Makes the fields of batches on one GPU, for one framework.

    A single thread at a time may use it.

    Attributes:
      ordinal: CUDA's number of the GPU in this process.
    """

    def __init__(self, ordinal: int):
        self.ordinal = ordinal

    def __str__(self) -> str:
        return f'device="cuda:{self.ordinal}"'

    def another(self) -> Gpu:
        """Makes an equal object that has its own static buffers."""
        return type(self)(str(self.ordinal))  # type: ignore[arg-type]

    def warn_of_refusal(self, why: str, stacklevel: int) -> None:
        """Warns, once for each reason, that batches are copied by way of the host.

        Args:
          why: the reason; "" if batches come directly.
        """
        if not why or why in _warned:
            return
        _warned.add(why)
        warnings.warn(
            f"{self}: {why}: this process copies each batch to the GPU itself, "
            "which takes time of its own", stacklevel=stacklevel + 1)

    def putter(self, index: int, dtype: int, shape: tuple) -> Callable:
        """Returns a maker (see _batch.py) of a field that lies on the GPU.

        Args:
          index: the field's index in its batch.
        """
        raise NotImplementedError

    def copier(self, index: int, dtype: int, shape: tuple,
               make_host: Callable) -> Callable:
        """Returns a maker that copies a field from the host to the GPU.

        Args:
          make_host: the maker of the field on the host.
          index, dtype, shape: see putter.
        """
        raise NotImplementedError

    def put_piece(self, batch: int, index: int, piece: Any) -> Any:
        """Makes a tensor of a part of a field that lies on the GPU.

        Args:
          batch: the native batch's address.
          index: the field's index.
          piece: a placed.Piece, which describes the part and the tensor.
        """
        raise NotImplementedError

    def upload(self, elements: Any, piece: Any) -> Any:
        """Makes a tensor of elements that lie on the host: copies them to the GPU.

        Args:
          elements: a NumPy array of bytes.
          piece: a placed.Piece, which describes the tensor.
        """
        raise NotImplementedError

    def move(self, tensor: Any) -> Any:
        """Moves a tensor of the framework to the GPU. Returns other values
        unchanged."""
        return tensor

    def close(self) -> None:
        """Frees the memory that this object keeps for making fields. Fields that were
        made stay valid."""
