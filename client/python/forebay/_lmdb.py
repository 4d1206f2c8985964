"""LMDB environments, and the parts of their entries that batches have."""

from __future__ import annotations

import os
from typing import Dict, Iterable, List, Mapping, Optional, Union

from . import errors
from ._tfrecord import checked_fields


class LMDB:
    """The result of `lmdb`, for DataLoader.

    Attributes:
      path: the environments' path, with braces and wildcards.
      fields: dict of str, the type of each field; a str, the type of the values; or
        None: the daemon guesses the fields.
      database: the database's name as bytes; empty for the unnamed database.
      keys: list of bytes, the entries that are samples; None: all are.
    """

    def __init__(self, path, fields, database=b"", keys=None):
        self.path = path
        self.fields: Union[None, str, Dict[str, str]] = fields
        self.database: bytes = database
        self.keys: Optional[List[bytes]] = keys

    def __repr__(self) -> str:
        fields = "" if self.fields is None else f", fields={self.fields!r}"
        database = f", database={self.database!r}" if self.database else ""
        keys = "" if self.keys is None else f", keys=<{len(self.keys)}>"
        return f"lmdb({os.fspath(self.path)!r}{fields}{database}{keys})"


def _checked_keys(keys) -> Optional[List[bytes]]:
    if keys is None:
        return None
    if isinstance(keys, (str, bytes)) or not isinstance(keys, Iterable):
        raise errors.InvalidArgument(
            f"keys must be a sequence of keys, not {keys!r}")
    found = []
    for key in keys:
        if not isinstance(key, (str, bytes)):
            raise errors.InvalidArgument(f"keys must be str or bytes, not {key!r}")
        found.append(key if isinstance(key, bytes) else key.encode())
    if not found:
        raise errors.InvalidArgument("keys must name at least one entry")
    return found


def lmdb(path: Union[str, "os.PathLike[str]"], *,
         fields: Union[None, str, Mapping[str, str]] = None,
         database: Union[None, str, bytes] = None,
         keys: Optional[Iterable[Union[str, bytes]]] = None) -> LMDB:
    """Describes the entries of LMDB environments as a dataset.

    Sample i is entry i in the order of the keys, or in the order of the argument
    `keys`. Several environments follow one another. The daemon reads the state after
    the last committed transaction, and takes no lock.

    Args:
      path: the path or URI of the environment's folder, or of its file
        (`subdir=False`), with braces ("{00..07}") and wildcards ("part-*").
      fields: a str is the type of each value, as the field "value": "image" (or "jpg",
        "png"), "text", "json", "npy", "bytes", "int64" (digits), or an array such as
        "float32[3,4]" or, of any length, "float32[n,4]". "datum" is Caffe's Datum: a
        batch has the field "image" or "array", and "label". With "lsun", the value is
        the field "image", and the number of its environment is "label".

        A dict with only the names "key" and "value" gives the types of these, such as
        {"key": "text", "value": "jpg"}; keys can be "text", "bytes" or "int64". Any
        other dict gives the types of features of tf.train.Example, as for `tfrecord`.
        With None, the daemon guesses the fields from the first values.
      database: the name of the database in the environment; None for the unnamed
        database.
      keys: the keys of the entries that are samples, in this order; a key may occur
        several times. None: all entries are samples.

    Returns:
      An LMDB, to pass to DataLoader as `dataset`.
    """
    if database is None:
        name = b""
    elif isinstance(database, (str, bytes)) and database:
        name = (database if isinstance(database, bytes) else
                database.encode("utf-8", "surrogateescape"))
    else:
        raise errors.InvalidArgument(
            f"database must be a database's name, not {database!r}")
    if b"\0" in name:
        raise errors.InvalidArgument(
            f"database must have no 0 byte in it, but it is {database!r}")
    return LMDB(path, checked_fields(
        fields, '{"key": "text", "value": "jpg"}, or the type of the values'), name,
        _checked_keys(keys))
