"""Files and folders of a dataset, listed with the rights of the user who asks."""

from __future__ import annotations

import fnmatch
import glob
import itertools
import os
import re
import stat
from typing import Any, Iterator, List, NamedTuple, Optional, Tuple

from .. import _paths, _system_error, errors
from .._open import open_or_fail
from . import magic

MOST = 2000  # the most entries of a folder that are looked at
_MOST_EXPANDED = 10_000  # the most paths of a pattern
_MOST_BRACES = 64  # the most braces in a pattern
_MOST_LISTED = 32  # the most names in braces
_MOST_FILES = 20_000  # the most files whose sizes are added up


class Listing(NamedTuple):
    """The entries of a folder.

    Attributes:
      folders, files: lists of str: sorted names, without those of hidden entries.
    """

    folders: List[str]
    files: List[str]


def listing(folder: str, most: int = MOST) -> Listing:
    """Returns the entries of a local folder, at most `most`.

    Raises:
      errors.PermissionDenied, errors.NotFound: the folder cannot be listed.
    """
    folders: List[str] = []
    files: List[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in itertools.islice(entries, most):
                if not entry.name.startswith("."):
                    (folders if _is_folder(entry) else files).append(entry.name)
    except PermissionError:
        raise errors.PermissionDenied(f"{folder}: may not be listed") from None
    except OSError as error:
        raise _failure(folder, error) from None
    return Listing(sorted(folders), sorted(files))


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself, or into a folder that this user may not read
        return False


def is_pattern(path: str) -> bool:
    return any(c in path for c in "{*?[") and not os.path.exists(path)


def braces_expanded(pattern: str) -> Iterator[str]:
    """Yields the paths for which a pattern with braces stands. Wildcards in the pattern
    stay.

    Raises:
      errors.InvalidArgument: the pattern has too many braces.
    """
    if pattern.count("{") > _MOST_BRACES:
        raise errors.InvalidArgument(
            f"{pattern[:80]}...: has more than {_MOST_BRACES} braces")
    found = re.search(r"\{([^{}]*)\}", pattern)
    if not found:
        yield pattern
        return
    inner = found.group(1)
    numbers = re.fullmatch(r"(\d{1,18})\.\.(\d{1,18})", inner)
    if numbers:
        low, high = numbers.groups()
        width = len(low) if low.startswith("0") else 0
        parts: Any = (f"{n:0{width}d}" for n in range(int(low), int(high) + 1))
    elif "," in inner:
        parts = inner.split(",")
    else:
        yield pattern
        return
    for part in parts:
        yield from braces_expanded(
            pattern[:found.start()] + part + pattern[found.end():])


def expanded(pattern: str) -> List[str]:
    """Returns the local files that match a pattern. For a URI without wildcards,
    returns the URIs for which its braces stand."""
    found: List[str] = []
    for path in itertools.islice(braces_expanded(pattern), _MOST_EXPANDED):
        if _paths.is_remote(path):
            if not any(c in path for c in "*?["):
                found.append(path)
        elif any(c in path for c in "*?["):
            found += sorted(glob.iglob(path)) or [path] * os.path.isfile(path)
        elif os.path.exists(path):
            found.append(path)
    return found


def open_file(path: str) -> Any:
    """Opens a file for reading. This process reads local files; the daemon reads all
    other files."""
    if _paths.is_remote(path):
        return open_or_fail(path)
    try:
        # Opening a pipe would wait for its writer, and a device may never end.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise errors.Unsupported(f"{path}: is not a regular file")
        return open(path, "rb")
    except PermissionError:
        raise errors.PermissionDenied(f"{path}: may not be read") from None
    except OSError as error:
        raise _failure(path, error) from None


def _failure(path: str, error: OSError) -> errors.ForebayError:
    kind = _system_error.KINDS.get(error.errno or 0, errors.NotFound)
    return kind(f"{path}: {_system_error.reason(error)}")


def head_of(path: str) -> bytes:
    with open_file(path) as file:
        try:
            return file.read(magic.HEAD)
        except OSError as error:
            raise errors.DataError(
                f"{path}: {_system_error.reason(error)}") from None


def kind_of(path: str) -> Optional[str]:
    """Returns the kind of a file, which its bytes tell or, if they do not, its name."""
    name = path.lower()
    if name.endswith(".mds"):
        return "mds"
    kind = magic.kind_of(head_of(path))
    if kind == "zstd":  # Python's standard library does not decompress it
        return ("tar.zst" if name.endswith((".tar.zst", ".tzst")) else
                "tfrecord.zst" if ".tfrec" in name else kind)
    if kind is None and name.endswith(".bin"):
        return "bin"
    # A tar archive in the format before POSIX.1-1988 has no magic number.
    if kind is None and name.endswith(".tar"):
        return "tar"
    return kind


def selected(names: List[str], wanted: List[str]) -> str:
    """Returns a pattern that matches some of a folder's names, `wanted`, and no others:
    a pattern with "*", or a list in braces. If the names are too many for a list, the
    pattern may match other names, too."""
    if len(wanted) == 1:
        return wanted[0]
    start = os.path.commonprefix(wanted).rstrip("0123456789")
    ending = _ending(wanted[0])
    end = os.path.commonprefix([name[::-1] for name in wanted])[::-1]
    candidates = [f"*{ending}", f"{start}*{ending}", f"{start}*",
                  f"*{end.lstrip('0123456789')}"]
    for pattern in candidates:
        if fnmatch.filter(names, pattern) == wanted:
            return pattern
    if len(wanted) > _MOST_LISTED:
        return candidates[1]
    return "{" + ",".join(wanted) + "}"


def _ending(name: str) -> str:
    found = re.search(r"(\.[A-Za-z_]\w*)+$", name)
    return found.group(0) if found else ""


def size_of(path: str) -> int:
    """Returns the bytes of a local file; 0 if it is gone."""
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def total(paths: List[str]) -> Optional[Tuple[int, int]]:
    """Returns the number of files and the sum of their bytes. Counts the files in
    folders, too, except for hidden ones. Returns None if there are too many to count
    quickly."""
    count = size = 0
    for path in paths:
        if not os.path.isdir(path):
            count += 1
            size += size_of(path)
            continue
        for folder, _, names in os.walk(path):
            for name in names:
                if not name.startswith("."):
                    size += size_of(os.path.join(folder, name))
                    count += 1
            if count > _MOST_FILES:
                return None
    return count, size
