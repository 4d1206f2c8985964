"""How much room the batches of a loader need."""

from __future__ import annotations

import copy

_PIECE = 2 << 20  # GPUs give memory in such


class Room:
    """How large the batches of a loader have been.

    Attributes:
      bytes: that a payload may have.
      tensors: bytes that the tensors may have which lie on a GPU; 0: none do.
    """

    def __init__(self, on_gpu: bool) -> None:
        self.bytes = 1 << (18 if on_gpu else 20)
        self.tensors = _PIECE if on_gpu else 0

    def grown(self, needed: int, tensors: int) -> Room:
        """The same with room for so many bytes of each, and some more."""
        made = copy.copy(self)
        if needed > self.bytes:
            made.bytes = 1 << (needed + needed // 8).bit_length()
        if tensors > self.tensors:
            # All of it is copied to the GPU each time.
            made.tensors = -(-(tensors + tensors // 8) // _PIECE) * _PIECE
        return made

    def widen(self, other: Room) -> None:
        """Makes this as large as another at least."""
        self.bytes = max(self.bytes, other.bytes)
        self.tensors = max(self.tensors, other.tensors)
