"""How far a loader has come, as it is and as it is saved."""

from __future__ import annotations

import base64
import binascii

import numpy

from . import _native, errors

_STATE_VERSION = 1


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


class Position:
    """How far an epoch has come."""

    __slots__ = ("epoch", "samples", "seen")

    def __init__(self, epoch, samples, seen=None):
        self.epoch = epoch
        self.samples = samples  # of this rank, returned by next()
        # These, a Seen, where the order is coordinated; else None.
        self.seen = seen


def to_state(position, options, dataset):
    """A dict of plain values.

    Args:
      position: a Position.
      options: of the loader, as _options.build made them.
      dataset: the loader's Dataset.
    """
    state = {
        "version": _STATE_VERSION,
        "dataset_version": dataset.version,
        "seed": options["seed"],
        "order": options["order"],
        "epoch": position.epoch,
        "position": position.samples * options["world_size"],
    }
    if position.seen is not None:
        state["seen"] = position.seen.to_text()
    return state


def from_state(state, options, dataset, connection):
    """The Position that to_state made a state of.

    Raises:
      errors.StateError: the state is of another dataset, seed or order.
    """
    if state.get("version") != _STATE_VERSION:
        raise errors.StateError(
            f"the state has version {state.get('version')!r}; this package "
            f"reads version {_STATE_VERSION}")
    if state["dataset_version"] != dataset.version:
        raise errors.StateError(
            f"the state was saved with another version of the dataset: "
            f"{state['dataset_version']}, but {dataset.uri} is "
            f"{dataset.version}")
    for key in ("seed", "order"):
        if state[key] != options[key]:
            raise errors.StateError(
                f"the state was saved with another {key}: {state[key]}, "
                f"not {options[key]}")
    if options["order"] == _native.COORDINATED:
        seen = Seen.from_text(state.get("seen", ""), connection.dataset_size)
        return Position(int(state["epoch"]), len(seen), seen)
    size, rank = options["world_size"], options["rank"]
    samples = max(0, -(-(state["position"] - rank) // size))
    return Position(int(state["epoch"]),
                    min(samples, connection.samples_per_epoch))
