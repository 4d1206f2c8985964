"""The position of a loader in its epoch, and its form in a state."""

from __future__ import annotations

import operator
import reprlib
from typing import Any, Dict, Mapping, Optional, Tuple

from . import _lengths, _native, _portions, errors
from ._dataset import DatasetInfo
from ._partition import Partition
from ._portions import Portion
from ._seen import Seen

_VERSION = 1
# The bits of the daemon's epoch number from this one on hold the number of the portion.
_PORTION_SHIFT = 40
# The arguments of DataLoader that select each order.
_ORDERS = {
    _native.SEQUENTIAL: "shuffle=False", _native.SHUFFLE: "shuffle=True",
    _native.BLOCK_SHUFFLE: 'shuffle="block"', _native.LISTED: "sampler=",
    _native.COORDINATED: 'order="coordinated"'}


class Position:
    """The progress of an epoch.

    Attributes:
      epoch: int.
      start: int, the place in the epoch's order at which all ranks began.
      first: int, the number of this rank's samples before `start`.
      samples: int, the number of this rank's samples that next() has returned since
        `start`.
      indices: with a listed order, the epoch's samples: NumPy int64, (M,), or an array
        of objects if the sampler's keys are not numbers. None before they are drawn.
      sizes: the sizes of the batches that a batch sampler made of the indices: NumPy
        int64, (B,). None without a batch sampler.
      generator: bytes, the state of the sampler's generator after `indices` were drawn,
        or None.
      seen: with a coordinated order, a Seen with the samples that next() has returned,
        including the samples before `first`. None if there are none yet, and with all
        other orders.
      shards: with an iterable dataset, the shard_state.States of its workers; None
        if nothing is known.
      last: the batch that settle() adds to `seen`: the value of `samples` after that
        batch, and the batch's sample numbers. None if there was no batch.
      origin: if a sampler's keys are drawn in portions, the states of the random
        generators before the first key: see _stage.drawing. None before that.
      portion: the Portion of the epoch that the daemon has or will get. None if the
        daemon has the whole epoch.
      loads: int, a counter of the loader when the epoch began. The loader raises this
        counter when it loads a state, or when it follows a change of its dataset.
    """

    __slots__ = ("epoch", "start", "first", "samples", "indices", "sizes",
                 "generator", "seen", "shards", "last", "loads",
                 "origin", "portion")

    def __init__(self, epoch: int, start: int = 0, first: int = 0,
                 indices: Any = None, generator: Optional[bytes] = None,
                 seen: Optional[Seen] = None):
        self.epoch = epoch
        self.start = start
        self.first = first
        self.samples = 0
        self.indices = indices
        self.sizes: Any = None
        self.generator = generator
        self.seen = seen
        self.shards: Any = None
        self.last: Optional[Tuple[int, Any]] = None
        self.loads = 0
        self.origin: Optional[Dict[str, Any]] = None
        self.portion: Optional[Portion] = None

    def settle(self) -> None:
        """Adds the batch `last` to `seen` if `samples` already counts that batch. Any
        thread may call it."""
        last = self.last
        if self.seen is not None and last is not None and last[0] <= self.samples:
            self.seen.add(last[1])

    def copy(self) -> Position:
        """Returns a copy of the position at which the iterator began."""
        seen = None if self.seen is None else self.seen.copy()
        made = Position(self.epoch, self.start, self.first, self.indices,
                        self.generator, seen)
        made.sizes = self.sizes
        made.origin = self.origin
        made.portion = self.portion
        made.shards = None if self.shards is None else self.shards.copy()
        return made

    def rest(self) -> Position:
        """Returns the position after the samples that next() has returned, from which a
        new iterator can begin."""
        self.settle()
        made = self.copy()
        made.first = self.first + self.samples
        return made

    @property
    def begin(self) -> int:
        """The number of this rank's samples of the epoch that come before the daemon's
        first sample."""
        return 0 if self.portion is None else self.portion.start

    @property
    def listed_end(self) -> Optional[int]:
        """The number of samples of the epoch up to the end of the daemon's list; None
        if the daemon has no list."""
        if self.portion is not None:
            return self.portion.end
        return None if self.indices is None else len(self.indices)

    @property
    def is_in_last_portion(self) -> bool:
        return self.portion is None or self.portion.is_last

    def list_to_send(self) -> Any:
        """Returns the indices for Connection.start_epoch."""
        if self.portion is not None:
            return self.portion.indices
        return self.seen.indices() if self.seen else self.indices

    def to_start(self) -> Tuple[int, int, Any]:
        """Returns the arguments of Connection.start_epoch. For the daemon, each portion
        of an epoch is another epoch, so a sample that comes again is augmented
        differently."""
        epoch = self.epoch
        if self.portion is not None:
            # The starts of two portions differ by at least half of the longest portion,
            # so their numbers differ.
            number = self.portion.start // (_portions.PORTION >> 1) << _PORTION_SHIFT
            epoch = (epoch + number) % _native.EPOCHS
        return epoch, self.first + self.samples - self.begin, self.list_to_send()


