"""The connection that a loader reads through, and how it is replaced."""

from __future__ import annotations

import copy
import os
from typing import Dict

from . import _connection, _reopen, _retry, errors


class Attachment:
    """Holds a loader's connection, which can be replaced.

    A loader needs another connection in a forked child, and when its dataset turns out
    to be out of date. One thread at a time uses this object; any thread may read its
    attributes.

    Attributes:
      connection: the _connection.Connection that was opened last.
      start_daemon: see _retry.Retry.
    """

    def __init__(self, options, transform, start_daemon):
        """Opens the loader, and waits until the dataset is indexed.

        Args:
          options, transform: see _connection.Connection.
          start_daemon: see _retry.Retry.
        """
        self._options = options
        self._transform = transform
        self.start_daemon = start_daemon
        self.connection = self._open()
        self._pid = os.getpid()
        self._is_given_up = False

    def _open(self):
        if self.start_daemon is None:
            return self._connect()
        self.start_daemon()
        try:
            return self._connect()
        except errors.DaemonUnavailable:
            # The daemon that listened before may have been about to exit.
            self.start_daemon()
            return self._connect()

    def _connect(self):
        return _connection.Connection(self._options, self._transform,
                                      self.start_daemon)

    @property
    def version(self) -> str:
        """The dataset's version, as in DatasetInfo."""
        return self.connection.dataset_version.hex()

    def is_inherited(self) -> bool:
        """Whether the connection belongs to a parent process from which this process
        was forked."""
        return self._pid != os.getpid()

    def retry(self) -> _retry.Retry:
        """Waits until the connection delivers batches again."""
        return self.connection.retry(self.start_daemon)

    def start(self, position, is_new: bool) -> None:
        """Starts an epoch. Opens the loader first if this process has no connection for
        it.

        Args:
          position: the Position at which the epoch begins.
          is_new: whether no sample was returned yet. If so, the dataset may have
            another version, with the same number of samples and the same classes.

        Raises:
          errors.StateError: the dataset has changed.
        """
        if self._is_given_up or self.is_inherited():
            self._reopen(is_new)
        try:
            self.connection.start_epoch(*position.to_start())
        except errors.PASSING as error:
            retry = self.retry()
            retry.wait(error)
            retry.done()

    def _reopen(self, is_new):
        uri = os.fsdecode(self._options["uri"])
        opened = _retry.until_available(uri, self._open, self.start_daemon)
        _reopen.check_successor(uri, self.connection, opened, is_new)
        self.connection = opened
        self._pid = os.getpid()
        self._is_given_up = False

    def another(self) -> Attachment:
        """Makes an attachment to the same dataset, with a connection of its own.

        Raises:
          errors.StateError: the dataset has changed.
        """
        made = copy.copy(self)
        made._reopen(False)
        return made

    def stats(self) -> Dict[str, int]:
        """Returns the stats of DataLoader, summed over the connections that this
        attachment has had."""
        return self.connection.stats()

    def give_up(self, error: errors.StateError) -> None:
        """Closes the connection because `error` says that its dataset is out of
        date; `start` then opens another."""
        if not self._is_given_up:
            _reopen.announce(error)
        self._is_given_up = True
        self.connection.close()  # the daemon gets the connection's memory back

    def close(self) -> None:
        self.connection.close()
