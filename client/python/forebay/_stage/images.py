"""Runs the user's ops on images that the daemon made, for the daemon."""

from __future__ import annotations

import struct
from typing import Any, Dict, NamedTuple, Tuple

from .._code import Code, Result
from .._post_processing import INPUTS
from . import forked, seeds, structure, wire
from .making import Stage

# Of proto/raw_image.h: magic, width, height, channels.
_HEADER = struct.Struct("<IIII")
_PIXELS = {1: "L", 3: "RGB"}


class Ops(NamedTuple):
    """The user's ops.

    Attributes:
      kind: what the first gets: see _translate.Translation.
      ops: the functions.
      extent, channels: of the image that the first gets.
    """

    kind: str
    ops: Tuple[Any, ...]
    extent: Tuple[int, int]
    channels: int

    @staticmethod
    def of(code: Code) -> "Ops":
        """The ops of this code."""
        return Ops(code.kind, code.ops, code.extent, code.channels)

    def run(self, pixels: Any) -> Any:
        """Returns what the ops make of an image.

        Args:
          pixels: NumPy, uint8, (H, W, C).
        """
        import numpy
        value: Any = (numpy.ascontiguousarray(pixels.transpose(2, 0, 1))
                      if self.kind == "tensor" else pixels)
        value = INPUTS[self.kind](value)
        for op in self.ops:
            value = op(image=value)["image"] if self.kind == "array" else op(value)
        return value


def describe(value: Any, as_image: bool) -> Result:
    """Tells what ops returned.

    Args:
      as_image: whether it is one if it can be.

    Raises:
      structure.Irregular: it is no array.
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
    """The kind of a value, and its array: channels last if it is an image.

    Raises:
      structure.Irregular: it is no array.
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
    """Tells what the ops return, by an image of noise.

    Args:
      as_image: see `describe`.

    Raises:
      structure.Irregular: it is no array.
      Exception: that of the user's code.
    """
    return describe(ops.run(noise(ops, 0)), as_image)


def noise(ops: Ops, number: int) -> Any:
    """The pixels of an image of noise, as large as what the ops get.

    Args:
      number: of the image: each is of other noise, and half as bright as the one
        before.
    """
    import numpy
    return numpy.random.RandomState(number).randint(
        0, 256 >> number, (*ops.extent, ops.channels), numpy.uint8)


class Images:
    """Runs the ops on the images of samples, each on its desk in a slot."""

    def __init__(self, result: Result):
        """
        Args:
          result: of each image.
        """
        self._result = result

    def begin(self, stage: Stage, number: int) -> None:
        """To be called once, in the worker."""
        del number
        self._ops: Ops = stage.dataset

    def make(self, sample: wire.Sample, epoch: int, slots: Dict[int, Any]) -> None:
        """Runs them for a sample.

        Raises:
          Exception: that of the user's code.
          structure.Irregular: the result is unlike that of others.
        """
        import numpy
        del epoch
        slot = slots[sample.slot]
        desks, desk_bytes, results, result_bytes = slot.offsets
        desk = desks + sample.row * desk_bytes
        _, width, height, channels = _HEADER.unpack_from(slot.memory, desk)
        pixels: Any = numpy.ndarray((height, width, channels), numpy.uint8,
                                    slot.memory, desk + _HEADER.size)
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
        # The result may be a view of the pixels, which NumPy copies first then.
        numpy.ndarray(wanted.shape, wanted.dtype, slot.memory,
                      results + sample.row * result_bytes)[...] = array
