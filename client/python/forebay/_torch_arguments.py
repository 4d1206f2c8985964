"""Arguments of torch's DataLoader that are unnecessary or unsupported here."""

from __future__ import annotations

import warnings
from typing import Any, Dict

from . import errors

# With torch's defaults.
_UNNECESSARY: Dict[str, Any] = {
    "num_workers": None, "timeout": 0, "worker_init_fn": None,
    "multiprocessing_context": None, "prefetch_factor": None,
    "persistent_workers": False, "pin_memory_device": "", "in_order": True,
    "share_key": None,
}
_OF_WORKERS = ("num_workers", "timeout", "worker_init_fn",
               "multiprocessing_context", "persistent_workers", "share_key")
_told = set()


def without_unnecessary(given: Dict[str, Any], has_workers: bool,
                        stacklevel: int) -> Dict[str, Any]:
    """The arguments that have an effect here.

    Warns of each other one that was given, once a process.

    Args:
      has_workers: whether those of workers have one elsewhere.
    """
    names = [name for name, value in _UNNECESSARY.items()
             if given[name] != value and name not in _told and
             not (has_workers and name in _OF_WORKERS)]
    if names:
        _told.update(names)
        warnings.warn(
            f"unnecessary with Forebay, and without effect: {', '.join(names)}: "
            "the daemon prepares batches ahead on all cores, and knows itself which "
            "loaders are equal",
            stacklevel=stacklevel + 1)
    return {name: value for name, value in given.items()
            if name not in _UNNECESSARY}


def check(batch_size: Any, batch_sampler: Any, collate_fn: Any) -> None:
    """Refuses arguments that the daemon cannot follow.

    Raises:
      errors.Unsupported: the message says what to do instead.
    """
    if batch_sampler is not None:
        raise errors.Unsupported(
            "batch_sampler: the daemon makes the batches: pass batch_size, "
            "drop_last and a sampler of single samples instead")
    if batch_size is None:
        raise errors.Unsupported(
            "batch_size=None: the daemon delivers batches: use batch_size=1 for "
            "single samples")
    if collate_fn is not None and not _is_default(collate_fn):
        raise errors.Unsupported(
            "collate_fn: the daemon makes the batches: use batch_transform=fn for "
            "code that works on whole ones, such as MixUp, or keep torch's "
            "DataLoader for samples of different shapes")


def _is_default(collate_fn: Any) -> bool:
    return (getattr(collate_fn, "__name__", None) == "default_collate" and
            collate_fn.__module__ == "torch.utils.data._utils.collate")
