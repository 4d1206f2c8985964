"""The settings that all iterations of a loader share."""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, NamedTuple, Optional

from .. import _stats
from . import structure
from .making import Stage


class Plan(NamedTuple):
    """The settings that all iterations of a loader share.

    Attributes:
      stage: the user's code.
      options: dict of fields of _native.LoaderOptions, without `dataset`.
      framework: "torch", "numpy" or "dlpack".
      start_daemon: see _retry.Retry.
      context: the context of multiprocessing that starts worker hosts.
      timeout: the seconds to wait for a batch; 0: without end.
      batch_transform: DataLoader's argument: a function of the parts of each batch, or
        None.
      pins: whether batches are copied to page-locked memory.
      past: the stats of connections that have ended, by name.
      are_persistent: whether workers stay until the loader is closed. They keep the
        dataset as it was when they started.
      gpu: the _gpu.Gpu on which batches lie, or None.
      wrapper: the _batch.Wrapper, for that GPU, of batches that consist of rows.
      share_key: the text of the share key; "" if there is none.
    """

    stage: Stage
    options: Dict[str, Any]
    framework: str
    start_daemon: Optional[Callable[[], None]]
    context: Any
    timeout: float
    batch_transform: Optional[Callable[..., Any]]
    pins: bool
    past: Dict[str, int]
    are_persistent: bool = False
    gpu: Any = None
    wrapper: Any = None
    share_key: str = ""

    def note(self, stats: Dict[str, int]) -> None:
        """Adds the stats of a connection that has ended."""
        _stats.add_past(self.past, stats)

    @property
    def name(self) -> str:
        """The dataset's name, for people."""
        return os.fsdecode(self.options["uri"])

    def finish(self, made: Any) -> Any:
        """Returns the batch in the form in which the user gets it."""
        if self.batch_transform is not None:
            made = (self.batch_transform(*made) if isinstance(
                made, (tuple, list)) else self.batch_transform(made))
        return structure.pinned(made) if self.pins else made
