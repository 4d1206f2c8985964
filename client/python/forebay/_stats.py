"""Statistics of native loaders, summed over connections."""

from __future__ import annotations

from typing import Dict

from . import _native

# The statistics that are present numbers rather than totals.
_LEVELS = ("batches_held",)


def none() -> Dict[str, int]:
    """Returns all statistics, each of which is 0."""
    return {name: 0 for name, _ in _native.LoaderStats._fields_}


def add(total: Dict[str, int], stats: Dict[str, int]) -> None:
    """Adds the statistics of a connection to a sum."""
    for name, value in stats.items():
        total[name] = total.get(name, 0) + value


def add_past(total: Dict[str, int], stats: Dict[str, int]) -> None:
    """Adds the statistics of a connection that has ended to a sum."""
    add(total, {name: value for name, value in stats.items() if name not in _LEVELS})
