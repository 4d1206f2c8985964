"""Takes a loader's seed from torch if the loader has no seed argument."""

from __future__ import annotations

import sys
from typing import Any, Dict

from . import _job, errors

# torch seeds itself with 64 random bits. Seeds that users choose are below 2^32,
# because NumPy does not take larger ones.
_LEAST_RANDOM = 1 << 32


def is_open(given: Dict[str, Any]) -> bool:
    """Whether DataLoader's arguments do not determine the seed.

    Args:
      given: DataLoader's arguments.
    """
    return given["seed"] is None and all(
        given[name] is None for name in ("generator", "sampler", "batch_sampler"))


def draw(given: Dict[str, Any]) -> int:
    """Returns the seed of a loader without a seed argument. If the script has seeded
    torch's generator, the seed is the generator's next number. If not, the seed is 0.

    Each rank of a job may have another generator, but all ranks need the same order.
    Loaders of several ranks therefore get 0.

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
