"""Prepares DataPipes in the way in which torch's DataLoader does in its workers."""

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
    """Returns this process's rank and the number of ranks in torch.distributed."""
    import torch.distributed
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    return 0, 1


def with_shuffle(pipe: Any, shuffle: bool) -> Any:
    """Returns the pipe with its shufflers switched on or off. A pipe that should
    shuffle but has no shuffler gets one at its end; torch then warns."""
    from torch.utils.data import graph_settings
    return graph_settings.apply_shuffle_settings(pipe, shuffle=shuffle)


def shard(pipe: Any, parts: int, number: int) -> None:
    """Makes the pipe's sharding filter pass only part `number` of `parts`.

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
    """Returns a copy of a making.Stage. If its dataset is a DataPipe, the copy has the
    trainer's rank."""
    if not is_pipe(stage.dataset):
        return stage
    rank, count = ranks()
    return stage._replace(rank=rank, ranks=count)
