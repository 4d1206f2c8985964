"""Orders and batches by the lengths of samples."""

from __future__ import annotations

import operator
from typing import Any, Dict, Optional, Union

from . import errors

_MOST_SAMPLES = 65536


_MOST_SECONDS = 65536.0


def _tokens(value: Any) -> int:
    try:
        most = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        most = -1
    if not 1 <= most < 1 << 40:
        raise errors.InvalidArgument(
            f"max_tokens must be a whole number from 1 to 2**40, not {value!r}")
    return most


def _seconds(value: Any) -> float:
    try:
        most = -1.0 if isinstance(value, (bool, str)) else float(value)
    except (TypeError, ValueError, OverflowError):
        most = -1.0
    if not 0 < most <= _MOST_SECONDS:
        raise errors.InvalidArgument(
            "max_seconds must be a number of more than 0 and at most "
            f"{_MOST_SECONDS:.0f}, not {value!r}")
    return most


def options(bucket_by: Optional[str], max_tokens: Optional[int],
            max_seconds: Optional[Union[int, float]], batch_size: Any,
            padded: bool) -> Dict[str, Any]:
    """Returns fields of _native.LoaderOptions for DataLoader's arguments.

    Args:
      batch_size: with `max_tokens` or `max_seconds`, the largest number of samples in a
        batch; 1: no limit.
      padded: whether each sample counts as long as the longest sample of its batch.

    Raises:
      errors.InvalidArgument: an argument is wrong; the message names it.
    """
    made: Dict[str, Any] = {}
    if bucket_by is not None:
        if not isinstance(bucket_by, str) or not bucket_by:
            raise errors.InvalidArgument(
                'bucket_by must be "length", the name of a field or None, not '
                f"{bucket_by!r}")
        made["by_length"] = 1
        if bucket_by != "length":
            made["length_field"] = bucket_by.encode("utf-8", "surrogateescape")
    if max_tokens is None and max_seconds is None:
        return made
    if max_tokens is not None and max_seconds is not None:
        raise errors.InvalidArgument(
            "a batch is limited by max_tokens or by max_seconds, not by both")
    if max_tokens is not None:
        made["max_length"] = _tokens(max_tokens)
    if max_seconds is not None:
        made["max_seconds"] = _seconds(max_seconds)
    made["padded"] = int(padded)
    if batch_size == 1:
        made["batch_size"] = _MOST_SAMPLES
    return made


def vary(options: Dict[str, Any]) -> bool:
    """Whether the samples' lengths decide how many samples a batch has."""
    return options.get("max_length", 0) > 0 or options.get("max_seconds", 0) > 0


def described(options: Dict[str, Any]) -> Optional[str]:
    """Returns a text, for a loader's state, that says how lengths decide the order.
    Returns None if lengths do not matter.

    Args:
      options: the result of _options.build.
    """
    by_length = options.get("by_length", 0)
    if not by_length and not vary(options):
        return None
    field = options.get("length_field", b"").decode("utf-8", "surrogateescape")
    parts = [f"bucket_by={field or 'length'}"] if by_length else []
    if vary(options):
        most = (f"max_seconds={options['max_seconds']!r}" if "max_seconds" in options
                else f"max_tokens={options['max_length']}")
        parts += [most,
                  f"padded={bool(options['padded'])}",
                  f"world_size={options['world_size']}"]
        if options["batch_size"] != _MOST_SAMPLES:
            parts.append(f"batch_size={options['batch_size']}")
    else:
        parts.append("batch_size times world_size="
                     f"{options['batch_size'] * options['world_size']}")
    return ", ".join(parts)
