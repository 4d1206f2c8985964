"""Folders of NumPy's files, of which each is a sample."""

from __future__ import annotations

import itertools
import os
from typing import List, Optional, Union

from . import errors
from ._torch_data import IMAGE_EXTENSIONS

# A look into a folder is at so many entries, and into so many folders in it.
_ENTRIES, FOLDERS = 1000, 8


class NpyFolder:
    """The result of `npy_folder`, for DataLoader.

    Attributes:
      path: of the folder.
      labels: whether the folders in it are classes; None: the daemon looks.
    """

    def __init__(self, path, labels):
        self.path = path
        self.labels: Optional[bool] = labels

    def __repr__(self) -> str:
        labels = "" if self.labels is None else f", labels={self.labels}"
        return f"npy_folder({os.fspath(self.path)!r}{labels})"


def npy_folder(path: Union[str, "os.PathLike[str]"], *,
               labels: Optional[bool] = None) -> NpyFolder:
    """A dataset of a folder of .npy files, each a sample: a DataLoader's `dataset`.

    A batch has the field "array". Arrays may differ in length, and in nothing else.

    Args:
      path: of the folder, a path or a URI.
      labels: with True, the folders in it are classes, as torchvision's
        DatasetFolder has them: a batch has the field "label", too. With False, the
        files right in the folder are the samples, in the order of their names. With
        None, they are, if there are any, else folders are classes; a folder that
        has both kinds is refused.

    Returns:
      An NpyFolder, to pass to DataLoader as `dataset`.
    """
    if labels not in (None, True, False):
        raise errors.InvalidArgument(
            f"labels must be True, False or None, not {labels!r}")
    return NpyFolder(path, labels)


def field_names(dataset: NpyFolder) -> List[bytes]:
    """The fields by which the native options say what a sample is."""
    if dataset.labels is None:
        return []
    return [b"array", b"label"] if dataset.labels else [b"array"]


def ending_in(path: Union[str, bytes]) -> Optional[str]:
    """The end of the names of a local folder's files, ".npy" or ".npz"; None if they
    are of other kinds, or there are images in its folders."""
    try:
        own, folders = look(os.fsdecode(path))
        found = [look(folder)[0] for folder in folders[:FOLDERS]]
    except OSError:
        return None
    if any(IMAGE_EXTENSIONS & endings for endings in found):
        return None
    if ".npz" in own:
        return ".npz"
    return ".npy" if ".npy" in own.union(*found) else None


def look(path):
    """The endings of a folder's files, and its folders."""
    endings, folders = set(), []
    with os.scandir(path) as entries:
        for entry in itertools.islice(entries, _ENTRIES):
            if entry.is_dir():
                folders.append(entry.path)
            else:
                endings.add(os.path.splitext(entry.name)[1].lower())
    return endings, sorted(folders)
