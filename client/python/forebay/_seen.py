"""Which samples of an epoch were seen, where their order does not tell."""

from __future__ import annotations

import base64
import binascii

import numpy

from . import errors


class Seen:
    """A set of samples out of 0 to size - 1. Used by one thread at a time."""

    def __init__(self, size):
        self._has = numpy.zeros(size, numpy.bool_)

    def __len__(self):
        return int(numpy.count_nonzero(self._has))

    def add(self, sample_ids):
        """Adds samples.

        Args:
          sample_ids: a batch's, an array or tensor of integers, (N,).
        """
        self._has[numpy.asarray(sample_ids)] = True

    def indices(self):
        """The samples in ascending order: int64, (M,)."""
        return numpy.flatnonzero(self._has).astype(numpy.int64)

    def to_text(self):
        """The set as text: base64 of its bits, sample 0 the lowest of the
        first byte."""
        bits = numpy.packbits(self._has, bitorder="little")
        return base64.b64encode(bits.tobytes()).decode()

    @classmethod
    def from_text(cls, text, size):
        """The set that to_text made text of.

        Raises:
          errors.StateError: it is not of a set of that size.
        """
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
