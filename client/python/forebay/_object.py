"""The bytes of one file or object, from the cache that all jobs share."""

from __future__ import annotations

import ctypes as c
import errno
import os
import sys
from typing import NamedTuple, Optional

from . import _native, _place, _retry, errors
from ._object_session import Client, Session, borrowed, key_of, pool
from ._place import Place

# The largest number of bytes that one request asks for, and that are read ahead.
_MAX_LENGTH = 4 << 20


class _Part(NamedTuple):
    """Some of an object's bytes, in memory.

    Attributes:
      begin, end: the bytes' range in the object.
      address: the bytes' address in memory.
      owner: the session in whose window the bytes lie, or a bytes object.
    """

    begin: int
    end: int
    address: int
    owner: object


class _Ahead(NamedTuple):
    """Bytes that were asked for and have not been awaited."""

    begin: int
    end: int
    session: Session


def _copied(part: _Part) -> _Part:
    """Returns a copy of the part in this process's own memory."""
    content = c.string_at(part.address, part.end - part.begin)
    return _Part(part.begin, part.end, _address_of(content), content)


def _address_of(content: bytes) -> int:
    return c.cast(c.c_char_p(content), c.c_void_p).value or 0


def version_of(place: Place, client: Client) -> _native.ObjectVersion:
    """Returns the present state of an object. Closes the place."""
    def attempt():
        with borrowed(client) as session:
            session.ask(place, None, 0, 0, _MAX_LENGTH)
            found = _native.ObjectVersion.from_buffer_copy(
                session.receive().version)
        pool.give(session)
        return found

    try:
        return _with_retry(place, client, attempt, opens=True)
    finally:
        place.close()


def _with_retry(place: Place, client: Client, attempt, opens: bool):
    """Returns what `attempt()` returns, as _retry.until_available does. If an idle
    session belongs to a daemon that has ended, tries another session at once. If
    `opens`, does not wait for storage that is away: the daemon has already tried for
    some time to reach it."""
    def one_more():
        reused = pool.has(key_of(client))
        try:
            return attempt()
        except errors.DaemonUnavailable:
            if not reused:
                raise
        return attempt()

    passing: _retry.Errors = errors.PASSING
    if opens:
        passing = (errors.DaemonUnavailable,)
    return _retry.until_available(place.uri, one_more, client.start_daemon,
                                  client.seconds, passing)


