"""A picture of some samples: a contact sheet. Needs Pillow."""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from .. import _native, errors
from . import look
from .readings import Reading
from .samples import Samples, Value

_CELL, _GAP, _LINE = 176, 12, 17  # pixels
_MARGIN, _SMALL_LINE = 6, 14  # pixels; for texts in cells
_PAPER, _FRAME, _INK, _GRAY = (250, 250, 248), (228, 228, 224), (32, 32, 32), (120,) * 3
_BLUE = (58, 110, 165)
_MOST_CHARACTERS = 600
_FONT = "DejaVuSans.ttf"
_FONT_SIZES = (12, 10)

Size = Tuple[int, int]


def draw(reading: Reading, classes: List[str], audio: Set[str], rows: int,
         columns: int, autostart: bool) -> Any:
    """Draws a PIL.Image of rows x columns samples, chosen at random. If the dataset has
    fewer samples, draws all of them.

    Args:
      audio: names of the fields that are audio.
    """
    pillow = _pillow()
    samples = Samples(reading, decode=True, autostart=autostart)
    numbers = look.chosen(samples.size, rows * columns)
    columns = min(columns, math.ceil(math.sqrt(len(numbers))) if len(
        numbers) < rows * columns else columns)
    rows = math.ceil(len(numbers) / columns)
    height = _CELL + 2 * _LINE + _GAP
    picture = pillow.Image.new(
        "RGB", (columns * (_CELL + _GAP) + _GAP, rows * height + _GAP), _PAPER)
    for at, number in enumerate(numbers):
        cell = _cell(pillow, samples, number, classes, audio)
        picture.paste(cell, (_GAP + at % columns * (_CELL + _GAP),
                             _GAP + at // columns * height))
    return picture


def _pillow() -> Any:
    try:
        import PIL.Image
        import PIL.ImageDraw
        import PIL.ImageFont
    except ImportError:
        raise errors.Unsupported(
            "a contact sheet needs Pillow: pip install pillow") from None
    return PIL


def _font(pillow, size):
    try:
        return pillow.ImageFont.truetype(_FONT, size)
    except OSError:
        return pillow.ImageFont.load_default()


def _cell(pillow, samples: Samples, number: int, classes: List[str],
          audio: Set[str]) -> Any:
    """Draws a sample: the field that can be shown best, and a line of text for all
    other fields."""
    cell = pillow.Image.new("RGB", (_CELL, _CELL + 2 * _LINE), _PAPER)
    inner: List[Any] = []
    captions: List[str] = []

    def visit(_: int, values: List[Value]) -> None:
        shown = _shown(values)
        draw_field = (_waveform if samples.names[shown] in audio else
                      _DRAWN.get(values[shown].kind, _bytes))
        inner.append(draw_field(pillow, values[shown]))
        captions.extend(_caption(value, classes) for at, value in enumerate(values)
                        if at != shown or value.kind == _native.ARRAY)

    failures = samples.visit([number], visit)
    if failures:
        inner.append(_text(pillow, failures[0].message, (160, 32, 32)))
        captions.append("cannot be read")
    drawn = inner[0]
    box = pillow.ImageDraw.Draw(cell)
    box.rectangle((0, 0, _CELL - 1, _CELL - 1), fill=_FRAME)
    cell.paste(drawn, ((_CELL - drawn.width) // 2, (_CELL - drawn.height) // 2))
    lines = [captions[0] if captions else f"sample {number}",
             "; ".join(captions[1:]) or (f"sample {number}" if captions else "")]
    for at, (line, color) in enumerate(zip(lines, (_INK, _GRAY))):
        font = _font(pillow, _FONT_SIZES[at])
        box.text((1, _CELL + 1 + at * _LINE), _fitting(font, line), color, font)
    return cell


def _shown(values: List[Value]) -> int:
    """Returns the index of the field that is drawn. Prefers an image, then an array,
    then a text. If there is none of these, returns the index of the first field."""
    places = [(_RANK.get(value.kind, 4), at) for at, value in enumerate(values)
              if value.kind != _native.ARRAY or value.shape]
    return min(places)[1] if places else 0


def _caption(value: Value, classes: List[str]) -> str:
    """Returns a field's value in a few words."""
    if value.kind == _native.LABEL:
        label = value.number()
        return classes[label] if 0 <= label < len(classes) else str(label)
    if value.kind in (_native.TEXT, _native.JSON):
        return " ".join(value.content(200).decode("utf-8", "replace").split())
    if value.kind == _native.ARRAY and not value.shape:
        return f"{value.array():.6g}" if value.dtype[0] in "fb" else str(value.array())
    if value.kind in (_native.ARRAY, _native.IMAGE):
        return f"{value.dtype} " + " x ".join(map(str, value.shape))
    return f"{value.size:,} bytes"


def _fitting(font, line: str, width: int = _CELL) -> str:
    """Returns the part of a line that fits into `width` pixels."""
    line = "".join(c if c.isprintable() else "?" for c in line[:200])
    try:
        if font.getlength(line) <= width:
            return line
        while line and font.getlength(line + "...") > width:
            line = line[:-1]
    except UnicodeEncodeError:  # Pillow's built-in font has few letters
        return _fitting(font, line.encode("ascii", "replace").decode(), width)
    return line + "..."


def _image(pillow, value: Value) -> Any:
    pixels = value.array()
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[:, :, 0]
    return _scaled(pillow, pillow.Image.fromarray(pixels), pillow.Image.BICUBIC)


def _scaled(pillow, image, filter) -> Any:
    """Scales an image to the cell's size. A small image grows by a whole factor."""
    ratio = _CELL / max(image.size)
    if ratio >= 2:
        ratio, filter = int(ratio), pillow.Image.NEAREST
    size = tuple(max(round(side * ratio), 1) for side in image.size)
    return image.resize(size, filter).convert("RGB")


def _array(pillow, value: Value) -> Any:
    """Draws a curve of an array with one axis. Draws a picture of the last two axes of
    other arrays."""
    import numpy
    array = value.array()
    numbers = numpy.nan_to_num(array.astype("float64"), posinf=0, neginf=0)
    if array.size == 0:
        return _text(pillow, "empty", _GRAY)
    if (array.dtype == numpy.uint8 and array.ndim == 3 and array.shape[2] == 3):
        return _scaled(pillow, pillow.Image.fromarray(array), pillow.Image.BICUBIC)
    while numbers.ndim > 2:
        numbers = numbers[0]
    if numbers.ndim < 2 or 1 in numbers.shape:
        return _curve(pillow, numbers.ravel())
    low, high = numbers.min(), numbers.max()
    gray = ((numbers - low) * (255 / max(high - low, 1e-300))).astype("uint8")
    if gray.shape[0] > 2 * gray.shape[1]:
        gray = numpy.ascontiguousarray(gray.T)  # time runs from left to right
    return _scaled(pillow, pillow.Image.fromarray(gray), pillow.Image.BICUBIC)


def _waveform(pillow, value: Value) -> Any:
    """Draws a curve of a clip's first channel."""
    import numpy
    numbers = numpy.nan_to_num(value.array().astype("float64"), posinf=0, neginf=0)
    if numbers.size == 0:
        return _text(pillow, "empty", _GRAY)
    return _curve(pillow, numbers.reshape(len(numbers), -1)[:, 0])


def _curve(pillow: Any, numbers: Any) -> Any:
    """Draws numbers from left to right. If there are more numbers than columns, each
    column has a line from its least to its largest number."""
    drawn = pillow.Image.new("RGB", (_CELL, _CELL), _FRAME)
    box = pillow.ImageDraw.Draw(drawn)
    low, high = float(numbers.min()), float(numbers.max())
    scale = (_CELL - 17) / (high - low) if high > low else 0.0
    last: Optional[float] = None
    for x in range(_CELL):
        begin = x * len(numbers) // _CELL
        part = numbers[begin:max((x + 1) * len(numbers) // _CELL, begin + 1)]
        top, bottom = (_CELL - 9 - (float(edge) - low) * scale
                       for edge in (part.max(), part.min()))
        joined = bottom if last is None else last
        box.line((x, min(top, joined), x, max(bottom, joined)), _BLUE)
        last = top if len(numbers) <= _CELL else None
    return drawn


def _text(pillow, text: str, color=_INK) -> Any:
    drawn = pillow.Image.new("RGB", (_CELL, _CELL), _FRAME)
    font = _font(pillow, _FONT_SIZES[1])
    box = pillow.ImageDraw.Draw(drawn)
    room = _CELL - 2 * _MARGIN
    lines: List[str] = []
    for word in text[:_MOST_CHARACTERS].split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and _fitting(font, longer, room) == longer:
            lines[-1] = longer
        else:
            lines.append(_fitting(font, word, room))
    for at, line in enumerate(lines[:room // _SMALL_LINE]):
        box.text((_MARGIN, _MARGIN + at * _SMALL_LINE), line, color, font)
    return drawn


def _content(pillow, value: Value) -> Any:
    return _text(pillow, value.content(_MOST_CHARACTERS).decode("utf-8", "replace"))


def _bytes(pillow, value: Value) -> Any:
    return _text(pillow, value.content(96).hex(" ", 2))


def _number(pillow, value: Value) -> Any:
    return _text(pillow, str(value.number()))


# The ranks of kinds. The field with the lowest rank is drawn.
_RANK = {_native.IMAGE: 0, _native.ARRAY: 1, _native.TEXT: 2, _native.JSON: 3,
         _native.BYTES: 4, _native.LABEL: 5, _native.SAMPLE_ID: 6}
# The functions that draw fields, by kind.
_DRAWN: Dict[int, Callable[[Any, Value], Any]] = {
    _native.IMAGE: _image, _native.ARRAY: _array, _native.TEXT: _content,
    _native.JSON: _content, _native.BYTES: _bytes, _native.LABEL: _number,
    _native.SAMPLE_ID: _number,
}
