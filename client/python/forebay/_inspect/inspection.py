"""The description of a dataset: forebay.inspect."""

from __future__ import annotations

import html
import os
from typing import Any, Dict, Iterable, List, Optional, Sequence, Union

from .. import _archives, _options, _paths, errors
from . import look, text
from .readings import TITLES, Reading, code_of
from .samples import Samples
from .verify import Verification, try_some
from .verify import verify as verify_all

_SIZED = ("image", "audio", "text", "json", "bytes")  # kinds of varying size
_FOLDERS = ("audio_folder", "image_folder", "npy_folder", "npz_files")
_TINY, _MANY = 16 << 10, 20_000  # bytes of a sample, and samples


class Inspection:
    """A dataset's description, and how to read it.

    Attributes:
      uri: str, the path or URI of the dataset, or of the part that was inspected.
      format: str, such as "image_folder" or "tfrecord".
      title: str, the format's name for people.
      samples: int.
      files: int, or None if the number is unknown, as in a bucket.
      bytes: int, the bytes of all files, or None.
      sample_bytes: dict with the keys "min", "median", "max" and "histogram": the bytes
        of a sample, of those looked at. None if no sample could be read.
      fields: list of dicts with the keys name, kind ("image", "label", "text", "json",
        "bytes", "array", "audio"), dtype and shape (None where samples differ). The
        keys bytes, lengths, labels, images and audio describe the values that were
        seen. Numbers have the form of sample_bytes.
      classes: list of str, in label order.
      looked_at: int, the number of samples that were looked at.
      code: str, Python code that reads batches of the dataset.
      alternatives: list of dicts: other ways to read the dataset (format, code, why).
      warnings: list of str, sentences about oddities.
      verification: None, or the result of verify=True: `read` and `broken` (numbers of
        samples), `failures` (pairs of sample and message) and `is_complete`.
    """

    def __init__(self, reading: Reading, others: List[Reading], samples: Samples,
                 seen: look.Look, failures: List[Any], notes: List[str],
                 verification: Optional[Verification], autostart: bool):
        self._reading = reading
        self._autostart = autostart
        self.uri = reading.path
        self.format = reading.format
        self.title = TITLES[reading.format]
        self.samples = samples.size
        self.classes = samples.classes
        self.files, self.bytes = _extent(reading)
        self.looked_at = len(seen.sizes.values)
        self.sample_bytes = (_numbers(seen.sizes) if seen.sizes.values else None)
        self.fields = [_field(field, self.classes) for field in seen.fields]
        self.code = code_of(reading, self.fields, self.samples)
        self.alternatives = [
            {"format": other.format, "uri": other.path, "why": other.why,
             "code": _code_of_other(other)} for other in others]
        self.verification = verification
        told = [*filter(None, [*notes, reading.note]), *samples.warnings]
        self.warnings = [*told, *self._oddities(failures, " ".join(told))]

    def _oddities(self, failures, told) -> List[str]:
        found = []
        if failures and self.verification is None:
            found.append(f"{_counted(len(failures), 'sample')} of those that were "
                         f"looked at cannot be used: {failures[0].message}; "
                         "verification finds all")
        if (self.format in _FOLDERS and
                self.samples >= _MANY and self.sample_bytes is not None and
                self.sample_bytes["median"] < _TINY):
            found.append(f"it is {self.samples:,} small files: tar shards, MDS or "
                         "TFRecord files would be read faster where nothing is cached")
        if len(self.classes) == 1 and "one class" not in told:
            found.append(f"all samples have one class, {self.classes[0]}")
        return found

    def contact_sheet(self, rows: int = 5, columns: int = 5) -> Any:
        """Draws a PIL.Image of some samples, chosen at random, with their labels.

        Needs Pillow.
        """
        from . import sheet
        audio = {field["name"] for field in self.fields if field["kind"] == "audio"}
        return sheet.draw(self._reading, self.classes, audio, rows, columns,
                          self._autostart)

    def save(self, path: Any, rows: int = 5, columns: int = 5) -> None:
        """Writes the contact sheet to a file. The name's ending tells the image format;
        the default is PNG."""
        ending = os.path.splitext(os.fspath(path))[1]
        self.contact_sheet(rows, columns).save(path, None if ending else "PNG")

    def to_dict(self) -> Dict[str, Any]:
        """Returns the whole description as plain values, for JSON."""
        verified = self.verification
        return {
            "uri": self.uri, "format": self.format, "title": self.title,
            "samples": self.samples, "files": self.files, "bytes": self.bytes,
            "looked_at": self.looked_at, "sample_bytes": self.sample_bytes,
            "fields": self.fields, "classes": self.classes, "code": self.code,
            "alternatives": self.alternatives, "warnings": self.warnings,
            "verification": None if verified is None else {
                "read": verified.read, "broken": verified.broken,
                "is_complete": verified.is_complete,
                "failures": [failure._asdict() for failure in verified.failures]}}

    def __str__(self) -> str:
        return text.of(self)

    def __repr__(self) -> str:
        return (f"<Inspection of {self.uri!r}: {self.title}, {self.samples} samples; "
                "print it>")

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def inspect(uri: Any, *, fields: Optional[Sequence[str]] = None,
            verify: bool = False, most_failures: int = 20, progress: bool = True,
            extra_roots: Iterable[Union[str, "os.PathLike[str]"]] = (),
            autostart: bool = True) -> Inspection:
    """Says what is in a dataset, and how to read it. Print the result to see the
    description.

    The files' first bytes and names tell the format. Looks at some samples, the same
    each time: at most 512, and at most about 64 MiB.

    Args:
      uri: a folder, a file, or several files by braces and wildcards. It is a path, or
        a URI that the daemon reads itself ("gs://", "s3://", "https://"). Or the result
        of forebay.tfrecord, lmdb and the like; then the format is not guessed.
      fields: the fields to look at, if the format offers a choice. None: they are
        guessed.
      verify: whether to read and decode every sample, and list the broken ones. After
        Ctrl-C, the result has what was found so far.
      most_failures: the largest number of broken samples that are listed. All of them
        are counted.
      progress: whether to show the progress of `verify` on a terminal.
      extra_roots: folders to which links inside the dataset may lead; see DataLoader.
      autostart: whether to start a daemon for this user if none listens.

    Returns:
      An Inspection.

    Raises:
      errors.ForebayError: `uri` cannot be read as a dataset; the message suggests what
        the user could mean.
    """
    from . import given, guess  # importing these with the package would take long
    roots = tuple(map(os.fsdecode, _options.check_extra_roots(extra_roots, uri)))
    chosen = given.reading_of(uri)
    found = (guess.found_at(uri, autostart) if chosen is None else
             guess.Found([chosen], []))
    if fields is not None:
        found = guess.Found([given.with_fields(found.readings[0], fields)], found.notes)
    found = guess.Found([reading._replace(extra_roots=roots)
                         for reading in found.readings], found.notes)
    reading, samples, others, notes = _opened(found, autostart)
    if samples.size == 0:
        raise errors.InvalidArgument(f"{reading.path}: has no samples")
    seen = look.Look(samples.names)
    failures = look.look_at(samples, look.MOST, seen)
    if failures and not seen.sizes.values:
        raise errors.DataError(
            f"no sample that was looked at ({len(failures)}) can be read: "
            f"{failures[0].message}")
    failures = failures or try_some(reading, seen, autostart)
    verification = None
    if verify:
        verification = _verified(reading, seen, most_failures, autostart, progress)
    return Inspection(reading, others, samples, seen, failures, notes, verification,
                      autostart)


