"""Finds the ways to read a file, or the files that a pattern matches."""

from __future__ import annotations

import os
import struct
from typing import Any, Callable, Dict, List, Tuple

from .. import _archives, _paths, errors
from . import contents, files, tables
from .contents import AUDIO, IMAGES
from .readings import Reading

_WINDOW = 1024  # tokens of a window, in the printed code
_LIKELY_TOKENS = 100_000  # so many integers in a .npy file are tokens, not labels
_WIDTHS = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 8: 2}  # bytes, by Megatron-LM's type
SPLITS = ("train", "training", "val", "valid", "validation", "dev", "eval", "test",
          "testing")

# The kinds of files that cannot be read, each with a clause that says what to do
# instead.
_REMEDIES = {
    "7z": "is a 7z archive: unpack it, or pack it as zip or tar",
    "arrow": "is an Arrow file, which is not read: if it is of Hugging Face's, pass "
             "datasets.load_from_disk(folder) to forebay.DataLoader",
    "audio": "is one recording; a dataset is a folder of them",
    "bzip2": "is compressed by bzip2, which is not read: unpack it, or use gzip",
    "idx": "is of MNIST's format, which is not read: pass torchvision.datasets.MNIST("
           "...), or what reads the file, to forebay.DataLoader",
    "parquet": "is a Parquet file, which is not read: pass datasets.load_dataset("
               '"parquet", data_files=...) to forebay.DataLoader, or write MDS or '
               "TFRecord files of it",
    "pickle": "is a pickle, which would run code: if it is CIFAR's, pass "
              "torchvision.datasets.CIFAR10(...) to forebay.DataLoader",
    "rar": "is a RAR archive: unpack it, or pack it as zip or tar",
    "sqlite": "is an SQLite database, which is not read: write its rows as LMDB, MDS "
              "or TFRecord files",
    "torch": "is a file of torch.save, which would run code: save its arrays by "
             "numpy.save, or pass a TensorDataset of them to forebay.DataLoader",
    "xz": "is compressed by xz, which is not read: unpack it, or use gzip",
    "zstd": "is compressed by zstd: if it is a tar shard, its name must end in "
            ".tar.zst, and if it has records, in .tfrecord.zst",
}
READ = ("folders of images or audio files, tar shards, TFRecord, ArrayRecord, MDS, "
        "LMDB, HDF5, zip, .npy and .npz files, files of tokens, and tables (CSV, JSON "
        "lines) of images")


def readings_of(path: str, first: str) -> List[Reading]:
    """Returns the ways to read files of one kind, the likeliest first.

    Args:
      path: a file's path, or a pattern.
      first: the path of one file that matches the pattern.

    Raises:
      errors.Unsupported, errors.InvalidArgument: the files cannot be read; the message
        says what to do instead.
    """
    if files.head_of(first) == b"":
        raise errors.InvalidArgument(f"{first}: is empty")
    return of_kind(files.kind_of(first), path, first)


def of_kind(kind: Any, path: str, first: str) -> List[Reading]:
    """Returns the ways to read files whose kind is known."""
    find = _FINDERS.get(kind)
    if find is not None:
        return find(path, first)
    if kind in _REMEDIES:
        raise errors.Unsupported(f"{first}: {_REMEDIES[kind]}")
    if kind == "idx.gz":
        return of_kind("idx", path, first)
    if kind is not None and kind.endswith(".gz"):
        raise errors.Unsupported(
            f"{first}: is compressed by gzip, which is read of tar shards and TFRecord "
            "files alone: unpack it")
    raise errors.Unsupported(
        f"{first}: is of no format that its first bytes tell; read are {READ}")


def _by_name(format: str, call: str, is_named: Callable[[str], bool]):
    """Returns a function that finds the reading of files of one format. If the path
    does not tell the format, the reading's code calls `call`, a function of this
    package."""
    def find(path, first):
        return [Reading(format, path, "" if is_named(path) else call)]
    return find


def _shards(path, first):
    shard = contents.shard_of(first)
    note = ""
    if len(shard.folders) > 1 and all(
            field.rpartition(".")[2] in IMAGES for field in shard.fields):
        note = (f"members lie in folders ({', '.join(shard.folders[:4])}) that could "
                "be classes, but samples of tar shards have no such label: pack the "
                "folders as a zip archive, or unpack them")
    return [Reading("webdataset", path, fields=shard.fields, note=note)]