_PAD = {number: name for name, number in _native.UNEVEN.items()}


def _partition(options: Dict[str, Any], dataset: DatasetInfo,
               indices: Any) -> Partition:
    # If lengths decide the batches, all ranks have taken as many samples as this rank.
    batch_size = 1 if _lengths.vary(options) else options["batch_size"]
    if indices is not None:  # only this process has these indices
        return Partition(places=len(indices), rank=0, world_size=1, pad="none",
                         batch_size=batch_size)
    return Partition(places=len(dataset), rank=options["rank"],
                     world_size=options["world_size"],
                     pad=_PAD[options["uneven"]], batch_size=batch_size)


def save(position: Position, dataset: DatasetInfo,
         options: Dict[str, Any]) -> Dict[str, Any]:
    """Returns a position as a dict of plain values.

    Args:
      options: the result of _options.build.
    """
    position.settle()
    partition = _partition(options, dataset, position.indices)
    state = {
        "version": _VERSION,
        "dataset_version": dataset.version,
        "seed": options["seed"],
        "order": options["order"],
        "epoch": position.epoch,
        "position": partition.place_of(position.start, position.samples),
    }
    batching = _lengths.described(options)
    if batching is not None:
        state["batching"] = batching
    if position.sizes is not None:
        state["batch_sizes"] = position.sizes.astype("<i8").tobytes()
    if position.indices is not None:
        if position.indices.dtype.kind == "O":
            raise errors.Unsupported(
                "a sampler whose keys are not numbers has no state to be saved")
        # The state stores a sampler's order, because it cannot be computed from a seed.
        state["indices"] = position.indices.astype("<i8").tobytes()
    if position.portion is not None:
        state["position"] = position.first + position.samples
        state["portion"] = position.begin
        state["generators"] = position.origin
    elif position.generator is not None:
        state["generator"] = position.generator
    if options["order"] == _native.COORDINATED:
        seen = Seen(len(dataset)) if position.seen is None else position.seen
        state["seen"] = seen.to_text()
    return state


def _number(state: Mapping[str, Any], key: str, largest: int) -> int:
    value: Any = state.get(key)
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = -1
    if not 0 <= number <= largest:
        raise errors.StateError(
            f"the state is damaged: its {key} is {reprlib.repr(value)}, "
            f"not a whole number from 0 to {largest}")
    return number


def _bytes(state: Mapping[str, Any], key: str) -> Optional[bytes]:
    value = state.get(key)
    if value is None or isinstance(value, bytes):
        return value
    raise errors.StateError(
        f"the state is damaged: its {key} is {reprlib.repr(value)}, not bytes")


def _check_version(state: Mapping[str, Any]) -> None:
    """Checks that this package has saved the state."""
    if not isinstance(state, Mapping):
        raise errors.StateError(
            f"a state is a dict, not {reprlib.repr(state)}")
    version = state.get("version")
    if type(version) is not int or version != _VERSION:
        raise errors.StateError(
            f"the state has version {reprlib.repr(version)}; this package "
            f"reads version {_VERSION}")


def seed_of(state: Any, dataset: DatasetInfo) -> Optional[int]:
    """Returns the seed with which a state of this dataset was saved; None if the state
    has none."""
    try:
        _check_version(state)
    except errors.StateError:
        return None
    version, seed = state.get("dataset_version", dataset.version), state.get("seed")
    if not isinstance(version, str) or version != dataset.version:
        return None
    return seed if type(seed) is int and 0 <= seed < 2 ** 64 else None


def _check_origin(state: Mapping[str, Any], dataset: DatasetInfo,
                  options: Dict[str, Any]) -> None:
    """Checks that this package has saved the state, with this dataset, seed and
    order."""
    _check_version(state)
    version = state.get("dataset_version")
    if not isinstance(version, str) or version != dataset.version:
        raise errors.StateError(
            "the state was saved with another version of the dataset: "
            f"{reprlib.repr(version)}, but {dataset.uri} is {dataset.version}")
    for key in ("seed", "order"):
        saved = _number(state, key, 2 ** 64 - 1)
        if saved != options[key]:
            names = _ORDERS if key == "order" else {}
            raise errors.StateError(
                f"the state was saved with another {key}: {names.get(saved, saved)}, "
                f"not {names.get(options[key], options[key])}")
    batching = _lengths.described(options)
    if state.get("batching") != batching:
        raise errors.StateError(
            "the state was saved with other batches, which decide the order: "
            f"{reprlib.repr(state.get('batching'))}, not {batching!r}")


