"""Paths that lead through zip archives."""

from __future__ import annotations

import os
from typing import Iterator, Optional, Tuple, Union

from . import _patterns

_ENDINGS = (".zip", ".ZIP")


def _ends_of_components(path: str) -> Iterator[int]:
    """Yields where each component of a path ends. A slash in braces does not end a
    component."""
    depth = 0
    for at, character in enumerate(path):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "/" and depth == 0:
            yield at
    yield len(path)


def split(path: Union[str, bytes], remote: bool) -> Optional[Tuple[str, str]]:
    """Splits a path that leads through zip archives.

    Args:
      remote: whether the path is a URI. In a local path, a folder whose name has an
        archive's ending is not taken for an archive.

    Returns:
      The path of the archives, with braces and wildcards, and the folder in the
      archives; "" is their root. None if the path leads through no archive.
    """
    text = os.fsdecode(path)
    for end in _ends_of_components(text):
        archives = text[:end]
        if _patterns.ends_in(archives, _ENDINGS) and (
                remote or not os.path.isdir(archives)):
            return archives, text[end:].strip("/")
    return None
