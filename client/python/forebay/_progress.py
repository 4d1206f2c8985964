"""Which epoch a loader is in, which comes next, and how that is kept."""

from __future__ import annotations

import operator
from typing import Any, Dict, Optional

from . import _native, _position, errors
from ._dataset import DatasetInfo
from ._position import Position
from ._sampling import Sampling, warn_of_repeated
from ._seen import Seen


def _check_epoch(epoch: int) -> None:
    if not 0 <= epoch < _native.EPOCHS:
        raise errors.InvalidArgument(
            f"the epoch must be 0 to 2**63 - 1, but is {epoch}")


class Progress:
    """Leads a loader from epoch to epoch.

    Used by one thread at a time, but for the samples of a position under way.
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
        self._next = self._state = Position(0)
        # Whether no state was loaded, and no sample returned before the epoch
        # under way.
        self._is_new = True
        self._begun = -1  # the last epoch that was
        # Of the epoch under way, and its samples when _state was set.
        self._running: Optional[Position] = None
        self._samples_before = 0
        # What the sampler says while it is not to be listened to.
        self._passed: Optional[int] = None
        self._drawn: Any = None  # the last indices of a listed order

    @property
    def is_new(self) -> bool:
        """Whether nobody relies on the dataset's version: no sample was returned,
        no state loaded, and the dataset not opened anew."""
        running = self._running
        return self._is_new and (running is None or running.samples == 0)

    def set_renewed(self) -> None:
        """The dataset was opened anew, which it is once."""
        self._is_new = False

    @property
    def state(self) -> Position:
        """What a state_dict tells of: what next() has returned, or where the
        next iter() begins if that was said since."""
        running = self._running
        if running is not None and running.samples != self._samples_before:
            return running
        return self._state

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
        number = operator.index(epoch)
        _check_epoch(number)
        self._sampling.set_epoch(number)
        self._move_to(number)

    def _move_to(self, epoch: int) -> None:
        if epoch != self._next.epoch:
            self._next = self._state = Position(
                epoch, generator=self._next.generator)
            if self._running is not None:
                self._samples_before = self._running.samples

    def next_position(self, stacklevel: int) -> Position:
        """Where iter() begins: in the epoch that the sampler was told, if it is
        one to be told."""
        told = self._sampling.epoch
        if told is not None and told != self._passed:
            _check_epoch(told)
            if told == self._begun and self._sampling.shuffle:
                warn_of_repeated(self._sampling.sampler, told, stacklevel + 1)
            self._move_to(told)
        if self._sampling.listed:
            # Kept there: an epoch that cannot be begun yet is the same one later.
            self._sampling.complete(self._next, len(self._dataset))
            self._drawn = self._next.indices
        position = self._next.copy()
        if (position.seen is None and
                self._options["order"] == _native.COORDINATED):
            position.seen = Seen(len(self._dataset))
        return position

    def begin(self, position: Position) -> None:
        """The epoch of this position is under way."""
        self._is_new = self.is_new
        self._next = Position(position.epoch + 1, generator=position.generator)
        self._begun = position.epoch
        self._passed = None
        self._running = self._state = position
        self._samples_before = 0

    def end(self) -> None:
        """The epoch under way has come to its end."""
        self._is_new = self.is_new
        self._running = None
        self._state = self._next

    def save(self) -> Dict[str, Any]:
        return _position.save(self.state, self._dataset, self._options)

    def load(self, state: Dict[str, Any], samples_per_epoch: int) -> None:
        """Goes on where `save` was called; see _position.load."""
        position = _position.load(state, self._dataset, self._options,
                                  samples_per_epoch)
        self._sampling.set_generator_state(position.generator)
        self._running = None
        self._next = self._state = position
        self._is_new = False
        # A sampler that nobody tells an epoch from now on has no say.
        self._passed = self._sampling.epoch
