"""Parts of an epoch's order, as the daemon draws it."""

from __future__ import annotations

import ctypes as c
import os
from typing import Any, Callable, Dict, List, Optional

from . import _native, _retry


def draw(options: Dict[str, Any], size: int, epoch: int, first: int, count: int,
         start_daemon: Optional[Callable[[], None]] = None) -> List[int]:
    """The samples from place `first` on among those of this rank: `count`, or fewer
    where the order ends.

    Args:
      options: of _options.build.
      size: samples in the dataset.
      start_daemon: see _retry.Retry.

    Raises:
      errors.ForebayError: of the fitting class.
    """
    native = _native.loader_options(options)
    if start_daemon is not None:
        start_daemon()

    def ask() -> List[int]:
        samples, drawn = (c.c_uint64 * count)(), c.c_size_t(count)
        _native.check(_native.lib.forebay_draw_order(
            c.byref(native), size, epoch, first, samples, c.byref(drawn)))
        return list(samples[:drawn.value])

    return _retry.until_available(os.fsdecode(options["uri"]), ask, start_daemon)
