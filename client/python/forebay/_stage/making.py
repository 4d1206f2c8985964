"""Makes batches by the user's code, as torch's DataLoader does."""

from __future__ import annotations

import contextlib
import hashlib
import reprlib
from typing import Any, Callable, NamedTuple, Optional

from . import datapipes, failure, forked, seeds
from .feed import Batch


class Stage(NamedTuple):
    """The user's code, and the settings of its workers.

    Attributes:
      dataset: an object with __getitem__ or, without that, __iter__.
      worker_init_fn: a function of the worker's number, called once in each worker; or
        None.
      workers: the largest number of workers.
      seed: the loader's seed.
      collate: a function of a list of samples, or of each sample if there is no
        batching.
      is_batched: whether there is batching.
      batch_size: the number of samples in a batch of an iterable dataset; None: each
        sample is passed on alone.
      drop_last: whether to leave out a smaller last batch of an iterable dataset.
      rank, ranks: the trainer's rank, if the dataset is a DataPipe, and the number of
        ranks.
    """

    dataset: Any
    worker_init_fn: Optional[Callable[[int], None]]
    workers: int
    seed: int
    collate: Callable[[Any], Any]
    is_batched: bool
    batch_size: Optional[int] = None
    drop_last: bool = False
    rank: int = 0
    ranks: int = 1


def shard(stage: Stage, number: int) -> None:
    """Gives a worker its part of a DataPipe.

    Args:
      number: the worker's number.

    Raises:
      Exception: an exception of the user's code.
    """
    if datapipes.is_pipe(stage.dataset):
        datapipes.shard(stage.dataset, stage.workers * stage.ranks,
                        number * stage.ranks + stage.rank)


def initialize(stage: Stage, number: int) -> None:
    """Prepares a worker for its first sample.

    Args:
      number: the worker's number.

    Raises:
      Exception: an exception of the user's code.
    """
    shard(stage, number)
    if stage.worker_init_fn is not None:
        seeds.seed_generators(stage.seed + number)
        stage.worker_init_fn(number)


def all_at_once(dataset: Any) -> Optional[Callable[[Any], Any]]:
    """Returns the dataset's method __getitems__, which makes all samples of a batch in
    one call.

    Returns:
      The method. None if the dataset has no such method, or if torch's own method would
      make each sample alone: Subset and StackDataset (torch 2.1) always have the
      method. If a subclass has its own __getitem__, torch's method is returned although
      it ignores that __getitem__, as in torch.
    """
    method: Optional[Callable[[Any], Any]] = getattr(dataset, "__getitems__", None)
    make_one = getattr(type(dataset), "__getitem__", None)
    if not all(getattr(each, "__module__", None) == "torch.utils.data.dataset"
               for each in (method, make_one)):
        return method
    below = getattr(dataset, "datasets", None)  # the parts, if it is a StackDataset
    if below is None:
        below = [getattr(dataset, "dataset", None)]
    elif isinstance(below, dict):
        below = below.values()
    return method if any(map(all_at_once, below)) else None


def make(stage: Stage, batch: Batch) -> Any:
    """Makes a batch. Seeds the random generators for each sample, and again for
    `collate`."""
    dataset, keys = stage.dataset, batch.keys
    if not stage.is_batched:
        _seed(seeds.of_sample, stage, batch, 0, keys)
        return stage.collate(_made(dataset, keys))
    make_all = all_at_once(dataset)
    if make_all:
        _seed_batch(stage, batch)
        try:
            samples = make_all(keys)
        except BaseException as error:
            _note(error, "making the batch of samples", keys)
            raise
    else:
        samples = []
        for place, key in enumerate(keys):
            _seed(seeds.of_sample, stage, batch, place, key)
            samples.append(_made(dataset, key))
        _seed_batch(stage, batch)
    try:
        return stage.collate(samples)
    except BaseException as error:
        _note(error, "collating the batch of samples", keys)
        raise


def _made(dataset: Any, key: Any) -> Any:
    try:
        made = dataset[key]
        forked.end_child()
        return made
    except BaseException as error:
        forked.end_child(error)
        _note(error, "making sample", key)
        raise


def _note(error: BaseException, doing: str, keys: Any) -> None:
    with contextlib.suppress(Exception):
        failure.note(error, f"{doing} {reprlib.repr(keys)}")


def _seed_batch(stage: Stage, batch: Batch) -> None:
    if batch.keys:
        _seed(seeds.of_batch, stage, batch, 0, batch.keys[0])


def _seed(draw: Callable[[int, int, int, int], int], stage: Stage, batch: Batch,
          place: int, key: Any) -> None:
    number = key if type(key) is int else _number(key)
    repeat = batch.repeats[place] if batch.repeats else 0
    seeds.seed_generators(draw(stage.seed, batch.epoch, number, repeat))


def _number(key: Any) -> int:
    """Returns a number for a key that is not a number. The number is the same in every
    process."""
    try:
        return key.__index__()
    except (AttributeError, TypeError):
        digest = hashlib.blake2b(repr(key).encode(), digest_size=8).digest()
        return int.from_bytes(digest, "little")
