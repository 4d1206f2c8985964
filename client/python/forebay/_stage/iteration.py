"""Iterates over an iterable dataset, one shard in each worker."""

from __future__ import annotations

import contextlib
import inspect
from typing import Any, Dict, Iterator, NamedTuple, Optional

from . import datapipes, seeds, shard_state
from .making import Stage
from .shard_state import Kept, ShardState


class Sharded(NamedTuple):
    """A dataset in shards.

    Attributes:
      workers: the number of shards, one in each worker; batch k is one of shard k %
        workers.
      states: the states from which workers continue, by the workers' numbers; see
        shard_state.States.
    """

    workers: int
    states: Dict[int, bytes]


class Exhausted(Exception):
    """The shard has no more batches."""


class Shard:
    """The batches of a worker's iterator, by number.

    If a batch is wanted that the iterator has passed, begins again, or continues from a
    known state. If a batch ahead of the iterator is wanted, skips the batches between.
    """

    def __init__(self, stage: Stage, worker: int, known: Optional[bytes] = None,
                 kept: Optional[Kept] = None):
        """
        Args:
          known: a state of the worker.
          kept: a Kept with states of the worker that died before; later states are
            added to it.
        """
        self._stage = stage
        self._worker = worker
        self._known = known
        self._kept = kept
        self._origin: Optional[bytes] = None  # the state before the first batch
        self._epoch = -1
        self._next = 0
        self._iterator: Any = None
        self._is_over = False
        self._restored: Optional[ShardState] = None  # the next iterator's state

    def batch(self, epoch: int, number: int) -> Any:
        """Makes a batch.

        Raises:
          Exhausted: the shard has fewer batches.
          Exception: an exception of the user's code.
        """
        if epoch != self._epoch or number != self._next:
            self._go_to(epoch, number)
        return self._make()

    def state(self) -> Optional[bytes]:
        """Returns the state after the last batch, and stores it in `kept`. Returns None
        if neither the dataset nor the iterator has a state.

        Raises:
          Exception: an exception of the user's code.
        """
        if self._epoch < 0:
            return self._known
        state = (self._present(self._next) if self._restored is None else
                 # There is no iterator, because iter() has failed.
                 self._restored._replace(batches=self._next))
        if state is None:
            return None
        data = state.to_bytes()
        if self._kept is not None:
            # If the state cannot be stored, more batches must be made again after a
            # worker's death.
            with contextlib.suppress(OSError):
                self._kept.put(self._worker, self._epoch, self._next, data)
        return data

    def _present(self, batches: int) -> Optional[ShardState]:
        dataset, iterator = self._stage.dataset, self._iterator
        tells = shard_state.can_tell(iterator)
        dataset_tells = dataset is not iterator and shard_state.can_tell(dataset)
        if not tells and not dataset_tells:
            return None
        return ShardState(
            self._epoch, batches, self._has_ended(), iterator is not None,
            dataset.state_dict() if dataset_tells else None,
            iterator.state_dict() if tells else None, seeds.State().plain())

    def _has_ended(self) -> bool:
        # A generator that has raised an exception also has no further batch.
        iterator = self._iterator
        return self._is_over or (inspect.isgenerator(iterator) and
                                 iterator.gi_frame is None)

    def _go_to(self, epoch: int, number: int) -> None:
        state = self._nearest(epoch, number)
        is_ahead = self._epoch != epoch or number < self._next
        if state is not None and (is_ahead or self._next < state.batches):
            self._restore(state)
        elif is_ahead:
            self._begin(epoch)
        while self._next < number:
            self._pass_over()

    def _states(self) -> Iterator[ShardState]:
        """Yields all states that are known."""
        kept = [] if self._kept is None else self._kept.of(self._worker)
        for data in (self._known, self._origin, *kept):
            if data is not None:
                yield shard_state.of_bytes(data)

    def _nearest(self, epoch: int, number: int) -> Optional[ShardState]:
        """Returns the last known state before the batch of this number."""
        nearest: Optional[ShardState] = None
        for state in self._states():
            if state.epoch == epoch and (
                    -1 if nearest is None else nearest.batches
                    ) < state.batches <= number:
                nearest = state
        return nearest

    def _restore(self, state: ShardState) -> None:
        """Continues from a state. Loads the dataset's part before iter(), and the
        iterator's part after iter()."""
        self._epoch = -1  # remains -1 if a step below fails
        self._seed(state.epoch)
        if state.dataset is not None:
            self._stage.dataset.load_state_dict(state.dataset)
        self._iterator = None
        self._is_over = state.is_over
        self._restored = state if state.has_begun else None
        if not state.has_begun and state.generators is not None:
            seeds.set_generators(state.generators)
        self._epoch, self._next = state.epoch, state.batches

    def _begin(self, epoch: int) -> None:
        dataset = self._stage.dataset
        if self._epoch < 0:
            # The dataset may have state from earlier epochs, in this worker or in a
            # dead one.
            last = max(self._states(), default=None,
                       key=lambda state: (state.epoch, state.batches))
            if last is not None and last.dataset is not None:
                dataset.load_state_dict(last.dataset)
                if last.has_begun:
                    iter(dataset)
        self._origin = None
        self._seed(epoch)
        self._iterator = self._restored = None
        self._is_over = False
        self._epoch, self._next = epoch, 0

    def _seed(self, epoch: int) -> None:
        # The generators' state depends only on the epoch and the worker's number. A
        # worker that replaces a dead one therefore draws the same numbers.
        stage = self._stage
        seeds.seed_generators(seeds.of_sample(stage.seed, epoch, self._worker, 0))
        if datapipes.is_iterable(stage.dataset):
            datapipes.seed(stage.dataset, seeds.of_epoch(stage.seed, epoch))

    def _iterate(self) -> None:
        iterator = iter(self._stage.dataset)
        restored = self._restored
        if restored is not None:
            if restored.iterator is not None:
                iterator.load_state_dict(restored.iterator)
            if restored.generators is not None:
                seeds.set_generators(restored.generators)
        self._iterator, self._restored = iterator, None
        if restored is None:
            state = self._present(self._next - 1)
            self._origin = None if state is None else state.to_bytes()

    def _pass_over(self) -> None:
        """Makes the next batch and drops it. Later batches depend on what making it
        draws and changes."""
        try:
            self._make()
        except Exhausted:
            raise
        except Exception:
            pass  # the exception was reported when the batch was made the first time

    def _make(self) -> Any:
        """Makes the next batch."""
        self._next += 1
        try:
            samples = self._samples()
        except Exhausted:
            self._next -= 1
            raise
        return self._stage.collate(samples)

    def _samples(self) -> Any:
        if self._is_over:
            raise Exhausted
        if self._iterator is None:
            self._iterate()
        size = self._stage.batch_size
        if size is None:
            return self._sample()
        samples: Any = []
        while len(samples) < size:
            try:
                samples.append(self._sample())
            except Exhausted:
                if not samples or self._stage.drop_last:
                    raise
                break
        return samples

    def _sample(self) -> Any:
        try:
            return next(self._iterator)
        except StopIteration:
            self._is_over = True
            raise Exhausted from None
