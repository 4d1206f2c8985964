"""Reads DataLoader's arguments for a dataset that the user's code makes."""

from __future__ import annotations

import multiprocessing
import os
from typing import Any, Dict, Optional

from .. import _effects, _sampling, errors
from .._counterpart import is_plainly
from .._effects import Kind
from . import datapipes
from .drawing import is_long, length_of
from .keys import BatchSampling, Keys, KeySampling

_MAX_WORKERS = 256


def workers(given: Optional[int]) -> int:
    """Returns the number of workers. The default is the number of CPUs."""
    if given is None:
        return min(len(os.sched_getaffinity(0)), _MAX_WORKERS)
    return given


def context(given: Any) -> Any:
    """Returns the context of multiprocessing. The default is fork, as in torch: workers
    have the trainer's objects as these were when the workers were started.

    Raises:
      errors.InvalidArgument: there is no such context.
    """
    if given is None:
        return multiprocessing.get_context("fork")
    methods = multiprocessing.get_all_start_methods()
    if isinstance(given, str) and given in methods:
        return multiprocessing.get_context(given)
    if not isinstance(given, multiprocessing.context.BaseContext):
        raise errors.InvalidArgument(
            f"multiprocessing_context must be one of {methods} or such a context, "
            f"not {given!r}")
    return given


def is_iterable(dataset: Any) -> bool:
    """Whether a dataset is one of torch's IterableDatasets, or can only be iterated
    over because it has no keys."""
    kind = type(dataset)
    if any(base.__name__ == "IterableDataset" and
           base.__module__.startswith("torch.utils.data")
           for base in kind.__mro__):
        return True
    return hasattr(kind, "__iter__") and not hasattr(kind, "__getitem__")


def kind_of(given: Dict[str, Any]) -> Kind:
    """Returns the Kind of the dataset in DataLoader's arguments."""
    kind = Kind.ITERATED if is_iterable(given["dataset"]) else Kind.NUMBERED
    return kind | Kind.HERE if given["num_workers"] == 0 else kind


def check(given: Dict[str, Any]) -> None:
    """Refuses arguments that cannot be used with such datasets.

    Raises:
      errors.InvalidArgument, errors.Unsupported: one sentence says why.
    """
    name = type(given["dataset"]).__name__
    for argument in ("batch_transform", "collate_fn", "worker_init_fn"):
        if given[argument] is not None and not callable(given[argument]):
            raise errors.InvalidArgument(
                f"{argument} must be a function, not {given[argument]!r}")
    _effects.refuse(kind_of(given), given["dataset"], given)
    check_workers(given["num_workers"], given["timeout"],
                  given["persistent_workers"])
    _check_sharing(name, given)
    _check_batching(given)
    if is_iterable(given["dataset"]):
        _check_iterable(name, given)


def check_timeout(timeout: Any) -> None:
    """Refuses values that no loader takes as timeout.

    Raises:
      errors.InvalidArgument: one sentence says why.
    """
    if not isinstance(timeout, (int, float)):
        raise errors.InvalidArgument(
            f"timeout must be a number of seconds, not {timeout!r}")
    if not timeout >= 0:
        raise errors.InvalidArgument(
            f"timeout must not be negative, but is {timeout!r}")


def check_workers(number: Any, timeout: float, are_persistent: bool) -> None:
    """Refuses values that no loader takes as num_workers, timeout and
    persistent_workers.

    Raises:
      errors.InvalidArgument: one sentence says why.
    """
    if number is not None and (
            isinstance(number, bool) or not isinstance(number, int) or
            not 0 <= number <= _MAX_WORKERS):
        raise errors.InvalidArgument(
            f"num_workers must be 0 to {_MAX_WORKERS}, not {number!r}")
    check_timeout(timeout)
    if number == 0 and timeout:
        raise errors.InvalidArgument(
            "timeout is of workers, but num_workers=0 makes batches here")
    if number == 0 and are_persistent:
        raise errors.InvalidArgument(
            "persistent_workers option needs num_workers > 0: there is no worker "
            "to stay")


