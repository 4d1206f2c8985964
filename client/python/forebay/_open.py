"""The function forebay.open, which reads files through the host's cache."""

from __future__ import annotations

import ctypes as c
import errno
import io
import operator
import os
from typing import Any, Optional, Union

from . import _place
from ._object import Object
from ._object_session import Client
from .errors import InvalidArgument, Unsupported

_BUFFER_BYTES = 64 << 10
_BLOCK = 1 << 20
MIN_BLOCK, MAX_BLOCK = 64 << 10, 16 << 20

# A PyDLL of our own: types that are set on ctypes.pythonapi's functions would also
# change for other packages.
_python = c.PyDLL(None)
_new_bytes = _python.PyBytes_FromStringAndSize
_new_bytes.restype, _new_bytes.argtypes = c.py_object, [c.c_void_p, c.c_ssize_t]
_bytes_at = _python.PyBytes_AsString
_bytes_at.restype, _bytes_at.argtypes = c.c_void_p, [c.py_object]


class _RawFile(io.RawIOBase):
    """An Object as a raw file. One thread at a time may use it."""

    def __init__(self, opened: Object):
        super().__init__()
        self.object = opened
        self.name = opened.place.name
        self.mode = "rb"
        self._position = 0

    def _check_open(self):
        if self.closed:
            raise ValueError("I/O operation on closed file")

    def readable(self):
        self._check_open()
        return True

    def seekable(self):
        self._check_open()
        return True

    def tell(self):
        self._check_open()
        return self._position

    def seek(self, offset, whence=os.SEEK_SET):
        self._check_open()
        begins = {os.SEEK_SET: 0, os.SEEK_CUR: self._position,
                  os.SEEK_END: self.object.size}
        to = begins.get(whence, -1) + operator.index(offset)
        if whence not in begins or to < 0:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        self._position = to
        return self._position

    def readinto(self, buffer):
        self._check_open()
        with memoryview(buffer) as view:
            if view.nbytes == 0:
                return 0
            address = c.addressof(c.c_char.from_buffer(view))
            found = self.object.read_into(self._position, address, view.nbytes)
        self._position += found
        return found

    def readall(self):
        self._check_open()
        count = max(self.object.size - self._position, 0)
        content = _new_bytes(None, count)
        filled = 0
        while filled < count:
            filled += self.object.read_into(self._position + filled,
                                            _bytes_at(content) + filled,
                                            count - filled)
        self._position += filled
        return content

    def close(self):
        if not self.closed:
            try:
                self.object.close()
            finally:
                super().close()


def _of_reader(name: str) -> Any:
    """Returns a method that calls the BufferedReader's method of that name."""
    def call(self, *arguments):
        return getattr(self._reader, name)(*arguments)

    call.__name__, call.__qualname__ = name, f"File.{name}"
    return call


class File(io.BufferedIOBase):
    """A file read through the host's cache, like the result of `open(..., "rb")`.

    Threads take turns. A forked child continues at the parent's position, independently
    of the parent. A pickled file is opened again at the same position.

    Attributes:
      size: int, bytes.
      uri: str, its path or URI.
      version: tuple of int, which changes with the bytes.
      name, mode, raw: as the builtin's.
    """

    # This class does not derive from BufferedReader, because NumPy and other libraries
    # expect a BufferedReader to have a descriptor.
    def __init__(self, raw: _RawFile, made_of: dict):
        self._reader = io.BufferedReader(
            raw, max(min(raw.object.size, _BUFFER_BYTES), 1))
        self._made_of = made_of
        found = raw.object.version
        assert found is not None
        self.size = raw.object.size
        self.uri = raw.object.place.uri
        self.version = (found.size, found.stamp, found.inode, found.ctime_nanos)
        self.name = raw.name
        self.mode = raw.mode
        self.raw = raw

    detach, peek = _of_reader("detach"), _of_reader("peek")
    read, read1 = _of_reader("read"), _of_reader("read1")
    readinto, readinto1 = _of_reader("readinto"), _of_reader("readinto1")
    readline, seek, tell = map(_of_reader, ("readline", "seek", "tell"))
    readable, seekable = _of_reader("readable"), _of_reader("seekable")

    @property
    def closed(self) -> bool:
        return self._reader.closed

    def close(self) -> None:
        self._reader.close()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _open_again, (self._made_of, self.tell())


