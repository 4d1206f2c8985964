"""Reads datasets' paths: where a dataset lies, and which format its path means."""

from __future__ import annotations

import os
import re
import urllib.parse

from . import _mds, _patterns, errors
from ._hdf5 import ENDINGS as _HDF5

_REMOTE = ("gs://", "s3://", "hdfs://", "webhdfs://", "swebhdfs://", "http://",
           "https://")


def is_passable(name):
    """Whether a name can be passed to the daemon as a whole: a 0 byte would end it."""
    try:
        return b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        return False


def is_remote(uri):
    """Whether a URI is one that the daemon reads itself."""
    return isinstance(uri, str) and uri.startswith(_REMOTE)


def is_web(uri):
    """Whether a URI names a web server, which does not list folders."""
    return isinstance(uri, str) and uri.startswith(("http://", "https://"))


def _path_of_url(url):
    """Returns the path that a file:// URL names."""
    path = url[len("file://"):]
    if path.startswith("localhost/"):
        path = path[len("localhost"):]
    if not path.startswith("/"):
        raise errors.InvalidArgument(f"{url}: is not a file:// URL of this host")
    return urllib.parse.unquote(path, errors="surrogateescape")


def location_of(given, what="dataset"):
    """Returns a given path unchanged, the path of a file:// URL, or a URI that the
    daemon reads itself.

    Args:
      what: a noun for the argument, for messages.
    """
    try:
        uri = os.fspath(given)
    except TypeError:
        raise errors.InvalidArgument(
            f"the {what} must be a path or a URI" +
            (", or an object like torch's datasets" if what == "dataset" else "") +
            f", not {given!r}") from None
    if not uri or not is_passable(uri):
        raise errors.InvalidArgument(f"the {what} {given!r} is not a path")
    if isinstance(uri, str):
        if uri.startswith("file://"):
            return _path_of_url(uri)
        if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*://", uri) and not is_remote(uri):
            raise errors.Unsupported(
                f"{uri}: datasets are files, or lie at " +
                ", ".join(_REMOTE[:-1]) + f" or {_REMOTE[-1]}")
        if is_remote(uri):
            scheme, _, rest = uri.partition("://")
            host = rest.partition("/")[0]
            if not host or any(c in host for c in "{*?"):
                raise errors.InvalidArgument(
                    f"{uri}: must name one " +
                    ("bucket" if scheme in ("gs", "s3") else "server"))
    return uri


def path_of(dataset):
    """Returns the name by which the daemon knows a dataset. For a path or a file://
    URI, this is the absolute path; "~" stands for the user's home. All other URIs stay
    as they are."""
    uri = location_of(dataset)
    try:
        return uri if is_remote(uri) else os.path.abspath(os.path.expanduser(uri))
    except FileNotFoundError:
        raise errors.NotFound(
            f"{os.fsdecode(uri)}: the working directory was removed") from None


_TAR = (".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst")


def is_shards(path):
    """Whether a path means tar shards, and not a folder."""
    name = os.fsdecode(path)
    is_shards = name.endswith(_TAR) or any(c in name for c in "{*?[")
    return is_shards and not os.path.isdir(path)


_TFRECORD = tuple(ending + packed for ending in (".tfrecord", ".tfrecords", ".tfrec")
                  for packed in ("", ".gz", ".zst"))
_ARRAY_RECORD = (".array_record", ".arrayrecord")


def are_files(path, endings):
    """Whether a path means files whose names have one of these endings."""
    return _patterns.ends_in(os.fsdecode(path), endings) and not os.path.isdir(path)


def _are_numbered(path, endings):
    """Whether a path has one of these endings, perhaps followed by a number, as in
    "x-train.tfrecord-00000-of-00010". A wildcard may stand for the number."""
    name = os.fsdecode(path)
    for ending in endings:
        start, found, rest = name.rpartition(ending)
        if found and "/" not in rest and (rest == "*" or rest.startswith("-")):
            name = start + ending
            break
    return are_files(name, endings) and not os.path.isdir(path)


def is_array_record(path):
    """Whether a path stands for ArrayRecord files."""
    return _are_numbered(path, _ARRAY_RECORD)


def is_tfrecord(path):
    """Whether a path stands for TFRecord files."""
    return _are_numbered(path, _TFRECORD)


def is_hdf5(path):
    """Whether a path stands for HDF5 files."""
    return are_files(path, _HDF5)


def is_mds(path):
    """Whether a path stands for MDS shards, or for a folder of them."""
    return are_files(path, (".mds",)) or mds_shards(path) is not None


def mds_shards(path):
    """Returns the shards of a local folder that MosaicML's writer has filled; None if
    the path is not such a folder. Raises as _mds.shards_of does."""
    if is_remote(path) or any(c in path for c in "{*?["):
        return None
    return _mds.shards_of(path)


def is_table(path):
    """Whether a path stands for a table, which only forebay.manifest describes."""
    return os.fsdecode(path).endswith((".csv", ".jsonl", ".ndjson", ".json")) and (
        not os.path.isdir(path))


_SHOWN_PATHS = 4  # the most paths of a list that a message shows


def _as_one(paths):
    """Returns a path with braces, for messages, that stands for several paths. If there
    are many, it shows only the first ones."""
    names = [os.fsdecode(path) for path in paths]
    shared = os.path.commonprefix(names)
    start = shared[:shared.rfind("/") + 1]
    rests = [name[len(start):] for name in names]
    if any(c in rest for rest in rests for c in "{},"):
        return "{00000..00127}.tar"
    if len(rests) > _SHOWN_PATHS:
        rests = [*rests[:_SHOWN_PATHS - 1], "..."]
    return start + (rests[0] if len(rests) == 1 else "{" + ",".join(rests) + "}")


def _names_files(path):
    return isinstance(path, (str, bytes, os.PathLike)) and (
        is_tfrecord(path) or is_array_record(path) or is_hdf5(path) or
        are_files(path, (*_TAR, ".mds", ".npy", ".npz", ".zip")))


def check_no_list_of_files(dataset, has_fields):
    """Refuses a list of paths: as a dataset, it would be a sequence whose samples are
    texts.

    Args:
      has_fields: whether the argument `fields` is given as well.

    Raises:
      errors.InvalidArgument: the message says how to name several files.
    """
    if not isinstance(dataset, (list, tuple)) or not dataset:
        return
    if has_fields:
        is_list = all(isinstance(path, (str, bytes, os.PathLike)) for path in dataset)
    else:
        is_list = all(map(_names_files, dataset))
    if is_list:
        raise errors.InvalidArgument(
            f"a {type(dataset).__name__} is a dataset of its elements, which are "
            "paths here: name the files by one path with braces, such as "
            f'"{_as_one(dataset)}", or pass collate_fn=list for batches of the paths')