def _packed_shards(path, first):
    return [Reading("webdataset", path)]  # opening it finds the fields


def _check_ending(path, ending, what):
    if not _paths.are_files(path, (ending,)):
        raise errors.Unsupported(
            f"{path}: is {what}, but its name does not end in {ending}: rename it, or "
            "make a link of such a name")


def _npy(path, first):
    _check_ending(path, ".npy", "a .npy file")
    header = contents.npy_header(first)
    rows = Reading("npy", path, why="rows, each of a single number, are meant")
    if header is None or header.dtype.kind not in "iu" or len(header.shape) != 1:
        return [rows]
    count = header.shape[0]
    windows = Reading("tokens", path, "tokens", {"length": _window(count)},
                      why="the integers are tokens, and windows of them samples")
    return [windows, rows] if count >= _LIKELY_TOKENS else [rows, windows]


def _window(count: int) -> int:
    """Returns the number of tokens in a window: so few that there is at least one
    window."""
    return 1 << min(_WINDOW, max(count, 1)).bit_length() - 1


def _tokens(path, first):
    index = first[:-len(".bin")] + ".idx" if first.endswith(".bin") else ""
    if index and (_paths.is_remote(index) or os.path.isfile(index)):
        return _megatron(path, index, first)
    with files.open_file(first) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        head = file.read(64 << 10)
    if _is_cifar(first, size):
        raise errors.Unsupported(
            f"{first}: is of CIFAR's binary version: pass "
            "torchvision.datasets.CIFAR10(...) to forebay.DataLoader")
    if size % 2:
        raise errors.Unsupported(
            f"{first}: is of no format that its first bytes tell, and an odd number "
            f"of bytes are not tokens; read are {READ}")
    kinds = {"uint16": 2, "uint32": 4}
    if _has_empty_halves(head) and size % 4 == 0:
        kinds = {"uint32": 4, "uint16": 2}
    return [Reading("tokens", path, "tokens",
                    {"dtype": dtype, "length": _window(size // width)},
                    why=f"its tokens are {dtype}")
            for dtype, width in kinds.items() if size % width == 0]


def _megatron(path, index, first):
    with files.open_file(index) as file:
        head = file.read(18)
    if head[:9] != b"MMIDIDX\0\0" or len(head) < 18:
        raise errors.InvalidArgument(
            f"{index}: is not an index of Megatron-LM's, which the file beside {first} "
            "would be")
    with files.open_file(first) as file:
        size = file.seek(0, os.SEEK_END)
    count = size // _WIDTHS.get(head[17], 4)
    return [Reading("tokens", path, "tokens", {"length": _window(count)}),
            Reading("tokens", path, "tokens", {"length": None},
                    why="each document is a sample")]


def _is_cifar(path, size):
    return size % 3073 == 0 and "_batch" in os.path.basename(path)


def _has_empty_halves(head):
    """Whether nearly all upper halves of 32-bit words are 0. If tokens had 16 bits,
    these halves would rarely be 0."""
    upper = struct.unpack_from(f"<{len(head) // 4 * 2}H", head)[1::2]
    return bool(upper) and sum(half > 15 for half in upper) * 100 < len(upper)


def _index(path, first):
    return _tokens(path[:-len(".idx")] + ".bin" if path.endswith(".idx") else path,
                   first[:-len(".idx")] + ".bin")


def _zip(path, first):
    names = contents.zip_names(first)
    if not names and _paths.are_files(path, (".npz",)):
        return npz_rows(path, first)
    if names and all(name.endswith(".npy") for name in names):
        return npz_rows(path, first)
    if any(name.endswith("data.pkl") for name in names):
        return of_kind("torch", path, first)
    if _archives.split(path, _paths.is_remote(path)) is None:
        _check_ending(path, ".zip", "a zip archive")
    for format, call, endings in (("zip", "", IMAGES),
                                  ("audio_folder", "audio_folder", AUDIO)):
        found = [name for name in names if name.rpartition(".")[2].lower() in endings]
        if found:
            return [Reading(format, inner, call, why=why)
                    for inner, why in _zipped_classes(path, found)]
    raise errors.Unsupported(
        f"{path}: has neither images nor audio files, which alone are read from zip "
        "archives: unpack it")


def _zipped_classes(path, names):
    """Returns the paths in an archive that contain class folders. Each path comes with
    a clause that says in which case it is the right one."""
    split = [name.split("/") for name in names]
    depth = 0
    # Skips folders that contain all members.
    while all(len(parts) > depth + 2 for parts in split) and len(
            {parts[depth] for parts in split}) == 1:
        depth += 1
    around = "/".join(split[0][:depth])
    inner = {parts[depth] for parts in split if len(parts) > depth + 2}
    if inner and inner <= set(SPLITS) and all(len(p) > depth + 2 for p in split):
        return [("/".join(filter(None, (path, around, name))),
                 f"the part {name} is meant")
                for name in sorted(inner, key=SPLITS.index)]
    return [(f"{path}/{around}" if around else path, "")]


def npz_rows(path: str, first: str) -> List[Reading]:
    """Returns the readings of the rows of .npz files: one reading for each group of
    arrays with equally many rows."""
    is_named = _paths.are_files(path, (".npz",))
    groups = contents.npz_groups(first)
    files_each = Reading("npz_files", path, "npz", {"rows": False},
                         why="each file is one sample")
    if not groups and not contents.zip_names(first):
        raise errors.InvalidArgument(f"{first}: is a .npz file without arrays")
    if not groups:
        return [files_each]
    if len(groups) == 1:
        return [Reading("npz", path, "" if is_named else "npz"), files_each]
    found = []
    for names in groups:
        group = tuple(names)
        why = f"the arrays {', '.join(group)} are meant"
        found.append(Reading("npz", path, fields=group, why=why) if is_named else
                     Reading("npz", path, "npz", {"fields": group}, why=why))
    return [*found, files_each]


def _table(path, first):
    if first.endswith(tables.ENDINGS):
        columns = tables.columns_of(first)
        if columns is not None and path != first:
            raise errors.InvalidArgument(
                f"{path}: tables are read one at a time: name one, such as {first}")
        if columns is not None:
            return [Reading("manifest", path, "manifest", columns)]
        if not first.endswith(".json"):  # most .json files are not tables
            raise errors.Unsupported(
                f"{first}: is a table, but no column has the paths of images or audio "
                "files that are there, from its folder on")
    folder = os.path.dirname(first)
    if os.path.basename(first) == "index.json" and not _paths.is_remote(first) and (
            _paths.is_mds(folder)):
        raise errors.InvalidArgument(
            f"{first}: is the index of MDS shards: name the folder, {folder}")
    if first.endswith(".tsv"):
        raise errors.Unsupported(
            f"{first}: is a table with tabs, which is not read: write it with commas, "
            "as .csv")
    raise errors.Unsupported(f"{first}: is a text, and no table; read are {READ}")


def _image(path, first):
    folder = os.path.dirname(first)
    raise errors.InvalidArgument(
        f"{first}: is one image; a dataset is a folder of class folders: "
        f"is {os.path.dirname(folder) or folder} meant?")


def _lmdb(path, first):
    return [Reading("lmdb", path, "lmdb")]


def _mds(path, first):
    return [Reading("mds", path)]


_FINDERS: Dict[Any, Callable[[str, str], List[Reading]]] = {
    "array_record": _by_name("array_record", "array_record", _paths.is_array_record),
    "bin": _tokens, "hdf5": _by_name("hdf5", "hdf5", _paths.is_hdf5),
    "image": _image, "lmdb": _lmdb, "mds": _mds, "megatron_index": _index,
    "npy": _npy, "npz": npz_rows, "tar": _shards, "tar.gz": _shards, "text": _table,
    "tfrecord": _by_name("tfrecord", "tfrecord", _paths.is_tfrecord),
    "tfrecord.gz": _by_name("tfrecord", "tfrecord", _paths.is_tfrecord),
    "tar.zst": _packed_shards,
    "tfrecord.zst": _by_name("tfrecord", "tfrecord", _paths.is_tfrecord),
    "zip": _zip,
}


def split_of(names: List[str]) -> List[Tuple[str, List[str]]]:
    """Returns the parts of a dataset that names such as "train-1" and "val-1" tell.
    Each part comes with its names; the part to train on comes first. Returns an empty
    list if any name does not tell a part."""
    parts: Dict[str, List[str]] = {}
    for name in names:
        lower = name.lower()
        found = [split for split in SPLITS if split in lower]
        if not found:
            return []
        word = min(found, key=lambda split: (lower.index(split), -len(split)))
        parts.setdefault(word, []).append(name)
    return sorted(parts.items(), key=lambda part: SPLITS.index(part[0]))
