"""Batches of any structure in memory that processes share.

A payload consists of a head, the places of its buffers, a pickle, a state, and the
buffers. A buffer is the memory of a tensor or an array. It begins at a multiple of 64
bytes, and the receiver uses it in place. For a GPU, tensors lie outside the payload
(placed.py).
"""

from __future__ import annotations

import io
import pickle
import struct
import sys
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

# The kinds of payloads. BATCH has the batch as its value. FAILED has an exception, as
# failure.describe's text. END has None. TOO_LARGE has two numbers: the bytes that the
# payload needs, and the bytes that the tensors outside it need.
BATCH, FAILED, END, TOO_LARGE = range(1, 5)

# The head: kind, number of buffers, bytes of the pickle, bytes of the state. In a
# payload of kind TOO_LARGE, the last two fields are the value.
_HEAD = struct.Struct("<IIQQ")
_PLACE = struct.Struct("<QQ")  # offset and bytes of a buffer
_ALIGNMENT = 64
# Smaller buffers are copied, so that a label does not keep its whole batch alive.
_LEAST_BUFFER = 2048


class Payload(NamedTuple):
    """A payload that was received.

    Attributes:
      kind: BATCH, FAILED, END or TOO_LARGE.
      value: the kind's value.
      is_shared: whether the value uses the payload's memory.
      state: the bytes that the sender added; may be empty.
    """

    kind: int
    value: Any
    is_shared: bool
    state: bytes = b""


class _Mover:
    """A placeholder, in a pickle, for the function that moves a tensor to a GPU."""


MOVER = _Mover()


class Damaged(Exception):
    """The memory does not hold a payload, because other code wrote over it."""


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT


