"""An fsspec file system that reads through the host's cache.

    forebay:///data/train.csv                  a local file
    forebay://gs/bucket/train.csv              gs://bucket/train.csv
    forebay://s3/bucket/train.csv              s3://bucket/train.csv
    forebay://https/host/train.csv             https://host/train.csv
    forebay::gs://bucket/train.csv             the same, chained

Needs fsspec, which finds this file system by itself if Forebay is installed. In a
source checkout, import this module first. For a chained URL, and for listing a bucket,
fsspec also needs its own file system for that store, such as gcsfs or s3fs.
"""

from __future__ import annotations

import datetime
import os
import posixpath
import re
import stat
from typing import Any, Optional

import fsspec

from . import _place, errors
from ._object import version_of
from ._object_session import Client
from ._open import MAX_BLOCK, MIN_BLOCK
from ._open import open as _open_file

_SCHEMES = ("gs", "s3", "hdfs", "webhdfs", "swebhdfs", "http", "https")
_REMOTE = re.compile(f"({'|'.join(_SCHEMES)})://?")
_PREFIX = "forebay://"


def _type_of(mode: int) -> str:
    return ("directory" if stat.S_ISDIR(mode) else
            "file" if stat.S_ISREG(mode) else "other")


class ForebayFileSystem(fsspec.AbstractFileSystem):
    """Files of this host, of buckets and of web servers, for reading.

    This process lists local folders; fsspec's own file systems list buckets and web
    servers. All bytes come from the daemon. Threads and forked processes may use files
    in the same way as those of forebay.open.

    Args:
      fo, target_protocol, target_options: the URL to which this one is chained; paths
        lie below it. The options are for the file system that lists.
      root, autostart: see forebay.open.
      block_size: a hint. The next power of two from 64 KiB to 16 MiB is used.
    """

    protocol = "forebay"
    root_marker = ""

    def __init__(self, fo: str = "", target_protocol: Optional[str] = None,
                 target_options: Optional[dict] = None, *, root: Any = None,
                 block_size: int = 1 << 20, autostart: bool = True,
                 **storage_options: Any):
        super().__init__(**storage_options)
        self._base = _base_of(fo, target_protocol) if target_protocol else None
        self._target_options = target_options or {}
        self._root = root
        self._block_size = min(
            max(1 << (int(block_size) - 1).bit_length(), MIN_BLOCK), MAX_BLOCK)
        self._autostart = autostart

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        path = os.fspath(path)
        if path.startswith(_PREFIX):
            path = path[len(_PREFIX):]
        path = _REMOTE.sub(r"\1/", path, count=1)
        stripped = path.rstrip("/")
        return stripped or ("/" if path else cls.root_marker)

    def _uri(self, path: str) -> str:
        """Returns the path or URI in the form that forebay.open takes."""
        path = self._strip_protocol(path)
        if self._base is not None:
            return posixpath.join(self._base, path) if path else self._base
        scheme, _, rest = path.partition("/")
        if path.startswith("/"):
            return path
        if scheme in _SCHEMES:
            return f"{scheme}://{rest}"
        raise errors.InvalidArgument(
            f"{_PREFIX}{path}: a path begins with a slash, or with " +
            ", ".join(f"{scheme}/" for scheme in _SCHEMES))

    def _open(self, path, mode="rb", **kwargs):
        # Files share blocks in the cache only if their block sizes are equal.
        return _open_file(self._uri(path), mode, root=self._root,
                          block_size=self._block_size,
                          autostart=self._autostart)

    def info(self, path, **kwargs):
        path = self._strip_protocol(path)
        uri = self._uri(path)
        if uri.startswith("/"):
            return self._local_info(path, uri)
        try:
            version = version_of(_place.locate(uri), Client(self._autostart))
        except (errors.NotFound, errors.IsADirectory) as error:
            if self._is_remote_folder(uri):
                return {"name": path, "size": 0, "type": "directory"}
            _place.fail(errors.NotFound, 2, str(error))
        return {"name": path, "size": version.size, "type": "file",
                "stamp": version.stamp}

    def _local_info(self, path, uri):
        try:
            found = os.stat(uri)
        except OSError as error:
            _place.fail_as(error, uri)
        return {"name": path, "size": found.st_size,
                "type": _type_of(found.st_mode),
                "islink": os.path.islink(uri), "mode": found.st_mode,
                "mtime": found.st_mtime, "ino": found.st_ino}

    def _lister(self, uri):
        """Returns fsspec's file system that can list a URI, and the URI's path in that
        file system."""
        scheme = uri.partition("://")[0]
        try:
            target = fsspec.filesystem(scheme, **self._target_options)
        except ImportError as error:
            raise errors.Unsupported(
                f"{uri}: is listed by fsspec's own file system, which is "
                f"missing: {error}") from None
        return target, target._strip_protocol(uri)

    def _is_remote_folder(self, uri):
        try:
            target, path = self._lister(uri)
            return bool(target.isdir(path))
        except errors.Unsupported:
            return False

    def ls(self, path, detail=True, **kwargs):
        path = self._strip_protocol(path)
        uri = self._uri(path)
        if uri.startswith("/"):
            found = self._local_entries(path, uri)
        else:
            target, place = self._lister(uri)
            found = [dict(entry, name=self._joined(path, entry["name"]))
                     for entry in target.ls(place, detail=True, **kwargs)]
        return found if detail else sorted(entry["name"] for entry in found)

    def _joined(self, folder, name):
        name = name.rstrip("/").rpartition("/")[2]
        return f"{folder.rstrip('/')}/{name}" if folder else name

    def _local_entries(self, path, uri):
        info = self._local_info(path, uri)
        if info["type"] != "directory":
            return [info]
        found = []
        for name in sorted(os.listdir(uri)):
            try:
                found.append(self._local_info(self._joined(path, name),
                                              os.path.join(uri, name)))
            except FileNotFoundError:
                pass  # a link to nowhere, or a file that was removed meanwhile
        return found

    def exists(self, path, **kwargs):
        try:
            self.info(path)
        except FileNotFoundError:
            return False
        return True

    def modified(self, path):
        info = self.info(path)
        if "mtime" not in info:
            raise errors.Unsupported(
                f"{self._uri(path)}: its time of change is not known")
        return datetime.datetime.fromtimestamp(info["mtime"],
                                               datetime.timezone.utc)

    def _refuse(self, *arguments, **named):
        raise errors.Unsupported("the forebay file system reads only")

    mkdir = makedirs = rmdir = rm = rm_file = _rm = cp_file = mv = _refuse


def _base_of(fo, protocol):
    """Returns the path or URI to which a chained URL leads."""
    schemes = {scheme: scheme for scheme in _SCHEMES}
    schemes.update(gcs="gs", s3a="s3")
    if protocol in ("file", "local"):
        return fo
    if protocol not in schemes:
        raise errors.Unsupported(
            f"forebay::{protocol}://: files are local, or lie at " +
            " or ".join(f"{scheme}://" for scheme in _SCHEMES))
    return fo if "://" in fo else f"{schemes[protocol]}://{fo}"


fsspec.register_implementation("forebay", ForebayFileSystem, clobber=True)
