"""NumPy's .npz files: which of their arrays a batch is made of, and how."""

from __future__ import annotations

import os
from typing import List, Optional, Sequence, Tuple, Union

from . import errors


class Npz:
    """The result of `npz`, for DataLoader.

    Attributes:
      path: of the files, with braces and wildcards.
      fields: list of str, the arrays' names; None: all that can be read.
      rows: whether each row of the arrays is a sample, and not each file.
    """

    def __init__(self, path, fields, rows):
        self.path = path
        self.fields: Optional[List[str]] = fields
        self.rows: bool = rows

    def __repr__(self) -> str:
        fields = "" if self.fields is None else f", fields={self.fields!r}"
        return f"npz({os.fspath(self.path)!r}{fields}, rows={self.rows})"


def npz(path: Union[str, "os.PathLike[str]"], *,
        fields: Optional[Sequence[str]] = None,
        rows: Optional[bool] = None) -> Npz:
    """A dataset of NumPy's .npz files: a DataLoader's `dataset`.

    A batch has the arrays as fields, by the names that numpy.savez got.

    Args:
      path: of the files, a path or a URI, with braces ("{00..07}") and wildcards; or
        a folder, whose files *.npz are meant.
      fields: names of arrays, of at most 31 bytes each. With None, all whose type
        can be read.
      rows: with True, sample i is row i of each array, of all files one behind the
        other: the arrays of a file have equally many rows. The daemon holds them in
        memory, one copy for all jobs, but for a large one that is not deflated. With
        False, each file is a sample. Its arrays may differ from sample to sample in
        length, and in nothing else. With None, files of a folder are samples; else
        rows are.

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
    text = os.fsdecode(os.fspath(path))
    is_folder = os.path.isdir(os.path.expanduser(text)) or text.endswith("/")
    if is_folder:
        path = text.rstrip("/") + "/*.npz"
    return Npz(path, fields, not is_folder if rows is None else bool(rows))


def names_and_layouts(dataset: Npz) -> Tuple[List[bytes], List[bytes]]:
    """The fields and columns of the native options."""
    layout = b"rows" if dataset.rows else b"files"
    names = ([b""] if dataset.fields is None else
             [name.encode("utf-8", "surrogateescape") for name in dataset.fields])
    return names, [layout] * len(names)
