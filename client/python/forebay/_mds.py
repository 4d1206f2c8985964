"""Finds the MDS shards that a folder's index.json lists."""

from __future__ import annotations

import glob
import json
import os
import re
from typing import Any, Dict, List, Optional, Set, Tuple

from . import errors

_INDEX = "index.json"
_NUMBERED = re.compile(r"(.*?)(\d+)(\.mds)", re.DOTALL)
# The largest number of digits in a shard's number, and of shards for which one pattern
# stands.
_DIGITS = 18
_RANGE = 1 << 16


def shards_of(folder: str) -> Optional[List[str]]:
    """Returns the paths, below a local folder, of the shards that its index lists, in
    the index's order. Returns None if the folder has no index.

    Raises:
      errors.InvalidArgument: the folder's shards are not those that the index names.
      errors.Unsupported: shards are compressed.
    """
    index = os.path.join(folder, _INDEX)
    if not os.path.isfile(index):  # reading a pipe or a device might never end
        return None
    try:
        with open(index, "rb") as file:
            listed = json.load(file)["shards"]
        shards = [shard for shard in listed if shard["format"] == "mds"]
        # The index of merged folders names shards by paths with slashes.
        names = [os.path.normpath(shard["raw_data"]["basename"]) for shard in shards]
        packed = [(shard.get("zip_data") or {}).get("basename") for shard in shards]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    for name in names:
        if os.path.isabs(name) or name.split("/", 1)[0] == "..":
            raise errors.InvalidArgument(
                f"{folder}: its {_INDEX} names {name}, which lies outside of the "
                "folder: merge the indexes of folders below one folder")
    _check_names(folder, names, packed)
    return names or None


def _check_names(folder: str, names: List[str], packed: List[Any]) -> None:
    """Compares the shards that an index names with the files in the folder.

    Args:
      names: the shards' names.
      packed: the names of their compressed files; None for a shard without one.
    """
    places = {"", *(os.path.dirname(name) for name in names)}
    there: Dict[str, Set[str]] = {
        place: _files_in(os.path.join(folder, place)) for place in places}
    for name, zipped in zip(names, packed):
        place, file = os.path.split(name)
        if file in there[place]:
            continue
        if isinstance(zipped, str) and os.path.isfile(os.path.join(folder, zipped)):
            raise errors.Unsupported(
                f"{folder}: {zipped}: is a compressed MDS shard, which is not read: "
                "write it without compression=")
        raise errors.InvalidArgument(
            f"{folder}: its {_INDEX} names {name}, which is not there: copy it there, "
            'or name the shards that are meant, such as "shard.{00000..00012}.mds"')
    known = set(names)
    for place, found in sorted(there.items()):
        for file in sorted(found):
            name = os.path.join(place, file)
            if name.endswith(".mds") and name not in known:
                raise errors.InvalidArgument(
                    f"{folder}: its {_INDEX} does not name {name}, which is there: "
                    "merge the indexes, or name the shards that are meant, such as "
                    '"shard.{00000..00012}.mds"')


def _files_in(folder: str) -> Set[str]:
    try:
        return set(os.listdir(folder))
    except OSError:
        return set()  # the folder's shards then count as missing


def patterns_of(names: List[str]) -> List[str]:
    """Returns patterns that stand for `names`, in their order: one pattern for each run
    of shards with consecutive numbers."""
    patterns: List[str] = []
    run: Optional[Tuple[str, int, int, int]] = None  # start, digits, first, last
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match is None or len(match[2]) > _DIGITS:
            _end(run, patterns)
            run = None
            patterns.append(_escaped(name))
            continue
        start, digits, number = match[1], len(match[2]), int(match[2])
        if (run is not None and run[:2] == (start, digits) and
                number == run[3] + 1 and number - run[2] < _RANGE):
            run = (*run[:3], number)
            continue
        _end(run, patterns)
        run = (start, digits, number, number)
    _end(run, patterns)
    return patterns


def _end(run: Optional[Tuple[str, int, int, int]], patterns: List[str]) -> None:
    if run is None:
        return
    start, digits, first, last = run
    numbers = f"{first:0{digits}}"
    if last > first:
        numbers = f"{{{numbers}..{last:0{digits}}}}"
    patterns.append(f"{_escaped(start)}{numbers}.mds")


def _escaped(name: str) -> str:
    """Returns a pattern that matches only this name."""
    return re.sub(r"([\\{},])", r"\\\1", glob.escape(name))
