"""Finds the place of a single file or object, in the form in which the daemon is asked
for it.

The daemon is asked for a local file by the descriptor of a folder and a name in that
folder. This module follows links, so a path means the same as in any other call of this
process.
"""

from __future__ import annotations

import errno
import os
import stat
import urllib.parse
from typing import Any, NoReturn, Optional, Type

from . import _paths, _system_error, errors

_DELETED = b" (deleted)"  # the end of the text of a link in /proc to a removed file


def fail(kind: Type[errors.ForebayError], number: int,
         message: str) -> NoReturn:
    """Raises an exception of `kind`, an OSError, with that errno."""
    error: Any = kind(message)
    error.errno = number
    raise error from None


def fail_as(error: OSError, uri: str) -> NoReturn:
    """Raises this package's exception for an OSError that concerns `uri`."""
    number = error.errno or errno.EIO
    fail(_system_error.KINDS.get(number, errors.InvalidArgument), number,
         f"{uri}: {_system_error.reason(error)}")


class Place:
    """A file or object.

    Owns the folder's descriptor, until `close`.

    Attributes:
      name: the path or URI as the user gave it.
      uri: str, for messages.
      root: bytes, the folder's path or URI.
      object: bytes, the file's name below `root`.
      directory: int, the folder's descriptor; -1 if the daemon finds the URI
        itself.
    """

    def __init__(self, name: Any, uri: str, root: bytes, object: bytes,
                 directory: int = -1):
        self.name = name
        self.uri = uri
        self.root = root
        self.object = object
        self.directory = directory

    def close(self) -> None:
        directory, self.directory = self.directory, -1
        if directory >= 0:
            os.close(directory)


def _check_readable(found: os.stat_result, path: bytes, uri: str) -> None:
    if stat.S_ISDIR(found.st_mode):
        fail(errors.IsADirectory, errno.EISDIR, f"{uri}: is a directory")
    if not stat.S_ISREG(found.st_mode):
        raise errors.InvalidArgument(f"{uri}: is not a regular file")
    # The daemon opens a file only for the first read, so this function refuses a file
    # that the user may not read.
    if not os.access(path, os.R_OK, effective_ids=True):
        fail_as(PermissionError(errno.EACCES, os.strerror(errno.EACCES)), uri)
    if found.st_size == 0 and _hides_its_size(path):
        raise errors.Unsupported(
            f"{uri}: has bytes but tells no size, as files in /proc do: use "
            "open()")


def _hides_its_size(path: bytes) -> bool:
    """Whether a file has bytes although its size is 0, as files in /proc do."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False  # the daemon will say why
    try:
        # If a regular file has grown meanwhile, its size is not 0 any more.
        return os.read(file, 1) != b"" and os.fstat(file).st_size == 0
    except OSError:
        return False
    finally:
        os.close(file)


def _real_path(path: bytes, uri: str) -> bytes:
    """Returns the path of a regular file without symbolic links."""
    file = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        found = os.fstat(file)
        _check_readable(found, path, uri)
        try:
            real = os.readlink(b"/proc/self/fd/%d" % file)
        except OSError:
            return os.path.realpath(path)
    finally:
        os.close(file)
    # The name of an existing file may also have this ending.
    if real.endswith(_DELETED) and not os.path.samestat(os.lstat(real), found):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    return real


def _local(name: Any, path: bytes, root: Optional[bytes]) -> Place:
    uri = os.fsdecode(path)
    try:
        if root is None:
            root, object = os.path.split(_real_path(path, uri))
        else:
            path, root = os.path.abspath(path), os.path.abspath(root)
            _check_readable(os.stat(path), path, uri)
            object = _below(path, root)
        directory = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except errors.ForebayError:
        raise
    except OSError as error:
        fail_as(error, uri)
    return Place(name, uri, root, object, directory)


def _below(path: bytes, root: bytes) -> bytes:
    folder = root.rstrip(b"/") + b"/"
    if not path.startswith(folder) or path == folder:
        raise errors.InvalidArgument(
            f"{os.fsdecode(path)}: does not lie below {os.fsdecode(root)}")
    return path[len(folder):]


def _remote(uri: str, root: Optional[str]) -> Place:
    scheme, _, rest = uri.partition("://")
    host, _, path = rest.partition("/")
    is_web = _paths.is_web(uri)
    if is_web and ("?" in path or "#" in path):
        raise errors.Unsupported(
            f"{uri}: a URL with a query or a fragment names no file")
    if not (host or scheme == "hdfs") or not path or path.endswith("/"):
        fail(errors.IsADirectory, errno.EISDIR, f"{uri}: names no object")
    if root is None:
        root = uri.rpartition("/")[0]
    object = _below(os.fsencode(uri), os.fsencode(root))
    if is_web:
        object = urllib.parse.unquote_to_bytes(object)
    return Place(uri, uri, os.fsencode(root.rstrip("/")), object)


def locate(name: Any, root: Any = None) -> Place:
    """Finds the place of a file.

    Args:
      name: a path or a URI; see `forebay.open`.
      root: a folder above the file, or None for the folder in which the file lies.

    Raises:
      errors.NotFound, errors.IsADirectory, errors.PermissionDenied,
      errors.InvalidArgument, errors.Unsupported: the file cannot be read; the message
        says why.
    """
    path = _paths.location_of(name, "file")
    above = None if root is None else _paths.location_of(root, "root")
    if _paths.is_remote(path):
        if above is not None and not _paths.is_remote(above):
            raise errors.InvalidArgument(f"{path}: does not lie below {above}")
        return _remote(path, above)
    if above is not None and _paths.is_remote(above):
        raise errors.InvalidArgument(f"{path}: does not lie below {above}")
    return _local(name, os.fsencode(path),
                  None if above is None else os.fsencode(above))
