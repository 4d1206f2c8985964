"""ArrayRecord files: which features of their records a batch is made of."""

from __future__ import annotations

import os
from typing import Dict, Mapping, Union

from ._tfrecord import checked_fields


class ArrayRecords:
    """The result of `array_record`, for DataLoader.

    Attributes:
      path: of the files, with braces and wildcards.
      fields: dict of str, the type of each feature; a str, the type of the whole
        record; or None: they are guessed.
    """

    def __init__(self, path, fields):
        self.path = path
        self.fields: Union[None, str, Dict[str, str]] = fields

    def __repr__(self) -> str:
        fields = "" if self.fields is None else f", fields={self.fields!r}"
        return f"array_record({os.fspath(self.path)!r}{fields})"


def array_record(path: Union[str, "os.PathLike[str]"], *,
                 fields: Union[None, str, Mapping[str, str]] = None) -> ArrayRecords:
    """A dataset of the records of ArrayRecord files, which Grain reads: a
    DataLoader's `dataset`.

    The daemon reads the files in their order; each record is a sample. It checks
    the hashes of every chunk that it reads.

    Args:
      path: of the files, a path or a URI, with braces ("{00000..00127}") and
        wildcards ("train.array_record-*-of-00128").
      fields: dict of str, the type of each feature of the records'
        tf.train.Example or SequenceExample that is wanted, by its name; or a str,
        the type of the whole record, as the field "record". The types are those of
        `tfrecord`. With None, fields are guessed from the first records.

    Returns:
      An ArrayRecords, to pass to DataLoader as `dataset`.
    """
    return ArrayRecords(path, checked_fields(
        fields, '{"image/encoded": "jpg"}, or the type of the whole record'))
