"""Finds the ways to read a URI. This process cannot list buckets or web servers. For
folders and wildcards, it therefore tries to open the formats that they could have."""

from __future__ import annotations

import os
from typing import List

from .. import _archives, _paths, errors
from . import files, singles, trials
from .folders import Found
from .readings import Reading

# The patterns of files that a folder may have, and the kind of these files.
_PATTERNS = (
    ("tar", "*.tar"), ("tar", "*.tar.gz"), ("tar", "*.tar.zst"),
    ("tfrecord", "*.tfrecord*"), ("mds", "*.mds"), ("array_record", "*.array_record*"),
    ("hdf5", "*.h5"), ("zip", "*.zip"), ("tfrecord", "train-*"), ("npy_folder", ""),
    ("npz_files", ""), ("audio_folder", ""))
_BY_ENDING = (
    (".tar", "tar"), (".tar.gz", "tar"), (".tgz", "tar"), (".tar.zst", "tar"),
    (".tzst", "tar"), (".mds", "mds"),
    (".h5", "hdf5"), (".hdf5", "hdf5"), (".zip", "zip"), (".npy", "npy"),
    (".npz", "npz"))


def found_at(uri: str, autostart: bool) -> Found:
    inner = _archives.split(uri, remote=True)
    if inner is not None and inner[1]:
        return Found([Reading("zip", uri)], [])
    if any(c in uri for c in "{*?["):
        first = next(iter(files.expanded(uri)), None)
        if first is not None:
            return Found(singles.readings_of(uri, first), [])
        return Found([_wildcards(uri, autostart)], [])
    is_web = _paths.is_web(uri)
    # Web servers cannot list files, so a URI of a web server names a file.
    if not uri.endswith("/") and (_is_object(uri) or is_web):
        return Found(singles.readings_of(uri, uri), [])
    if is_web:
        raise errors.Unsupported(
            f"{uri}: web servers list no folders: name the files, such as "
            f"{uri}{{00..12}}.tar")
    return _folder(uri.rstrip("/"), autostart)


def _is_object(uri: str) -> bool:
    try:
        files.head_of(uri)
    except (errors.NotFound, errors.IsADirectory, errors.InvalidArgument):
        return False
    return True


def _folder(uri: str, autostart: bool) -> Found:
    if _is_object(uri + "/data.mdb"):
        return Found([Reading("lmdb", uri, "lmdb")], [])
    images = Reading("image_folder", uri)
    reason = trials.refusal(images, autostart)
    if reason is None:
        return Found([images], [])
    for kind, pattern in _PATTERNS:
        try:
            path = f"{uri}/{pattern}" if pattern else uri
            return Found([_of(kind, path, autostart)], [])
        except trials.REFUSALS:
            pass
    # The daemon's message for a bucket of Cloud Storage or S3 that does not exist.
    if "there is no bucket" in str(reason):
        raise reason
    if _paths.are_files(uri, tuple(ending for ending, _ in _BY_ENDING)):
        raise errors.NotFound(f"{uri}: is not there")
    names = ", ".join(pattern for _, pattern in _PATTERNS if pattern)
    raise type(reason)(
        f"{uri}: has neither class folders of images nor files of known names "
        f"({names}): name the files that are meant; read are {singles.READ}")


def _wildcards(uri: str, autostart: bool) -> Reading:
    kinds = [kind for ending, kind in _BY_ENDING if _paths.are_files(uri, (ending,))]
    if _paths.is_array_record(uri):
        kinds = ["array_record"]
    elif _paths.is_tfrecord(uri):
        kinds = ["tfrecord"]
    refusals: List[errors.ForebayError] = []
    for kind in kinds or ["tfrecord", "array_record", "tar", "hdf5"]:
        try:
            return _of(kind, uri, autostart)
        except trials.REFUSALS as error:
            refusals.append(error)
    if kinds:
        raise refusals[0]
    raise errors.Unsupported(
        f"{uri}: stands for no files of a known format; read are {singles.READ}")


def _of(kind: str, path: str, autostart: bool) -> Reading:
    """Returns the reading of the files at `path` as files of kind `kind`.

    Raises:
      errors.ForebayError: one of trials.REFUSALS: the files are of another kind.
    """
    if kind == "tar":
        return trials.shards(Reading("webdataset", path), autostart)
    if kind in ("npy_folder", "audio_folder"):
        reading = Reading(kind, path, kind)
    elif kind == "npz_files":
        reading = Reading("npz_files", path + "/", "npz")
    elif kind == "npz":
        reading = Reading("npz", path)
    elif kind == "zip":
        reading = Reading("zip", path)
    else:
        reading = singles.of_kind(kind, path, path)[0]
    refused = trials.refusal(reading, autostart)
    if refused is not None:
        raise refused
    return reading


def sizes(uri: str) -> List[int]:
    """Returns the sizes in bytes of the objects that a URI with braces names. Returns
    an empty list if that would need a list of the bucket's objects."""
    if any(c in uri for c in "*?["):
        return []
    found = []
    for one in files.expanded(uri)[:64]:
        try:
            with files.open_file(one) as file:
                found.append(file.seek(0, os.SEEK_END))
        except errors.ForebayError:
            return []
    return found
