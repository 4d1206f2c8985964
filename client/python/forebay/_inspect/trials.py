"""Readings that are tried: the daemon tells whether it opens them."""

from __future__ import annotations

import re
from typing import Optional

from .. import errors
from . import contents, given
from .readings import Reading
from .samples import Samples

_IMAGE = "jpg;jpeg;png;webp"
_NOBODYS = "no-such-field"
REFUSALS = (errors.InvalidArgument, errors.NotFound, errors.Unsupported,
            errors.DataError)


def refusal(reading: Reading, autostart: bool) -> Optional[errors.ForebayError]:
    """Says why the daemon does not open it; None if it does, and there are samples.

    Raises:
      errors.ForebayError: what does not concern the reading, such as no daemon.
    """
    try:
        opened = Samples(reading, autostart=autostart)
    except REFUSALS as error:
        return error
    if opened.size == 0:
        return errors.InvalidArgument(f"{reading.path}: has no samples")
    return None


def shards(path: str, autostart: bool) -> Reading:
    """The reading of tar shards that this process does not read: the daemon's refusal
    tells what the first sample has.

    Raises:
      errors.ForebayError: one of REFUSALS, the daemon's.
    """
    why = refusal(Reading("webdataset", path, fields=(_NOBODYS,)), autostart)
    has = re.search(r"; it has (.+)$", str(why))
    if has is None:
        raise why or errors.InvalidArgument(f"{path}: samples have but {_NOBODYS}")
    first = contents.common_fields([has.group(1).split(", ")])
    refusals = []
    for fields in filter(None, (first, (_IMAGE, "cls"), (_IMAGE,))):
        reading = Reading("webdataset", path, fields=fields)
        refused = refusal(reading, autostart)
        if refused is None:
            return reading
        refusals.append(refused)
    raise refusals[0]


def hdf5(reading: Reading, autostart: bool) -> Reading:
    """The reading of HDF5 files without named fields: with those that the daemon's
    refusal names, if each object of a group is a sample."""
    names = re.findall(r'"([^"]*\*/[^"]*)"', str(refusal(reading, autostart)))
    return given.with_fields(reading, names) if names else reading
