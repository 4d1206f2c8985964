"""Iterations of an iterable dataset."""

from __future__ import annotations

from typing import Any, FrozenSet, Optional, Tuple

from .batch_run import MAX_BATCHES, BatchRun
from .iteration import Sharded


class IteratedRun(BatchRun):
    """Batches of an iterable dataset, of which each worker has a shard. The position
    counts batches, including batches that shorter shards lack. It also has the shards'
    states."""

    _ended: FrozenSet[int] = frozenset()  # the workers whose shards have ended

    def _first(self) -> int:
        return self._position.first

    def _begin_epoch(self) -> None:
        self._ended = frozenset()

    def _samples_after(self, number: int) -> int:
        return number + 1 - self._position.first

    def _is_over(self, number: int, state: bytes) -> bool:
        workers = self._plan.stage.workers
        self._ended |= {number % workers}
        if state:
            self._position.shards.put(number % workers, state)
        return len(self._ended) == workers

    def _states(self, number: int,
                state: bytes) -> Optional[Tuple[int, Optional[bytes], bytes]]:
        worker = number % self._plan.stage.workers
        return (worker, self._position.shards.get(worker), state) if state else None

    def _name_of(self, number: int) -> str:
        workers = self._plan.stage.workers
        return f"batch {number // workers} of worker {number % workers}"

    def _shape(self) -> Tuple[Any, ...]:
        return MAX_BATCHES, self._plan.stage.workers

    def _work(self) -> Any:
        return Sharded(self._plan.stage.workers,
                       self._position.shards.to_load())