def check_share_key(key: Any) -> None:
    """Refuses values that are not a share_key.

    Raises:
      errors.InvalidArgument: one sentence says why.
    """
    if key is not None and (not isinstance(key, str) or not key):
        raise errors.InvalidArgument(f"share_key must be a text, not {key!r}")


def _check_sharing(name: str, given: Dict[str, Any]) -> None:
    check_share_key(given["share_key"])
    if given["share_key"] is None:
        return
    if given["sharing"] == "off":
        raise errors.InvalidArgument(
            'share_key names what is shared, but sharing="off" shares nothing: '
            "give one of them")
    if is_iterable(given["dataset"]):
        raise errors.InvalidArgument(
            f"share_key is of datasets with numbers, which the iterable {name} has "
            "not: use forebay.share")
    if given["num_workers"] == 0:
        raise errors.InvalidArgument(
            "share_key says whose workers make the samples, but num_workers=0 "
            "makes them here")


def _check_batching(given: Dict[str, Any]) -> None:
    if given["batch_sampler"] is not None:
        others = [argument for argument, default in (
            ("batch_size", 1), ("shuffle", None), ("sampler", None),
            ("drop_last", False)) if given[argument] != default and
            given[argument]]
        if others:
            raise errors.InvalidArgument(
                f"batch_sampler and {', '.join(others)} are mutually exclusive: "
                "the sampler makes the batches")
    elif given["batch_size"] is None and given["drop_last"]:
        raise errors.InvalidArgument(
            "drop_last=True leaves out a smaller batch, but batch_size=None makes "
            "none")


def _check_iterable(name: str, given: Dict[str, Any]) -> None:
    others = [argument for argument in ("shuffle", "sampler", "batch_sampler")
              if given[argument]]
    if "shuffle" in others and datapipes.is_iterable(given["dataset"]):
        others.remove("shuffle")  # for a DataPipe, shuffle switches its shufflers on
    if given["distributed"] or given["world_size"] != 1:
        others.append("distributed" if given["distributed"] else "world_size")
    if others:
        raise errors.InvalidArgument(
            f"DataLoader with IterableDataset: expected unspecified "
            f"{', '.join(others)}: the own code of {name} makes the order")


def read_keys(given: Dict[str, Any]) -> Keys:
    """Reads, from the arguments, the order and the batches in which samples are taken.

    Raises:
      errors.InvalidArgument: the arguments contradict one another.
    """
    dataset, sampler = given["dataset"], given["sampler"]
    size = length_of(dataset)
    batch_size, drop_last = given["batch_size"], bool(given["drop_last"])
    batch_sampler = given["batch_sampler"]
    if is_iterable(dataset):
        sampling = _sampling.read(None, None, False, given["generator"])
        return Keys(sampling, size, batch_size, drop_last,
                    batch_size is not None, True, None, False)
    if batch_sampler is not None and is_plainly(
            batch_sampler, "torch.utils.data", ("BatchSampler",), "__iter__"):
        sampler, batch_sampler = batch_sampler.sampler, None
        batch_size = given["batch_sampler"].batch_size
        drop_last = bool(given["batch_sampler"].drop_last)
    own = sampler if batch_sampler is None else batch_sampler
    sampling = _sampling.read(own, size, given["shuffle"], given["generator"])
    counted = None
    if sampling.listed or batch_sampler is not None:
        if size is None or is_long(length_of(own), batch_sampler is not None):
            counted = own
            sampling = sampling._replace(listed=False)
        else:
            kind = KeySampling if batch_sampler is None else BatchSampling
            sampling = kind(*sampling._replace(listed=True))
    elif size is None:
        raise errors.InvalidArgument(
            f"{type(dataset).__name__} has no length: pass a sampler")
    if batch_sampler is not None:
        batch_size, drop_last = None, False
    return Keys(sampling, size, batch_size, drop_last,
                batch_size is not None or batch_sampler is not None, False,
                counted, batch_sampler is not None)
