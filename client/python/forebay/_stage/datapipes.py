"""DataPipes, treated as torch's DataLoader treats those of its workers."""

from __future__ import annotations

import sys
from typing import Any, Tuple


def _is(dataset: Any, *names: str) -> bool:
    data = sys.modules.get("torch.utils.data")
    return any(isinstance(dataset, kind) for kind in (
        getattr(data, name, None) for name in names) if kind is not None)


def is_pipe(dataset: Any) -> bool:
    """Whether a dataset is an IterDataPipe or a MapDataPipe."""
    return _is(dataset, "IterDataPipe", "MapDataPipe")


def is_iterable(dataset: Any) -> bool:
    """Whether a dataset is an IterDataPipe."""
    return _is(dataset, "IterDataPipe")


def ranks() -> Tuple[int, int]:
    """Returns the rank of this process, and the number of ranks, by
    torch.distributed."""
    import torch.distributed
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    return 0, 1


def with_shuffle(pipe: Any, shuffle: bool) -> Any:
    """Returns the pipe with its shufflers switched on or off. A pipe without a shuffler
    that should shuffle gets one at its end; torch warns of this."""
    from torch.utils.data import graph_settings
    return graph_settings.apply_shuffle_settings(pipe, shuffle=shuffle)


def shard(pipe: Any, parts: int, number: int) -> None:
    """Lets the pipe's sharding filter pass part `number` of `parts`.

    Raises:
      RuntimeError: the pipe has several such filters.
    """
    from torch.utils.data import graph_settings
    graph_settings.apply_sharding(pipe, parts, number)


def seed(pipe: Any, value: int) -> None:
    """Seeds all parts of the pipe that draw at random."""
    import torch
    from torch.utils.data import graph_settings
    generator = torch.Generator()
    generator.manual_seed(value)
    graph_settings.apply_random_seed(pipe, generator)


def of_rank(stage: Any) -> Any:
    """Returns a making.Stage with the trainer's rank, if its dataset is a DataPipe."""
    if not is_pipe(stage.dataset):
        return stage
    rank, count = ranks()
    return stage._replace(rank=rank, ranks=count)
