"""The set of an epoch's samples that were seen. Needed for orders in which the number
of samples seen does not identify them."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from . import errors


class Seen:
    """A set of sample numbers from 0 to size - 1. One thread at a time may use it."""

    def __init__(self, size: int):
        import numpy
        self._has = numpy.zeros(size, numpy.bool_)

    def __len__(self) -> int:
        return int(self._has.sum())

    def copy(self) -> Seen:
        made = Seen(len(self._has))
        made._has[:] = self._has
        return made

    def add(self, sample_ids: Any) -> None:
        """Adds samples.

        Args:
          sample_ids: the ids of a batch, an array or tensor of integers, (N,).
        """
        import numpy
        self._has[numpy.asarray(sample_ids)] = True

    def indices(self) -> Any:
        """Returns the samples in ascending order: NumPy int64, (M,)."""
        import numpy
        return numpy.flatnonzero(self._has).astype(numpy.int64)

    def to_text(self) -> str:
        """Returns the set as text: base64 of its bits; sample 0 is the lowest bit of
        the first byte."""
        import numpy
        bits = numpy.packbits(self._has, bitorder="little")
        return base64.b64encode(bits.tobytes()).decode()

    @classmethod
    def from_text(cls, text: Any, size: int) -> Seen:
        """Returns the set for a text that to_text made.

        Raises:
          errors.StateError: the text is not that of a set of this size.
        """
        import numpy
        try:
            bits = base64.b64decode(text, validate=True)
        except (binascii.Error, TypeError, ValueError):
            bits = b""
        has = numpy.unpackbits(numpy.frombuffer(bits, numpy.uint8),
                               bitorder="little").astype(numpy.bool_)
        if len(bits) != (size + 7) // 8 or has[size:].any():
            raise errors.StateError(
                "the state does not say which samples of the epoch were seen, "
                'as one of order="coordinated" does')
        seen = cls(size)
        seen._has[:] = has[:size]
        return seen
