"""Formats an Inspection as text, in lines of at most 80 characters if names and paths
allow."""

from __future__ import annotations

import textwrap
from typing import Any, Dict, List, Sequence, Tuple

_WIDTH, _BAR = 80, 32
_MOST_CLASSES = 12


def of(inspection: Any) -> str:
    """Returns the whole text of an Inspection."""
    lines = [_printable(inspection.uri), f"  {inspection.title}", ""]
    lines += _facts(inspection)
    lines += ["", *_table(inspection)]
    lines += _seen(inspection)
    lines += ["", "To read it:", "",
              *(f"    {line}" if line else "" for line in inspection.code.split("\n"))]
    lines += _alternatives(inspection.alternatives)
    lines += _warnings(inspection.warnings)
    lines += _verification(inspection)
    return "\n".join(lines)


def size(count: float) -> str:
    """Returns a number of bytes for people."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if count < 999.5:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.1f} TB"


def _wrapped(text: str, indent: str, first: str) -> List[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=indent,
                         break_long_words=False, break_on_hyphens=False)


def _facts(inspection) -> List[str]:
    samples = f"{inspection.samples:,}"
    where = []
    if inspection.files is not None:
        where.append(f"{inspection.files:,} file" + "s" * (inspection.files != 1))
        where.append(size(inspection.bytes))
    elif inspection.sample_bytes is not None:
        about = inspection.sample_bytes["median"] * inspection.samples
        where.append(f"about {size(about)}")
    lines = [f"  samples  {samples}" + (f" ({', '.join(where)})" if where else "")]
    numbers = inspection.sample_bytes
    if numbers is not None:
        lines.append(f"  a sample {_range(numbers, size)}")
    if inspection.classes:
        names = ", ".join(map(_short, inspection.classes[:_MOST_CLASSES]))
        more = len(inspection.classes) - _MOST_CLASSES
        lines += _wrapped(f"{len(inspection.classes)}: {names}" +
                          (f" and {more} more" if more > 0 else ""),
                          " " * 11, "  classes  ")
    return lines


def _range(numbers: Dict[str, int], show=str) -> str:
    low, middle, high = (show(numbers[key]) for key in ("min", "median", "max"))
    if low == high:
        return low
    return f"{low} to {high}, median {middle}"


def _table(inspection) -> List[str]:
    rows: List[Tuple[str, ...]] = [("FIELD", "KIND", "TYPE", "SHAPE")]
    for field in inspection.fields:
        rows.append((_printable(field["name"]), field["kind"], _type(field),
                     _shape(field)))
    widths = [max(len(row[at]) for row in rows) for at in range(4)]
    return ["  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths))
            .rstrip() for row in rows]


def _type(field) -> str:
    return {"text": "str", "json": "any", "bytes": "bytes"}.get(
        field["kind"], field["dtype"])


def _shape(field) -> str:
    if field["kind"] == "image":
        return "height x width x 3"
    if field["kind"] not in ("array", "audio"):
        return ""
    shape = field["shape"]
    if shape is None:
        return "?"
    return " x ".join("any" if n is None else str(n) for n in shape) or "a number"


def _seen(inspection) -> List[str]:
    whole = (inspection.looked_at >= inspection.samples)
    lines: List[str] = []
    for field in inspection.fields:
        what = _of_field(field)
        if what:
            lines += ["", *what]
    if not lines:
        return []
    count = ("all samples" if whole else
             f"{inspection.looked_at:,} sample" + "s" * (inspection.looked_at != 1) +
             ", drawn at random")
    verified = inspection.verification
    if verified is not None and verified.is_complete and not whole:
        count += "; lengths and labels of all"
    return ["", f"Of {count}:", *lines]


def _of_field(field) -> List[str]:
    name, lines = _printable(field["name"]), []
    images = field.get("images")
    if images and images["formats"]:
        kinds = ", ".join(f"{one['format']} {one['mode']}".strip() +
                          (f" ({one['count']:,})" if len(images["formats"]) > 1 else "")
                          for one in images["formats"][:6])
        text = f"{kinds}"
        if images["width"]:
            text += (f"; width {_range(images['width'])}; height "
                     f"{_range(images['height'])}")
        lines += _wrapped(text, "    ", f"  {name}: ")
    if "audio" in field:
        kinds = ", ".join(f"{one['format']} {one['rate']}".strip()
                          for one in field["audio"]["formats"][:6])
        lines += [f"  {name}: {kinds + '; ' if kinds else ''}frames "
                  f"{_range(field['lengths'])}",
                  *_histogram(field["lengths"]["histogram"], str)]
    elif "lengths" in field:
        lines += [f"  {name}: length {_range(field['lengths'])}",
                  *_histogram(field["lengths"]["histogram"], str)]
    elif "bytes" in field and field["bytes"]["histogram"]:
        lines += ([] if lines else [f"  {name}: {_range(field['bytes'], size)}"])
        lines += _histogram(field["bytes"]["histogram"], size)
    if field.get("labels"):
        lines += _labels(name, field["labels"])
    return lines


def _histogram(buckets: Sequence[Tuple[int, int, int]], show) -> List[str]:
    if not buckets:
        return []
    names = [f"0 to {show(end)}" if low == 0 and show is not str else
             show(low) if low == end - 1 else f"{show(low)} to {show(end - 1)}"
             if show is str else f"{show(low)} to {show(end)}"
             for low, end, _ in buckets]
    return _bars(names, [count for _, _, count in buckets])


def _bars(names: List[str], counts: List[int]) -> List[str]:
    """Returns lines with bars. The longest bar is that of the largest count."""
    width = max(map(len, names))
    most = max(max(counts), 1)
    digits = max(len(f"{count:,}") for count in counts)
    lines = []
    for name, count in zip(names, counts):
        bar = "#" * (max(round(count * _BAR / most), 1) if count else 0)
        lines.append(f"    {name.rjust(width)}  {count:>{digits},}  {bar}".rstrip())
    return lines


def _labels(name: str, labels: List[Dict[str, Any]]) -> List[str]:
    """Returns lines with the most frequent labels. They have no bars if the labels are
    many and all different."""
    values = [one["label"] for one in labels]
    text = (f"{len(labels):,} different, {min(values):,} to {max(values):,}"
            if len(labels) > 1 else f"all are {values[0]:,}")
    is_named = any("name" in one for one in labels)
    if not is_named and (len(labels) > 50 or all(one["count"] == 1 for one in labels)):
        return [f"  {name}: {text}"]
    shown = sorted(labels, key=lambda one: -one["count"])[:_MOST_CLASSES]
    head = text if len(shown) == len(labels) else f"{text}; the most frequent"
    names = [_short(one.get("name", str(one["label"]))) for one in shown]
    return [f"  {name}: {head}", *_bars(names, [one["count"] for one in shown])]


def _short(name: str) -> str:
    name = _printable(name)
    return name if len(name) <= 30 else name[:29] + "~"


def _printable(name: str) -> str:
    """Returns a name in one line. Names in a dataset cannot be trusted, and may have
    control characters."""
    return "".join(c if c.isprintable() else "?" for c in name)


def _alternatives(others) -> List[str]:
    if not others:
        return []
    lines = ["", "It is read otherwise if"]
    for other in others[:6]:
        why = other["why"] or f"{other['format']} is meant"
        lines += [*_wrapped(f"{why}:", "    ", "  - "), f"      {other['code']}"]
    return lines


def _warnings(warnings: List[str]) -> List[str]:
    if not warnings:
        return []
    lines = ["", "Note:"]
    for warning in warnings:
        lines += _wrapped(warning, "    ", "  - ")
    return lines


def _verification(inspection) -> List[str]:
    verified = inspection.verification
    if verified is None:
        return []
    if not verified.is_complete:
        head = (f"Interrupted: {verified.read:,} of {verified.samples:,} samples were "
                f"read, and {verified.broken:,} are broken")
    elif verified.broken == 0:
        head = f"Verified: all {verified.samples:,} samples can be read."
    else:
        head = (f"Verified: {verified.broken:,} of {verified.samples:,} samples are "
                "broken")
    lines = ["", head + (":" if verified.failures else "")]
    for failure in verified.failures:
        lines += _wrapped(failure.message, "    ", "  - ")
    more = verified.broken - len(verified.failures)
    if more > 0:
        lines.append(f"  and {more:,} more")
    return lines
