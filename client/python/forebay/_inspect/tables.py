"""Tables of images or audio files, and the meaning of their columns."""

from __future__ import annotations

import csv
import io
import json
import os
from typing import Any, Dict, Iterable, List, Optional, Tuple

from .. import _paths
from . import files
from .contents import AUDIO, IMAGES

_ROWS, _BYTES = 50, 1 << 20  # the most rows and bytes that are looked at
_LABELS = ("label", "labels", "class", "class_name", "classname", "category", "target",
           "species", "y")
_TEXTS = ("caption", "text", "prompt", "title", "description", "transcript",
          "transcription", "sentence")
_LINES = (".jsonl", ".ndjson", ".json")  # files of one JSON object a line
ENDINGS = (".csv", *_LINES)
_KINDS = {"image": IMAGES, "audio": AUDIO}  # the endings of each kind of files


def columns_of(path: str) -> Optional[Dict[str, str]]:
    """Returns the arguments of forebay.manifest for a table. Returns None if the table
    names no existing image or audio files."""
    header, rows = _rows(path)
    found = next(((kind, name) for name in header if rows
                  for kind, endings in _KINDS.items()
                  if all(_ends_in(row.get(name), endings) for row in rows)), None)
    if found is None or not _exists(path, rows[0][found[1]]):
        return None
    kind, paths = found
    columns = {} if kind == paths == "image" else {kind: paths}
    label = next((name for name in header if name != paths and
                  name.lower() in _LABELS), None)
    if label is not None:
        columns["label"] = label
    for name in header:
        if name not in (paths, label) and name.lower() in _TEXTS and (
                name.isidentifier()):
            columns[name] = name
    return columns


def _ends_in(value: Any, endings: Iterable[str]) -> bool:
    return (isinstance(value, str) and
            value.rpartition(".")[2].lower() in endings)


def _exists(path: str, name: str) -> bool:
    if _paths.is_remote(path):
        return True  # the daemon will say whether the file exists
    return os.path.isfile(os.path.join(os.path.dirname(path), name))


def _rows(path: str) -> Tuple[List[str], List[Dict[str, Any]]]:
    """Returns the columns' names, and the first rows. Each row has its values by
    column."""
    with files.open_file(path) as file:
        content = file.read(_BYTES)
    text = content.decode("utf-8-sig", "replace")
    is_cut = len(content) == _BYTES  # the last row may be incomplete
    if path.endswith(_LINES):
        lines = text.split("\n")[:_ROWS + 1]
        return _json_rows(lines[:-1] if is_cut else lines)
    rows: List[Dict[str, Any]] = []
    try:
        # A value in quotes may have several lines.
        for row in csv.DictReader(io.StringIO(text, newline="")):
            rows.append(row)
            if len(rows) == _ROWS:
                break
        else:
            del rows[len(rows) - is_cut:]
    except csv.Error:
        pass  # the rows before the fault are enough
    header = [name for name in rows[0] if name] if rows else []
    return header, rows


def _json_rows(lines):
    rows = []
    for line in lines:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            rows.append(row)
    return (list(rows[0]) if rows else []), rows
