"""Finds the ways to read a local folder (readings.Reading)."""

from __future__ import annotations

import os
import re
from typing import Dict, List, NamedTuple, Optional, Tuple

from .. import _audio_folder, _npy_folder, _paths, errors
from . import contents, files, singles, tables
from .contents import IMAGES
from .readings import Reading

_DEEPEST = 5  # the most levels of nested folders
_FOLDERS = 64  # the most folders that are looked into
_WORK = 8000  # the most folders listed and files looked at in a search
_GLANCE = 200  # the most entries of a folder that are searched for images
_GROUPS = 24  # the most groups of similar names of which one file is looked at
_PARTS = {"images", "image", "img", "imgs", "masks", "mask", "annotations", "labels",
          "depth", "segmentation"}
_CONTAINERS = ("tfrecord", "tfrecord.gz", "tfrecord.zst", "array_record", "tar",
               "tar.gz", "tar.zst", "hdf5", "mds", "zip", "lmdb", "npy", "npz", "bin")


class _EmptyFolder(errors.InvalidArgument):
    """The error for an empty folder."""


class _Work:
    """The work that a search may still do. It bounds a search in a tree of any size."""

    def __init__(self):
        self._left = _WORK

    def may(self, cost: int = 1) -> bool:
        """Subtracts `cost` from the work that is left. Returns False if too little is
        left."""
        self._left -= cost
        return self._left >= 0


class Found(NamedTuple):
    """The readings of a folder, the likeliest first, and notes on oddities in the
    folder."""

    readings: List[Reading]
    notes: List[str]


def found_in(folder: str, depth: int = 0, work: Optional[_Work] = None) -> Found:
    """Finds the readings of a local folder.

    Args:
      folder: the folder's path.
      depth: the number of levels from the folder that the user named down to this
        folder.
      work: the work that the search may still do.

    Raises:
      errors.ForebayError: there is no way to read the folder; the message suggests what
        the user could mean.
    """
    entries = files.listing(folder)
    if "data.mdb" in entries.files:
        return Found([Reading("lmdb", folder, "lmdb")], [])
    if "index.json" in entries.files and _paths.is_mds(folder):
        return Found([Reading("mds", folder)], [])
    if not entries.folders and not entries.files:
        raise _EmptyFolder(f"{folder}: is empty")
    work = work or _Work()
    kinds = _kinds(folder, entries.files)
    classes = _image_folders(folder, entries.folders, work)
    readings: List[Reading] = []
    notes: List[str] = []
    problems: List[errors.ForebayError] = []
    table = _table(folder, kinds)
    if classes:
        readings += _class_folders(folder, classes, notes)
    if classes and "image" in kinds and table is None:
        notes.append("images directly in the folder, such as "
                     f"{kinds['image'][0]}, are in no class folder, and are left out")
    audio = _audio(folder, entries.folders)
    if audio is not None:
        readings.append(audio)
    if table is not None:
        readings.insert(0 if len(classes) < 2 else len(readings), table)
    containers = _containers(folder, kinds)
    if len(containers) + bool(classes) > 1:
        notes.append("files of several formats lie here: name those that are meant")
    for kind, names in containers:
        try:
            readings += _files(folder, entries.files, kind, names, notes)
        except errors.ForebayError as error:
            problems.append(error)
    if classes or audio is not None:
        readings += _arrays_by_path(folder, readings)
    if not readings:
        readings = _inner(folder, entries.folders, depth, notes, problems, work)
    if not readings:
        raise _unreadable(folder, entries, kinds, problems)
    return Found(readings, notes)


def _arrays_by_path(folder: str, others: List[Reading]) -> List[Reading]:
    """Returns the reading of NumPy's files that DataLoader takes from the path alone,
    unless `others` contain it."""
    format = {".npy": "npy_folder", ".npz": "npz_files"}.get(
        _npy_folder.ending_in(folder) or "")
    if format is None or any((other.format, other.path) == (format, folder)
                             for other in others):
        return []
    return [Reading(format, folder, why=f"each .{format[:3]} file is a sample")]


