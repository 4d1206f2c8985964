"""Orders and batches by the lengths of samples."""

from __future__ import annotations

import operator
from typing import Any, Dict, Optional

from . import errors

_MOST_SAMPLES = 65536


def options(bucket_by: Optional[str], max_tokens: Optional[int], batch_size: Any,
            padded: bool) -> Dict[str, Any]:
    """Fields of _native.LoaderOptions for DataLoader's arguments.

    Args:
      batch_size: with `max_tokens`, samples of a batch at most; 1: no limit.
      padded: whether each sample takes as much as the longest of its batch.

    Raises:
      errors.InvalidArgument: an argument is wrong; names it.
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
    if max_tokens is None:
        return made
    try:
        most = -1 if isinstance(max_tokens, bool) else operator.index(max_tokens)
    except TypeError:
        most = -1
    if not 1 <= most < 1 << 40:
        raise errors.InvalidArgument(
            f"max_tokens must be a whole number from 1 to 2**40, not {max_tokens!r}")
    made["max_length"] = most
    made["padded"] = int(padded)
    if batch_size == 1:
        made["batch_size"] = _MOST_SAMPLES
    return made


def vary(options: Dict[str, Any]) -> bool:
    """Whether lengths decide how many samples make a batch."""
    return options.get("max_length", 0) > 0


def described(options: Dict[str, Any]) -> Optional[str]:
    """Says for a state how lengths decide the order; None if they do not.

    Args:
      options: of _options.build.
    """
    by_length = options.get("by_length", 0)
    if not by_length and not vary(options):
        return None
    field = options.get("length_field", b"").decode("utf-8", "surrogateescape")
    parts = [f"bucket_by={field or 'length'}"] if by_length else []
    if vary(options):
        parts += [f"max_tokens={options['max_length']}",
                  f"padded={bool(options['padded'])}",
                  f"world_size={options['world_size']}"]
        if options["batch_size"] != _MOST_SAMPLES:
            parts.append(f"batch_size={options['batch_size']}")
    else:
        parts.append("batch_size times world_size="
                     f"{options['batch_size'] * options['world_size']}")
    return ", ".join(parts)
