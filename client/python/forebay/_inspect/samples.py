"""Reads samples of a dataset in the memory in which the daemon has put them."""

from __future__ import annotations

import ctypes as c
import functools
import os
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

from .. import _daemon, _native, _options, _reader, _retry, errors
from .readings import TITLES, Reading


def _warning_function():
    function = _native.lib["forebay_reader_warning"]
    function.restype = c.c_int
    function.argtypes = [c.c_void_p, c.c_uint32, c.POINTER(c.c_char_p)]
    return function


_warning = _warning_function()
_ABSENT = 5  # FOREBAY_NOT_FOUND


_FORMATS = {
    _native.ARRAY_RECORD: "array_record", _native.HDF5: "hdf5", _native.LMDB: "lmdb",
    _native.MANIFEST: "manifest", _native.MDS: "mds", _native.TFRECORD: "tfrecord",
    _native.TOKENS: "tokens", _native.WEBDATASET: "webdataset", _native.ZIP: "zip"}


def _format_of(options: Dict[str, Any]) -> str:
    """Returns the format that these options describe, one of TITLES."""
    format = options["format"]
    if format == _native.IMAGE_FOLDER:
        return "audio_folder" if options["fields"] else "image_folder"
    if format == _native.NPY:
        return "npy_folder" if "root" in options else "npy"
    if format == _native.NPZ:
        return "npz" if b"rows" in options["columns"] else "npz_files"
    return _FORMATS[format]


def _check_format(reading: Reading, options: Dict[str, Any]) -> None:
    """Refuses a path that DataLoader would read in another format than the reading. A
    reading with a `call` names the format itself.

    Raises:
      errors.InvalidArgument: the message says how DataLoader would read the path.
    """
    read = reading.format if reading.call else _format_of(options)
    if read != reading.format:
        raise errors.InvalidArgument(
            f"{reading.path}: DataLoader reads {TITLES[read]} there: keep files of "
            "other kinds in folders of their own")


class Failure(NamedTuple):
    """A sample that cannot be read.

    Attributes:
      sample: int, its number.
      message: str, the error; "" if the daemon was not asked for the reason.
    """

    sample: int
    message: str


class Value:
    """The value of a sample's field. The value lies in the reader's memory until the
    next samples are read.

    Attributes:
      kind: one of _native's kinds.
      dtype: str, NumPy's name.
      shape: tuple of int.
      size: the number of bytes.
    """

    def __init__(self, field):
        self._data = field.data
        self.kind = field.kind
        self.dtype = _native.DTYPE_NAMES.get(field.dtype, "uint8")
        self.shape = tuple(field.shape[:field.rank])
        self.size = field.bytes

    def content(self, most: Optional[int] = None) -> bytes:
        """Returns the value's first `most` bytes; None: all of them."""
        return c.string_at(self._data, self.size if most is None else
                           min(self.size, most))

    def number(self) -> int:
        """Returns the number of a label."""
        return c.c_int64.from_address(self._data).value

    def array(self) -> Any:
        """Returns a copy of the value, as an array."""
        import numpy
        made = numpy.empty(self.shape, self.dtype.replace("bfloat16", "uint16"))
        c.memmove(made.ctypes.data, self._data, self.size)
        return made


class _LookingReader(_reader.Reader):
    """A native reader that tells which samples failed, and gives access to all
    others."""

    def look(self, numbers, visit) -> List[Failure]:
        """Calls `visit(number, values)` for each sample that can be used. Returns the
        samples that failed. If `numbers` is a single sample, its failure has the
        reason."""
        error = self.error_of(numbers)
        failures = []
        for at, number in enumerate(numbers):
            values = self._values(at, error)
            if values is None:
                failures.append(Failure(number, ""))
            else:
                visit(number, values)
        if len(failures) == 1:
            return [failures[0]._replace(message=str(error))]
        return failures

    def error_of(self, numbers) -> Optional[errors.ForebayError]:
        """Asks for samples. Returns the error of a sample that failed, or None."""
        try:
            self._ask(numbers)
        except errors.PASSING:
            raise
        except errors.ForebayError as error:
            return error
        return None

    def _values(self, at, error) -> Optional[List[Value]]:
        values, field = [], _native.Field()
        for index in self._fields:
            status = self._lib.forebay_reader_field(self._handle, at, index,
                                                    c.byref(field))
            if error is not None and status == _ABSENT:
                return None
            if error is not None and status != _native.OK:
                raise error  # an error of the request itself
            _native.check(status)
            values.append(Value(field))
        return values

    def names(self) -> List[str]:
        name = c.c_char_p()
        found: List[str] = []
        for index in self._fields:
            _native.check(self._lib.forebay_reader_field_name(
                self._handle, index, c.byref(name)))
            found.append(os.fsdecode(name.value or b""))
        return found

    def warnings(self) -> List[str]:
        text = c.c_char_p()
        found: List[str] = []
        while _warning(self._handle, len(found), c.byref(text)) == _native.OK:
            found.append((text.value or b"").decode(errors="replace"))
        return found


