"""Looks at samples of a dataset, and records sizes, shapes, labels and images."""

from __future__ import annotations

import array
import collections
import io
import random
import struct
import warnings
from typing import Any, Counter, Dict, List, Optional, Sequence, Tuple

from .. import _native
from . import magic
from .samples import Value

KINDS = {_native.IMAGE: "image", _native.LABEL: "label", _native.SAMPLE_ID: "label",
         _native.TEXT: "text", _native.JSON: "json", _native.BYTES: "bytes",
         _native.ARRAY: "array"}
MOST = 512  # the most samples that are looked at
_STEPS = (1, 16)  # samples read first, to learn how many more are cheap enough to read
_MOST_BYTES = 64 << 20
_MOST_LABELS = 10_000  # the most different labels that are counted
_BARS = 10


def chosen(size: int, count: int, seed: int = 0) -> List[int]:
    """Returns the numbers of `count` random samples, in ascending order."""
    if count >= size:
        return list(range(size))
    return sorted(random.Random(seed).sample(range(size), count))


def affordable(sizes: Sequence[int]) -> int:
    """Returns how many samples are cheap enough to read, if their sizes are like
    `sizes`."""
    mean = max(sum(sizes) / max(len(sizes), 1), 1)
    return int(_MOST_BYTES / mean)


