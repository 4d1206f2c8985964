"""The seed that a script has given torch, for loaders that were given none."""

from __future__ import annotations

import sys
from typing import Any, Dict

from . import _job, errors

# torch seeds itself at random, by 64 bits. Seeds of users are smaller: NumPy takes
# no others.
_LEAST_RANDOM = 1 << 32


def is_open(given: Dict[str, Any]) -> bool:
    """Whether DataLoader's arguments leave the seed open.

    Args:
      given: DataLoader's arguments.
    """
    return given["seed"] is None and all(
        given[name] is None for name in ("generator", "sampler", "batch_sampler"))


def draw(given: Dict[str, Any]) -> int:
    """The seed of a loader that was given none: drawn from torch's generator, which
    moves on by one number, if the script has seeded it; else 0.

    Processes of one job may have seeds of their own, which would split no order into
    ranks: they get 0.

    Args:
      given: DataLoader's arguments.
    """
    torch: Any = sys.modules.get("torch")
    if (not is_open(given) or given["distributed"] or given["world_size"] != 1 or
            not hasattr(torch, "initial_seed") or
            torch.initial_seed() >= _LEAST_RANDOM or _is_one_of_several()):
        return 0
    return int(torch.empty((), dtype=torch.int64).random_().item())


def _is_one_of_several() -> bool:
    try:
        return _job.distributed_rank().world_size > 1
    except errors.InvalidArgument:
        return False
