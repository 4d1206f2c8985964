"""Readings that are tried: the daemon tells whether it opens them."""

from __future__ import annotations

import re
from typing import Optional

from .. import errors
from . import contents
from .readings import Reading
from .samples import Samples

_IMAGE = "jpg;jpeg;png;webp"


def refusal(reading: Reading, autostart: bool) -> Optional[errors.ForebayError]:
    """Says why the daemon does not open it; None if it does, and there are samples."""
    try:
        opened = Samples(reading, autostart=autostart)
    except (errors.InvalidArgument, errors.NotFound, errors.Unsupported,
            errors.DataError) as error:
        return error
    if opened.size == 0:
        return errors.InvalidArgument(f"{reading.path}: has no samples")
    return None


def shards(path: str, autostart: bool) -> Optional[Reading]:
    """The daemon's refusal tells what a sample has."""
    likely = Reading("webdataset", path, fields=(_IMAGE, "cls"))
    why = refusal(likely, autostart)
    if why is None:
        return likely
    said = re.search(r"; it has (.+)$", str(why))
    if said is None:
        return None
    has = [name for name in re.split(r",\s*| and ", said.group(1)) if name]
    for fields in (contents.common_fields([has]), (_IMAGE,)):
        reading = likely._replace(fields=fields)
        if fields and refusal(reading, autostart) is None:
            return reading
    return None
