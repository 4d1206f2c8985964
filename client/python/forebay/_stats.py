"""Statistics of native loaders, summed over connections."""

from __future__ import annotations

from typing import Dict

from . import _message_codec
from ._messages import MESSAGES

# The names of statistics that differ from their counters' names.
_NAMES = {"trainer_wait_nanos": "wait_nanos"}
# The statistics that are present values, and not totals.
_LEVELS = ("batches_held",)


def of(counters: bytes) -> Dict[str, int]:
    """Returns the statistics that a serialized LoaderCounters has."""
    values = _message_codec.decode_counters("LoaderCounters", counters)
    return {_NAMES.get(name, name): values[name]
            for name, (_, kind) in MESSAGES["LoaderCounters"].items() if kind != "bool"}


def none() -> Dict[str, int]:
    """Returns all statistics with the value 0."""
    return of(b"")


def add(total: Dict[str, int], stats: Dict[str, int]) -> None:
    """Adds the statistics of a connection to a sum."""
    for name, value in stats.items():
        total[name] = total.get(name, 0) + value


def add_past(total: Dict[str, int], stats: Dict[str, int]) -> None:
    """Adds the statistics of a connection that has ended to a sum."""
    add(total, {name: value for name, value in stats.items() if name not in _LEVELS})