def _ending(name: str) -> str:
    found = re.search(r"(\.tar)?\.[A-Za-z]\w*$", name.lower())
    return found.group(0) if found else re.sub(r"\d+", "#", name)


def _first_of(folder: str, names: List[str]) -> str:
    """Returns the path of the first file that is not empty. If all are empty, returns
    the path of the first file."""
    paths = [os.path.join(folder, name) for name in names]
    return next(filter(files.size_of, paths), paths[0])


def _kinds(folder: str, names: List[str]) -> Dict[str, List[str]]:
    """Returns the names of files by their kind."""
    groups: Dict[str, List[str]] = {}
    for name in names:
        groups.setdefault(_ending(name), []).append(name)
    largest = sorted(groups.items(), key=lambda group: -len(group[1]))
    kinds: Dict[str, List[str]] = {}
    for ending, group in largest[:_GROUPS]:
        kind = "image" if ending[1:] in IMAGES else None
        try:
            kind = kind or files.kind_of(_first_of(folder, group))
        except (errors.ForebayError, OSError):
            kind = None
        if kind == "zip" and ending == ".npz":
            kind = "npz"
        if kind is not None:
            kinds.setdefault(kind, []).extend(group)
    return {kind: sorted(group) for kind, group in kinds.items()}


def _has_images(folder: str, work: _Work, depth: int = 2) -> bool:
    if not work.may():
        return False
    try:
        entries = files.listing(folder, _GLANCE)
    except errors.ForebayError:
        return False
    if any(name.rpartition(".")[2].lower() in IMAGES for name in entries.files):
        return True
    return depth > 0 and any(_has_images(os.path.join(folder, name), work, depth - 1)
                             for name in entries.folders[:_FOLDERS])


def _image_folders(folder: str, names: List[str],
                   work: Optional[_Work] = None) -> List[str]:
    work = work or _Work()
    return [name for name in names[:_FOLDERS]
            if _has_images(os.path.join(folder, name), work)]


def _class_folders(folder: str, classes: List[str], notes: List[str]) -> List[Reading]:
    """Returns the readings of a folder in which some folders have images."""
    parts = [name for name in classes if _part_of(name)]
    if len(parts) == len(classes):
        nested = [name for name in parts if _image_folders(
            os.path.join(folder, name),
            files.listing(os.path.join(folder, name)).folders)]
        if nested:
            return [Reading("image_folder", os.path.join(folder, name),
                            why=f"the part {name} is meant")
                    for name in sorted(nested, key=_place_of)]
        notes.append(f"the folders {', '.join(parts[:4])} look like parts of a "
                     "dataset, not like classes, and have no folders in them: name "
                     "their images in a table for forebay.manifest")
    if len(classes) == 1:
        inner = os.path.join(folder, classes[0])
        below = _image_folders(inner, files.listing(inner).folders)
        if below:
            return _class_folders(inner, below, notes)
        notes.append(f"all images lie below one folder, {classes[0]}: there is one "
                     "class")
    elif not parts and set(name.lower() for name in classes) <= _PARTS:
        notes.append(f"the folders {' and '.join(classes[:4])} look like parts of the "
                     "samples, not like classes: put both into tar shards, or name "
                     "them in a table for forebay.manifest")
    return [Reading("image_folder", folder, why="its folders are classes of images")]


def _audio(folder: str, names: List[str]):
    """Returns the reading of audio files in a folder, or in class folders in it.
    Returns None if there are no audio files, or if the folders are parts of a
    dataset."""
    found = _audio_folder.find(folder)
    is_part = bool(_part_of(os.path.basename(folder)))
    if found is None or found.labels and (
            len(names) == 1 and not is_part or all(map(_part_of, names))):
        return None
    is_plain = _npy_folder.ending_in(folder) is None
    reading = Reading("audio_folder", folder, why="each audio file is a sample")
    return reading if is_plain else reading._replace(
        call="audio_folder", arguments={"labels": found.labels})


