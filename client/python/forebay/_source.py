"""Descriptions of where a dataset's samples come from, as data for the daemon.

A source is a tree. Its leaves are folders, lists of files, .npy files, LMDB
environments and arrays; its other nodes are concatenations and subsets. Samples have
the same numbers as in torch's datasets of the same kind.
"""

from __future__ import annotations

from typing import Any, List, NamedTuple, Tuple, Union

from ._lmdb import LMDB


class Folder(NamedTuple):
    """Class folders of images, with the semantics of torchvision's ImageFolder.

    Attributes:
      path: str or os.PathLike, the folder, or a URI that the daemon reads
        itself ("gs://bucket/...", "s3://bucket/...").
    """

    path: Any


class LabelledFiles(NamedTuple):
    """A list of image files, each with a label.

    Attributes:
      path: str, the folder in which, or below which, all files lie.
      names: list of str, the files' paths below `path`.
      labels: numpy int64 array, (N,).
    """

    path: str
    names: List[str]
    labels: Any


class NpyClasses(NamedTuple):
    """Class folders of .npy files, with the semantics of torchvision's DatasetFolder.

    Attributes:
      path: see Folder.
    """

    path: Any


class Rows(NamedTuple):
    """The rows of .npy files, one file after the other.

    Attributes:
      path: str or os.PathLike, with braces and wildcards, or a URI that the
        daemon reads itself.
    """

    path: Any


class Arrays(NamedTuple):
    """Samples in this process's memory. The daemon gets one copy of them.

    Attributes:
      fields: tuple of (name, kind, array): the fields of a batch, in order. The
        first dimension of each array is the samples. Kind "image": uint8, (N, H,
        W) or (N, H, W, C) with 1 or 3 channels; "label": integers, (N,), which
        become int64; "array": (N, ...) of a type that batches can have.
    """

    fields: Tuple[Tuple[str, str, Any], ...]


class Concat(NamedTuple):
    """Several sources with equal fields, one after the other.

    Attributes:
      parts: tuple of sources, at least one.
    """

    parts: Tuple["Source", ...]


class Subset(NamedTuple):
    """Some of a source's samples, by number; repeats are allowed.

    Attributes:
      source: a source.
      indices: numpy int64 array, (M,), each 0 to the source's size - 1.
    """

    source: "Source"
    indices: Any


class Produced(NamedTuple):
    """Samples that the user's own code makes.

    Attributes:
      name: for people.
    """

    name: str


Source = Union[Folder, LabelledFiles, NpyClasses, Rows, LMDB, Arrays, Concat, Subset,
               Produced]