def _verified(reading, seen, most, autostart, progress) -> Verification:
    done = verify_all(reading, seen, most=most, autostart=autostart, progress=progress)
    if done.is_complete:
        seen.refine(done.look)
    return done


def _opened(found, autostart):
    """Opens the first reading that the daemon accepts. Returns that reading, its
    samples, the other readings, and notes."""
    from . import trials
    refused: List[errors.ForebayError] = []
    for at, reading in enumerate(found.readings):
        try:
            if reading.format == "webdataset" and reading.fields is None:
                reading = trials.shards(reading, autostart)
            if reading.format == "hdf5" and reading.fields is None and (
                    "fields" not in reading.arguments):
                reading = trials.hdf5(reading, autostart)
            samples = Samples(reading, autostart=autostart)
        except trials.REFUSALS as error:
            refused.append(error)
            continue
        others = found.readings[at + 1:]
        return reading, samples, others, found.notes + [
            f"is not read as {TITLES[other.format]}: {error}"
            for other, error in zip(found.readings, refused)]
    raise type(refused[0])("; ".join([str(refused[0]), *found.notes]))


def _extent(reading: Reading):
    """Returns the number of files, and their bytes; None if they are unknown."""
    from . import files, remote
    path = reading.path
    if reading.format == "manifest":
        return None, None  # the files may lie anywhere
    if _paths.is_remote(path):
        sizes = remote.sizes(path)
        return (len(sizes), sum(sizes)) if sizes else (None, None)
    if reading.format == "zip":
        archives = _archives.split(path, remote=False)
        path = archives[0] if archives else path
    found = files.total(files.expanded(path) if files.is_pattern(path) else [path])
    return found if found is not None else (None, None)


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


def _code_of_other(reading: Reading) -> str:
    given = [reading.expression(), *reading.arguments_of_loader(), "..."]
    return f"forebay.DataLoader({', '.join(given)})"


def _numbers(numbers: look.Numbers) -> Dict[str, Any]:
    return {**numbers.summary(), "histogram": numbers.histogram()}


def _field(field: look.FieldLook, classes: List[str]) -> Dict[str, Any]:
    """Returns a field as plain values."""
    found: Dict[str, Any] = {
        "name": field.name, "kind": field.kind, "dtype": field.dtype,
        "shape": field.shape if field.kind in ("array", "audio") else None,
        "seen": field.seen}
    if field.kind in _SIZED and field.sizes.values:
        found["bytes"] = _numbers(field.sizes)
    if field.kind == "audio" or field.kind == "array" and field.is_ragged() and (
            field.lengths.values):
        found["lengths"] = _numbers(field.lengths)
    if field.kind == "label":
        found["labels"] = [
            {"label": label, "count": count,
             **({"name": classes[label]} if 0 <= label < len(classes) else {})}
            for label, count in sorted(field.labels.items())]
    if field.kind == "audio":
        found["audio"] = {"formats": [
            {"format": name, "rate": rate, "count": count}
            for (name, rate), count in field.formats.most_common()]}
    if field.kind == "image":
        found["images"] = {
            "formats": [{"format": name, "mode": mode, "count": count}
                        for (name, mode), count in field.formats.most_common()],
            "width": field.widths.summary() if field.widths.values else None,
            "height": field.heights.summary() if field.heights.values else None}
    return found