def _part_of(name: str) -> str:
    """Returns the part of a dataset that a folder's name tells, such as "train" for
    "train2017"; "" if it tells none."""
    found = re.sub(r"[\d_-]+$", "", name.lower())
    return found if found in singles.SPLITS else ""


def _place_of(name: str) -> Tuple[int, str]:
    """Returns a key that sorts folders so that the part to train on comes first."""
    part = _part_of(name)
    return (singles.SPLITS.index(part) if part else len(singles.SPLITS), name)


def _table(folder, kinds):
    """Returns the reading of a table in the folder that names files."""
    for name in kinds.get("text", []):
        if name.endswith(tables.ENDINGS):
            path = os.path.join(folder, name)
            try:
                columns = tables.columns_of(path)
            except errors.ForebayError:
                continue  # this user may not read the file
            if columns is not None:
                return Reading("manifest", path, "manifest", columns,
                               why=f"the table {name} says which files there are")
    return None


def _containers(folder: str, kinds: Dict[str, List[str]]):
    """Returns the kinds of files that hold samples, each with its files' names. The
    kind with the most bytes comes first."""
    found = [(kind, names) for kind, names in kinds.items() if kind in _CONTAINERS]
    if "megatron_index" in kinds and "bin" not in kinds:
        found.append(("megatron_index", kinds["megatron_index"]))
    return sorted(found, key=lambda item: -sum(
        files.size_of(os.path.join(folder, name)) for name in item[1]))


def _files(folder, all_names, kind, names, notes) -> List[Reading]:
    """Returns readings of the files of one kind in a folder."""
    if kind == "npy" and len(names) > 1:
        return _npy_files(folder, names, notes)
    if kind == "npz" and len(names) > 1:
        call = "" if _npy_folder.ending_in(folder) == ".npz" else "npz"
        return [Reading("npz_files", folder, call, why="each .npz file is a sample"),
                *singles.npz_rows(os.path.join(folder, "*.npz"),
                                  _first_of(folder, names))[:1]]
    found: List[Reading] = []
    parts = singles.split_of(names)
    for part, chosen in parts if len(parts) > 1 else [("", names)]:
        pattern = files.selected(all_names, chosen)
        read = singles.of_kind(kind, os.path.join(folder, pattern),
                               _first_of(folder, chosen))
        why = f"the part {part} is" if part else f"the files {pattern} are"
        if found:
            read = read[:1]
        found += [read[0]._replace(why=f"{why} meant"), *read[1:]]
    return found


def _npy_files(folder, names, notes) -> List[Reading]:
    """Returns the readings of .npy files. Each file may be a sample, or an array of a
    whole dataset."""
    headers = {name: contents.npy_header(os.path.join(folder, name))
               for name in names[:8]}
    known = {name: header for name, header in headers.items() if header is not None}
    is_whole = _npy_folder.ending_in(folder) == ".npy"
    each = Reading("npy_folder", folder, "" if is_whole else "npy_folder",
                   why="each .npy file is a sample")
    rows = Reading("npy", os.path.join(folder, "*.npy"),
                   why="the rows of all .npy files are the samples")
    if len({(str(header.dtype), header.shape[1:]) for header in known.values()}) < 2:
        return [each, rows]
    largest = max(known, key=lambda name: files.size_of(os.path.join(folder, name)))
    notes.append(f"its .npy files have different types or shapes ({', '.join(known)}): "
                 "if row i of each belongs together, save them in one file by "
                 "numpy.savez, which gives each a field")
    return [Reading("npy", os.path.join(folder, largest)), each]


def _inner(folder, names, depth, notes, problems, work) -> List[Reading]:
    """Returns readings of the contents of a folder's folders."""
    if depth >= _DEEPEST:
        return []
    found: List[Tuple[str, Found]] = []
    for name in names[:_FOLDERS]:
        if not work.may(_GROUPS):
            break
        try:
            found.append((name, found_in(os.path.join(folder, name), depth + 1, work)))
        except _EmptyFolder:
            pass  # other folders may have readings
        except errors.ForebayError as error:
            problems.append(error)
    if not found:
        return []
    together = _together(folder, found)
    if together:
        return together

    found.sort(key=lambda item: _place_of(item[0]))
    notes += found[0][1].notes
    return [*found[0][1].readings,
            *(inner.readings[0]._replace(why=f"the part {name} is meant")
              for name, inner in found[1:])]


