"""The room that the batches of a loader need."""

from __future__ import annotations

import copy

_PIECE = 2 << 20  # GPUs' memory is allocated in multiples of these bytes


class Room:
    """The room for batches that are as large as a loader's batches have been so far.

    Attributes:
      bytes: the most bytes of a payload.
      tensors: the most bytes of the tensors that lie on a GPU; 0: none do.
    """

    def __init__(self, on_gpu: bool) -> None:
        self.bytes = 1 << (18 if on_gpu else 20)
        self.tensors = _PIECE if on_gpu else 0

    def grown(self, needed: int, tensors: int) -> Room:
        """Returns room for a payload of `needed` bytes and for `tensors` bytes of
        tensors, with some reserve."""
        made = copy.copy(self)
        if needed > self.bytes:
            made.bytes = 1 << (needed + needed // 8).bit_length()
        if tensors > self.tensors:
            # The reserve is small, as the whole room is copied to the GPU each time.
            made.tensors = -(-(tensors + tensors // 8) // _PIECE) * _PIECE
        return made

    def widen(self, other: Room) -> None:
        """Makes this room at least as large as another."""
        self.bytes = max(self.bytes, other.bytes)
        self.tensors = max(self.tensors, other.tensors)
