"""The memory that the batches of a loader need."""

from __future__ import annotations

import copy

_PIECE = 2 << 20  # GPUs' memory is allocated in multiples of these bytes


class Room:
    """The memory to reserve for a batch, which a loader learns from its earlier
    batches.

    Attributes:
      bytes: the largest size of a payload, in bytes.
      tensors: the largest size, in bytes, of a batch's tensors that lie on a GPU; 0 if
        none do.
    """

    def __init__(self, on_gpu: bool) -> None:
        self.bytes = 1 << (18 if on_gpu else 20)
        self.tensors = _PIECE if on_gpu else 0

    def grown(self, needed: int, tensors: int) -> Room:
        """Returns the Room for a payload of `needed` bytes and tensors of `tensors`
        bytes, with some reserve."""
        made = copy.copy(self)
        if needed > self.bytes:
            made.bytes = 1 << (needed + needed // 8).bit_length()
        if tensors > self.tensors:
            # The reserve is small, because all of this memory is copied to the GPU for
            # each batch.
            made.tensors = -(-(tensors + tensors // 8) // _PIECE) * _PIECE
        return made

    def widen(self, other: Room) -> None:
        """Makes this Room at least as large as `other`."""
        self.bytes = max(self.bytes, other.bytes)
        self.tensors = max(self.tensors, other.tensors)
