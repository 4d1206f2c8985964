"""ArrayRecord files, and the features of their records that batches have."""

from __future__ import annotations

import os
from typing import Dict, Mapping, Union

from ._tfrecord import checked_fields


class ArrayRecords:
    """The result of `array_record`, for DataLoader.

    Attributes:
      path: the files' path, with braces and wildcards.
      fields: dict of str, the type of each feature; a str, the type of the whole
        record; or None: the daemon guesses the features.
    """

    def __init__(self, path, fields):
        self.path = path
        self.fields: Union[None, str, Dict[str, str]] = fields

    def __repr__(self) -> str:
        fields = "" if self.fields is None else f", fields={self.fields!r}"
        return f"array_record({os.fspath(self.path)!r}{fields})"


def array_record(path: Union[str, "os.PathLike[str]"], *,
                 fields: Union[None, str, Mapping[str, str]] = None) -> ArrayRecords:
    """Describes the records of ArrayRecord files, which Grain reads, as a dataset.

    The daemon reads the files in their order; each record is a sample. It checks
    the hashes of every chunk that it reads.

    Args:
      path: the files' path or URI, with braces ("{00000..00127}") and wildcards
        ("train.array_record-*-of-00128").
      fields: a dict of the wanted features of the records' tf.train.Example or
        SequenceExample: each feature's type, by its name. Or a str: the type of the
        whole record, as the field "record". The types are those of `tfrecord`. With
        None, the daemon guesses the fields from the first records.

    Returns:
      An ArrayRecords, to pass to DataLoader as `dataset`.
    """
    return ArrayRecords(path, checked_fields(
        fields, '{"image/encoded": "jpg"}, or the type of the whole record'))