def _together(folder, found) -> List[Reading]:
    """Returns the reading of all inner folders as one dataset, unless these are parts
    for different purposes, such as training and validation."""
    names = [name for name, _ in found]
    formats = {inner.readings[0].format for _, inner in found}
    if any(map(_part_of, names)) or len(formats) > 1 or (
            len(found) < 2):
        return []
    if formats == {"npy_folder"} or formats == {"npy"}:
        return [Reading("npy_folder", folder, "npy_folder", {"labels": True},
                        why="its folders are classes of .npy files")]
    if formats == {"audio_folder"}:
        return [Reading("audio_folder", folder, "audio_folder", {"labels": True},
                        why="its folders are classes of audio files")]
    if formats == {"npz_files"} or formats == {"npz"}:
        call = "" if _npy_folder.ending_in(folder) == ".npz" else "npz"
        return [Reading("npz_files", folder, call, {"labels": True} if call else {},
                        why="its folders are classes of .npz files")]
    if formats == {"lmdb"}:
        return _environments(folder, names)
    endings = {os.path.basename(inner.readings[0].path) for _, inner in found}
    first = found[0][1].readings[0]
    if formats <= {"webdataset", "tfrecord", "array_record", "hdf5"} and (
            len(endings) == 1):
        return [first._replace(path=os.path.join(folder, "*", endings.pop()),
                               why="the files of all its folders are meant")]
    return []


def _environments(folder, names) -> List[Reading]:
    """Returns the readings of several LMDB environments. Each environment of LSUN is a
    class."""
    all_names = files.listing(folder).folders
    found = []
    for part, chosen in singles.split_of(names) or [("", names)]:
        path = os.path.join(folder, files.selected(all_names, chosen))
        is_lsun = part and all(name.endswith(f"_{part}_lmdb") for name in chosen)
        found.append(Reading("lmdb", path, "lmdb", {"fields": "lsun"} if is_lsun else
                             {}, why=f"the part {part} is meant" if part else ""))
    return found


def _unreadable(folder, entries, kinds, problems) -> errors.ForebayError:
    """Returns the error for a folder that cannot be read as a dataset."""
    if "image" in kinds and _ending(kinds["image"][0])[1:] not in IMAGES:
        return errors.InvalidArgument(
            f"{folder}: has images whose names do not end in .jpg, .png and so on, by "
            "which images of folders are known: rename them, or name them in a table "
            "for forebay.manifest")
    if "image" in kinds:
        return errors.InvalidArgument(
            f"{folder}: has images, but no class folders: {_class_hint(folder)}")
    found = [*_refusals(folder, kinds, lambda kind: kind != "text"), *problems,
             *_refusals(folder, kinds, lambda kind: kind == "text")]
    if found:
        return found[0]
    shown = ", ".join((entries.files or entries.folders)[:4])
    return errors.Unsupported(f"{folder}: has nothing that is read, but {shown}; read "
                              f"are {singles.READ}")


def _class_hint(folder) -> str:
    """Returns a clause that says how to make a dataset of a folder's images."""
    parent = os.path.dirname(folder.rstrip("/"))
    try:
        siblings = _image_folders(parent, files.listing(parent).folders)
    except errors.ForebayError:
        siblings = []
    if len(siblings) > 1:
        return (f"is {parent} meant, whose folders are classes "
                f"({', '.join(siblings[:4])})?")
    return ("move them into one for each class, or name them in a table for "
            "forebay.manifest")


def _refusals(folder, kinds, is_wanted):
    """Returns the reasons why files of some kinds are not read."""
    for kind, names in kinds.items():
        path = _first_of(folder, names)
        try:
            if is_wanted(kind):
                singles.of_kind(kind, path, path)
        except errors.ForebayError as error:
            yield error
