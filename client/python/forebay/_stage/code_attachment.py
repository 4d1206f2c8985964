"""The connection of a loader in whose pipeline workers run the user's ops."""

from __future__ import annotations

import copy
import os
from typing import Any, Dict, Optional

from .. import _attachment, _connection, _native, errors
from . import failure
from .coded import Coded
from .host_process import HostProcess

_MAX_HOSTS = 3  # that may end, one after the other, while an epoch starts


class CodeAttachment(_attachment.Attachment):
    """As Attachment; also starts the workers, unless those of an equal loader run
    the ops for this one, too.

    Unless workers are persistent, ops whose state the trainer has changed get new
    ones at the next epoch; so do those that nobody can tell from others, at each.
    """

    def __init__(self, options: Dict[str, Any], coded: Coded, start_daemon: Any):
        """
        Args:
          coded: the pipeline.
          The others: as Attachment's.
        """
        self._coded = coded
        self._host: Optional[HostProcess] = None
        self._host_pid = 0  # of the process that started it
        self._is_used = False  # by an epoch
        super().__init__(options, None, start_daemon)

    def _connect(self) -> Any:
        self._end_host()
        self._coded = coded = self._coded.present()
        options = self._options
        if coded.digest is None:
            options = {**options, "sharing": _native.SHARING["off"]}
        connection = _connection.Connection(options, coded.transform,
                                            self.start_daemon)
        host = coded.start_host()
        try:
            socket = connection.start_producers(coded.workers.most)
        except errors.StateError:
            host.end()  # those of an equal loader run the ops
        except BaseException:
            host.end()
            raise
        else:
            self._host, self._host_pid = host, os.getpid()
            host.serve(("images", coded.result), socket)
        self._is_used = False
        return connection

    def start(self, position: Any, is_new: bool) -> None:
        """Starts the epoch where the position stands; see Attachment."""
        if self._is_given_up or self.is_inherited() or self._is_outdated():
            self.replace(is_new)
        for hosts in range(_MAX_HOSTS + 1):
            try:
                self.connection.start_epoch(
                    position.epoch, position.first + position.samples,
                    position.list_to_send())
                break
            except (errors.StateError, *errors.PASSING):
                if hosts == _MAX_HOSTS:
                    raise
                self.replace(is_new)
        self._is_used = True

    def _is_outdated(self) -> bool:
        if self._coded.workers.are_persistent:
            return False
        before, now = self._coded, self._coded.present()
        return now is not before and (self._is_used or now.digest is not None)

    def replace(self, is_new: bool) -> None:
        """Opens another connection, with workers: the daemon or they were lost.

        Raises:
          errors.StateError: the dataset has changed.
        """
        if not self.is_inherited():
            self.connection.close()
        self._reopen(is_new)

    def another(self) -> CodeAttachment:
        made = copy.copy(self)
        made._host = None  # is this one's
        made._reopen(False)
        return made

    def restored(self, text: str, where: str) -> Exception:
        """As HostProcess.restore."""
        return (failure.restore(text, where) if self._host is None else
                self._host.restore(text, where))

    def _end_host(self) -> None:
        host, self._host = self._host, None
        if host is not None and self._host_pid == os.getpid():
            host.end()

    def close(self) -> None:
        super().close()
        self._end_host()
