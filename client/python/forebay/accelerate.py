"""Forebay's loaders in Hugging Face Accelerate.

    from forebay.accelerate import prepare

    accelerator = accelerate.Accelerator()
    loader = forebay.DataLoader("/data/train", 32, shuffle=True, distributed=True)
    model, optimizer, loader = prepare(accelerator, model, optimizer, loader)

`Accelerator.prepare` itself knows only torch's DataLoader, and returns other loaders
unchanged. The last batch of an epoch then does not end the accumulation of gradients,
and a checkpoint does not have the loader's position.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, Optional, Tuple

from accelerate.data_loader import DataLoaderStateMixin
from accelerate.state import GradientState
from accelerate.utils import send_to_device

from . import errors
from .loader import DataLoader


class PreparedLoader(DataLoaderStateMixin):
    """A loader whose progress an Accelerator follows.

    Batches come on the accelerator's device. All other attributes are those of
    `loader`.

    Attributes:
      loader: the forebay.DataLoader.
      total_batch_size: int, the batch size summed over all processes.
    """

    def __init__(self, accelerator: Any, loader: DataLoader,
                 shard: Any = None):
        """
        Args:
          shard: the accelerate.data_loader.BatchSamplerShard that splits the batches
            among the ranks; None: the loader splits them.

        Raises:
          errors.InvalidArgument: the loader was not made for this process's rank.
        """
        ranks = accelerator.num_processes
        of_rank = loader.rank, loader.world_size
        if shard is None and of_rank != (accelerator.process_index, ranks):
            raise errors.InvalidArgument(
                f"the loader reads as rank {of_rank[0]} of {of_rank[1]}, but the "
                f"accelerator has rank {accelerator.process_index} of {ranks}: make "
                "the loader after it, with distributed=True")
        self.loader = loader
        # The state before the batch that was read ahead; None if no batch was read
        # ahead.
        self._state: Optional[Dict[str, Any]] = None
        self.gradient_state = GradientState()
        batch_size = shard.batch_size if shard is not None else loader.batch_size
        self.total_batch_size = (batch_size or 1) * ranks
        # gather_for_metrics cuts off samples that shards have added. If shards add
        # none, it must not cut anything.
        self._drop_last = (loader.drop_last or (ranks > 1 and shard is None) or
                           (shard is not None and shard.drop_last))
        self._device = accelerator.device if accelerator.device_placement else None
        self._non_blocking = accelerator.non_blocking

    def __getattr__(self, name: str) -> Any:
        if name == "loader":  # a copy, not initialized yet
            raise AttributeError(name)
        return getattr(self.loader, name)

    def __len__(self) -> int:
        return len(self.loader)

    def set_epoch(self, epoch: int) -> None:
        """Sets the next epoch; see DataLoader.set_epoch."""
        self.loader.set_epoch(epoch)

    def state_dict(self) -> Dict[str, Any]:
        """Returns the position; see DataLoader.state_dict."""
        return self.loader.state_dict() if self._state is None else self._state

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Continues at a position; see DataLoader.load_state_dict."""
        self.loader.load_state_dict(state)

    def batches_before(self) -> int:
        """Returns the number of the epoch's batches before the position of a loaded
        state."""
        loader = self.loader
        progress = loader._progress
        try:
            return len(loader) - progress.batches_behind(
                progress.state, loader._samples_per_epoch())
        except TypeError:  # if the length is unknown, positions count batches
            return progress.state.first

    def _batches_left(self) -> Optional[int]:
        """Returns the number of batches left in the running epoch; None if that number
        is not known."""
        try:
            len(self.loader)
        except TypeError:
            return None
        return self.loader._progress.batches_left(self.loader._samples_per_epoch())

    def __iter__(self) -> Iterator[Any]:
        batches = iter(self.loader)
        left = self._batches_left()
        self.begin()
        try:
            for batch, self.end_of_dataloader in (
                    self._looking_ahead(batches) if left is None else
                    _counted(batches, left)):
                if self._device is not None:
                    batch = send_to_device(batch, self._device,
                                           non_blocking=self._non_blocking)
                yield batch
        finally:
            self._state = None
            self.end()

    def _looking_ahead(self, batches: Iterator[Any]) -> Iterator[Tuple[Any, bool]]:
        """Yields the batches, each with whether it is the last."""
        end = object()
        batch = next(batches, end)
        while batch is not end:
            self._state = self.loader.state_dict()
            following = next(batches, end)
            if following is end:
                self._state = None
            yield batch, following is end
            batch = following


def _counted(batches: Iterator[Any], left: int) -> Iterator[Tuple[Any, bool]]:
    for number, batch in enumerate(batches, 1):
        yield batch, number >= left


def prepare(accelerator: Any, *objects: Any) -> Any:
    """Does what Accelerator.prepare does, for models, optimizers, schedulers, and
    loaders of torch and of Forebay.

    Each forebay.DataLoader becomes a PreparedLoader, whose position
    `accelerator.save_state` and `load_state` also keep. If there are several processes,
    make the loader with `distributed=True`: its ranks then share one order, which
    depends only on the loader's seed. `gather_for_metrics` does not know which samples
    several ranks have had. Therefore compute metrics with a dataset whose size the
    ranks divide evenly, or with pad="drop".

    Args:
      accelerator: an accelerate.Accelerator.
      objects: the arguments of Accelerator.prepare.

    Returns:
      The prepared objects, in order. A single object is returned as it is, not in a
      list.

    Raises:
      errors.InvalidArgument: a loader was not made for this process's rank.
    """
    others = [one for one in objects if not isinstance(one, DataLoader)]
    prepared = accelerator.prepare(*others) if others else ()
    rest = iter(prepared if len(others) > 1 else (prepared,))
    results = []
    for one in objects:
        if isinstance(one, DataLoader):
            loader = PreparedLoader(accelerator, one)
            accelerator.register_for_checkpointing(loader)
            results.append(loader)
        else:
            results.append(next(rest))
    return results[0] if len(results) == 1 else tuple(results)
