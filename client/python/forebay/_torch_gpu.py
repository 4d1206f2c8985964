"""Makes torch's tensors of batches that the daemon has copied to a GPU."""

from __future__ import annotations

import functools
from typing import Any, Callable, Dict

from . import _native, errors
from ._gpu import Gpu

_MAX_KEPT = 256  # the largest number of static tensors for pieces


class TorchGpu(Gpu):
    """Makes tensors in torch's memory, ready for torch's current stream."""

    def __init__(self, number: str, static_buffers: bool = False):
        """
        Args:
          number: torch's number of the GPU; "" is torch's current GPU.
          static_buffers: whether all batches of one shape are written into the
            same tensors.

        Raises:
          errors.InvalidArgument: there is no such GPU.
          errors.Unsupported: torch cannot use CUDA here.
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
        self._kept: Dict[Any, Any] = {}  # static tensors, by field or piece

    def another(self) -> Gpu:
        return TorchGpu(str(self.ordinal), self._static)

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

    def _piece(self, piece: Any, make: Callable[[], Any]) -> Any:
        """Returns the static tensor of a piece. Calls `make` to make it if there is
        none yet."""
        if not self._static:
            return make()
        key = piece.number, piece.dtype, piece.shape, piece.order
        if key not in self._kept:
            if len(self._kept) >= _MAX_KEPT:
                self._kept.clear()
            self._kept[key] = make()
        return self._kept[key]

    def put_piece(self, batch: int, index: int, piece: Any) -> Any:
        tensor = self._piece(piece, lambda: self._torch.empty(
            piece.shape, dtype=getattr(self._torch, piece.dtype),
            device=self._device))
        _native.check(_native.lib.forebay_batch_put_part(
            batch, index, piece.offset, piece.bytes, tensor.data_ptr(),
            self._torch.cuda.current_stream(self._device).cuda_stream))
        return _shaped(tensor, piece)

    def upload(self, elements: Any, piece: Any) -> Any:
        dtype = getattr(self._torch, piece.dtype)
        pinned = (self._torch.from_numpy(elements).view(dtype).view(piece.shape)
                  if piece.bytes else
                  self._torch.empty(piece.shape, dtype=dtype)).pin_memory()
        made = []

        def copied() -> Any:
            made.append(pinned.to(self._device, non_blocking=True))
            return made[0]

        tensor = self._piece(piece, copied)
        if not made:
            tensor.copy_(pinned, non_blocking=True)
        return _shaped(tensor, piece)

    def move(self, tensor: Any) -> Any:
        return (tensor.to(self._device) if isinstance(tensor, self._torch.Tensor)
                else tensor)


def _shaped(tensor: Any, piece: Any) -> Any:
    """Returns the tensor with its dimensions in the order that the user's code gave
    them. The piece has the dimensions in the order of memory."""
    if piece.order is not None:
        places = sorted(range(len(piece.order)), key=piece.order.__getitem__)
        tensor = tensor.permute(places)
    return tensor.requires_grad_() if piece.requires_grad else tensor
