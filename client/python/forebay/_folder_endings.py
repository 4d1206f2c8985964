"""The endings of the files in a local folder, which tell what it holds."""

from __future__ import annotations

import itertools
import os
from typing import List, NamedTuple, Optional, Set, Tuple, Union

from ._torch_data import IMAGE_EXTENSIONS

# A look into a folder is at so many entries, and into so many folders in it.
_ENTRIES, _FOLDERS = 1000, 8


class Endings(NamedTuple):
    """Lower-case endings of files, such as ".npy".

    Attributes:
      own: of those right in the folder.
      below: of those in the folders in it.
    """

    own: Set[str]
    below: Set[str]


def look(path: Union[str, bytes]) -> Optional[Endings]:
    """Looks into a folder. None if nobody can look, or there are images in the
    folders in it."""
    try:
        own, folders = _entries(os.fsdecode(path))
        found = [_entries(folder)[0] for folder in folders[:_FOLDERS]]
    except OSError:
        return None
    below = set().union(*found)
    return None if IMAGE_EXTENSIONS & below else Endings(own, below)


def _entries(path: str) -> Tuple[Set[str], List[str]]:
    """The endings of a folder's files, and its folders."""
    endings, folders = set(), []
    with os.scandir(path) as entries:
        for entry in itertools.islice(entries, _ENTRIES):
            if _is_folder(entry):
                folders.append(entry.path)
            else:
                endings.add(os.path.splitext(entry.name)[1].lower())
    return endings, sorted(folders)


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself, or to where this user may not look
        return False
