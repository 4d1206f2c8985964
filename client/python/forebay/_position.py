"""Where a loader stands, and how that is kept."""

from __future__ import annotations

from typing import Any, Dict, Optional

from . import _native, errors
from ._dataset import DatasetInfo
from ._partition import Partition
from ._seen import Seen

_VERSION = 1


class Position:
    """How far an epoch has come.

    Attributes:
      epoch: int.
      start: int, the place in the epoch's order at which all ranks began.
      first: int, the samples of this rank before it.
      samples: int, of this rank, returned by next() since.
      indices: the epoch's samples where the order is listed: NumPy int64, (M,);
        None before they are drawn.
      generator: bytes, the state that the sampler's generator has been left in
        when indices were drawn last, or None.
      seen: a Seen of the epoch's samples returned by next(), those before
        `first` included, where the order is coordinated; else None, or none yet.
    """

    __slots__ = ("epoch", "start", "first", "samples", "indices", "generator",
                 "seen")

    def __init__(self, epoch: int, start: int = 0, first: int = 0,
                 indices: Any = None, generator: Optional[bytes] = None,
                 seen: Optional[Seen] = None):
        self.epoch = epoch
        self.start = start
        self.first = first
        self.samples = 0
        self.indices = indices
        self.generator = generator
        self.seen = seen

    def copy(self) -> Position:
        """This one, from which next() has returned nothing yet."""
        seen = None if self.seen is None else self.seen.copy()
        return Position(self.epoch, self.start, self.first, self.indices,
                        self.generator, seen)

    def list_to_send(self) -> Any:
        """What Connection.start_epoch takes as indices."""
        return self.seen.indices() if self.seen else self.indices


_PAD = {number: name for name, number in _native.UNEVEN.items()}


def _partition(options: Dict[str, Any], dataset: DatasetInfo,
               indices: Any) -> Partition:
    batch_size = options["batch_size"]
    if indices is not None:  # this process's own
        return Partition(places=len(indices), rank=0, world_size=1, pad="none",
                         batch_size=batch_size)
    return Partition(places=len(dataset), rank=options["rank"],
                     world_size=options["world_size"],
                     pad=_PAD[options["uneven"]], batch_size=batch_size)


def save(position: Position, dataset: DatasetInfo,
         options: Dict[str, Any]) -> Dict[str, Any]:
    """A position as a dict of plain values.

    Args:
      options: of _options.build.
    """
    partition = _partition(options, dataset, position.indices)
    state = {
        "version": _VERSION,
        "dataset_version": dataset.version,
        "seed": options["seed"],
        "order": options["order"],
        "epoch": position.epoch,
        "position": partition.place_of(position.start, position.samples),
    }
    if position.indices is not None:
        # No seed tells a sampler's order: it goes with the state.
        state["indices"] = position.indices.astype("<i8").tobytes()
    if position.generator is not None:
        state["generator"] = position.generator
    if options["order"] == _native.COORDINATED:
        seen = Seen(len(dataset)) if position.seen is None else position.seen
        state["seen"] = seen.to_text()
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
    if options["order"] == _native.COORDINATED:
        seen = Seen.from_text(state.get("seen"), len(dataset))
        return Position(int(state["epoch"]), len(seen), len(seen), seen=seen)
    indices = state.get("indices")
    if indices is not None:
        import numpy
        indices = numpy.frombuffer(indices, "<i8").astype(numpy.int64)
        samples_per_epoch = len(indices)
    partition = _partition(options, dataset, indices)
    start = partition.start_at(int(state["position"]))
    return Position(int(state["epoch"]), start,
                    partition.first_sample(start, samples_per_epoch), indices,
                    state.get("generator"))
