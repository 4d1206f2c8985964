"""Finds fields of tar shards, members of zip archives, and arrays of NumPy's files.
Reads only headers and directories."""

from __future__ import annotations

import io
import os
import re
import struct
import tarfile
import zipfile
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from .. import errors
from .._torch_folders import IMAGE_EXTENSIONS
from . import files

_MOST_MEMBERS = 512  # the most members of a shard that are looked at
_MOST_BYTES = 64 << 20  # the most bytes of a compressed shard that are read
_MOST_DIRECTORY = 1 << 20  # bytes of a zip archive's directory that are looked at
_MOST_FIELDS = 15
_HEADER = 64 << 10  # bytes that suffice for the header of a .npy file
IMAGES = frozenset(ending[1:] for ending in IMAGE_EXTENSIONS) | {
    "gif", "avif", "pbm", "pnm"}
AUDIO = frozenset(("wav", "flac", "ogg", "opus", "mp3"))
_LABELS = ("cls", "cls2", "class", "count", "index", "inx", "id")
_ORDER = (*_LABELS, "txt", "text", "transcript", "json", "jsn", "npy")


class Shard(NamedTuple):
    """The start of a tar shard.

    Attributes:
      fields: tuple of str, the fields that all samples have; images come first.
      folders: list of str, the names of the folders in which the shard's members lie.
    """

    fields: Tuple[str, ...]
    folders: List[str]


def shard_of(path: str) -> Shard:
    """Looks at the first members of a shard.

    Raises:
      errors.InvalidArgument: the file is not a tar file, or no sample has a field.
    """
    samples: Dict[str, List[str]] = {}
    mode: Any = "r:gz" if files.head_of(path)[:2] == b"\x1f\x8b" else "r:"
    try:
        with files.open_file(path) as file, tarfile.open(
                fileobj=file, mode=mode) as shard:
            for number, member in enumerate(shard):
                folder, _, name = member.name.rpartition("/")
                stem, _, extension = name.partition(".")
                if member.isfile() and stem and extension:
                    samples.setdefault(f"{folder}/{stem}", []).append(
                        extension.lower())
                if (number + 1 >= _MOST_MEMBERS or
                        member.offset_data + member.size > _MOST_BYTES and
                        len(samples) > 1):
                    break
    except errors.ForebayError:
        raise
    # For damaged headers, tarfile may raise any exception, even MemoryError.
    except Exception as error:
        if not samples:
            raise errors.InvalidArgument(
                f"{path}: is not a tar file that can be read: "
                f"{str(error) or type(error).__name__}") from None
    # The last sample may have further members, which were not looked at.
    whole = list(samples.values())[:-1] or list(samples.values())
    fields = common_fields(whole)
    if not fields:
        raise errors.InvalidArgument(
            f"{path}: its members have no extensions, which fields are named by")
    return Shard(fields, sorted({name.rpartition("/")[0].rpartition("/")[2]
                                 for name in samples}))


def common_fields(samples: Sequence[Sequence[str]]) -> Tuple[str, ...]:
    """Returns the extensions that all samples have: images come first, then labels. If
    images have different extensions, these extensions together are one field."""
    if not samples:
        return ()
    shared = [name for name in samples[0]
              if all(name in sample for sample in samples)]
    images = [name for name in shared if name.rpartition(".")[2] in IMAGES]
    if not images:
        found = sorted({name for sample in samples for name in sample
                        if name in IMAGES})
        if found and all(set(found) & set(sample) for sample in samples):
            images = [";".join(found)]
    others = [name for name in shared if name not in images]

    def place(name):
        kind = re.sub(r"\.gz$", "", name).rpartition(".")[2]
        return (-1 if kind in AUDIO else
                _ORDER.index(kind) if kind in _ORDER else len(_ORDER))

    return tuple([*images, *sorted(others, key=place)][:_MOST_FIELDS])


def zip_names(path: str) -> List[str]:
    """Returns the names of a zip archive's first members, except for folders.

    Raises:
      errors.InvalidArgument: the file has no end of central directory record (APPNOTE
        4.3.16).
    """
    with files.open_file(path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - (66 << 10), 0))
        tail = file.read()
        at = tail.rfind(b"PK\5\6")
        if at < 0 or len(tail) < at + 22:
            raise errors.InvalidArgument(f"{path}: is a zip archive without its end")
        length, offset = struct.unpack_from("<II", tail, at + 12)
        # The zip64 end of central directory record, APPNOTE 4.3.14.
        large = tail.rfind(b"PK\6\6", 0, at)
        if 0xffffffff in (length, offset) and 0 <= large <= len(tail) - 56:
            length, offset = struct.unpack_from("<QQ", tail, large + 40)
        if offset > size:
            raise errors.InvalidArgument(
                f"{path}: is a zip archive whose directory lies behind its end")
        file.seek(offset)
        directory = file.read(min(length, _MOST_DIRECTORY))
    names, at = [], 0
    while directory[at:at + 4] == b"PK\1\2" and len(directory) >= at + 46:
        name, extra, comment = struct.unpack_from("<HHH", directory, at + 28)
        text = directory[at + 46:at + 46 + name].decode("utf-8", "surrogateescape")
        # The upper byte of "version made by" is 0 for MS-DOS (APPNOTE 4.4.2), whose
        # paths may have backslashes. unzip does the same.
        if directory[at + 5] == 0 and "/" not in text:
            text = text.replace("\\", "/")
        names.append(text)
        at += 46 + name + extra + comment
    return [name for name in names if not name.endswith("/")]


class Header(NamedTuple):
    """The header of a .npy file.

    Attributes:
      dtype: numpy.dtype.
      shape: tuple of int.
    """

    dtype: Any
    shape: Tuple[int, ...]


def npy_header(path: str) -> Optional[Header]:
    """Reads the header of a .npy file. Returns None if the file is not a .npy file."""
    with files.open_file(path) as file:
        return _header(file.read(_HEADER))


def _header(content: bytes) -> Optional[Header]:
    import numpy
    file = io.BytesIO(content)
    try:
        version = numpy.lib.format.read_magic(file)
        read = (numpy.lib.format.read_array_header_1_0 if version == (1, 0) else
                numpy.lib.format.read_array_header_2_0)
        shape, _, dtype = read(file)
    except Exception:  # for damaged headers, NumPy may raise any exception
        return None
    return Header(dtype, shape)


def npz_groups(path: str) -> List[List[str]]:
    """Returns the names of a .npz file's arrays, grouped by their number of rows. The
    group to train on comes first."""
    groups: Dict[int, List[str]] = {}
    try:
        with files.open_file(path) as file, zipfile.ZipFile(file) as archive:
            for name in archive.namelist()[:_MOST_MEMBERS]:
                with archive.open(name) as member:
                    header = _header(member.read(_HEADER))
                if (header is not None and header.shape and
                        header.dtype.kind in "biuf"):
                    groups.setdefault(header.shape[0], []).append(
                        name[:-len(".npy")])
    except errors.ForebayError:
        raise
    except Exception as error:  # zipfile may raise many other exceptions
        raise errors.InvalidArgument(f"{path}: is no .npz file: {error}") from None
    return sorted(groups.values(), key=lambda names: (
        not any("train" in name for name in names), -len(names)))
