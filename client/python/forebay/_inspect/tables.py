"""Tables of images: which of their columns are what."""

from __future__ import annotations

import csv
import json
import os
import re
from typing import Any, Dict, List, Optional, Tuple

from .. import _paths
from . import files
from .contents import IMAGES

_ROWS, _BYTES = 50, 1 << 20  # that are looked at
_LABELS = ("label", "labels", "class", "class_name", "classname", "category", "target",
           "species", "y")
_TEXTS = ("caption", "text", "prompt", "title", "description")
ENDINGS = (".csv", ".jsonl")


def columns_of(path: str) -> Optional[Dict[str, str]]:
    """The arguments of forebay.manifest for a table; None if it names no images that
    are there."""
    header, rows = _rows(path)
    image = next((name for name in header if rows and all(
        _is_image(row.get(name)) for row in rows)), None)
    if image is None or not _exists(path, rows[0][image]):
        return None
    columns = {} if image == "image" else {"image": image}
    label = next((name for name in header if name != image and
                  name.lower() in _LABELS), None)
    if label is not None:
        columns["label"] = label
    for name in header:
        if name not in (image, label) and name.lower() in _TEXTS and (
                name.isidentifier()):
            columns[name] = name
    return columns


def _is_image(value: Any) -> bool:
    return (isinstance(value, str) and
            value.rpartition(".")[2].lower() in IMAGES)


def _exists(path: str, name: str) -> bool:
    if _paths.is_remote(path):
        return True  # the daemon will say
    return os.path.isfile(os.path.join(os.path.dirname(path), name))


def _rows(path: str) -> Tuple[List[str], List[Dict[str, Any]]]:
    """The columns' names, and the first rows by column."""
    with files.open_file(path) as file:
        content = file.read(_BYTES)
    # Not at what else Python takes for the end of a line, as U+2028 in a text.
    lines = re.split("\r\n|\n|\r", content.decode("utf-8-sig", "replace"))
    lines = lines[:_ROWS + 1]
    if len(content) >= _BYTES:
        lines = lines[:-1]
    if path.endswith(".jsonl"):
        return _json_rows(lines)
    try:
        rows = list(csv.DictReader(lines))
    except csv.Error:
        return [], []
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
