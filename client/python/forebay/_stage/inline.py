"""Iterates in the trainer itself, in order, for its debugger."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, Optional

from .._position import Position
from . import making, seeds
from .feed import Batch
from .iteration import Exhausted, Shard
from .run import Plan


class InlineEpoch:
    """An iterator over the rest of an epoch, whose batches next() makes.

    The trainer's own random generators stay as they are.
    """

    def __init__(self, plan: Plan, position: Position,
                 batches: Optional[Iterator[Batch]], loader: Any,
                 on_end: Callable[[], None]):
        """
        Args:
          batches: from the position on; None: the dataset is iterated.
          loader: lives as long as its iterator does.
          on_end: is called when the epoch is over.
        """
        self._loader = loader
        self._plan = plan
        self._position = position
        self._batches = batches
        self._shard = Shard(plan.stage, 0) if batches is None else None
        self._on_end = on_end
        self._state: Any = None  # of the generators, between batches of a shard
        self._is_closed = False

    def __iter__(self) -> InlineEpoch:
        return self

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
            self._on_end()
            raise StopIteration from None
        self._plan.note({"batches_delivered": 1,
                         "samples_delivered": self._position.samples - before})
        return self._plan.finish(made)

    def _next_listed(self) -> Any:
        assert self._batches is not None
        batch = next(self._batches, None)
        if batch is None:
            raise Exhausted
        stage = self._plan.stage
        self._position.samples += len(batch.keys) if stage.is_batched else 1
        return making.make(stage, batch)

    def _next_iterated(self, shard: Shard) -> Any:
        position = self._position
        if self._state is not None:
            self._state.restore()
        number = position.first + position.samples
        try:
            made = shard.batch(position.epoch, number)
            position.samples += 1
            return made
        except Exhausted:
            raise
        except Exception:
            position.samples += 1
            raise
        finally:
            self._state = seeds.State()

    def stats(self) -> Dict[str, int]:
        """None: the plan has them."""
        return {}

    def close(self) -> None:
        """Ends the iteration."""
        self._is_closed = True
