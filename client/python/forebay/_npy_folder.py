"""Folders of NumPy's files; each file is a sample."""

from __future__ import annotations

import os
from typing import List, Optional, Union

from . import _folder_endings, errors


class NpyFolder:
    """The result of `npy_folder`, for DataLoader.

    Attributes:
      path: the folder's path.
      labels: whether the folders in the folder are classes; None: the daemon finds out.
    """

    def __init__(self, path, labels):
        self.path = path
        self.labels: Optional[bool] = labels

    def __repr__(self) -> str:
        labels = "" if self.labels is None else f", labels={self.labels}"
        return f"npy_folder({os.fspath(self.path)!r}{labels})"


def npy_folder(path: Union[str, "os.PathLike[str]"], *,
               labels: Optional[bool] = None) -> NpyFolder:
    """Describes a folder of .npy files as a dataset. Each file is a sample.

    A batch has the field "array". Arrays may differ only in length.

    Args:
      path: of the folder, a path or a URI.
      labels: with True, the folders in it are classes, as torchvision's
        DatasetFolder has them: a batch has the field "label", too. With False, the
        files directly in the folder are the samples, in the order of their names. With
        None, the files directly in the folder are the samples. If there are none, the
        folders are classes. A folder that has both kinds is refused.

    Returns:
      An NpyFolder, to pass to DataLoader as `dataset`.
    """
    if labels not in (None, True, False):
        raise errors.InvalidArgument(
            f"labels must be True, False or None, not {labels!r}")
    return NpyFolder(path, labels)


def field_names(dataset: NpyFolder) -> List[bytes]:
    """Returns the `fields` of the native options for this dataset."""
    if dataset.labels is None:
        return []
    return [b"array", b"label"] if dataset.labels else [b"array"]


def ending_in(path: Union[str, bytes]) -> Optional[str]:
    """Returns the ending of a local folder's files, ".npy" or ".npz". Returns None if
    there are files of other kinds, or if the folders in the folder have images."""
    found = _folder_endings.look(path)
    if found is None or found.has_images:
        return None
    if ".npz" in found.own:
        return ".npz"
    if ".npy" in found.own | found.below:
        return ".npy"
    return ".npz" if ".npz" in found.below else None
