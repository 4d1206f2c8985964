"""NumPy's .npz files, and the ways in which their arrays become batches."""

from __future__ import annotations

import os
from typing import List, Optional, Sequence, Tuple, Union

from . import _folder_endings, errors


class Npz:
    """The result of `npz`, for DataLoader.

    Attributes:
      path: the files' path, with braces and wildcards.
      fields: list of str, the arrays' names; None: all arrays that can be read.
      rows: whether each row of the arrays is a sample; if not, each file is a sample.
      labels: whether each file's class folder is its label.
    """

    def __init__(self, path, fields, rows, labels=False):
        self.path = path
        self.fields: Optional[List[str]] = fields
        self.rows: bool = rows
        self.labels: bool = labels

    def __repr__(self) -> str:
        fields = "" if self.fields is None else f", fields={self.fields!r}"
        labels = ", labels=True" if self.labels else ""
        return f"npz({os.fspath(self.path)!r}{fields}, rows={self.rows}{labels})"


def npz(path: Union[str, "os.PathLike[str]"], *,
        fields: Optional[Sequence[str]] = None,
        rows: Optional[bool] = None, labels: Optional[bool] = None) -> Npz:
    """Describes NumPy's .npz files as a dataset.

    Batches have the arrays as fields. The fields have the names that numpy.savez got.

    Args:
      path: the files' path or URI, with braces ("{00..07}") and wildcards. A folder
        stands for its files *.npz.
      fields: names of arrays, at most 31 bytes each. With None, all arrays whose type
        can be read.
      rows: with True, sample i is row i of each array, and the files follow one
        another. All arrays of a file have equally many rows. The daemon holds the
        arrays in memory, one copy for all jobs. It reads the largest one by rows, if
        that is long and not deflated. With False, each file is a sample. Its arrays may
        differ from sample to sample in length, and in nothing else. With None, each
        file is a sample if `path` is a folder, and each row if it is not.
      labels: with True, the folders in a folder are classes, and each file directly in
        one of them is a sample: a batch has the field "label", too. With False, the
        files directly in the folder are the samples. With None, the folders of a local
        folder without such files are classes; all others are read as with False.

    Returns:
      An Npz, to pass to DataLoader as `dataset`.
    """
    if rows not in (None, True, False):
        raise errors.InvalidArgument(
            f"rows must be True, False or None, not {rows!r}")
    if fields is not None:
        if isinstance(fields, (str, bytes)):
            raise errors.InvalidArgument(
                f"fields must be a sequence such as ({fields!r},)")
        fields = list(fields)
        if not fields or not all(isinstance(name, str) and name for name in fields):
            raise errors.InvalidArgument(
                f'fields must name arrays, such as ("x", "y"), not {fields!r}')
    if labels not in (None, True, False):
        raise errors.InvalidArgument(
            f"labels must be True, False or None, not {labels!r}")
    if labels and rows:
        raise errors.InvalidArgument(
            "labels are those of files; with rows=True, rows are the samples")
    text = os.fsdecode(os.fspath(path))
    local = os.path.expanduser(text)
    is_folder = os.path.isdir(local) or text.endswith("/")
    if labels is None:
        labels = not rows and _has_classes(local)
    if is_folder:
        path = text.rstrip("/") + ("/*/*.npz" if labels else "/*.npz")
    elif labels:
        rows = False
    return Npz(path, fields, not is_folder if rows is None else bool(rows),
               bool(labels))


def _has_classes(folder: str) -> bool:
    """Whether a local folder has .npz files only in its inner folders."""
    found = _folder_endings.look(folder)
    return found is not None and ".npz" in found.below - found.own


def names_and_layouts(dataset: Npz) -> Tuple[List[bytes], List[bytes]]:
    """Returns the fields and columns of the native options."""
    layout = b"rows" if dataset.rows else b"classes" if dataset.labels else b"files"
    names = ([b""] if dataset.fields is None else
             [name.encode("utf-8", "surrogateescape") for name in dataset.fields])
    return names, [layout] * len(names)
