"""Manifests: tables whose rows name a file and other fields."""

from __future__ import annotations

import os
import warnings
from typing import Any, Dict, List, Optional, Union

from . import errors


class Manifest:
    """The result of `manifest`, for DataLoader.

    Attributes:
      path: the file's path.
      columns: dict of str, the column of each field, by the field's name.
    """

    def __init__(self, path, columns):
        self.path = path
        self.columns: Dict[str, str] = columns

    def __repr__(self) -> str:
        columns = "".join(
            f", {field}={column!r}" for field, column in self.columns.items())
        return f"manifest({os.fspath(self.path)!r}{columns})"


def manifest(path: Union[str, "os.PathLike[str]"], *, image: Optional[str] = None,
             audio: Optional[str] = None, label: Optional[str] = None,
             **columns: str) -> Manifest:
    """Describes the image or audio files that a table names as a dataset.

    The file is CSV with a line of column names (RFC 4180). If its name ends in
    ".jsonl", ".ndjson" or ".json", each line is a JSON object instead. The daemon reads
    the file.

    Args:
      path: the file's path.
      image: the column with each image's path. A path is relative to the manifest. It
        may also be absolute or a file:// URL, below the manifest's folder. Default:
        "image", if `audio` is not given.
      audio: the column with each audio file's path, as for `image`. Batches then have
        the field "audio" (float32 of shape (frames, channels)) in place of "image". A
        column of texts can therefore not be a field named "audio".
      label: the column with each file's class: an integer, or a name. A name becomes
        its index in `loader.dataset.classes`, the sorted names of all classes. If all
        names are numbers, a warning says so.
      columns: further fields of a batch, by name: `caption="text"` is a field `caption`
        with the values of the column `text`. If all cells of a column are integers,
        such as "3" or "3.0", the field has integers. If not, or if a cell is empty, it
        has texts.

    Returns:
      A Manifest, to pass to DataLoader as `dataset`.

    Raises:
      errors.InvalidArgument: a column's name is not a str, or both `image` and
        `audio` are given.
    """
    if image is not None and audio is not None:
        raise errors.InvalidArgument(
            "a manifest has a column of images or one of audio files: give image or "
            "audio")
    fields = {"image": "image" if image is None else image} if audio is None else {
        "audio": audio}
    if label is not None:
        fields["label"] = label
    fields.update(columns)
    for field, column in fields.items():
        if not isinstance(column, str):
            raise errors.InvalidArgument(
                f"{field} must be the name of a column, not {column!r}")
    return Manifest(path, fields)


def warn_of_numbers(dataset: Any, classes: List[str], stacklevel: int) -> None:
    """Warns if all class names of a Manifest are numbers."""
    if isinstance(dataset, Manifest) and any(classes) and all(
            _is_number(name) for name in classes if name):
        warnings.warn(
            f"{os.fspath(dataset.path)!r}: all names of classes are numbers, "
            f"such as {classes[-1]!r}; a label is a name's place in their order "
            "as texts, not the number", stacklevel=stacklevel + 1)


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True
