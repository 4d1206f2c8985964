"""The endings of the files in a local folder, which tell what it holds."""

from __future__ import annotations

import itertools
import os
from typing import Iterator, List, NamedTuple, Optional, Set, Tuple, Union

from ._torch_folders import IMAGE_EXTENSIONS

# A look into a folder is at so many entries, and into so many folders in it.
_ENTRIES, _FOLDERS = 1000, 64
_LISTED = 256  # folders in class folders, where images are looked for
_DEEPEST = 2  # of these folders in class folders


class Endings(NamedTuple):
    """Lower-case endings of files, such as ".npy".

    Attributes:
      own: of those right in the folder.
      below: of those in the folders in it.
      has_images: whether the folders in it have images, in them or below them.
    """

    own: Set[str]
    below: Set[str]
    has_images: bool


def look(path: Union[str, bytes]) -> Optional[Endings]:
    """Looks into a folder. None if nobody can look."""
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
    """Whether each of the folders has images, then those in them."""
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
