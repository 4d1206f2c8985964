"""Iterations of a dataset that has no numbers."""

from __future__ import annotations

from typing import Any, FrozenSet, Optional, Tuple

from .batch_run import MAX_BATCHES, BatchRun
from .iteration import Sharded


class IteratedRun(BatchRun):
    """Batches of a dataset that is iterated, with a shard in each worker. The position
    counts batches, including batches that shorter shards lack. It has the states of
    shards."""

    _ended: FrozenSet[int] = frozenset()  # the lanes whose shards have ended

    def _first(self) -> int:
        return self._position.first

    def _begin_epoch(self) -> None:
        self._ended = frozenset()

    def _samples_after(self, number: int) -> int:
        return number + 1 - self._position.first

    def _is_over(self, number: int, state: bytes) -> bool:
        lanes = self._plan.stage.workers
        self._ended |= {number % lanes}
        if state:
            self._position.shards.put(number % lanes, state)
        return len(self._ended) == lanes

    def _states(self, number: int,
                state: bytes) -> Optional[Tuple[int, Optional[bytes], bytes]]:
        lane = number % self._plan.stage.workers
        return (lane, self._position.shards.get(lane), state) if state else None

    def _name_of(self, number: int) -> str:
        lanes = self._plan.stage.workers
        return f"batch {number // lanes} of worker {number % lanes}"

    def _shape(self) -> Tuple[Any, ...]:
        return MAX_BATCHES, self._plan.stage.workers

    def _work(self) -> Any:
        return Sharded(self._plan.stage.workers,
                       self._position.shards.to_load())
