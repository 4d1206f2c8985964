"""HDF5 files, and the datasets in them that batches have."""

from __future__ import annotations

import os
from typing import Dict, Mapping, Sequence, Tuple, Union

from . import errors

ENDINGS = (".h5", ".hdf5", ".he5")


class HDF5:
    """The result of `hdf5`, for DataLoader.

    Attributes:
      path: the files' path, with braces and wildcards.
      fields: dict of str, the type of each dataset, "" for the dataset's own type; or
        None: all datasets with the most frequent number of rows.
    """

    def __init__(self, path, fields):
        self.path = path
        self.fields: Union[None, Dict[str, str]] = fields

    def __repr__(self) -> str:
        fields = "" if self.fields is None else f", fields={self.fields!r}"
        return f"hdf5({os.fspath(self.path)!r}{fields})"


def hdf5(path: Union[str, "os.PathLike[str]"], *,
         fields: Union[None, Sequence[str], Mapping[str, str]] = None) -> HDF5:
    """Describes the rows of HDF5 files as a dataset.

    Sample i is row i of each dataset of a file. Several files follow one another.
    The daemon reads the format itself: h5py is not needed.

    Args:
      path: the files' path or URI, with braces ("{00..07}.h5") and wildcards
        ("part-*.h5").
      fields: the datasets that are wanted, by their paths in the file, such as
        ("images", "labels") or ("train/x", "train/y"). "table/x" is the member "x" of
        the compounds in "table". A batch has these datasets as fields. A dict gives
        types to some of them: {"photos": "jpg", "labels": ""}. With "data/*/image",
        each object in the group "data" is a sample. The object's whole dataset "image"
        is a field of that sample.

        - "" is the dataset's own type: arrays as they are; single integers as int64;
          text as str; bytes of any length as bytes. In the first field of such bytes,
          image files are read as images
        - "image", "jpg", "png": image files, or uint8 rows of (H, W), (H, W, 1) or
          (H, W, 3), which are pixels
        - "uint8" and the like: single integers as they are
        - "text", "json", "npy", "bytes", "int64" (digits): the content of texts or
          bytes

        With None, the fields are all datasets with the most frequent number of rows. A
        warning names the other datasets.

    Returns:
      An HDF5, to pass to DataLoader as `dataset`.
    """
    if fields is None or isinstance(fields, Mapping):
        chosen = fields
    elif isinstance(fields, (str, bytes)) or not isinstance(fields, Sequence):
        raise errors.InvalidArgument(
            'fields must name datasets, such as ("images", "labels"), or be a dict '
            f"of their types, not {fields!r}")
    else:
        chosen = {name: "" for name in fields}
        if len(chosen) < len(fields):
            raise errors.InvalidArgument(f"fields names one twice: {fields!r}")
    if chosen is None:
        return HDF5(path, None)
    if not chosen:
        raise errors.InvalidArgument("fields must name at least one dataset")
    for name, kind in chosen.items():
        if not isinstance(name, str) or not isinstance(kind, str):
            raise errors.InvalidArgument(
                f"fields must map names to types, not {name!r} to {kind!r}")
    return HDF5(path, dict(chosen))


def names_and_types(fields: Union[None, Dict[str, str]]) -> Tuple[list, list]:
    """Returns the fields' names and types, as the native options have them."""
    return ([name.encode("utf-8", "surrogateescape") for name in fields or ()],
            [kind.encode() for kind in (fields or {}).values()])
