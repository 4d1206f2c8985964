"""TFRecord files, and the features of their records that batches have."""

from __future__ import annotations

import os
from typing import Any, Dict, Mapping, Tuple, Union

from . import errors


class TFRecords:
    """The result of `tfrecord`, for DataLoader.

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
        return f"tfrecord({os.fspath(self.path)!r}{fields})"


def tfrecord(path: Union[str, "os.PathLike[str]"], *,
             fields: Union[None, str, Mapping[str, str]] = None) -> TFRecords:
    """Describes the records of TFRecord files as a dataset.

    The daemon reads the files in their order; each record is a sample. It checks
    the checksum of every record that it reads.

    Args:
      path: the files' path or URI, with braces ("{000..127}") and wildcards
        ("train-*-of-01024").
      fields: a dict of the wanted features of the records' tf.train.Example or
        SequenceExample: each feature's type, by its name of at most 31 bytes. Batches
        have these features as fields.

        - "image", "jpg", "png": an image file
        - "int64": an integer
        - "text", "json": UTF-8, as str
        - "npy": a .npy file
        - "bytes": bytes
        - "float32[3,4]": an array of that type and shape: a list of floats or of
          int64, or the bytes of the elements, little-endian and in C order
        - "float32[n]", "float32[n,4]": an array of any length. The daemon reads
          all records once when it indexes them. A missing feature is empty
        - "float32": a number

        A str is the type of the whole record, as the field "record". With None, the
        daemon guesses the fields from the first records.

    Returns:
      A TFRecords, to pass to DataLoader as `dataset`.
    """
    return TFRecords(path, checked_fields(
        fields, '{"image/encoded": "jpg"}, or the type of the whole record'))


def checked_fields(fields: Any, wanted: str) -> Union[None, str, Dict[str, str]]:
    """Checks that the fields are a type, a dict of types by name, or None. Returns
    them.

    Args:
      wanted: examples of types, for messages.
    """
    if fields is None:
        return None
    if isinstance(fields, str):
        _check_type(fields)
        return fields
    if not isinstance(fields, Mapping):
        raise errors.InvalidArgument(
            f"fields must be a dict of types, such as {wanted}, not {fields!r}")
    if not fields:
        raise errors.InvalidArgument("fields must name at least one feature")
    for name, kind in fields.items():
        if not isinstance(name, str) or not isinstance(kind, str):
            raise errors.InvalidArgument(
                f"fields must map names to types, not {name!r} to {kind!r}")
        if not name or not is_passable(name):
            raise errors.InvalidArgument(f"fields: {name!r} can be no field's name")
        _check_type(kind)
    return dict(fields)


def is_passable(text: str) -> bool:
    """Whether a text can be passed to the daemon as a whole: a 0 byte would end it."""
    try:
        return b"\0" not in text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False


def _check_type(kind: str) -> None:
    if not is_passable(kind):
        raise errors.InvalidArgument(f"fields: {kind!r} is not a type")


def names_and_types(fields: Any) -> Tuple[list, list]:
    """Returns the fields' names and types, as the native options have them."""
    if fields is None:
        return [], []
    if isinstance(fields, str):
        return [b""], [_encoded(fields)]
    return list(map(_encoded, fields)), list(map(_encoded, fields.values()))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
