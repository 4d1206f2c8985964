"""Paths that lead through zip archives."""

from __future__ import annotations

import os
from typing import Iterator, Optional, Tuple, Union

from . import _patterns

_ENDINGS = (".zip", ".ZIP")


def _ends_of_components(path: str) -> Iterator[int]:
    """Where each component of a path ends. A slash in braces ends none."""
    depth = 0
    for at, character in enumerate(path):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "/" and depth == 0:
            yield at
    yield len(path)


def split(path: Union[str, bytes], remote: bool) -> Optional[Tuple[str, str]]:
    """The archives that a path names, with braces and wildcards, and the folder in
    them, which is "" for all that they have; None if it leads through none.

    Args:
      remote: whether it is a URI. Else a folder of that name is no archive.
    """
    text = os.fsdecode(path)
    for end in _ends_of_components(text):
        archives = text[:end]
        if _patterns.ends_in(archives, _ENDINGS) and (
                remote or not os.path.isdir(archives)):
            return archives, text[end:].strip("/")
    return None
