"""Batches of any structure for a GPU. Their tensors lie outside the payload.

In place of each tensor, the pickle of such a batch has a Piece, which says where the
tensor's elements are. When the batch is restored, each Piece becomes a tensor on the
GPU. Tensors of other layouts and of subclasses are pickled, and moved when they are
restored.
"""

from __future__ import annotations

import io
import sys
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from .. import _native, errors
from . import payload

_ALIGNMENT = 64
_MOVER = -1  # the persistent id of the function that moves a pickled tensor


class Piece(NamedTuple):
    """The place of a tensor's elements in the memory of all tensors.

    Attributes:
      number: the tensor's number in its batch.
      offset, bytes: the range of the elements, in bytes.
      dtype: str, such as "float32".
      shape: the sizes of the dimensions, in the order of memory.
      order: the dimensions in the order of memory; None if that is the usual order.
      requires_grad: whether the tensor requires gradients.
    """

    number: int
    offset: int
    bytes: int
    dtype: str
    shape: Tuple[int, ...]
    order: Optional[Tuple[int, ...]]
    requires_grad: bool


def goes(value: Any, framework: str) -> bool:
    """Whether a value becomes a tensor on the GPU. torch's own strided tensors do. With
    "dlpack", arrays do as well, if DLPack has their type."""
    torch = sys.modules.get("torch")
    if torch is not None and type(value) is torch.Tensor:
        return (value.layout is torch.strided and value.device.type == "cpu" and
                not value.is_quantized and
                (framework == "torch" or _name_of(value) in _native.DTYPES))
    numpy = sys.modules.get("numpy")
    return (framework == "dlpack" and numpy is not None and
            type(value) is numpy.ndarray and value.dtype.isnative and
            value.dtype.name in _native.DTYPES)


def _name_of(tensor: Any) -> str:
    return str(tensor.dtype).partition(".")[2]


class Apart:
    """The tensors of one batch that is being pickled, in memory outside the payload.

    Attributes:
      bytes: the bytes that the tensors need.
    """

    def __init__(self, memory: Optional[memoryview], framework: str):
        """
        Args:
          memory: writable bytes for the elements; None: the elements stay where they
            are.
          framework: "torch" or "dlpack".
        """
        self._memory = memory
        self._framework = framework
        self._pieces: Dict[int, Piece] = {}  # by the address of the tensor object
        self._parts: List[Tuple[Any, int, Any]] = []  # tensor, offset, elements
        self.bytes = 0

    def place(self, value: Any) -> Any:
        """Returns the persistent id of a value that lies outside the payload; None for
        other values."""
        if value is payload.MOVER:
            return _MOVER
        if not goes(value, self._framework):
            return None
        if id(value) not in self._pieces:
            self._pieces[id(value)] = self._add(value)
        return tuple(self._pieces[id(value)])

    def _add(self, value: Any) -> Piece:
        import numpy
        order, requires_grad = None, False
        if isinstance(value, numpy.ndarray):
            dtype, elements = value.dtype.name, numpy.ascontiguousarray(value)
            elements = elements.reshape(value.shape)
        else:
            dtype, requires_grad = _name_of(value), value.requires_grad
            found, order = payload.dense(value if self._framework == "torch" else
                                         value.contiguous())
            elements = payload.array_of(found)
        offset = -(-self.bytes // _ALIGNMENT) * _ALIGNMENT
        self.bytes = offset + elements.nbytes
        self._parts.append((value, offset, elements))
        return Piece(len(self._parts) - 1, offset, elements.nbytes, dtype,
                     elements.shape, order, requires_grad)

    @property
    def fits(self) -> bool:
        return self._memory is None or self.bytes <= len(self._memory)

    def write(self) -> None:
        """Writes all elements to the memory, which must have room for them."""
        import numpy
        for _, offset, elements in self._parts:
            numpy.ndarray(elements.shape, elements.dtype, self._memory,
                          offset)[...] = elements

    def elements(self, piece: Piece) -> Any:
        """Returns the elements of a Piece, as a NumPy array of bytes."""
        import numpy
        return numpy.ndarray((piece.bytes,), numpy.uint8,
                             self._parts[piece.number][2])


class OnDevice(NamedTuple):
    """A field of a batch that lies on a GPU.

    Attributes:
      batch: the native batch's address.
      field: the field's number in that batch.
    """

    batch: int
    field: int


class Places:
    """Takes the place of a GPU in a _batch.Wrapper: makes an OnDevice of each field."""

    def putter(self, index: int, dtype: int, shape: Any) -> Any:
        return lambda memory, _: OnDevice(memory.batch, index)

    def copier(self, index: int, dtype: int, shape: Any, make_host: Any) -> Any:
        return make_host

    def close(self) -> None:
        """Does nothing, because there is nothing to close."""


class Restorer:
    """Makes the tensors of one batch that is being restored."""

    def __init__(self, gpu: Any, place: Optional[OnDevice],
                 elements: Callable[[Piece], Any]):
        """
        Args:
          gpu: a _gpu.Gpu.
          place: the place of the tensors' memory on the GPU; None: that memory is on
            the host.
          elements: if the memory is on the host, a function that returns the elements
            of a Piece, as a NumPy array of bytes.
        """
        self._gpu = gpu
        self._place = place
        self._elements = elements
        self._made: Dict[int, Any] = {}

    def load(self, which: Any) -> Any:
        """Makes the tensor for a persistent id."""
        if which == _MOVER:
            return self._gpu.move
        piece = Piece(*which)
        if piece.number not in self._made:
            self._made[piece.number] = (
                self._gpu.upload(self._elements(piece), piece)
                if self._place is None else
                self._gpu.put_piece(self._place.batch, self._place.field, piece))
        return self._made[piece.number]


def restorer(gpu: Any, tensors: Any) -> Restorer:
    """Makes a Restorer for tensors that lie in a field. The field is an OnDevice, or a
    NumPy array of bytes."""
    if isinstance(tensors, OnDevice):
        return Restorer(gpu, tensors, lambda piece: None)
    return Restorer(gpu, None, lambda piece: tensors[
        piece.offset:piece.offset + piece.bytes])


def moved(batch: Any, gpu: Any, framework: str) -> Any:
    """Moves the tensors of a batch that this process has made to the GPU. Returns the
    new batch.

    Raises:
      errors.Unsupported: a part of the batch cannot be pickled.
    """
    apart = Apart(None, framework)
    try:
        data, buffers = payload.pickled(batch, apart)
    except Exception as error:
        raise errors.Unsupported(
            f"{gpu}: a batch goes there without its other objects, and cannot be "
            f"pickled: {error}") from error
    return payload.Unpickler(io.BytesIO(data),
                             Restorer(gpu, None, apart.elements).load,
                             buffers).load()
