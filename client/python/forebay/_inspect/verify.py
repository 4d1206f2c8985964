"""Reads every sample of a dataset, and finds those that cannot be read."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any, Callable, List, Optional, TextIO

from .. import transforms
from .look import KINDS, Look, look_at
from .readings import Reading
from .samples import Failure, Samples

_MOST_AT_ONCE = 1024  # the most samples that are read at once
_ENOUGH = 32  # so many samples keep all CPUs at work
_BYTES_AT_ONCE = 64 << 20
_SIDE = 8  # pixels that are kept of each edge of a decoded image
_BAR = 20
_TRIED = 64  # samples that `try_some` decodes
_SECONDS = 0.1  # the time between two drawings of the bar


class Verification:
    """The outcome of reading all samples.

    Attributes:
      samples: int, the number of the dataset's samples.
      read: int, the number of samples read; fewer than `samples` if the user
        interrupted the run.
      broken: int, the number of samples read that cannot be used.
      failures: list of Failure, the first broken samples.
      look: the Look at all samples that can be read.
    """

    def __init__(self, samples: int, look: Look):
        self.samples = samples
        self.read = 0
        self.broken = 0
        self.failures: List[Failure] = []
        self.look = look

    @property
    def is_complete(self) -> bool:
        return self.read == self.samples

    def add(self, failures: List[Failure], most: int) -> None:
        self.broken += len(failures)
        self.failures += [failure for failure in failures if failure.message][
            :most - len(self.failures)]


class Progress:
    """A line on a terminal: samples, rate, time left."""

    def __init__(self, samples: int, stream: Optional[TextIO] = None,
                 clock: Callable[[], float] = time.monotonic):
        self._samples = samples
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._begin = clock()
        self._next = self._begin
        self._is_shown = self._stream.isatty()

    def show(self, read: int, broken: int) -> None:
        now = self._clock()
        if not self._is_shown or now < self._next and read < self._samples:
            return
        self._next = now + _SECONDS
        line = self.line(read, broken, now - self._begin)
        self._stream.write("\r" + line[:self._columns() - 1] + "\x1b[K")
        self._stream.flush()

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or 80
        except (OSError, ValueError):
            return 80

    def line(self, read: int, broken: int, seconds: float) -> str:
        part = read / self._samples
        full = int(part * _BAR)
        text = (f"[{'#' * full}{'.' * (_BAR - full)}] {read:,} of {self._samples:,} "
                "samples")
        if seconds > 0 and read:
            rate = read / seconds
            text += f", {rate:,.0f}/s, {_duration((self._samples - read) / rate)} left"
        return text + (f", {broken:,} broken" if broken else "")

    def end(self) -> None:
        if self._is_shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def _duration(seconds: float) -> str:
    whole = int(seconds + 0.5)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d} min"
    return f"{whole // 3600}:{whole % 3600 // 60:02d} h"


def verify(reading: Reading, stored: Look, *, most: int = 20,
           autostart: bool = True, progress: bool = True) -> Verification:
    """Reads and decodes all samples. After Ctrl-C, returns what was found so far.

    Args:
      stored: the Look at some samples as they are stored.
      most: the largest number of failures that are listed.
      progress: whether to show progress on standard error, if that is a terminal.
    """
    samples = _decoded(reading, stored, autostart)
    found = Verification(samples.size, Look(samples.names, is_stored=False))
    bar = Progress(samples.size) if progress else None
    try:
        while not found.is_complete:
            at_once = _at_once(stored, found.look)
            numbers = range(found.read, min(found.read + at_once, samples.size))
            _read(samples, numbers, found, most)
            if bar is not None:
                bar.show(found.read, found.broken)
    except KeyboardInterrupt:
        pass
    finally:
        if bar is not None:
            bar.end()
    return found


def _decoded(reading: Reading, stored: Look, autostart: bool) -> Samples:
    """Returns the samples in decoded form. Images are decoded as a whole, but only a
    few pixels of each image are kept."""
    kinds = {field.kind for field in stored.fields}
    transform = transforms.Resize((_SIDE, _SIDE)) if "image" in kinds else None
    return Samples(reading, decode=bool(kinds & {"image", "bytes", "audio"}),
                   transform=transform, autostart=autostart)


def try_some(reading: Reading, stored: Look, autostart: bool) -> List[Failure]:
    """Decodes some samples, to find out which fields are audio. Returns the broken
    samples."""
    samples = _decoded(reading, stored, autostart)
    look = Look(samples.names, is_stored=False)
    faults: List[Failure] = []
    failures = look_at(samples, _TRIED, look, _visitor(samples, look, faults))
    stored.hear(look)
    return sorted(failures + faults)


def _read(samples, numbers, found, most):
    """Reads some samples."""
    faults: List[Failure] = []
    failures = samples.visit(numbers, _visitor(samples, found.look, faults),
                             most - len(found.failures))
    found.add(sorted(failures + faults), most)
    found.read += len(numbers)


def _visitor(samples, look, faults):
    """Returns a function that looks at a sample, or adds to `faults` why the sample
    cannot be used."""
    def visit(number: int, values: List[Any]) -> None:
        for name, value in zip(samples.names, values):
            reason = _fault_of(value)
            if reason is not None:
                faults.append(Failure(
                    number, f"sample {number} of {samples.uri}: {name}: {reason}"))
                return
        look.add(number, values)

    return visit


def _fault_of(value) -> Optional[str]:
    """Returns why a value cannot be used: a text is not UTF-8, or JSON is invalid.
    Returns None if it can be used."""
    kind = KINDS.get(value.kind)
    if kind not in ("text", "json"):
        return None
    try:
        content = value.content().decode()
    except UnicodeDecodeError as error:
        return f"is not UTF-8 from byte {error.start} on"
    if kind == "json":
        try:
            # Python's int() limits the number of digits; JSON does not.
            json.loads(content, parse_int=str)
        except (ValueError, RecursionError) as error:
            return f"is not JSON: {error}"
    return None


def _at_once(stored: Look, decoded: Look) -> int:
    """Returns how many samples to read at once, which depends on the sizes seen so
    far."""
    latest = [look.sizes.values[-_ENOUGH:] for look in (stored, decoded)]
    mean = max(sum(sizes) / max(len(sizes), 1) for sizes in latest)
    fitting = int(_BYTES_AT_ONCE / max(mean, 1))
    return max(1, min(_ENOUGH, 4 * fitting), min(_MOST_AT_ONCE, fitting))
