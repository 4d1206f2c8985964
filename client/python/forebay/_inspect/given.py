"""Readings that the user has chosen."""

from __future__ import annotations

import os
from typing import Any, Dict, Optional

from .. import errors
from .._audio_folder import AudioFolder
from .._array_record import ArrayRecords
from .._hdf5 import HDF5
from .._lmdb import LMDB
from .._manifest import Manifest
from .._npy_folder import NpyFolder
from .._npz import Npz
from .._paths import path_of
from .._tfrecord import TFRecords
from .._tokens import Tokens
from .readings import Reading

# For each class of datasets: the name of the function that makes them, and a function
# that returns its arguments. Arguments that are None are left out.
_CALLS: Dict[type, Any] = {
    AudioFolder: ("audio_folder", lambda given: {"labels": given.labels}),
    ArrayRecords: ("array_record", lambda given: {"fields": given.fields}),
    HDF5: ("hdf5", lambda given: {"fields": given.fields}),
    LMDB: ("lmdb", lambda given: {"fields": given.fields, "keys": given.keys,
                                  "database": given.database or None}),
    Manifest: ("manifest", lambda given: given.columns),
    NpyFolder: ("npy_folder", lambda given: {"labels": given.labels}),
    Npz: ("npz", lambda given: {"fields": given.fields, "rows": given.rows,
                                "labels": given.labels or None}),
    TFRecords: ("tfrecord", lambda given: {"fields": given.fields}),
    Tokens: ("tokens", lambda given: _of_tokens(given.settings)),
}


def _of_tokens(settings: Dict[str, str]) -> Dict[str, Any]:
    found: Dict[str, Any] = {
        name: int(value) if name in ("length", "stride") and value.isdigit() else value
        for name, value in settings.items() if name != "targets"}
    if found["length"] == "document":
        del found["length"]
    defaults = {"documents": "cross", "tail": "drop"}
    found = {"length": found.get("length"),
             **{name: value for name, value in found.items()
                if defaults.get(name) != value}}
    if settings["targets"] == "1":
        found["targets"] = True
    return found


def reading_of(given: Any) -> Optional[Reading]:
    """Returns the reading of an object that forebay.tfrecord or a similar function
    made. Returns None for other values."""
    if type(given) not in _CALLS:
        return None
    call, arguments_of = _CALLS[type(given)]
    arguments = {name: value for name, value in arguments_of(given).items()
                 if value is not None or name == "length"}
    format = "npz_files" if call == "npz" and not given.rows else call
    return Reading(format, os.fsdecode(path_of(given.path)), call, arguments)


def with_fields(reading: Reading, fields: Any) -> Reading:
    """Returns the reading of the same files with other fields. `fields` is a sequence
    of names, or a dict of types by name."""
    if isinstance(fields, str):
        raise errors.InvalidArgument(
            f"fields must be a sequence such as ({fields!r},)")
    chosen: Any = fields if isinstance(fields, dict) else tuple(fields)
    if not reading.call:
        return reading._replace(fields=chosen, note="")
    return reading._replace(arguments={**reading.arguments, "fields": chosen})
