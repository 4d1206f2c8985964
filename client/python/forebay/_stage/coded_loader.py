"""A data loader in whose pipeline workers run the user's ops."""

from __future__ import annotations

import time
from typing import Any, Dict, Optional

from .. import _native, _retry, errors
from .._epoch import Epoch
from .._position import Position
from ..loader import DataLoader
from . import share_key
from .code_attachment import CodeAttachment

# The largest number of worker pools that may end, one after the other, before a batch
# comes. The loader's own pools and those of other jobs, which may end at any time, are
# counted separately.
_MAX_HOSTS = 3
_MAX_OTHERS_HOSTS = 1000


class CodedLoader(DataLoader):
    """A DataLoader whose samples the daemon makes, except for some ops of the user's
    code, which workers run."""

    _attachment: CodeAttachment
    _stopped: Optional[Position] = None  # the position of a batch that failed
    _share_key: Optional[share_key.ShareKey] = None
    _has_key = False  # whether _share_key was determined

    def _detached_type(self) -> type:
        return CodedLoader

    def _attach(self, plan: Any, start_daemon: Any) -> Any:
        self.num_workers = plan.coded.workers.most
        if not self._has_key:
            # The key is determined once, because a loader that is opened anew is still
            # the same loader.
            self._share_key = share_key.take(
                plan.coded.code.names, self._given["share_key"],
                'sharing="off" shares nothing'
                if self._given["sharing"] == "off" else "")
            self._has_key = True
        return CodeAttachment(self._options, plan.coded, self._share_key, start_daemon)

    def stats(self) -> Dict[str, int]:
        total = super().stats()
        total["lacks_share_key"] = int(self._share_key is None and
                                       self._given["sharing"] != "off")
        return total

    def _await(self, epoch: Epoch, status: Any) -> Any:
        """Waits for the memory of the next batch, as DataLoader does."""
        position = epoch._position
        began = time.monotonic()
        retry: Optional[_retry.Retry] = None
        hosts = [0, 0]  # worker pools that have ended: those of others, and its own
        while status != _native.END_OF_EPOCH and epoch.has_portion():
            if self._current is not position:
                return self._leave(epoch)._await(epoch, _native.INTERRUPTED)
            try:
                if self._stopped is position:
                    self._stopped = None
                    self._go_on(epoch)
                elif status not in (_native.INTERRUPTED, _native.TIMEOUT):
                    _native.check(status)
            except errors.ProducerFailed as error:
                self._fail(position, str(error))
            except errors.PASSING as error:
                if retry is None:
                    retry = self._retry(epoch)
                retry.wait(error)
            except errors.StateError:
                hosts[self._attachment.has_own_workers] += 1
                if hosts[True] > _MAX_HOSTS or hosts[False] > _MAX_OTHERS_HOSTS:
                    raise
                self._attachment.replace(self._progress.is_new)
                self._go_on(epoch)
            if self.timeout and time.monotonic() - began > self.timeout:
                self.close()
                raise RuntimeError(
                    f"DataLoader timed out after {self.timeout:g} seconds: workers "
                    f"have not made a batch of {self._contents.uri}")
            memory = status = epoch._next_memory()
            if memory.__class__ is not int:
                if retry is not None:
                    retry.done()
                return memory
        return self._next_portion(epoch)

    def _retry(self, epoch: Epoch) -> _retry.Retry:
        pauses = _retry.backoff()

        def attach() -> bool:
            time.sleep(next(pauses))
            self._attachment.replace(self._progress.is_new)
            self._go_on(epoch)
            return True

        return _retry.Retry(self._contents.uri, attach, self._attachment.start_daemon)

    def _go_on(self, epoch: Epoch) -> None:
        """Starts the epoch again at its present position."""
        with self._lock:
            self._start(epoch._position)
            epoch.read_from(self._attachment.connection)

    def _fail(self, position: Position, text: str) -> None:
        """Skips the batch that failed, and raises its exception."""
        end = position.listed_end
        samples = self._attachment.connection.samples_per_epoch if end is None else end
        position.samples = min(position.samples + self._options["batch_size"],
                               samples - position.first)
        self._stopped = position
        raise self._attachment.restored(
            text, f"worker process of {self._contents.uri}") from None

    def __del__(self) -> None:
        self.close()
