"""Gets parts of an epoch's order from the daemon, which draws it."""

from __future__ import annotations

import ctypes as c
import os
from typing import Any, Callable, Dict, Iterator, List, Optional

from . import _native, _retry, errors

_DRAWN_AT_ONCE = 16384


def draw(options: Dict[str, Any], size: int, epoch: int, first: int, count: int,
         start_daemon: Optional[Callable[[], None]] = None) -> List[int]:
    """Returns `count` of this rank's samples from position `first` on, or fewer at the
    order's end.

    Args:
      options: the result of _options.build.
      size: the number of samples in the dataset.
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


def from_place(draw: Callable[[int, int], List[int]], first: int,
               end: int) -> Iterator[int]:
    """Yields the samples of the daemon's order from position `first` up to `end`, which
    is excluded.

    Args:
      draw: a function of (first, count) that returns `count` samples of the order.
    """
    while first < end:
        drawn = draw(first, min(end - first, _DRAWN_AT_ONCE))
        if not drawn:
            return
        yield from drawn
        first += len(drawn)


def whole(options: Dict[str, Any], size: int, epoch: int, samples: int,
          start_daemon: Optional[Callable[[], None]]) -> Iterator[int]:
    """Returns all samples of this rank in an epoch, in their order.

    Args:
      samples: the number of samples of this rank.
      options, size, epoch, start_daemon: see draw.

    Raises:
      errors.Unsupported: the order depends on more than the seed.
    """
    if options["order"] not in (_native.SEQUENTIAL, _native.SHUFFLE) or options.get(
            "by_length"):
        raise errors.Unsupported(
            'the sampler of a loader with shuffle="block", order="coordinated" or '
            "bucket_by lists no samples: the daemon alone knows their order: read "
            "batch.sample_ids")
    return from_place(
        lambda first, count: draw(options, size, epoch, first, count, start_daemon),
        0, samples)
