"""The connection of a loader in whose pipeline workers run the user's ops."""

from __future__ import annotations

import contextlib
import copy
import os
from typing import Any, Dict, Optional

from .. import _attachment, _connection, _native, _stats, errors
from . import failure, shared_check
from .coded import Coded
from .host_process import HostProcess
from .share_key import ShareKey

_MAX_HOSTS = 3  # the most worker pools that may end while an epoch starts


class CodeAttachment(_attachment.Attachment):
    """An Attachment whose epochs also start workers. Another loader with the same key
    may have workers whose ops return equal results for images of noise. These workers
    then run the ops for this loader, too.

    Unless workers are persistent, each epoch has new workers, with the ops as they are
    when the epoch starts.

    Attributes:
      past: the stats of connections that are closed, by name.
    """

    def __init__(self, options: Dict[str, Any], coded: Coded,
                 share_key: Optional[ShareKey], start_daemon: Any):
        """
        Args:
          coded: the pipeline.
          share_key: the loader's key.
          All others: see Attachment.
        """
        self._coded = coded
        self._share_key = share_key
        self._epoch = 0  # the epoch of the connection, if the loader has a key
        self._begun: Any = None  # the position of the connection's iteration
        self._host: Optional[HostProcess] = None
        self._host_pid = 0  # the process that started the worker pool
        self._has_workers = False  # whether workers run: its own, or those of others
        self._has_told = False  # whether a log line has said that ops are random
        self.past: Dict[str, int] = {}
        super().__init__(options, None, start_daemon)

    @property
    def has_own_workers(self) -> bool:
        """Whether this loader's own workers run the ops, and not those of another
        loader."""
        return self._host is not None

    def _connect(self) -> Any:
        self._end_host()
        self._has_workers = False
        options = self._options
        if self._share_key is None:
            share_id = os.urandom(16)
            options = {**options, "sharing": _native.SHARING["off"]}
        else:
            share_id = self._coded.share_id(self._share_key, self._epoch,
                                            self._made_of_noise(self._share_key))
        return _connection.Connection(options, self._coded.transform(share_id),
                                      self.start_daemon)

    def _made_of_noise(self, key: ShareKey) -> Any:
        """Starts a worker pool with the ops as they are now. Returns the ops' results
        for images of noise, as plain values. Returns None before the first epoch."""
        if self._begun is None:
            return None
        for is_last in (False, True):
            self._host, self._host_pid = self._coded.start_host(), os.getpid()
            try:
                made, again = self._coded.made_of_noise(self._host)
                break
            except BaseException as error:
                self._end_host()
                if is_last or not isinstance(error, errors.SourceUnavailable):
                    raise
        if made != again and not self._has_told:
            self._has_told = True
            shared_check.tell_of_difference(self._coded.code.names,
                                            "an image of noise", key.text)
        return shared_check.alike(made, again)

    def _start_workers(self) -> None:
        host, self._host = self._host, None
        if host is None:
            host = self._coded.start_host()
        try:
            socket = self.connection.start_workers(
                self._coded.workers.most, self._coded.workers.are_persistent)
        except errors.StateError:
            host.end()  # another loader's workers run the ops
        except BaseException:
            host.end()
            raise
        else:
            self._host, self._host_pid = host, os.getpid()
            host.serve(("images", self._coded.result), socket)
        self._has_workers = True

    def start(self, position: Any, is_new: bool) -> None:
        """Starts the epoch at the position; see Attachment."""
        is_keyed = self._share_key is not None
        is_outdated = is_keyed and not self._has_workers and self._host is None
        if not self._coded.workers.are_persistent:
            is_outdated |= ((self._has_workers and self._begun is not position) or
                            (is_keyed and self._epoch != position.epoch))
        self._epoch, self._begun = position.epoch, position
        if self._is_given_up or self.is_inherited() or is_outdated:
            self.replace(is_new)
        for hosts in range(_MAX_HOSTS + 1):
            try:
                if not self._has_workers:
                    self._start_workers()
                self.connection.start_epoch(*position.to_start())
                break
            except (errors.StateError, *errors.PASSING):
                if hosts == _MAX_HOSTS:
                    raise
                self.replace(is_new)

    def replace(self, is_new: bool) -> None:
        """Opens another connection, to get other workers. Called if the daemon or the
        workers were lost, or if the workers are out of date.

        Raises:
          errors.StateError: the dataset has changed.
        """
        if not self.is_inherited():
            with contextlib.suppress(errors.ForebayError):  # the daemon has gone
                _stats.add_past(self.past, self.connection.stats())
            self.connection.close()
        self._reopen(is_new)

    def stats(self) -> Dict[str, int]:
        total = super().stats()
        _stats.add(total, self.past)
        return total

    def another(self) -> CodeAttachment:
        made = copy.copy(self)
        made._host = made._begun = None  # this attachment keeps both
        made.past = {}
        made._reopen(False)
        return made

    def restored(self, text: str, where: str) -> Exception:
        """Returns the exception that a worker raised, as HostProcess.restore does."""
        return (failure.restore(text, where) if self._host is None else
                self._host.restore(text, where))

    def _end_host(self) -> None:
        host, self._host = self._host, None
        if host is not None and self._host_pid == os.getpid():
            host.end()

    def close(self) -> None:
        super().close()
        self._end_host()
