"""Finds out how a path or a URI can be read as a dataset."""

from __future__ import annotations

import difflib
import os
from typing import Any, List

from .. import _archives, _paths, _system_error, errors
from . import files, folders, remote, singles
from .folders import Found
from .readings import Reading


def found_at(given: Any, autostart: bool = True) -> Found:
    """Finds the readings of a path or a URI.

    Args:
      given: a path or a URI.
      autostart: see forebay.inspect.

    Raises:
      errors.ForebayError: nothing can be read there; the message suggests what the user
        could mean.
    """
    _paths.location_of(given, "data")  # refuses dataset objects, which have no path
    path = os.fsdecode(_paths.path_of(given))
    if _paths.is_remote(path):
        return remote.found_at(path, autostart)
    inner = _archives.split(path, remote=False)
    if inner is not None and inner[1]:
        return Found([Reading("zip", path)], [])
    if files.is_pattern(path):
        return _pattern(path)
    if os.path.isdir(path):
        return folders.found_in(path)
    if os.path.isfile(path):
        return Found(singles.readings_of(path, path), [])
    if os.path.exists(path):
        raise errors.Unsupported(f"{path}: is neither a file nor a folder")
    if os.path.isfile(path + ".bin"):
        return Found(singles.readings_of(path + ".bin", path + ".bin"), [])
    if os.path.islink(path):
        raise _dangling(path)
    raise errors.NotFound(f"{path}: does not exist{_hint(path)}")


def _dangling(path: str) -> errors.ForebayError:
    """Returns the error for a symbolic link whose target cannot be read."""
    try:
        os.stat(path)
        why = "was made just now"
    except FileNotFoundError:
        why = "does not exist"
    except OSError as error:
        why = f"cannot be read: {_system_error.reason(error)}"
    return errors.NotFound(f"{path}: is a link to {os.readlink(path)}, which {why}")


def _pattern(path: str) -> Found:
    matches = files.expanded(path)
    if not matches:
        raise errors.NotFound(f"{path}: stands for no file{_hint(path)}")
    first = matches[0]
    if not os.path.isdir(first):
        return Found(singles.readings_of(path, first), [])
    readings: List[Reading] = folders.found_in(first).readings
    if readings[0].format == "lmdb":
        return Found([Reading("lmdb", path, "lmdb")], [])
    raise errors.InvalidArgument(
        f"{path}: stands for folders, such as {first}: name one of them, or the files "
        "in them")


def _hint(path: str) -> str:
    """Returns a clause that suggests existing paths which the user could mean."""
    folder, name = os.path.split(path.rstrip("/"))
    while folder != "/" and not os.path.isdir(folder):
        folder, name = os.path.split(folder)
    try:
        entries = files.listing(folder)
    except errors.ForebayError:
        return f"; {folder} may not be listed"
    there = sorted(entries.folders + entries.files)
    near = difflib.get_close_matches(name, there, 3, 0.5)
    if near:
        return "; is " + " or ".join(os.path.join(folder, n) for n in near) + " meant?"
    if not there:
        return f"; {folder} is empty"
    more = f" and {len(there) - 4} more" if len(there) > 4 else ""
    return f"; {folder} has {', '.join(there[:4])}{more}"
