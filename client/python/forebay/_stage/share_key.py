"""Keys by which users say that loaders of several processes make equal samples.

No property of a dataset tells whether two processes would make the same samples,
because code reads files, globals and the environment. Therefore the user says so, by a
key.
"""

from __future__ import annotations

import collections
import hashlib
import logging
import os
from typing import Any, Counter, NamedTuple, Optional, Set

from .. import _native

_log = logging.getLogger("forebay")
VARIABLE = "FOREBAY_SHARE_KEY"
# The package's version is part of ids, because another version may write batches
# differently.
VERSION = _native.lib.forebay_version().decode()
_PLAIN = frozenset((type(None), bool, int, float, complex, str, bytes))

_loaders: Counter[str] = collections.Counter()  # this process's loaders, by their key
_told: Set[str] = set()  # the obstacles that a warning has named


class ShareKey(NamedTuple):
    """The key of a loader.

    Attributes:
      text: the key as the user gave it.
      ordinal: the number of earlier loaders of this process with this text. It keeps a
        training set and a validation set with one text apart.
    """

    text: str
    ordinal: int

    def identity(self, *parts: Any) -> bytes:
        """Returns 16 bytes that are equal for loaders that share samples.

        Args:
          parts: plain values that must also be equal.
        """
        told = repr((VERSION, self.text, self.ordinal, parts))
        return hashlib.blake2b(told.encode(errors="surrogatepass"), digest_size=16,
                               person=b"share_key").digest()


def take(name: str, given: Optional[str], obstacle: str = "") -> Optional[ShareKey]:
    """Returns the key of a new loader; None if the loader does not share.

    Args:
      name: the dataset's name, for people.
      given: the argument share_key; None: $FOREBAY_SHARE_KEY is the key, if it is set.
      obstacle: the reason why the loader cannot share; "" if it can.
    """
    text = os.environ.get(VARIABLE) if given is None else given
    if not text:
        return None
    if obstacle:
        if obstacle not in _told:
            _told.add(obstacle)
            _log.warning("%s: $%s is without effect: %s", name, VARIABLE, obstacle)
        return None
    _loaders[text] += 1
    return ShareKey(text, _loaders[text] - 1)


def obstacle(sharing: str, workers: int, is_iterable: bool) -> str:
    """Returns a clause that says why a loader cannot share with others; "" if it can.

    Args:
      sharing: DataLoader's argument.
      workers: the number of workers.
      is_iterable: whether the dataset is only iterated.
    """
    if sharing == "off":
        return 'sharing="off" shares nothing'
    if workers == 0:
        return "num_workers=0 makes the samples in this process"
    return "equal jobs share what is iterated by forebay.share" if is_iterable else ""


def advice(is_iterable: bool) -> str:
    """Returns a clause that says how equal jobs could share one job's samples.

    Args:
      is_iterable: whether the dataset is only iterated.
    """
    return "its samples are this job's alone: equal jobs share them by " + (
        "forebay.share" if is_iterable else f"share_key= or ${VARIABLE}")


def name_of(thing: Any) -> Optional[str]:
    """Returns the name of a function, or of the type of another object; None for
    None."""
    if thing is None:
        return None
    kind = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{kind.__module__}.{kind.__qualname__}"


def are_plain(values: Any) -> bool:
    """Whether all values can be compared between processes: they are numbers, texts, or
    tuples of these."""
    return all(type(value) in _PLAIN or
               (type(value) is tuple and are_plain(value)) for value in values)
