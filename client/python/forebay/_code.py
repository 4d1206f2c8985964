"""The user's own ops in a pipeline whose other ops the daemon runs."""

from __future__ import annotations

import copy
from typing import Any, List, NamedTuple, Optional, Tuple

from . import transforms as T
from ._counterpart import NoCounterpart, name_of

Extent = Tuple[int, int]  # height, width


class Result(NamedTuple):
    """The type of the array that ops return for each image.

    Attributes:
      kind: "pil", "tensor" (C, H, W), "array" (H, W, C), or "" for results that are
        not images of 8 bits.
      dtype: NumPy's name of the array's type.
      shape: the array's shape; for images of any kind, (H, W, C).
    """

    kind: str
    dtype: str
    shape: Tuple[int, ...]


class Code(NamedTuple):
    """A pipeline's ops that only workers can run, and the ops before and after them.

    Attributes:
      library: the translator of the pipeline.
      before: the daemon's transforms before the ops; they make all images one size.
      kind: the kind of image that the first op gets: see _translate.Translation.
      extent, channels: the size of that image.
      ops: the user's ops; the last of them has no counterpart.
      behind: the ops after `ops`, up to the pipeline's end.
      names: the names, for people, of the ops without a counterpart.
    """

    library: Any
    before: List[T.Transform]
    kind: str
    extent: Extent
    channels: int
    ops: Tuple[Any, ...]
    behind: Tuple[Any, ...]
    names: str

    def whole(self) -> "Code":
        """Returns a Code whose `ops` go up to the pipeline's end."""
        return self._replace(ops=self.ops + self.behind, behind=())

    def translate_behind(self, result: Result) -> Optional[List[T.Transform]]:
        """Returns the daemon's transforms that replace `behind` if `ops` return
        `result`. Returns None if the daemon cannot run all ops of `behind`."""
        pixels = self.library.Pixels(result.shape[2] if result.kind else 0)
        if not pixels.take(result, self.behind):
            return None
        done: List[T.Transform] = []
        try:
            for op in self.behind:
                done += self.library.counterparts(op, pixels)
        except NoCounterpart:
            return None
        return done + pixels.ending(False)


class Trace:
    """Records the state of the pixels after each op, to find the op at which the user's
    code can begin."""

    def __init__(self, library: Any, pixels: Any, done: int):
        """
        Args:
          done: the number of the daemon's transforms that come before all ops.
        """
        self._library = library
        self._states = [(copy.copy(pixels), done)]

    def add(self, pixels: Any, done: int) -> None:
        """Records the state after one more op.

        Args:
          done: the number of the daemon's transforms up to that op.
        """
        self._states.append((copy.copy(pixels), done))

    def split(self, ops: List[Any],
              done: List[T.Transform]) -> Optional[Code]:
        """Splits a pipeline. Its first ops have counterparts; `add` has recorded their
        states.

        Args:
          ops: all ops of the pipeline.
          done: the daemon's transforms up to the last op that `add` has recorded.

        Returns None if images would differ in size, or if one of the user's ops is a
        transform of Forebay's.
        """
        first = max(number for number, (pixels, _) in enumerate(self._states)
                    if pixels.has_bytes)
        pixels, count = self._states[first]
        before = done[:count]
        extent = _extent_after(before)
        foreign = [number for number, op in enumerate(ops)
                   if number == len(self._states) - 1 or
                   not self._library.knows(op)]
        last = foreign[-1]
        if extent is None or any(isinstance(op, T.Transform)
                                 for op in ops[first:]):
            return None
        return Code(self._library, before, pixels.kind, extent,
                    _channels_after(before), tuple(ops[first:last + 1]),
                    tuple(ops[last + 1:]),
                    ", ".join(name_of(ops[number]) for number in foreign))


def _extent_after(done: List[T.Transform]) -> Optional[Extent]:
    extent: Optional[Extent] = None
    for op in done:
        if isinstance(op, (T.CenterCrop, T.RandomCrop, T.RandomResizedCrop)):
            extent = op.size
        elif isinstance(op, T.Resize):
            extent = (op.size[0], op.size[1]) if len(op.size) == 2 else None
        elif isinstance(op, T.Pad) and extent is not None:
            left, top, right, bottom = op.padding
            extent = extent[0] + top + bottom, extent[1] + left + right
    return extent


def _channels_after(done: List[T.Transform]) -> int:
    channels = 3
    for op in done:
        if isinstance(op, T.Grayscale):
            channels = op.num_output_channels
    return channels
