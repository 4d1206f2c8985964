"""The endings of a local folder's files, which tell what kind of dataset the folder
is."""

from __future__ import annotations

import itertools
import os
from typing import Iterator, List, NamedTuple, Optional, Set, Tuple, Union

from ._torch_folders import IMAGE_EXTENSIONS

# The largest number of a folder's entries that are looked at, and of inner folders
# whose entries are looked at.
_ENTRIES, _FOLDERS = 1000, 64
_LISTED = 256  # the most folders inside class folders that are searched for images
_DEEPEST = 2  # the most levels of these folders


class Endings(NamedTuple):
    """Lower-case endings of files, such as ".npy".

    Attributes:
      own: the endings of files directly in the folder.
      below: the endings of files in the folder's folders.
      has_images: whether the folder's folders contain images, at any depth that is
        searched.
    """

    own: Set[str]
    below: Set[str]
    has_images: bool


def look(path: Union[str, bytes]) -> Optional[Endings]:
    """Looks into a folder. Returns None if the folder cannot be listed."""
    try:
        own, folders = _entries(os.fsdecode(path))
        found = [_entries(folder) for folder in folders[:_FOLDERS]]
    except OSError:
        return None
    below: Set[str] = set().union(*(endings for endings, _ in found))
    inner = [folder for _, folders in found for folder in folders]
    return Endings(own, below, bool(IMAGE_EXTENSIONS & below) or any(
        itertools.islice(_images_below(inner), _LISTED)))


def _images_below(folders: List[str], depth: int = 1) -> Iterator[bool]:
    """Yields, for each of the folders, whether it has images. Then does the same for
    the folders inside these folders."""
    deeper: List[str] = []
    for folder in folders:
        try:
            endings, inner = _entries(folder)
        except OSError:
            continue  # the daemon will say why
        yield bool(IMAGE_EXTENSIONS & endings)
        deeper += inner
    if deeper and depth < _DEEPEST:
        yield from _images_below(deeper, depth + 1)


def _entries(path: str) -> Tuple[Set[str], List[str]]:
    """Returns the endings of a folder's files, and the folders in it."""
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
    except OSError:  # a link to itself, or into a folder that this user may not read
        return False