def write(memory: memoryview, kind: int, value: Any, state: bytes = b"",
          apart: Any = None) -> None:
    """Writes a payload. If there is no room, writes a payload of kind TOO_LARGE.

    Args:
      memory: writable bytes.
      kind: BATCH, FAILED or END.
      state: bytes for the receiver.
      apart: the placed.Apart that takes the tensors; None: they go into the payload.

    Raises:
      Exception: the value cannot be pickled.
    """
    data, buffers = pickled(value, apart)
    room = len(memory) - _HEAD.size - len(state)
    if kind == FAILED and len(data) > room >= 0:
        data = pickle.dumps(value[:room // 5], 5)
    offset = _HEAD.size + len(buffers) * _PLACE.size
    places = []
    end = offset + len(data) + len(state)
    for buffer in buffers:
        begin = _aligned(end)
        places.append((begin, buffer.nbytes))
        end = begin + buffer.nbytes
    if end > len(memory) or (apart is not None and not apart.fits):
        _HEAD.pack_into(memory, 0, TOO_LARGE, 0,
                        0 if apart is None else apart.bytes, end)
        return
    if apart is not None:
        apart.write()
    for number, place in enumerate(places):
        _PLACE.pack_into(memory, _HEAD.size + number * _PLACE.size, *place)
    memory[offset:offset + len(data)] = data
    offset += len(data)
    memory[offset:offset + len(state)] = state
    for (begin, size), buffer in zip(places, buffers):
        memory[begin:begin + size] = buffer
    _HEAD.pack_into(memory, 0, kind, len(buffers), len(data), len(state))


def refuse(memory: memoryview, needed: int) -> None:
    """Writes a payload of kind TOO_LARGE that asks for `needed` bytes."""
    _HEAD.pack_into(memory, 0, TOO_LARGE, 0, 0, needed)


def needed(memory: memoryview) -> int:
    """Returns the number of bytes for which a payload of kind TOO_LARGE asks; 0 for all
    other kinds."""
    kind, _, _, last = _HEAD.unpack_from(memory)
    return last if kind == TOO_LARGE else 0


def size(kind: int, value: Any) -> int:
    """Returns the number of bytes that `write` needs; 0 if the value cannot be pickled,
    or the kind is not BATCH."""
    if kind != BATCH:
        return 0
    try:
        data, buffers = pickled(value)
    except Exception:
        return 0  # `write` will raise the exception
    end = _HEAD.size + len(buffers) * _PLACE.size + len(data)
    for buffer in buffers:
        end = _aligned(end) + buffer.nbytes
    return end


def read(memory: memoryview,
         load: Optional[Callable[[Any], Any]] = None) -> Payload:
    """Reads a payload. Tensors and arrays in it are views of `memory`.

    Args:
      load: a function that makes a tensor outside the payload, from its persistent id.
        Arrays are then copies.

    Raises:
      Damaged: the memory does not hold a payload.
      Exception: the value cannot be made in this process.
    """
    kind, count, size, last = _HEAD.unpack_from(memory)
    if kind == TOO_LARGE:
        return Payload(kind, (last, size), False)
    offset = _HEAD.size + count * _PLACE.size
    if kind not in (BATCH, FAILED, END) or offset + size + last > len(memory):
        raise Damaged
    buffers = []
    for place in range(count):
        begin, length = _PLACE.unpack_from(memory,
                                           _HEAD.size + place * _PLACE.size)
        if begin + length > len(memory):
            raise Damaged
        buffers.append(memory[begin:begin + length])
    data = memory[offset:offset + size]
    state = bytes(memory[offset + size:offset + size + last])
    if load is not None:
        value = Unpickler(io.BytesIO(data), load,
                          list(map(bytearray, buffers))).load()
        return Payload(kind, value, False, state)
    return Payload(kind, pickle.loads(data, buffers=buffers), bool(buffers), state)


def pickled(value: Any, apart: Any = None) -> Tuple[Any, List[memoryview]]:
    """Returns the pickle of a value, and the buffers that are not in the pickle.

    Args:
      apart: see `write`.

    Raises:
      Exception: the value cannot be pickled.
    """
    buffers: List[memoryview] = []

    def keep(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes < _LEAST_BUFFER:
            return True
        buffers.append(raw)
        return False

    file = io.BytesIO()
    pickler = (_Pickler(file, 5, buffer_callback=keep) if apart is None else
               _ApartPickler(file, keep, apart))
    pickler.dump(value)
    return file.getbuffer(), buffers


class _Pickler(pickle.Pickler):
    """Keeps the elements of all arrays and tensors out of the pickle, whatever their
    strides."""

    def reducer_override(self, obj: Any) -> Any:
        kind = type(obj)
        torch = sys.modules.get("torch")
        if torch is not None and kind is torch.Tensor:
            return _reduced_tensor(torch, obj)
        numpy = sys.modules.get("numpy")
        if numpy is not None and kind is numpy.ndarray and not (
                obj.flags.c_contiguous or obj.flags.f_contiguous):
            if obj.dtype.hasobject:
                return NotImplemented
            return numpy.ascontiguousarray(obj).__reduce_ex__(5)
        return NotImplemented


class _ApartPickler(_Pickler):
    """Leaves out the tensors that lie outside the payload. Tensors that cannot lie
    outside are pickled, and moved to the GPU when they are restored."""

    def __init__(self, file: Any, keep: Callable[[pickle.PickleBuffer], bool],
                 apart: Any):
        super().__init__(file, 5, buffer_callback=keep)
        self._apart = apart

    def persistent_id(self, obj: Any) -> Any:
        return self._apart.place(obj)

    def reducer_override(self, obj: Any) -> Any:
        torch = sys.modules.get("torch")
        if torch is None or not isinstance(obj, torch.Tensor):
            return super().reducer_override(obj)
        # The tensor is pickled alone. The tensors of which it is made are then not
        # moved before it is restored.
        file = io.BytesIO()
        _Pickler(file, 5).dump(obj)
        return _moved, (MOVER, file.getvalue())


class Unpickler(pickle.Unpickler):
    """Restores a pickle of _ApartPickler."""

    def __init__(self, file: Any, load: Callable[[Any], Any], buffers: Any):
        """
        Args:
          load: a function that makes the tensor for a persistent id.
        """
        super().__init__(file, buffers=buffers)
        self._load = load

    def persistent_load(self, pid: Any) -> Any:
        return self._load(pid)


def _moved(move: Callable[[Any], Any], data: bytes) -> Any:
    return move(pickle.loads(data))


def _reduced_tensor(torch: Any, tensor: Any) -> Any:
    if (tensor.layout is not torch.strided or tensor.device.type != "cpu" or
            tensor.is_quantized):
        return NotImplemented
    found, order = dense(tensor)
    dtype = "bfloat16" if tensor.dtype is torch.bfloat16 else None
    array = array_of(found)
    return _tensor, (pickle.PickleBuffer(array), array.dtype.str,
                     tuple(array.shape), order, dtype, tensor.requires_grad)


def dense(tensor: Any) -> Tuple[Any, Optional[Tuple[int, ...]]]:
    """Returns the elements of a strided tensor, on the host and without gaps, in the
    order in which they lie in memory. Also returns the order of the dimensions in
    memory; None if it is the usual order."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "a tensor that requires grad, and is not a leaf, cannot go to another "
            "process: detach() it")
    plain = tensor.detach().resolve_conj().resolve_neg()
    order = _by_stride(plain)
    return (plain if order is None else plain.permute(order)).contiguous(), order


def array_of(tensor: Any) -> Any:
    """Returns a NumPy view of a dense tensor. bfloat16 becomes int16."""
    torch = sys.modules["torch"]
    return (tensor.view(torch.int16) if tensor.dtype is torch.bfloat16
            else tensor).numpy()


def _by_stride(tensor: Any) -> Optional[Tuple[int, ...]]:
    """Returns the dimensions in the order of memory, if a tensor is dense but in
    another order than usual, such as channels_last. Returns None if it is contiguous or
    not dense."""
    if tensor.is_contiguous():
        return None
    strides = tensor.stride()
    order = tuple(sorted(range(tensor.dim()), key=lambda d: (-strides[d],
                                                             tensor.shape[d])))
    return order if tensor.permute(order).is_contiguous() else None


def _tensor(buffer: Any, numpy_type: str, shape: Tuple[int, ...],
            order: Optional[Tuple[int, ...]], dtype: Optional[str],
            requires_grad: bool) -> Any:
    import numpy
    import torch
    array = numpy.frombuffer(buffer, numpy_type).reshape(shape)
    if not array.flags.writeable:  # a small array, which was in the pickle
        array = array.copy()
    tensor = torch.from_numpy(array)
    if dtype is not None:
        tensor = tensor.view(getattr(torch, dtype))
    if order is not None:
        tensor = tensor.permute(tuple(numpy.argsort(order).tolist()))
    return tensor.requires_grad_() if requires_grad else tensor