class Samples:
    """A dataset's samples by number. One thread at a time uses it.

    Waits while the daemon restarts, as Dataset does.

    Attributes:
      uri: str, for messages.
      size: int.
      names: list of str, of the fields.
      classes: list of str.
      warnings: list of str, the daemon's warnings about the dataset.
    """

    def __init__(self, reading: Reading, *, decode: bool = False,
                 transform: Any = None, autostart: bool = True):
        self._options = _options.build(
            reading.dataset(), fields=reading.fields, batch_size=1, shuffle=False,
            seed=0, drop_last=False, transform=transform, rank=0, world_size=1,
            pad="wrap", on_error="raise", sharing="off", weight=1.0, name=None,
            depth=None, extra_roots=reading.extra_roots)
        _check_format(reading, self._options)
        directory = _native.runtime_dir()
        self._options["runtime_dir"] = os.fsencode(directory)
        self._start_daemon = (functools.partial(_daemon.ensure_running, directory)
                              if autostart else None)
        self._transform = transform
        self._decode = decode
        self.uri = os.fsdecode(self._options["uri"])
        self._reader = self._open()
        self.size = self._reader.dataset_size
        self.names = self._reader.names()
        self.classes = self._reader.classes
        self.warnings = self._reader.warnings()

    def _open(self) -> _LookingReader:
        if self._start_daemon is not None:
            self._start_daemon()
        return _LookingReader(self._options, self._transform, self._decode)

    def visit(self, numbers: Sequence[int],
              visit: Callable[[int, List[Value]], None],
              wanted: int = 1) -> List[Failure]:
        """Calls `visit(number, values)` for each sample that can be used. Returns the
        samples that failed; at most `wanted` of them have the reason."""
        failures: List[Failure] = []
        for begin in range(0, len(numbers), _reader.MAX_FETCH):
            part = numbers[begin:begin + _reader.MAX_FETCH]
            failures += self._until_available(
                functools.partial(self._look, part, visit))
        return [self._explained(failure) if at < wanted else failure
                for at, failure in enumerate(failures)]

    def _until_available(self, attempt: Callable[[], Any]) -> Any:
        def attempt_here():
            if not self._reader.is_usable():
                again = self._open()
                if again.dataset_version != self._reader.dataset_version:
                    raise errors.StateError(
                        f"{self.uri}: the dataset has changed meanwhile")
                self._reader = again
            return attempt()

        return _retry.until_available(self.uri, attempt_here, self._start_daemon)

    def _look(self, numbers, visit):
        try:
            return self._reader.look(numbers, visit)
        except errors.DataError as error:  # a sample may be larger than all memory
            if len(numbers) > 1:
                raise
            return [Failure(numbers[0], str(error))]
        except errors.ResourceExhausted:  # other jobs may use the memory at present
            if len(numbers) < 2:
                raise
        half = len(numbers) // 2
        return self._look(numbers[:half], visit) + self._look(numbers[half:], visit)

    def _explained(self, failure: Failure) -> Failure:
        if failure.message:
            return failure
        error = self._until_available(
            lambda: self._reader.error_of([failure.sample]))
        return failure._replace(
            message=str(error) if error is not None else
            f"sample {failure.sample} of {self.uri}: failed, but not when it was read "
            "again")
