"""Tries readings: asks the daemon whether it can open them."""

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
    """Returns why the daemon does not open a reading. Returns None if the daemon opens
    it and it has samples.

    Raises:
      errors.ForebayError: the error does not concern the reading; for example, there
        may be no daemon.
    """
    try:
        opened = Samples(reading, autostart=autostart)
    except REFUSALS as error:
        return error
    if opened.size == 0:
        return errors.InvalidArgument(f"{reading.path}: has no samples")
    return None


def shards(packed: Reading, autostart: bool) -> Reading:
    """Returns the reading of tar shards that this process cannot read itself. If a
    field does not exist, the daemon's refusal names the fields of the first sample.

    Args:
      packed: the reading without fields.

    Raises:
      errors.ForebayError: the daemon's error, one of REFUSALS.
    """
    why = refusal(packed._replace(fields=(_NOBODYS,)), autostart)
    has = re.search(r"; it has (.+)$", str(why))
    if has is None:
        raise why or errors.InvalidArgument(
            f"{packed.path}: samples have but {_NOBODYS}")
    first = contents.common_fields([has.group(1).split(", ")])
    refusals = []
    for fields in filter(None, (first, (_IMAGE, "cls"), (_IMAGE,))):
        reading = packed._replace(fields=fields)
        refused = refusal(reading, autostart)
        if refused is None:
            return reading
        refusals.append(refused)
    raise refusals[0]


def hdf5(reading: Reading, autostart: bool) -> Reading:
    """Returns the reading of HDF5 files without named fields. If each object of a group
    is a sample, the daemon's refusal names the fields."""
    why = str(refusal(reading, autostart))
    types = dict.fromkeys(re.findall(r'"([^"]*\*/[^"]*)"', why), "")
    if not types:
        return reading
    found = given.with_fields(reading, list(types))
    while True:
        differs = re.search(r": ([^:]+): has rows of (\w+) \(\d+((?:, \d+)*)\), unlike",
                            str(refusal(found, autostart)))
        name = next((name for name in types if differs and re.fullmatch(
            re.escape(name).replace(r"\*", "[^/]+"), differs.group(1))), None)
        if differs is None or name is None or types[name]:
            return found
        # This type allows any length of the first axis.
        types[name] = f"{differs.group(2)}[n{differs.group(3).replace(' ', '')}]"
        found = given.with_fields(reading, types)