class Object:
    """A file or object that is open for reading.

    The object is read in blocks, which the daemon caches. While a caller reads in
    sequence, each request asks for more bytes than the last, and the next blocks are
    requested ahead. One thread at a time may use it. All calls except `close` may
    block.

    Attributes:
      place: the object's Place, which this object owns.
      size: int, bytes.
      version: a _native.ObjectVersion: the state of the file from which all bytes come.
    """

    def __init__(self, place: Place, block_bytes: int, client: Client):
        self.place = place
        self._block = block_bytes
        self._client = client
        self._pid = os.getpid()
        self._part: Optional[_Part] = None
        self._ahead: Optional[_Ahead] = None
        self._last_end = 0  # the end of the last part that was read to its end
        self._length = block_bytes  # the number of bytes that the next request asks for
        self.version: Optional[_native.ObjectVersion] = None
        self.size = 0
        first = self._fetch(0, block_bytes)
        self._part = first if first.end > 0 else None

    def read_into(self, position: int, address: int, count: int) -> int:
        """Copies up to `count` bytes to `address`. Returns the number of bytes; 0 at
        the object's end."""
        count = min(count, self.size - position)
        if count <= 0:
            return 0
        part = self._cover(position, count)
        found = min(count, part.end - position)
        c.memmove(address, part.address + position - part.begin, found)
        if position + found == part.end:
            self._leave_part()
            self._last_end = part.end
        return found

    def close(self) -> None:
        self._check_process()
        self._leave_part()
        self._drop_ahead()
        self.place.close()

    def _check_process(self):
        if self._pid != os.getpid():
            # In a forked child, sessions and their windows belong to the parent.
            self._pid = os.getpid()
            if self._part is not None and isinstance(self._part.owner, Session):
                self._part = None
            self._ahead = None

    def _cover(self, position: int, count: int) -> _Part:
        """Returns the part that contains `position`, and makes it the current part."""
        self._check_process()
        part = self._part
        if part is not None and part.begin <= position < part.end:
            return part
        self._leave_part()
        goes_on = position == self._last_end > 0
        self._length = (min(2 * self._length, max(_MAX_LENGTH, self._block))
                        if goes_on else self._block)
        part = self._take_ahead(position)
        if part is None:
            begin = position - position % self._block
            wanted = max(self._length, min(count, _MAX_LENGTH))
            end = begin + -(-wanted // self._block) * self._block
            part = self._fetch(begin, min(end, self.size))
        self._part = part
        if goes_on or count > max(part.end - position, self._block):
            self._ask_ahead(part.end)
        return part

    def _leave_part(self):
        part, self._part = self._part, None
        if part is not None and isinstance(part.owner, Session):
            pool.keep(-1)
            pool.give(part.owner)

    def _keep(self, session: Session, begin: int,
              found: _native.ObjectPart) -> _Part:
        """Returns the part that a session has received."""
        part = _Part(begin, begin + found.bytes, found.data or 0, session)
        if found.bytes == 0:
            pool.give(session)
            return part
        # A small file keeps no session: it is read at once, or not for a while.
        if part.end < self.size and pool.may_keep():
            pool.keep(1)
            return part
        part = _copied(part)
        pool.give(session)
        return part

    def _fetch(self, begin: int, end: int) -> _Part:
        try:
            return _with_retry(self.place, self._client,
                               lambda: self._read(begin, end),
                               opens=self.version is None)
        except errors.StateError as error:
            _place.fail(errors.FileChanged, errno.ESTALE, str(error))
        except errors.ResourceExhausted:
            if end - begin <= self._block:
                raise
            self._length = self._block
            return self._fetch(begin, begin + self._block)

    def _read(self, begin: int, end: int) -> _Part:
        with borrowed(self._client) as session:
            session.ask(self.place, self.version, begin, end - begin,
                        self._block)
            found = session.receive()
            if self.version is None:
                if found.version.size > sys.maxsize:
                    raise errors.ForebayError(
                        f"{self.place.uri}: is said to have "
                        f"{found.version.size} bytes, more than a file can")
                self.version = _native.ObjectVersion.from_buffer_copy(
                    found.version)
                self.size = found.version.size
                end = min(end, self.size) if self.size <= end else begin
            if found.bytes != end - begin:
                raise errors.ForebayError(
                    f"{self.place.uri}: the daemon gave {found.bytes} bytes in "
                    f"place of {end - begin}")
            return self._keep(session, begin, found)

    def _ask_ahead(self, begin: int):
        if self._ahead is not None or begin >= self.size or not pool.may_keep():
            return
        end = min(begin + self._length, self.size)
        try:
            with borrowed(self._client) as session:
                session.ask(self.place, self.version, begin, end - begin,
                            self._block)
        except errors.ForebayError:
            return  # the read of these bytes will raise the error
        pool.keep(1)
        self._ahead = _Ahead(begin, end, session)

    def _take_ahead(self, position: int) -> Optional[_Part]:
        """Awaits the bytes that were requested ahead, if they include `position`."""
        ahead = self._ahead
        if ahead is None or not ahead.begin <= position < ahead.end:
            self._drop_ahead()
            return None
        try:
            found = ahead.session.receive()
        except errors.ForebayError:
            self._drop_ahead()
            return None
        # If a signal handler raises in receive(), self._ahead still has the request,
        # which is then awaited later.
        self._ahead = None
        pool.keep(-1)
        return self._keep(ahead.session, ahead.begin, found)

    def _drop_ahead(self):
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            pool.keep(-1)
            ahead.session.close()
