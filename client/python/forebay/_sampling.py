"""The samples of an epoch and their order, read from torch's samplers."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, Optional, Union

from . import errors
from ._counterpart import is_plainly
from ._epoch_order import EpochOrder
from ._portions import Portion, PortionSource
from ._position import Position
from ._stage import drawing

_TORCH = "torch.utils.data"


class Sampling(NamedTuple):
    """The order of an epoch, and the part of the order that this process reads.

    Attributes:
      shuffle: DataLoader's argument.
      seed: the order's seed; None: DataLoader's.
      rank, world_size: the part of the order; None: DataLoader's.
      pad: the rule for samples that do not divide evenly among ranks; None:
        DataLoader's.
      listed: whether the sampler's own indices are the samples of each epoch.
      sampler: the sampler that the user gave, or an EpochOrder.
    """

    shuffle: Union[bool, str]
    seed: Optional[int] = None
    rank: Optional[int] = None
    world_size: Optional[int] = None
    pad: Optional[str] = None
    listed: bool = False
    sampler: Any = None

    def completed(self, seed: int, rank: int, world_size: int,
                  pad: str) -> Sampling:
        """Returns a copy in which DataLoader's arguments replace None.

        Raises:
          errors.InvalidArgument: an argument contradicts the sampler.
        """
        if seed and self.seed not in (None, seed):
            raise errors.InvalidArgument(
                f"seed={seed}, but the generator or the sampler has another, "
                f"{self.seed}: give one of them")
        if self.rank is not None or self.listed:
            if (rank, world_size) != (0, 1) and (rank, world_size) != (
                    self.rank, self.world_size):
                raise errors.InvalidArgument(
                    f"rank {rank} of {world_size}, but the "
                    f"{type(self.sampler).__name__} says which samples this "
                    "process sees: give one of them")
        return self._replace(
            seed=seed if self.seed is None else self.seed,
            rank=rank if self.rank is None else self.rank,
            world_size=world_size if self.world_size is None else self.world_size,
            pad=self.pad or pad)

    @property
    def epoch(self) -> Optional[int]:
        """The sampler's epoch; None if it has no set_epoch."""
        if not hasattr(self.sampler, "set_epoch"):
            return None
        epoch = getattr(self.sampler, "epoch", None)
        return epoch if isinstance(epoch, int) else None

    def set_epoch(self, epoch: int) -> None:
        """Sets the sampler's epoch, if it has one."""
        if self.epoch is not None:
            self.sampler.set_epoch(epoch)

    def count(self, drawn: Any) -> int:
        """Returns the number of samples in a listed epoch: the sampler's length. If the
        sampler has no length, returns the length of `drawn`, the last indices."""
        try:
            return len(self.sampler)
        except TypeError:
            if drawn is None:
                raise
            return len(drawn)

    def _numbered(self, indices: Any, size: int) -> Any:
        """Converts the sampler's indices, which may be negative, to numbers of samples:
        NumPy int64, (M,).

        Args:
          size: the number of samples in the dataset.

        Raises:
          errors.InvalidArgument: the dataset does not have an index.
        """
        indices[indices < 0] += size
        outside = (indices < 0) | (indices >= size)
        if outside.any():
            raise errors.InvalidArgument(
                f"{type(self.sampler).__name__} yields {indices[outside][0]}, "
                f"but the dataset has {size} samples")
        return indices

    def complete(self, position: Position, size: int, batch_size: int) -> None:
        """Draws the indices of a position's epoch, or of a portion of a long epoch,
        unless they were drawn before.

        Args:
          size: the number of samples in the dataset.

        Raises:
          errors.InvalidArgument: the sampler yields something other than indices.
          errors.StateError: the sampler lists fewer samples than the position has
          behind it.
        """
        before = position.portion
        if position.indices is not None or (before and before.source):
            return
        source = PortionSource(
            self.sampler, lambda indices: self._numbered(indices, size),
            position.origin)
        portion = source.draw(before.start if before else 0, position.first, batch_size)
        # The generator's state is set before the indices. If a signal interrupts this
        # between the two, the next call draws again.
        position.generator = self._generator_state()
        if portion.is_last and not before:
            position.indices = portion.indices
        else:
            position.origin = source.origin
            position.portion = portion

    def move_on(self, position: Position, batch_size: int) -> bool:
        """Draws the next portion of a position's epoch. Returns False if there is no
        further portion."""
        portion: Optional[Portion] = position.portion
        if portion is None or portion.is_last:
            return False
        following = portion.source.draw(portion.end, portion.end, batch_size)
        position.generator = self._generator_state()
        position.portion = following
        return True

    def _generator_state(self) -> Optional[bytes]:
        """The state of the sampler's own generator, if it has one."""
        return drawing.own_of(self.sampler).get("sampler")

    def set_generator_state(self, state: Optional[bytes]) -> None:
        """Sets the state of the sampler's generator, if it has one.

        Raises:
          errors.StateError: the bytes are not a state of that generator.
        """
        if state is not None:
            drawing.restore_own(self.sampler, {"sampler": state})