def _open_again(made_of, position):
    file = _open_binary(**made_of)
    file.seek(position)
    return file


def open_or_fail(uri: str) -> File:
    """Opens a file as open(uri) does, but does not wait for a storage that is away."""
    return _open_binary(uri, _BLOCK, None, True, seconds=0)


def _open_binary(uri, block_size, root, autostart, seconds=None) -> File:
    place = _place.locate(uri, root)
    try:
        opened = Object(place, block_size, Client(autostart, seconds))
    except BaseException:
        place.close()
        raise
    return File(_RawFile(opened), {"uri": uri, "block_size": block_size,
                                   "root": root, "autostart": autostart})


def _check_block_size(block_size):
    if (not isinstance(block_size, int) or block_size & (block_size - 1) or
            not MIN_BLOCK <= block_size <= MAX_BLOCK):
        raise InvalidArgument(
            f"block_size must be a power of two from {MIN_BLOCK} to "
            f"{MAX_BLOCK}, not {block_size!r}")


def _is_text(mode):
    """Whether a mode opens a file as text. Raises an error for modes that write."""
    letters = sorted(mode) if isinstance(mode, str) else [""]
    if letters in (["r"], ["r", "t"]):
        return True
    if letters == ["b", "r"]:
        return False
    if set(letters) & set("wax+"):
        raise Unsupported(
            f"forebay.open reads, and mode {mode!r} would write: use open()")
    raise InvalidArgument(
        f'mode must be "rb", "r" or "rt", not {mode!r}')


def open(  # noqa: A001: as the builtin
    uri: Any,
    mode: str = "rb",
    *,
    encoding: Optional[str] = None,
    errors: Optional[str] = None,
    newline: Optional[str] = None,
    block_size: int = _BLOCK,
    root: Any = None,
    autostart: bool = True,
) -> Union[File, io.TextIOWrapper]:
    """Opens a file for reading, through the cache that all jobs share.

    Other libraries can read the result, for example PIL.Image.open(forebay.open(path)).
    The daemon reads a block when it is first wanted. If the file is read in sequence,
    the daemon reads the next blocks ahead.

    The result always shows the file as it was when it was opened. If the file is
    changed, replaced or removed later, the next read of bytes that are not in memory
    yet raises FileChanged. Reads wait for a daemon that restarts, as DataLoader does.

    Args:
      uri: a path, or file://, gs://, s3://, hdfs://, webhdfs://, http:// or
        https://.
      mode: "rb", or "r" or "rt" for text.
      encoding, errors, newline: for text, like those of the builtin.
      block_size: bytes; a power of two, 64 KiB to 16 MiB. The cache holds equal blocks
        only once.
      root: a folder above the file. A file of at most one block then shares the cache's
        copy with a dataset of that folder. Links must not lead out of that folder.
      autostart: whether to start a daemon for this user if none listens.

    Returns:
      A File, or a TextIOWrapper of one.

    Raises:
      NotFound, IsADirectory, PermissionDenied: OSErrors, like those of the builtin.
      Unsupported: a mode that writes, a URL with a query, a file whose size is not
        known, as in /proc.
      DaemonUnavailable: no daemon for 60 s.
      SourceUnavailable: the storage's host has not answered for 13 s while the
        file was opened, or for 60 s when it was read.
      ForebayError: an error of a fitting class; its message is one sentence that says
        why.
    """
    is_text = _is_text(mode)
    _check_block_size(block_size)
    if not is_text and (encoding, errors, newline) != (None, None, None):
        raise InvalidArgument(
            "encoding, errors and newline are of text, not of mode 'rb'")
    file = _open_binary(uri, block_size, root, autostart)
    if not is_text:
        return file
    try:
        buffer: Any = file
        text: Any = io.TextIOWrapper(buffer, encoding, errors, newline)
        text.mode = mode  # as the builtin's
        return text
    except BaseException:
        file.close()
        raise
