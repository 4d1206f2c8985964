"""The samples of an epoch and their order, read from torch's samplers."""

from __future__ import annotations

import operator
import warnings
from typing import Any, NamedTuple, Optional, Union

from . import errors
from ._counterpart import is_plainly
from ._epoch_order import EpochOrder
from ._position import Position
from ._stage import drawing

_TORCH = "torch.utils.data"
_MOST_LISTED = 1 << 28  # 2 GiB of numbers


class Sampling(NamedTuple):
    """An order, and the part of it that this process reads.

    Attributes:
      shuffle: as DataLoader's.
      seed: of the order; None takes DataLoader's.
      rank, world_size: which part of it; None takes DataLoader's.
      pad: as DataLoader's; None takes that.
      listed: whether the sampler's own indices make each epoch.
      sampler: the argument, or an EpochOrder.
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
        """Fills in DataLoader's arguments where the sampler leaves them open.

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
        """The number of samples in a listed epoch: the sampler's length, else that
        of the last indices drawn."""
        try:
            return len(self.sampler)
        except TypeError:
            if drawn is None:
                raise
            return len(drawn)

    def check_list(self) -> None:
        """Refuses a listed epoch that is too long to be listed.

        Raises:
          errors.ResourceExhausted: it is.
        """
        length = getattr(self.sampler, "__len__", None) if self.listed else None
        if length is not None and length() > _MOST_LISTED:
            raise errors.ResourceExhausted(
                f"{type(self.sampler).__name__} lists {length()} samples an epoch, but "
                f"the daemon takes {_MOST_LISTED} at most: give it fewer, as each "
                "iter() begins another epoch")

    def draw(self, size: int) -> Any:
        """The indices of an epoch of a listed order: NumPy int64, (M,).

        Args:
          size: of the dataset.

        Raises:
          errors.InvalidArgument: the sampler yields something else.
        """
        import numpy
        try:
            indices = numpy.fromiter(
                map(operator.index, drawing.keys_of(self.sampler)), numpy.int64)
        except (TypeError, OverflowError):
            raise errors.InvalidArgument(
                f"{type(self.sampler).__name__} yields something else than "
                "integers: pass a sampler of single samples") from None
        indices[indices < 0] += size
        outside = (indices < 0) | (indices >= size)
        if outside.any():
            raise errors.InvalidArgument(
                f"{type(self.sampler).__name__} yields {indices[outside][0]}, "
                f"but the dataset has {size} samples")
        return indices

    def complete(self, position: Position, size: int) -> None:
        """Draws the indices of a position's epoch, unless that was done before."""
        if position.indices is None:
            indices = self.draw(size)
            # First: an interrupted call has set both, or draws both again.
            position.generator = self._generator_state()
            position.indices = indices

    def _generator_state(self) -> Optional[bytes]:
        """The state of the sampler's own generator, if it has one."""
        generator = getattr(self.sampler, "generator", None)
        if generator is None:
            return None
        return generator.get_state().numpy().tobytes()

    def set_generator_state(self, state: Optional[bytes]) -> None:
        """Sets the state of the sampler's generator, if it has one.

        Raises:
          errors.StateError: it is no state of that generator.
        """
        generator = getattr(self.sampler, "generator", None)
        if state is None or generator is None:
            return
        import torch
        try:
            generator.set_state(torch.frombuffer(bytearray(state),
                                                 dtype=torch.uint8))
        except (RuntimeError, ValueError) as error:
            raise errors.StateError(
                f"the state is damaged: its generator: {error}") from None


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
      sampler: one of torch's, any iterable of the dataset's indices, or None.
      size: of the dataset that it was made for; None if not known yet.
      shuffle: as DataLoader's.
      generator: a torch.Generator whose seed becomes the order's, or None.

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
    own = getattr(sampler, "generator", None)
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
