"""The position of a loader, and how a state stores it."""

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
# The lowest bit at which the daemon's number of an epoch counts portions.
_PORTION_SHIFT = 40
# The argument that makes each order.
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
      samples: int, the number of this rank's samples that next() has returned since.
      indices: with a listed order, the epoch's samples: NumPy int64, (M,); None
        before they are drawn. Objects, if the sampler's keys are not numbers.
      sizes: the sizes of the batches that a batch sampler made of the indices: NumPy
        int64, (B,); else None.
      generator: bytes, the state of the sampler's generator after the last draw
        of indices, or None.
      seen: with a coordinated order, a Seen of the samples that next() has returned,
        including the samples before `first`. None if there are no such samples yet, and
        with other orders.
      shards: with an iterable dataset, the shard_state.States of its workers; None
        if nothing is known.
      last: the batch that settle() adds to `seen`: the value of `samples` once the
        batch is counted, and its sample numbers. None if there was no batch.
      origin: if a sampler's keys are drawn one portion after the other, the random
        generators before the first key: see _stage.drawing; None before that.
      portion: the Portion of the epoch that the daemon has, or gets; None if it has
        the whole epoch.
      loads: int, the number of states that the loader had loaded, and of changes of
        its dataset that it had followed, when the epoch began.
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
        """Adds the batch `last` to `seen`, once `samples` counts it. Any thread."""
        last = self.last
        if self.seen is not None and last is not None and last[0] <= self.samples:
            self.seen.add(last[1])

    def copy(self) -> Position:
        """Returns the same position, as if next() had returned nothing since."""
        seen = None if self.seen is None else self.seen.copy()
        made = Position(self.epoch, self.start, self.first, self.indices,
                        self.generator, seen)
        made.sizes = self.sizes
        made.origin = self.origin
        made.portion = self.portion
        made.shards = None if self.shards is None else self.shards.copy()
        return made

    def rest(self) -> Position:
        """Returns the position after the samples that next() has returned, as the
        beginning of an epoch's rest."""
        self.settle()
        made = self.copy()
        made.first = self.first + self.samples
        return made

    @property
    def begin(self) -> int:
        """The number of this rank's samples of the epoch before the first sample that
        the daemon knows of."""
        return 0 if self.portion is None else self.portion.start

    @property
    def listed_end(self) -> Optional[int]:
        """The number of samples of the epoch up to the end of the daemon's list; None
        if it has no list."""
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
        """Returns the arguments of Connection.start_epoch. Each portion of an epoch is
        an epoch of its own to the daemon, so that augmentations differ where a sample
        comes again."""
        epoch = self.epoch
        if self.portion is not None:
            # Two portions never start within half of the longest portion's length, so
            # their numbers differ.
            number = self.portion.start // (_portions.PORTION >> 1) << _PORTION_SHIFT
            epoch = (epoch + number) % _native.EPOCHS
        return epoch, self.first + self.samples - self.begin, self.list_to_send()


_PAD = {number: name for name, number in _native.UNEVEN.items()}


def _partition(options: Dict[str, Any], dataset: DatasetInfo,
               indices: Any) -> Partition:
    # If lengths decide the batches, all ranks have taken as many samples as this one.
    batch_size = 1 if _lengths.vary(options) else options["batch_size"]
    if indices is not None:  # the indices are this process's alone
        return Partition(places=len(indices), rank=0, world_size=1, pad="none",
                         batch_size=batch_size)
    return Partition(places=len(dataset), rank=options["rank"],
                     world_size=options["world_size"],
                     pad=_PAD[options["uneven"]], batch_size=batch_size)


def save(position: Position, dataset: DatasetInfo,
         options: Dict[str, Any]) -> Dict[str, Any]:
    """Makes a dict of plain values of a position.

    Args:
      options: of _options.build.
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
        # The state stores a sampler's order, which no seed yields.
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
    """Checks that the state was saved with this package."""
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
    """Checks that the state was saved with this package, dataset, seed and order."""
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
    """Returns the sampler's order in a state: NumPy int64, (M,); None if it was not
    drawn yet."""
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
    """Returns the sizes of a batch sampler's batches; None without such a sampler."""
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
    """Returns the position of which `save` made the state.

    Args:
      options: of _options.build.
      samples_per_epoch: of this rank.

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
    """Returns the random generators before an epoch's first key; None if no epoch has
    begun."""
    generators = state.get("generators")
    if not isinstance(generators, (dict, type(None))):
        raise errors.StateError(
            "the state is damaged: its generators are "
            f"{reprlib.repr(generators)}, not a dict")
    return generators


def save_counted(position: Position, options: Dict[str, Any]) -> Dict[str, Any]:
    """Makes a dict of plain values of a position that tells only how many samples,
    or batches, were taken."""
    return {"version": _VERSION, "seed": options["seed"], "epoch": position.epoch,
            "position": position.first + position.samples}


def load_counted(state: Mapping[str, Any], options: Dict[str, Any]) -> Position:
    """Returns the position of which `save_counted` made the state.

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