def _seed(generator: Any) -> Optional[int]:
    if generator is None:
        return None
    try:
        return int(generator.initial_seed())
    except AttributeError:
        raise errors.InvalidArgument(
            f"generator must be a torch.Generator, not {generator!r}") from None


def _plain(sampler: Any, name: str) -> bool:
    return is_plainly(sampler, _TORCH, (name,), "__iter__")


def read(sampler: Any, size: Optional[int], shuffle: Union[bool, str, None],
         generator: Any) -> Sampling:
    """Reads the order from DataLoader's arguments.

    Args:
      sampler: one of torch's samplers, any iterable of the dataset's indices, or None.
      size: the number of samples in the sampler's dataset; None if it is not known yet.
      shuffle: DataLoader's argument.
      generator: a torch.Generator whose initial seed becomes the order's seed, or None.

    Raises:
      errors.InvalidArgument: the arguments contradict one another.
    """
    if sampler is None:
        return Sampling(False if shuffle is None else shuffle, _seed(generator),
                        sampler=EpochOrder())
    if shuffle:
        raise errors.InvalidArgument(
            "sampler and shuffle are mutually exclusive: the sampler says the "
            "order")
    own = drawing.generator_of(sampler)
    seed = _seed(generator if own is None else own)
    if _plain(sampler, "DistributedSampler"):
        _check_size(sampler, len(sampler.dataset), size)
        return Sampling(bool(sampler.shuffle), sampler.seed, sampler.rank,
                        sampler.num_replicas,
                        "drop" if sampler.drop_last else "wrap", False, sampler)
    if _plain(sampler, "SequentialSampler"):
        _check_size(sampler, len(sampler.data_source), size)
        return Sampling(False, seed, sampler=sampler)
    if (_plain(sampler, "RandomSampler") and not sampler.replacement and
            sampler.num_samples == len(sampler.data_source)):
        _check_size(sampler, len(sampler.data_source), size)
        return Sampling(True, seed, sampler=sampler)
    if not hasattr(type(sampler), "__iter__"):
        raise errors.InvalidArgument(
            f"sampler must be an iterable of indices, not {sampler!r}")
    return Sampling(False, seed, listed=True, sampler=sampler)


def _check_size(sampler: Any, made_for: int, size: Optional[int]) -> None:
    if size is not None and made_for != size:
        raise errors.InvalidArgument(
            f"the {type(sampler).__name__} was made for {made_for} samples, but "
            f"the dataset has {size}")


def warn_of_repeated(sampler: Any, epoch: int, stacklevel: int) -> None:
    """Warns of an epoch that repeats because set_epoch was not called."""
    warnings.warn(
        f"epoch {epoch} begins again, with the same order and the same "
        f"augmentations: call {type(sampler).__name__}.set_epoch before each "
        "epoch", stacklevel=stacklevel + 1)
