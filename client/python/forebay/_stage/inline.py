"""Iterates in the trainer's own process, in order, so that a debugger sees the user's
code."""

from __future__ import annotations

import itertools
from typing import Any, Callable, Dict, Iterator, Optional

from .._epoch import SizedEpoch
from .._position import Position
from . import making, placed, seeds, shard_state
from .feed import Batch
from .iteration import Exhausted, Shard
from .making import Stage
from .plan import Plan
from .said_length import SaidLength


class _OwnShard(shard_state.States):
    """The only shard of a dataset over which this process iterates. It has its own
    random generators."""

    def __init__(self, stage: Stage, position: Position):
        loaded = position.shards and position.shards.to_load()
        super().__init__(loaded)
        self._epoch = position.epoch
        self._shard = Shard(stage, 0, self.get(0))
        self._generators: Any = None  # the generators' state between batches

    def batch(self, number: int) -> Any:
        """Makes a batch as Shard does, but with its own random generators. They keep
        their state for the next batch."""
        if self._generators is not None:
            self._generators.restore()
        try:
            return self._shard.batch(self._epoch, number)
        finally:
            self._generators = seeds.State()

    def by_worker(self) -> Dict[int, bytes]:
        with seeds.Kept():
            if self._generators is not None:
                self._generators.restore()
            state = self._shard.state()
        return {} if state is None else {0: state}

    def to_load(self) -> Dict[int, bytes]:
        # Once an epoch has begun, the dataset itself has the state, because it is an
        # object of this process.
        return super().by_worker() if self._generators is None else {}

    def copy(self) -> shard_state.States:
        return self

    def behind_epoch(self) -> shard_state.States:
        return self


class InlineEpoch(SizedEpoch):
    """An iterator over the rest of an epoch, whose batches next() makes.

    The trainer's own random generators stay as they are.
    """

    def __init__(self, plan: Plan, position: Position,
                 batches: Optional[Iterator[Batch]], loader: Any,
                 on_end: Callable[[Position], None],
                 said_length: Optional[SaidLength] = None):
        """
        Args:
          batches: the batches, beginning at the position; None: the dataset is an
            iterable.
          loader: the loader, which the iterator keeps alive.
          on_end: a function that is called with the position once the epoch is over.
          said_length: a SaidLength, which counts the batches; or None.
        """
        self._loader = loader
        self._plan = plan
        self._position = position
        self._batches = batches
        making.shard(plan.stage, 0)
        self._shard: Optional[_OwnShard] = None
        if batches is None:
            self._shard = position.shards = _OwnShard(plan.stage, position)
        self._on_end = on_end
        self._said_length = said_length
        self._is_closed = False

    def __next__(self) -> Any:
        if self._is_closed:
            raise StopIteration
        before = self._position.samples
        try:
            with seeds.Kept():
                made = (self._next_listed() if self._shard is None else
                        self._next_iterated(self._shard))
        except Exhausted:
            self._is_closed = True
            self._on_end(self._position)
            raise StopIteration from None
        self._plan.note({"batches_delivered": 1,
                         "samples_delivered": self._position.samples - before})
        if self._said_length is not None:
            self._said_length.note(2)
        gpu = self._plan.gpu
        if gpu is not None:
            made = placed.moved(made, gpu, self._plan.framework)
        return self._plan.finish(made)

    def _next_listed(self) -> Any:
        assert self._batches is not None
        batch = next(self._batches, None)
        if batch is None:
            raise Exhausted
        stage = self._plan.stage
        taken = len(batch.keys) if stage.is_batched else 1
        try:
            return making.make(stage, batch)
        except Exception:
            raise
        except BaseException:  # after an interrupt, the next call makes the batch
            self._batches = itertools.chain([batch], self._batches)
            taken = 0
            raise
        finally:
            self._position.samples += taken

    def _next_iterated(self, shard: _OwnShard) -> Any:
        position = self._position
        number = position.first + position.samples
        try:
            made = shard.batch(number)
            position.samples += 1
            return made
        except Exhausted:
            raise
        except BaseException:
            position.samples += 1
            raise

    def stats(self) -> Dict[str, int]:
        """Returns no stats, because the plan has all of them."""
        return {}

    def close(self) -> None:
        """Ends the iteration."""
        self._is_closed = True
