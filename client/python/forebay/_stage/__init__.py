"""Datasets whose samples only the user's own code makes: in worker processes."""

from __future__ import annotations

import warnings
from typing import Any


def become(loader: Any, why: Any) -> None:
    """Makes a StagedLoader of a DataLoader that is not initialized yet.

    Args:
      why: a _plan.NeedsWorkers.
    """
    from ..loader import DataLoader
    from .loader import StagedLoader
    if not why.is_expected:
        warnings.warn(f"worker processes make the samples: {why.why}", stacklevel=4)
    kind = type(loader)
    loader.__class__ = (StagedLoader if kind is DataLoader else
                        type(kind.__name__, (kind, StagedLoader), {}))