class Numbers:
    """Sizes or lengths, of which the minimum, the median and the maximum are shown.

    Attributes:
      values: array of int.
    """

    def __init__(self):
        self.values = array.array("q")

    def summary(self) -> Dict[str, int]:
        import numpy
        ordered = numpy.sort(numpy.asarray(self.values))
        return {"min": int(ordered[0]), "median": int(ordered[len(ordered) // 2]),
                "max": int(ordered[-1])}

    def histogram(self) -> List[Tuple[int, int, int]]:
        """Returns buckets: (lowest value, the next bucket's lowest value, the number of
        values between these). Returns an empty list if all values are equal."""
        import numpy
        low, high = min(self.values), max(self.values)
        if low == high:
            return []
        edges = _edges(low, high)
        places = numpy.searchsorted(edges, numpy.asarray(self.values), "right")
        counts = numpy.bincount(places, minlength=len(edges))[1:]
        return [(edges[i], edges[i + 1], int(counts[i]))
                for i in range(len(edges) - 1)]


def _edges(low: int, high: int) -> List[int]:
    """Returns round numbers as bounds of buckets. The buckets have equal widths, or
    growing widths if the values differ by orders of magnitude."""
    if low > 0 and high / low > 20:
        edges = [number * 10 ** power for power in range(19) for number in (1, 2, 5)]
    else:
        step = next(number * 10 ** power for power in range(19) for number in (1, 2, 5)
                    if high - low < number * 10 ** power * _BARS)
        edges = list(range(low // step * step, high + step + 1, step))
    first = max(at for at, edge in enumerate(edges) if edge <= low)
    last = min(at for at, edge in enumerate(edges) if edge > high)
    return edges[first:last + 1]


class FieldLook:
    """A record of the values of a field that were looked at.

    Attributes:
      name: str.
      kind: str, one of KINDS.
      dtype: str, NumPy's name.
      seen: int, the number of samples.
      sizes: Numbers: the values' sizes in bytes.
      lengths: Numbers: the lengths of arrays' first axis.
      shape: list of int, with None for each extent in which samples differ. None if
        samples differ in rank, or the field is not an array.
      labels: Counter of int.
      formats: Counter of (format, mode) for images, or of (format, rate) for audio.
      widths, heights: Numbers: widths and heights of images.
    """

    def __init__(self, name: str):
        self.name = name
        self.kind = "bytes"
        self.dtype = "uint8"
        self.seen = 0
        self.sizes, self.lengths = Numbers(), Numbers()
        self.shape: Optional[List[Optional[int]]] = None
        self.labels: Counter[int] = collections.Counter()
        self.formats: Counter[Tuple[str, str]] = collections.Counter()
        self.widths, self.heights = Numbers(), Numbers()

    def add(self, value: Value, is_stored: bool) -> None:
        self.seen += 1
        self.kind = KINDS.get(value.kind, "array")
        self.dtype = value.dtype
        if self.kind == "image" and not is_stored:
            return
        self.sizes.values.append(value.size)
        if self.kind == "label":
            label = value.number()
            if label in self.labels or len(self.labels) < _MOST_LABELS:
                self.labels[label] += 1
        elif self.kind == "image":
            self._add_image(value)
        elif self.kind == "bytes" and is_stored:
            head = value.content(64)
            name = magic.audio_format(head)
            if name is not None:
                rate = magic.sample_rate(head)
                self.formats[name, f"{rate:,} Hz" if rate else ""] += 1
        elif self.kind == "array":
            self._add_shape(value.shape)
            if value.shape:
                self.lengths.values.append(value.shape[0])

    def _add_image(self, value):
        found = _image_of(value)
        if found is None:
            return
        name, mode, width, height = found
        self.formats[name, mode] += 1
        if width:
            self.widths.values.append(width)
            self.heights.values.append(height)

    def _add_shape(self, shape):
        if self.seen == 1:
            self.shape = list(shape)
        elif self.shape is not None and len(self.shape) == len(shape):
            self.shape = [one if one == other else None
                          for one, other in zip(self.shape, shape)]
        else:
            self.shape = None

    def hear(self, decoded: "FieldLook") -> None:
        """Marks the field as audio, because the daemon has decoded its bytes to
        arrays."""
        self.kind, self.dtype = "audio", decoded.dtype
        self.shape, self.lengths = decoded.shape, decoded.lengths

    def is_ragged(self) -> bool:
        return self.shape is None or self.shape[:1] == [None]


def _image_of(value) -> Optional[Tuple[str, str, int, int]]:
    """Returns an image's format, mode, width and height. Width and height are 0 if they
    are unknown."""
    name = magic.image_format(value.content(16))
    if name == "pixels":
        width, height, channels = struct.unpack_from("<III", value.content(16), 4)
        return name, "L" if channels == 1 else "RGB", width, height
    if name is None and value.size > 1 << 20:
        return None
    try:
        import PIL.Image
    except ImportError:
        return (name, "", 0, 0) if name else None
    try:
        with warnings.catch_warnings(record=True), PIL.Image.open(
                io.BytesIO(value.content())) as image:
            return (image.format or name or "", image.mode, image.width,
                    image.height)
    except Exception:  # Pillow may raise any exception; only the daemon's errors matter
        return (name, "", 0, 0) if name else None


class Look:
    """A record of the samples of a dataset that were looked at.

    Attributes:
      fields: list of FieldLook.
      sizes: Numbers: the sizes of whole samples in bytes.
    """

    def __init__(self, names: List[str], is_stored: bool = True):
        """Prepares the record of the fields `names`. `is_stored`: whether images come
        as they are stored, and not decoded."""
        self.fields = [FieldLook(name) for name in names]
        self.sizes = Numbers()
        self._is_stored = is_stored

    def add(self, number: int, values: List[Value]) -> None:
        """Adds a sample. A function that Samples.visit takes."""
        for field, value in zip(self.fields, values):
            field.add(value, self._is_stored)
        self.sizes.values.append(sum(value.size for value in values))

    def hear(self, decoded: "Look") -> None:
        """Finds out, from a Look at decoded samples, which fields are audio."""
        for field, after in zip(self.fields, decoded.fields):
            if field.kind in ("bytes", "audio") and after.kind == "array":
                field.hear(after)

    def refine(self, whole: "Look") -> None:
        """Takes over those fields of `whole`, a Look at all samples, that are more
        exact."""
        self.hear(whole)
        for at, field in enumerate(whole.fields):
            if field.seen and self.fields[at].kind not in ("image", "audio"):
                self.fields[at] = field


def look_at(samples: Any, most: int, look: Look, visit: Any = None) -> List[Any]:
    """Looks at some samples of a Samples object. Returns the samples that failed; the
    first of each step has the reason. If the first samples all fail, may stop there.

    Args:
      most: the largest number of samples to look at. If samples are large, it looks at
        fewer.
      look: the Look to which samples are added.
      visit: a function that is called for each sample in place of `look.add`, and that
        calls `look.add` itself.
    """
    numbers = chosen(samples.size, most)
    random.Random(1).shuffle(numbers)
    failures: List[Any] = []
    done = 0
    for step in (*_STEPS, most):
        count = min(step, max(affordable(look.sizes.values), 1)) if done else step
        if count > done:
            failures += samples.visit(sorted(numbers[done:count]), visit or look.add)
            done = count
        if visit is None and len(failures) == done >= _STEPS[-1]:
            break  # over a network, further failures would take long
    return failures
