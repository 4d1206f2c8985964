"""Where a loader stands, and how that is kept."""

from __future__ import annotations

from typing import Any, Dict, Optional

from . import errors
from ._dataset import DatasetInfo

_VERSION = 1


class Position:
    """How far an epoch has come.

    Attributes:
      epoch: int.
      samples: int, of this rank, returned by next().
      indices: the epoch's samples where the order is listed: NumPy int64, (M,);
        None before they are drawn.
      generator: bytes, the state of the sampler's generator behind them, or None.
    """

    __slots__ = ("epoch", "samples", "indices", "generator")

    def __init__(self, epoch: int, samples: int, indices: Any = None,
                 generator: Optional[bytes] = None):
        self.epoch = epoch
        self.samples = samples
        self.indices = indices
        self.generator = generator

    def copy(self) -> Position:
        return Position(self.epoch, self.samples, self.indices, self.generator)


def save(position: Position, version: str,
         options: Dict[str, Any]) -> Dict[str, Any]:
    """A position as a dict of plain values.

    Args:
      version: of the dataset.
      options: of _options.build.
    """
    state = {
        "version": _VERSION,
        "dataset_version": version,
        "seed": options["seed"],
        "order": options["order"],
        "epoch": position.epoch,
        "position": position.samples * options["world_size"],
    }
    if position.indices is not None:
        # No seed tells a sampler's order: it goes with the state.
        state["indices"] = position.indices.astype("<i8").tobytes()
    if position.generator is not None:
        state["generator"] = position.generator
    return state


def load(state: Dict[str, Any], dataset: DatasetInfo, options: Dict[str, Any],
         samples_per_epoch: int) -> Position:
    """The position that `save` was given.

    Args:
      options: of _options.build.
      samples_per_epoch: of this rank.

    Raises:
      errors.StateError: the state is of another dataset, seed or order.
    """
    if state.get("version") != _VERSION:
        raise errors.StateError(
            f"the state has version {state.get('version')!r}; this package "
            f"reads version {_VERSION}")
    if state["dataset_version"] != dataset.version:
        raise errors.StateError(
            "the state was saved with another version of the dataset: "
            f"{state['dataset_version']}, but {dataset.uri} is "
            f"{dataset.version}")
    for key in ("seed", "order"):
        if state[key] != options[key]:
            raise errors.StateError(
                f"the state was saved with another {key}: {state[key]}, "
                f"not {options[key]}")
    indices = state.get("indices")
    if indices is not None:
        import numpy
        indices = numpy.frombuffer(indices, "<i8").astype(numpy.int64)
        samples_per_epoch = len(indices)
    size, rank = options["world_size"], options["rank"]
    samples = max(0, -(-(state["position"] - rank) // size))
    return Position(int(state["epoch"]), min(samples, samples_per_epoch),
                    indices, state.get("generator"))
