"""The connection that a loader reads through, and how it comes by another."""

from __future__ import annotations

import os

from . import _connection, _reattach, _renewal, errors


class Attachment:
    """What a loader is connected to.

    A loader needs another connection in a forked child, and when its dataset
    turns out to be out of date. Used by one thread at a time, but for reading
    the attribute.

    Attributes:
      connection: the _connection.Connection that was opened last.
    """

    def __init__(self, options, transform, start_daemon):
        """Opens the loader; waits until the dataset is indexed.

        Args:
          options, transform: see _connection.Connection.
          start_daemon: see _reattach.CircuitBreaker.
        """
        self._options = options
        self._transform = transform
        self._start_daemon = start_daemon
        self.connection = self._open()
        self._pid = os.getpid()
        self._is_given_up = False

    def _open(self):
        if self._start_daemon is None:
            return self._connect()
        self._start_daemon()
        try:
            return self._connect()
        except errors.DaemonUnavailable:
            # One that was there may have been about to leave.
            self._start_daemon()
            return self._connect()

    def _connect(self):
        return _connection.Connection(self._options, self._transform,
                                      self._start_daemon)

    @property
    def version(self) -> str:
        """Of the dataset, as DatasetInfo has it."""
        return self.connection.dataset_version.hex()

    def is_inherited(self) -> bool:
        """Whether the connection is that of a process this one was forked from."""
        return self._pid != os.getpid()

    def outage(self) -> _reattach.CircuitBreaker:
        """Of the connection, whose daemon is missed."""
        return self.connection.outage(self._start_daemon)

    def start(self, position, is_new: bool) -> None:
        """Starts an epoch; opens the loader first where it has no connection of
        its own.

        Args:
          position: a Position, where the epoch begins.
          is_new: whether nobody has had a sample: the dataset may then be
            another version, of as many samples and the same classes.

        Raises:
          errors.StateError: the dataset has changed.
        """
        if self._is_given_up or self.is_inherited():
            self._reopen(is_new)
        try:
            self.connection.start_epoch(position.epoch, position.first,
                                        position.list_to_send())
        except errors.PASSING as error:
            outage = self.outage()
            outage.ride(error)
            outage.over()

    def _reopen(self, is_new):
        uri = os.fsdecode(self._options["uri"])
        opened = _reattach.patiently(uri, self._open, self._start_daemon)
        _renewal.check_successor(uri, self.connection, opened, is_new)
        self.connection = opened
        self._pid = os.getpid()
        self._is_given_up = False

    def give_up(self, error: errors.StateError) -> None:
        """Closes the connection, as `error` says that its dataset is out of
        date: `start` opens another."""
        if not self._is_given_up:
            _renewal.announce(error)
        self._is_given_up = True
        self.connection.close()  # gives its memory back

    def close(self) -> None:
        self.connection.close()
