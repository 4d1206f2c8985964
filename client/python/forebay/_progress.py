"""A loader's current epoch and its next epoch, and their form in a state."""

from __future__ import annotations

import operator
import weakref
from typing import Any, Callable, Dict, Optional

from . import _lengths, _native, _position, errors
from ._dataset import DatasetInfo
from ._epoch_order import EpochOrder
from ._position import Position
from ._sampling import Sampling, warn_of_repeated
from ._seen import Seen


def _check_epoch(epoch: int) -> None:
    if not 0 <= epoch < _native.EPOCHS:
        raise errors.InvalidArgument(
            f"the epoch must be 0 to 2**63 - 1, but is {epoch}")


def _reference(iterator: Any) -> Callable[[], Any]:
    return weakref.ref(iterator)


class Progress:
    """Leads a loader from epoch to epoch.

    A single thread at a time may use it, but another thread may change the running
    position's `samples`.

    Attributes:
      keeps_shards: whether workers of an iterable dataset stay alive between epochs.
    """

    keeps_shards = False

    def __init__(self, sampling: Sampling, options: Dict[str, Any],
                 dataset: DatasetInfo):
        """
        Args:
          options: the result of _options.build.
        """
        self._sampling = sampling
        self._options = options
        self._dataset = dataset
        self._next = self._state = Position(0)
        # True until a state is loaded, or until an epoch begins after samples of an
        # earlier epoch were returned.
        self._is_new = True
        self._begun = -1  # the epoch that began last
        # The running epoch's position, and the value of its `samples` when _state was
        # set.
        self._running: Optional[Position] = None
        self._samples_before = 0
        # Returns the running epoch's iterator; None if that iterator is gone and no
        # other epoch was asked for.
        self._iterator: Callable[[], Any] = lambda: self
        self._ignored_epoch: Optional[int] = None  # sampler's, without effect
        self._drawn: Any = None  # the last indices of a listed order
        self._loads = 0  # counts loaded states and changes of the dataset

    @property
    def is_new(self) -> bool:
        """Whether nobody relies on the dataset's version yet: no sample was returned,
        no state was loaded, and the dataset was not opened again."""
        running = self._running
        return self._is_new and (running is None or running.samples == 0)

    @property
    def has_begun(self) -> bool:
        """Whether an epoch has ever begun."""
        return self._begun >= 0

    def set_options(self, options: Dict[str, Any]) -> None:
        """Sets other options, which _options.build made."""
        self._options = options

    def set_reopened(self) -> None:
        """Records that the dataset was opened again, which is allowed once."""
        self._is_new = False

    @property
    def state(self) -> Position:
        """The position for a state_dict: after the samples that next() has returned. If
        the next iter()'s position was set since then, it is that position."""
        running = self._running
        if running is not None and running.samples != self._samples_before:
            return running
        return self._state

    def batches(self, per_epoch: int) -> int:
        """Returns the number of batches in an epoch: `per_epoch`, the daemon's number,
        or the sampler's if the sampler lists samples. Raises TypeError if the number is
        not known beforehand."""
        if _lengths.vary(self._options):
            raise TypeError("with max_tokens or max_seconds, the number of batches is "
                            "known when the epoch ends")
        if not self._sampling.listed:
            return per_epoch
        whole, rest = divmod(self._sampling.count(self._drawn),
                             self._options["batch_size"])
        return whole + (rest > 0 and not self._options["drop_last"])

    def batches_left(self, samples_per_epoch: int) -> int:
        """Returns the number of batches that the running epoch still has.

        Args:
          samples_per_epoch: the number of this rank's samples, if no sampler lists
            them.
        """
        running = self._running
        return 0 if running is None else self.batches_behind(
            running, samples_per_epoch)

    def batches_behind(self, position: Position, samples_per_epoch: int) -> int:
        """Returns the number of batches that a position's epoch still has.
        samples_per_epoch: see batches_left."""
        if _lengths.vary(self._options):
            raise TypeError("with max_tokens or max_seconds, nobody knows how many "
                            "batches are left")
        taken = position.first + position.samples
        if position.sizes is not None:
            return int((position.sizes.cumsum() > taken).sum())
        if position.indices is not None:
            samples_per_epoch = len(position.indices)
        elif position.portion is not None:
            samples_per_epoch = self._sampling.count(None)
        whole, rest = divmod(max(0, samples_per_epoch - taken),
                             self._options["batch_size"])
        return whole + (rest > 0 and not self._options["drop_last"])

    def set_epoch(self, epoch: int) -> None:
        """Sets the next epoch, in the sampler as well."""
        number = operator.index(epoch)
        _check_epoch(number)
        self._sampling.set_epoch(number)
        self._iterator = lambda: self
        self._move_to(number)

    def _move_to(self, epoch: int) -> None:
        before = self._next
        if epoch != before.epoch:
            self._next = Position(epoch, generator=before.generator)
            if before.first == 0:  # a state in mid-epoch fits only that epoch
                self._next.shards = before.shards
        self._state = self._next
        if self._running is not None:
            self._samples_before = self._running.samples

    def next_position(self, stacklevel: int) -> Position:
        """Returns the position at which iter() begins. If the sampler has an epoch, it
        is in that epoch."""
        if self._has_taken_nothing() and self._iterator() is None:
            assert self._running is not None
            self._next = self._running
        told = self._sampling.epoch
        if told is not None and told != self._ignored_epoch:
            _check_epoch(told)
            if (told == self._begun and self._sampling.shuffle and
                    not self._has_taken_nothing()):
                warn_of_repeated(self._sampling.sampler, told, stacklevel + 1)
            self._move_to(told)
        if self._sampling.listed:
            # The indices are drawn only once. If the epoch fails to begin, the next try
            # has the same indices.
            self._sampling.complete(self._next, len(self._dataset),
                                    self._options["batch_size"])
            self._drawn = self._next.indices
        position = self._next.copy()
        if (position.seen is None and
                self._options["order"] == _native.COORDINATED):
            position.seen = Seen(len(self._dataset))
        return position

    @property
    def coming_epoch(self) -> int:
        """The epoch that the next iter() begins or continues."""
        told = self._sampling.epoch
        if told is not None and told != self._ignored_epoch:
            return told
        if self._has_taken_nothing() and self._iterator() is None:
            return self._begun
        return self._next.epoch

    @property
    def is_used(self) -> bool:
        """Whether an epoch has begun, or a state was loaded."""
        return self._begun >= 0 or not self._is_new

    def follow(self, present: Progress) -> None:
        """Continues with the dataset object in its present state.

        Args:
          present: a Progress of the same loader, made for the object's present state.

        Raises:
          errors.StateError: a state was loaded that is for another number of samples.
            The next iter() begins the epoch anew.
        """
        sizes = len(self._dataset), len(present._dataset)
        sampler = self._sampling.sampler
        self._loads += 1  # ends iterators over the object's earlier state
        self._sampling, self._options = present._sampling, present._options
        self._dataset, self.keeps_shards = present._dataset, present.keeps_shards
        if isinstance(sampler, EpochOrder):
            self._sampling = self._sampling._replace(sampler=sampler)
        if sizes[0] == sizes[1]:
            return
        pending = self._next
        if self._running is not None and self._has_taken_nothing():
            if self._iterator() is None:
                pending = self._running
            self._running = None
        self._next = self._state = Position(pending.epoch, generator=pending.generator)
        if pending.first or pending.seen:
            raise errors.StateError(
                f"the state was loaded for {sizes[0]} samples, but {self._dataset.uri} "
                f"has {sizes[1]} now: load one that was saved with these")

    @property
    def sampler(self) -> Any:
        """The sampler that determines the next epoch."""
        return self._sampling.sampler

    def _has_taken_nothing(self) -> bool:
        """Whether an epoch has begun, but next() has returned nothing of it."""
        return self._running is not None and self._running.samples == 0

    def begin(self, position: Position, iterator: Any = None) -> None:
        """Makes the epoch of this position the running epoch.

        Args:
          iterator: the epoch's iterator. If the iterator is dropped before it has
            returned anything, the next iter() begins the same epoch again. Training
            frameworks call iter() just to see whether it works.
        """
        self._is_new = self.is_new
        position.loads = self._loads
        self._next = Position(position.epoch + 1, generator=position.generator)
        self._begun = position.epoch
        self._ignored_epoch = None
        self._running = self._state = position
        self._iterator = (lambda: self) if iterator is None else _reference(iterator)
        self._samples_before = 0

    def move_on(self, position: Position) -> bool:
        """Moves the position to the next portion of a long sampler's epoch. Returns
        False if there is no further portion."""
        if not self._sampling.move_on(position, self._options["batch_size"]):
            return False
        if self._running is position:
            self._next.generator = position.generator
        return True

    def goes_on(self, position: Position) -> bool:
        """Whether the epoch of `position` may continue: since it began, no state was
        loaded and the dataset has not changed."""
        return position.loads == self._loads

    def branch(self, position: Position) -> Progress:
        """Returns the Progress of another loader, which runs only this position's
        epoch."""
        made = Progress(self._sampling, self._options, self._dataset)
        made._is_new = False
        made.begin(position)
        return made

    def end(self, position: Position) -> None:
        """Ends a position's epoch, which is complete. Does nothing if another epoch is
        running by now."""
        if self._running is not position:
            return
        self._is_new = self.is_new
        self._running = None
        self._state = self._next
        if self.keeps_shards and position.shards:
            self._next.shards = position.shards.behind_epoch()

    def save(self) -> Dict[str, Any]:
        return _position.save(self.state, self._dataset, self._options)

    def load(self, state: Dict[str, Any], samples_per_epoch: int) -> None:
        """Continues at the position of a state; see _position.load."""
        position = _position.load(state, self._dataset, self._options,
                                  samples_per_epoch)
        self._sampling.set_generator_state(position.generator)
        self.go_to(position)

    def go_to(self, position: Position) -> None:
        """Continues at a position whose epoch has given no batch yet."""
        self._running = None
        self._next = self._state = position
        self._loads += 1
        self._is_new = False
        # The sampler's epoch has no effect until it is set again.
        self._ignored_epoch = self._sampling.epoch
