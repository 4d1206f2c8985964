"""Runs the user's ops on images that the daemon made, for the daemon."""

from __future__ import annotations

import struct
from typing import Any, Dict, NamedTuple, Tuple

from .._code import Code, Result
from .._post_processing import INPUTS
from . import forked, seeds, structure, wire
from .making import Stage

# The header of proto/raw_image.h: magic, width, height, channels.
_HEADER = struct.Struct("<IIII")
_PIXELS = {1: "L", 3: "RGB"}


class Ops(NamedTuple):
    """The user's ops.

    Attributes:
      kind: the kind of image that the first op gets: see _translate.Translation.
      ops: the functions.
      extent, channels: the size and the channels of that image.
    """

    kind: str
    ops: Tuple[Any, ...]
    extent: Tuple[int, int]
    channels: int

    @staticmethod
    def of(code: Code) -> "Ops":
        """Returns the ops of a _code.Code."""
        return Ops(code.kind, code.ops, code.extent, code.channels)

    def run(self, pixels: Any) -> Any:
        """Runs the ops on an image; returns the result of the last one.

        Args:
          pixels: a NumPy array, uint8, (H, W, C).
        """
        import numpy
        value: Any = (numpy.ascontiguousarray(pixels.transpose(2, 0, 1))
                      if self.kind == "tensor" else pixels)
        value = INPUTS[self.kind](value)
        for op in self.ops:
            value = op(image=value)["image"] if self.kind == "array" else op(value)
        return value


def describe(value: Any, as_image: bool) -> Result:
    """Describes the result of ops.

    Args:
      as_image: whether to treat a result that can be an image as an image.

    Raises:
      structure.Irregular: the result is not an array.
    """
    kind, array = read(value) if as_image else ("", _plain(value))
    if kind and (array.dtype != "uint8" or array.ndim != 3 or
                 array.shape[2] not in (1, 3)):
        kind, array = "", _plain(value)
    leaf = structure.describe(array)
    if not isinstance(leaf, structure.Leaf):
        raise structure.Irregular(f"a {type(value).__name__}")
    return Result(kind, leaf.dtype, array.shape)


def read(value: Any) -> Tuple[str, Any]:
    """Returns the kind of a value, and its array: channels last if it is an image.

    Raises:
      structure.Irregular: the value is not an array.
    """
    import numpy
    if hasattr(value, "getbands"):  # a PIL image
        array = numpy.asarray(value)
        return ("pil" if value.mode in _PIXELS.values() else "",
                array[:, :, None] if array.ndim == 2 else array)
    array = _plain(value)
    if type(value).__module__ == "numpy":
        return "array", array[:, :, None] if array.ndim == 2 else array
    return "tensor", array.transpose(1, 2, 0) if array.ndim == 3 else array


def _plain(value: Any) -> Any:
    array = structure.array_of(value)
    if array is None:
        raise structure.Irregular(
            f"a value of {type(value).__module__}.{type(value).__qualname__}")
    return array


def probe(ops: Ops, as_image: bool) -> Result:
    """Describes the ops' result for an image of noise.

    Args:
      as_image: see `describe`.

    Raises:
      structure.Irregular: the result is not an array.
      Exception: an exception of the user's code.
    """
    return describe(ops.run(noise(ops, 0)), as_image)


def noise(ops: Ops, number: int) -> Any:
    """Returns the pixels of an image of noise, of the size that the ops get.

    Args:
      number: the image's number. Each image has other noise, and is half as bright as
        the one before.
    """
    import numpy
    return numpy.random.RandomState(number).randint(
        0, 256 >> number, (*ops.extent, ops.channels), numpy.uint8)


class Images:
    """Runs the ops on samples' images. Each image lies in its sample's user-code buffer
    in a slot."""

    def __init__(self, result: Result):
        """
        Args:
          result: the ops' result for each image.
        """
        self._result = result

    def begin(self, stage: Stage, number: int) -> None:
        """Takes the worker's ops. Must be called once, in the worker."""
        del number
        self._ops: Ops = stage.dataset

    def make(self, sample: wire.Sample, epoch: int, slots: Dict[int, Any]) -> None:
        """Runs the ops for a sample.

        Raises:
          Exception: an exception of the user's code.
          structure.Irregular: the result has another type or shape than that of the
            first image.
        """
        import numpy
        del epoch
        slot = slots[sample.slot]
        user_buffers, user_buffer_bytes, results, result_bytes = slot.offsets
        user_buffer = user_buffers + sample.row * user_buffer_bytes
        _, width, height, channels = _HEADER.unpack_from(slot.memory, user_buffer)
        pixels: Any = numpy.ndarray((height, width, channels), numpy.uint8,
                                    slot.memory, user_buffer + _HEADER.size)
        seeds.seed_generators(sample.seed)
        value = self._ops.run(pixels)
        forked.end_child()
        wanted = self._result
        kind, array = read(value) if wanted.kind else ("", _plain(value))
        if (kind, array.dtype.name, array.shape) != wanted:
            raise structure.Irregular(
                f"each image must become what the first one did, a {wanted.kind} "
                f"{wanted.dtype} of shape {list(wanted.shape)}, not a {kind} "
                f"{array.dtype.name} of shape {list(array.shape)}")
        # The result may be a view of the pixels; NumPy then copies it first.
        numpy.ndarray(wanted.shape, wanted.dtype, slot.memory,
                      results + sample.row * result_bytes)[...] = array
