"""Arguments of torch's DataLoader that the daemon cannot follow."""

from __future__ import annotations

from typing import Any

from . import errors


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
