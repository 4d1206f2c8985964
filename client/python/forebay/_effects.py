"""The arguments of DataLoader that have no effect for some kinds of datasets."""

from __future__ import annotations

import enum
import warnings
from typing import Any, Dict, Iterator, NamedTuple, Set, Tuple

from . import errors


class Kind(enum.Flag):
    """The code that makes a loader's samples. HERE comes together with another kind."""

    FILES = enum.auto()     # the daemon, from files or this package's sources
    OBJECT = enum.auto()    # the daemon, from an object of torch's or torchvision's
    OPS = enum.auto()       # the daemon, and workers that run the user's ops
    NUMBERED = enum.auto()  # the user's code, which makes samples by number
    ITERATED = enum.auto()  # the user's code, which yields one sample after the other
    HERE = enum.auto()      # the user's code runs in this process


_DAEMON = Kind.FILES | Kind.OBJECT
_CODE = Kind.NUMBERED | Kind.ITERATED
_ALL = _DAEMON | Kind.OPS | _CODE


class Row(NamedTuple):
    """An argument: the kinds of datasets for which it has no effect, and what a loader
    does if it is given.

    Attributes:
      without: the kinds for which the argument has no effect.
      default: the argument's default value.
      is_refused: whether the loader raises an error, because the user would get other
        data than they meant. If not, a warning names the argument.
      why: the reason, in which {name} is the dataset's type.
      only: the one value that has no effect; None: every value except the default.
    """

    without: Kind = Kind(0)
    default: Any = None
    is_refused: bool = False
    why: str = ""
    only: Any = None


def _refused(without: Kind, default: Any, why: str, only: Any = None) -> Row:
    return Row(without, default, True, why, only)


def _warned(without: Kind, default: Any, why: str, only: Any = None) -> Row:
    return Row(without, default, False, why, only)


_EVERYWHERE = Row()
_NO_WORKER = "the samples need no worker process"
_IN_THIS_PROCESS = "num_workers=0 makes the batches in this process"
_ORDERS = ('order="coordinated" and shuffle="block" are for datasets that the daemon '
           "reads itself, which {name} is not")
_LENGTHS = ("nobody knows the lengths of a dataset object's samples: use a "
            "batch_sampler, or give the files themselves")

# This table does not list arguments that contradict each other; the code that reads
# them refuses them.
TABLE: Dict[str, Row] = {
    "dataset": _EVERYWHERE,
    "batch_size": _EVERYWHERE,
    "shuffle": _refused(_CODE, None, _ORDERS, "block"),
    "sampler": _EVERYWHERE,
    "batch_sampler": _EVERYWHERE,
    "num_workers": _warned(_DAEMON, None, _NO_WORKER),
    "collate_fn": _EVERYWHERE,
    "pin_memory": _EVERYWHERE,
    "drop_last": _EVERYWHERE,
    "timeout": _warned(_DAEMON, 0, _NO_WORKER),
    "worker_init_fn": _warned(_DAEMON | Kind.HERE, None, _NO_WORKER),
    "multiprocessing_context": _warned(_DAEMON | Kind.HERE, None, _NO_WORKER),
    "generator": _EVERYWHERE,
    "prefetch_factor": _warned(
        _ALL, None, "depth says how many batches are made ahead"),
    "persistent_workers": _warned(_DAEMON, False, _NO_WORKER),
    "pin_memory_device": _warned(_ALL, "", "pinned memory serves every GPU"),
    "in_order": _warned(_ALL, True, "batches always come in order"),
    "batch_transform": _EVERYWHERE,
    "fields": _refused(
        _CODE | Kind.OBJECT, None,
        "fields are of files that the daemon reads: the samples of a {name} have "
        "their own"),
    "seed": _EVERYWHERE,
    "transform": _refused(
        _CODE, None,
        "{name} makes its samples by code of its own, where its transforms belong: "
        "transform= is for files that the daemon decodes"),
    "rank": _EVERYWHERE,
    "world_size": _EVERYWHERE,
    "distributed": _EVERYWHERE,
    "pad": _warned(Kind.ITERATED, "wrap",
                   "the iterator of a {name} says what each rank sees"),
    "device": _EVERYWHERE,
    "static_buffers": _EVERYWHERE,
    "order": _refused(_CODE, "exact", _ORDERS),
    "sharing": _warned(Kind.ITERATED | Kind.HERE, "elastic",
                       "the loader makes its batches for itself alone", "lockstep"),
    "share_key": _warned(_DAEMON, None,
                         "the daemon knows itself which loaders are equal"),
    "weight": _warned(Kind.HERE, 1.0, _IN_THIS_PROCESS),
    "name": _warned(Kind.HERE, None, _IN_THIS_PROCESS),
    "depth": _warned(Kind.HERE, None, _IN_THIS_PROCESS),
    "framework": _EVERYWHERE,
    "ragged": _refused(
        _CODE, None,
        "ragged= is for arrays that the daemon reads itself: of the samples that "
        "{name} makes, collate_fn makes batches"),
    "padding_value": _refused(
        _CODE, 0,
        "padding_value= is for arrays that the daemon reads itself: of the samples "
        "that {name} makes, collate_fn makes batches"),
    "bucket_by": _refused(_CODE | Kind.OBJECT, None, f"bucket_by: {_LENGTHS}"),
    "max_tokens": _refused(_CODE | Kind.OBJECT, None, f"max_tokens: {_LENGTHS}"),
    "max_seconds": _refused(_CODE | Kind.OBJECT, None, f"max_seconds: {_LENGTHS}"),
    "on_error": _refused(
        _CODE, "raise",
        'on_error="substitute" is for samples that the daemon decodes: the code of '
        "{name} says by itself what it gives for a sample that is broken",
        "substitute"),
    "extra_roots": _warned(
        _CODE, (), "the code of {name} opens its files itself, links too"),
    "autostart": _EVERYWHERE,
}

_told: Set[str] = set()


def _without(kind: Kind, dataset: Any, given: Dict[str, Any],
             are_refused: bool) -> Iterator[Tuple[str, str]]:
    """Yields the given arguments that have no effect, each with the reason."""
    for argument, row in TABLE.items():
        if (not row.without & kind or row.is_refused != are_refused or
                argument not in given):
            continue
        value = given[argument]
        is_given = (value == row.only if row.only is not None else
                    value is not None and value != row.default)
        if row.default == () and isinstance(value, list):
            is_given = len(value) > 0
        if is_given:
            yield argument, row.why.format(name=type(dataset).__name__)


def refuse(kind: Kind, dataset: Any, given: Dict[str, Any]) -> None:
    """Refuses arguments whose lack of effect would change the data.

    Args:
      kind: the dataset's kind.
      given: some of DataLoader's arguments, or all of them.

    Raises:
      errors.Unsupported: one sentence says why.
    """
    for _, why in _without(kind, dataset, given, True):
        raise errors.Unsupported(why)


def warn(kind: Kind, dataset: Any, given: Dict[str, Any], stacklevel: int) -> None:
    """Warns of each argument without effect that `refuse` does not refuse. Warns only
    once in a process.

    Args:
      kind, given: see `refuse`.
      stacklevel: that of the warning, as seen from the caller.
    """
    found = {argument: why for argument, why in _without(kind, dataset, given, False)
             if argument not in _told}
    if not found:
        return
    _told.update(found)
    # The daemon makes all samples, so a script written for torch needs no change.
    lead = "" if kind & _CODE else "unnecessary with Forebay, and "
    warnings.warn(
        f"{lead}without effect: {', '.join(found)}: "
        f"{'; '.join(dict.fromkeys(found.values()))}", stacklevel=stacklevel + 1)
