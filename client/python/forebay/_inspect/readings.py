"""The ways in which a path can be read as a dataset."""

from __future__ import annotations

import json
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple, Union

from .._batch import _identifiers

# The names of formats, and their titles for people.
TITLES = {
    "array_record": "ArrayRecord files",
    "audio_folder": "audio files, each a sample",
    "hdf5": "HDF5 files",
    "image_folder": "class folders of images, as torchvision's ImageFolder",
    "lmdb": "an LMDB environment",
    "manifest": "a table that names images or audio files",
    "mds": "MDS shards, as MosaicML's streaming writes them",
    "npy": "rows of NumPy's .npy files",
    "npy_folder": "a folder of .npy files, each a sample",
    "npz": "rows of NumPy's .npz files",
    "npz_files": "NumPy's .npz files, each a sample",
    "tfrecord": "TFRecord files",
    "tokens": "files of tokens, in windows",
    "webdataset": "tar shards, as WebDataset's",
    "zip": "class folders of images in zip archives",
}
_BATCH = 32
_NAMED_FIELDS = 4
_TAKEN = {"T", "dataset", "forebay", "loader"}  # names used by the code
_CAST = ("uint16", "uint32", "uint64")


class Reading(NamedTuple):
    """A way to read a path.

    Attributes:
      format: str, one of TITLES.
      path: str, the dataset's path.
      call: str, the function of this package that makes the dataset; "" if the path
        itself is DataLoader's argument.
      arguments: dict of str, that function's arguments.
      fields: DataLoader's argument: tuple of str, dict of types, or None.
      extra_roots: DataLoader's argument: tuple of str.
      why: str, a clause that says in which case this is the right reading.
      note: str, a sentence about an oddity of this reading, or "".
    """

    format: str
    path: str
    call: str = ""
    arguments: Dict[str, Any] = {}
    fields: Union[Tuple[str, ...], Dict[str, str], None] = None
    extra_roots: Tuple[str, ...] = ()
    why: str = ""
    note: str = ""

    def dataset(self) -> Any:
        """The first argument of DataLoader and Dataset."""
        import forebay
        if not self.call:
            return self.path
        return getattr(forebay, self.call)(self.path, **self.arguments)

    def expression(self) -> str:
        """The Python code of `dataset`."""
        if not self.call:
            return quoted(self.path)
        given = ", ".join([quoted(self.path), *_named(self.arguments)])
        return f"forebay.{self.call}({given})"

    def arguments_of_loader(self) -> List[str]:
        """Returns the code of DataLoader's arguments `fields` and `extra_roots`, if
        they are needed."""
        found = {"fields": self.fields, "extra_roots": list(self.extra_roots) or None}
        return [f"{name}={quoted(value)}" for name, value in found.items()
                if value is not None]


def quoted(value: Any) -> str:
    """Returns the Python code of a plain value, with double quotes."""
    if isinstance(value, tuple):
        return f"({', '.join(map(quoted, value))}{',' * (len(value) == 1)})"
    if isinstance(value, list):
        return f"[{', '.join(map(quoted, value))}]"
    if isinstance(value, dict):
        items = (f"{quoted(key)}: {quoted(inner)}" for key, inner in value.items())
        return f"{{{', '.join(items)}}}"
    if isinstance(value, str) and value.isprintable():
        return json.dumps(value, ensure_ascii=False)
    return repr(value)


def code_of(reading: Reading, fields: Sequence[Dict[str, Any]],
            samples: int) -> str:
    """Returns the Python code that reads batches.

    Args:
      fields: the `fields` of an Inspection.
      samples: the number of samples in the dataset.
    """
    transform = _transform(fields)
    lines = ["import forebay"]
    if transform:
        lines.append("from forebay import transforms as T")
    lines.append("")
    if reading.call:
        lines += _call(f"dataset = forebay.{reading.call}(",
                       [quoted(reading.path), *_named(reading.arguments)])
    given = ["dataset" if reading.call else quoted(reading.path)]
    given += reading.arguments_of_loader()
    given += [f"batch_size={max(min(_BATCH, samples), 1)}", "shuffle=True"]
    given += transform
    lines += [*_call("loader = forebay.DataLoader(", given),
              f"for {_targets([field['name'] for field in fields])} in loader:",
              "    ..."]
    return "\n".join(lines)


def _transform(fields: Sequence[Dict[str, Any]]) -> List[str]:
    """Returns the code of the argument `transform`, in parts. The transform gives
    images one size, clips one length, and integers a type with which torch computes.
    Returns an empty list if no field needs a transform."""
    crop, cast = "T.RandomResizedCrop(224)", 'T.ToDtype("int64")'
    images = {field["name"]: crop for field in fields if field["kind"] == "image"}
    casts = {field["name"]: cast for field in fields
             if field["kind"] == "array" and field["dtype"] in _CAST}
    casts.update((field["name"], _window(field)) for field in fields
                 if field["kind"] == "audio")
    if not casts:
        return [f"transform={crop}"] if images else []
    parts = [f"{quoted(name)}: {op}" for name, op in {**images, **casts}.items()]
    start, last = "transform={", len(parts) - 1
    return [(" " * len(start) if at else start) + part + ("}" if at == last else "")
            for at, part in enumerate(parts)]


def _window(field: Dict[str, Any]) -> str:
    """Returns the code of a transform that gives all clips one length, which most clips
    have at least, and one number of channels."""
    frames = 1 << max(field["lengths"]["median"], 1).bit_length() - 1
    window = f"T.RandomWindow({frames}, pad_if_needed=True)"
    if field["shape"] and field["shape"][-1] is None:
        return f"T.Compose([{window}, T.ToMono()])"
    return window


def _named(arguments: Dict[str, Any]) -> List[str]:
    return [f"{name}={quoted(value)}" for name, value in arguments.items()]


def _call(start: str, given: List[str]) -> List[str]:
    """Returns the code of a call, in lines of at most 88 characters if the arguments
    allow. If an argument begins a line, its leading spaces indent it."""
    lines, line = [], start
    for number, argument in enumerate(given):
        piece = argument + (")" if number == len(given) - 1 else ",")
        if number and len(line) + 1 + len(piece.lstrip()) > 88:
            lines.append(line)
            line = " " * len(start) + piece
        else:
            line += (" " if number else "") + piece.lstrip()
    return [*lines, line]


def _targets(names: Sequence[str]) -> str:
    """Returns the code of the variables in a loop over batches."""
    found = _identifiers(names)
    if len(found) > _NAMED_FIELDS or _TAKEN & set(found):
        return "batch"
    return f"({found[0]},)" if len(found) == 1 else ", ".join(found)
