"""Which epoch a loader is in, which comes next, and how that is kept."""

from __future__ import annotations

from typing import Any, Dict, Optional

from . import _native, _position, errors
from ._dataset import DatasetInfo
from ._position import Position
from ._sampling import Sampling, warn_of_repeated
from ._seen import Seen


class Progress:
    """Leads a loader from epoch to epoch.

    Used by one thread at a time, but for `state`.

    Attributes:
      state: the Position that a state_dict tells of: of what next() returned.
    """

    def __init__(self, sampling: Sampling, options: Dict[str, Any],
                 dataset: DatasetInfo):
        """
        Args:
          options: of _options.build.
        """
        self._sampling = sampling
        self._options = options
        self._dataset = dataset
        self._next = self.state = Position(0)
        self._begun = -1  # the last epoch that was
        # What the sampler says while it is not to be listened to.
        self._passed: Optional[int] = None
        self._drawn: Any = None  # the last indices of a listed order

    def batches(self, per_epoch: int) -> int:
        """How many an epoch has: as many as the daemon says, unless the sampler
        does. Raises TypeError if nobody can know."""
        if not self._sampling.listed:
            return per_epoch
        whole, rest = divmod(self._sampling.count(self._drawn),
                             self._options["batch_size"])
        return whole + (rest > 0 and not self._options["drop_last"])

    def set_epoch(self, epoch: int) -> None:
        """Says which epoch is next; tells the sampler, too."""
        if epoch < 0:
            raise errors.InvalidArgument(
                f"the epoch must not be negative, but is {epoch}")
        self._sampling.set_epoch(int(epoch))
        self._move_to(int(epoch))

    def _move_to(self, epoch: int) -> None:
        if epoch != self._next.epoch:
            self._next = self.state = Position(
                epoch, generator=self._next.generator)

    def next_position(self, stacklevel: int) -> Position:
        """Where iter() begins: in the epoch that the sampler was told, if it is
        one to be told."""
        told = self._sampling.epoch
        if told is not None and told != self._passed:
            if told == self._begun and self._sampling.shuffle:
                warn_of_repeated(self._sampling.sampler, told, stacklevel + 1)
            self._move_to(told)
        self._passed = None
        position = self._next.copy()
        if self._sampling.listed:
            self._sampling.complete(position, len(self._dataset))
            self._drawn = position.indices
        elif (position.seen is None and
              self._options["order"] == _native.COORDINATED):
            position.seen = Seen(len(self._dataset))
        return position

    def begin(self, position: Position) -> None:
        """The epoch of this position is under way."""
        self._next = Position(position.epoch + 1, generator=position.generator)
        self._begun = position.epoch
        self.state = position

    def end(self) -> None:
        """The epoch under way has come to its end."""
        self.state = self._next

    def save(self) -> Dict[str, Any]:
        return _position.save(self.state, self._dataset, self._options)

    def load(self, state: Dict[str, Any], samples_per_epoch: int) -> None:
        """Goes on where `save` was called; see _position.load."""
        self._next = self.state = _position.load(
            state, self._dataset, self._options, samples_per_epoch)
        # A sampler that nobody tells an epoch from now on has no say.
        self._passed = self._sampling.epoch
        self._sampling.set_generator_state(self.state.generator)