def _indices(state: Mapping[str, Any], size: int) -> Any:
    """Returns the sampler's order from a state: NumPy int64, (M,). None if the order
    was not drawn yet."""
    saved = _bytes(state, "indices")
    if saved is None:
        _number(state, "position", 0)
        return None
    import numpy
    if len(saved) % 8 == 0:
        indices = numpy.frombuffer(saved, "<i8").astype(numpy.int64)
        if not ((indices < 0) | (indices >= size)).any():
            return indices
    raise errors.StateError(
        "the state is damaged: its indices are not those of a dataset of "
        f"{size} samples")


def _sizes(state: Mapping[str, Any], indices: Any) -> Any:
    """Returns the sizes of a batch sampler's batches; None if there is no batch
    sampler."""
    saved = _bytes(state, "batch_sizes")
    if saved is None:
        return None
    import numpy
    if len(saved) % 8 == 0 and indices is not None:
        sizes = numpy.frombuffer(saved, "<i8").astype(numpy.int64)
        if not (sizes < 0).any() and sizes.sum() == len(indices):
            return sizes
    raise errors.StateError(
        "the state is damaged: its batches are not those of its indices")


def load(state: Mapping[str, Any], dataset: DatasetInfo,
         options: Dict[str, Any], samples_per_epoch: int) -> Position:
    """Returns the position that `save` stored in `state`.

    Args:
      options: the result of _options.build.
      samples_per_epoch: the number of this rank's samples in an epoch.

    Raises:
      errors.StateError: the state is damaged, or belongs to another dataset,
        seed or order.
    """
    _check_origin(state, dataset, options)
    epoch = _number(state, "epoch", _native.EPOCHS - 1)
    if options["order"] == _native.COORDINATED:
        _number(state, "position", len(dataset))
        seen = Seen.from_text(state.get("seen"), len(dataset))
        return Position(epoch, len(seen), len(seen), seen=seen)
    indices = None
    if options["order"] == _native.LISTED:
        if state.get("generators") is not None:
            return _load_portion(state, epoch)
        indices = _indices(state, len(dataset))
        if indices is not None:
            samples_per_epoch = len(indices)
    partition = _partition(options, dataset, indices)
    start = partition.start_at(_number(state, "position", partition.places))
    position = Position(epoch, start,
                        partition.first_sample(start, samples_per_epoch), indices,
                        _bytes(state, "generator"))
    position.sizes = _sizes(state, indices)
    return position


def _load_portion(state: Mapping[str, Any], epoch: int) -> Position:
    first = _number(state, "position", 2 ** 62)
    start = _number(state, "portion", first)
    if first - start > _portions.PORTION:
        raise errors.StateError(
            f"the state is damaged: its portion is {start}, but its position {first}")
    origin = _generators(state) or {}
    own = origin.get("sampler")
    position = Position(epoch, first, first,
                        generator=own if isinstance(own, bytes) else None)
    position.origin = origin
    position.portion = Portion(start)
    return position


def _generators(state: Mapping[str, Any]) -> Optional[Dict[str, Any]]:
    """Returns the states of the random generators before an epoch's first key. None if
    no epoch has begun."""
    generators = state.get("generators")
    if not isinstance(generators, (dict, type(None))):
        raise errors.StateError(
            "the state is damaged: its generators are "
            f"{reprlib.repr(generators)}, not a dict")
    return generators


def save_counted(position: Position, options: Dict[str, Any]) -> Dict[str, Any]:
    """Returns, as a dict of plain values, a position that has only the number of
    samples, or batches, that were taken."""
    return {"version": _VERSION, "seed": options["seed"], "epoch": position.epoch,
            "position": position.first + position.samples}


def load_counted(state: Mapping[str, Any], options: Dict[str, Any]) -> Position:
    """Returns the position that `save_counted` stored in `state`.

    Raises:
      errors.StateError: the state is damaged, or has another seed.
    """
    _check_version(state)
    if _number(state, "seed", 2 ** 64 - 1) != options["seed"]:
        raise errors.StateError(
            f"the state was saved with another seed: {state['seed']}, not "
            f"{options['seed']}")
    position = Position(_number(state, "epoch", _native.EPOCHS - 1),
                        first=_number(state, "position", 2 ** 62))
    position.origin = _generators(state)
    return position
