"""Iterations of a loader whose batches the user's code makes."""

from __future__ import annotations

import hashlib
import os
import time
import weakref
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from .. import _connection, _fork, _native, _retry, _user_error, errors
from .._position import Position
from . import failure
from .host_process import HostProcess
from .own_samples import Again
from .plan import Plan
from .shared_check import SharedCheck
from .values import Flat

# Hosts that may end, one after the other, before a batch comes: of its own, and of
# other jobs, each of which may end at any time.
_MAX_HOSTS = 8
_MAX_OTHERS_HOSTS = 1000


class Run:
    """Workers, and their connection to the daemon; begins anew when one of these is
    lost.

    It is to an Epoch what a loader is. Its subclasses say what the daemon's samples
    are.

    Attributes:
      share_id: equal for runs that share workers; None: this one shares with none.
      stays: whether it rests between epochs, rather than end with one.
      is_resting: whether `begin` may start an epoch.
    """

    _feed: Any = None  # see host.main
    _check: Optional[SharedCheck] = None  # while another's workers make the samples
    _is_served = False  # by its own workers

    def __init__(self, plan: Plan, position: Position, share_id: Optional[bytes],
                 on_end: Callable[[Position], None]):
        """
        Args:
          share_id: as the attribute.
          on_end: is called with the position of an epoch that is over.
        """
        self.share_id = share_id
        self.stays = plan.are_persistent
        self.is_resting = False
        self._plan = plan
        self._position = position
        self._current: Optional[Position] = position
        self._on_end = on_end
        self._host: Optional[HostProcess] = None
        self._connection: Any = None
        self._is_stopped = False  # the epoch, at a batch that failed
        self._pid = os.getpid()

    def start(self) -> None:
        """Starts the workers, and the epoch where it stands.

        Raises:
          Exception: that of the user's code, when it makes the first sample.
          errors.ForebayError: of the fitting class.
        """
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def begin(self, position: Position) -> None:
        """Starts another epoch.

        Raises:
          errors.ForebayError: of the fitting class.
        """
        self.is_resting = False
        self._position = self._current = position
        self._is_stopped = False
        if self._check is not None:
            self._check.begin()
        try:
            self._start_epoch()
        except (errors.StateError, *errors.PASSING) as error:
            if _user_error.is_marked(error):
                raise
            self._end_processes(keeps_spare=True)
            self.start()

    @property
    def is_own(self) -> bool:
        """Whether this process began it, rather than its parent."""
        return self._pid == os.getpid()

    # --- The subclasses'.

    def _prepare(self, host: HostProcess) -> None:
        """Learns from the host what the native dataset needs."""

    def _dataset(self) -> Any:
        """The native dataset of the daemon's samples."""
        raise NotImplementedError

    def _options(self) -> Dict[str, Any]:
        """Of the native loader, without `dataset`."""
        if self.share_id is not None:
            return self._plan.options
        return {**self._plan.options, "sharing": _native.SHARING["off"]}

    def _order(self) -> Tuple[Any, ...]:
        """To the host; see host.main."""
        raise NotImplementedError

    def _start_epoch(self) -> None:
        """Starts the epoch where it stands."""
        raise NotImplementedError

    def _fail(self, text: str) -> None:
        """Passes over the batch that failed, and raises why it did."""
        raise NotImplementedError

    def _awaited(self) -> int:
        """The number of the next batch in the epoch."""
        position = self._position
        return (position.first + position.samples) // (
            self._plan.options["batch_size"])

    def _restored(self, text: str) -> Exception:
        """The exception of a worker, or of the daemon's words on workers."""
        where = f"worker process of {self._plan.name}"
        return (failure.restore(text, where) if self._host is None else
                self._host.restore(text, where))

    # --- What Epoch uses.

    @property
    def connection(self) -> Any:
        return self._connection

    @property
    def _wrapper(self) -> Any:
        return self._plan.wrapper

    def stats(self) -> Dict[str, int]:
        """As DataLoader's, of the connection; nothing without one."""
        return {} if self._connection is None else self._connection.stats()

    def _leave(self, epoch: Any) -> None:
        raise errors.StateError(
            f"this iteration of {self._plan.name} is over, by an error or as the "
            "loader was closed: call iter() again"
            if self._connection is None else
            "another iteration of this loader has begun: this one is over")

    def _abandon(self, position: Position) -> None:
        if self._current is position:
            self._finish()

    def abandon(self) -> None:
        """Ends the epoch, for another one to begin."""
        if self._current is not None:
            self._finish()

    def _await(self, epoch: Any, status: Any) -> Any:
        """Waits for the memory of the next batch, as DataLoader's does."""
        began = time.monotonic()
        hosts = [0, 0]  # of others, and of its own
        while status != _native.END_OF_EPOCH:
            if self._pid != os.getpid():
                raise errors.StateError(
                    "this iteration belongs to the process that this one was "
                    "forked from: call iter() again")
            try:
                if self._is_stopped:
                    self._go_on(epoch)
                elif status not in (_native.INTERRUPTED, _native.TIMEOUT):
                    _native.check(status)
            except errors.ProducerFailed as error:
                self._is_stopped = True
                self._fail(str(error))
            except (errors.StateError, *errors.PASSING) as error:
                hosts[self._is_served] += 1
                if (hosts[True] > _MAX_HOSTS or hosts[False] > _MAX_OTHERS_HOSTS or
                        self._current is None or _user_error.is_marked(error)):
                    self.close()
                    raise
                self.restart(epoch)
            timeout = self._plan.timeout
            if timeout and time.monotonic() - began > timeout:
                raise self._timed_out()
            self._while_waiting()
            memory = status = epoch._next_memory()
            if memory.__class__ is not int:
                return memory
        self.end(epoch)
        raise StopIteration

    def _timed_out(self) -> RuntimeError:
        """Ends the run, whose next batch did not come in time."""
        self.close()
        return RuntimeError(
            f"DataLoader timed out after {self._plan.timeout:g} seconds: "
            f"{self._plan.name} has not made batch {self._awaited()}")

    def _while_waiting(self) -> None:
        """Is called now and then."""

    def end(self, epoch: Any) -> None:
        """Ends the epoch, which is complete."""
        epoch.end()
        self._finish()
        self._on_end(epoch._position)

    def _finish(self) -> None:
        """Ends the work on the epoch, which is over or was left."""
        if not self.stays or self._connection is None or (
                self._pid != os.getpid()):
            self.close()
            return
        try:
            self._connection.stop_epoch()
        except errors.ForebayError:
            self.close()
            return
        self._current = None
        self.is_resting = True

    # --- The workers and the connection.

    def _start(self) -> None:
        _retry.until_available(self._plan.name, self._try_to_start,
                               self._plan.start_daemon)

    def _try_to_start(self) -> None:
        try:
            self._attach()
            self._start_epoch()
        except BaseException:
            self._end_processes()
            raise

    def _attach(self) -> None:
        plan = self._plan
        if plan.start_daemon is not None:
            plan.start_daemon()
        host = self._start_host() if self._host is None else self._host
        self._prepare(host)
        options = dict(self._options())
        options["dataset"] = self._dataset()
        self._connection = _connection.Connection(options, None, plan.start_daemon)
        try:
            socket = self._connection.start_producers(
                plan.stage.workers, plan.are_persistent)
        except errors.StateError as error:
            # Another's workers make the samples for this one, too. The client cannot
            # copy DLPack's tensors from a GPU to the host.
            if plan.framework != "dlpack":
                self._check = SharedCheck(plan.name, plan.share_key, str(error),
                                          self._make_own)
        else:
            self._is_served = True
            host.serve(self._order(), socket)

    def _start_host(self) -> HostProcess:
        plan = self._plan
        with _fork.without_interruption():
            self._host = host = HostProcess(plan.name, plan.context, plan.stage,
                                            self._feed, self.share_id is not None,
                                            plan.timeout)
        return host

    def _make_own(self, task: Any, again: bool) -> Any:
        assert self._host is not None
        worker = min(int(again), self._plan.stage.workers - 1)
        if again:
            task = Again(task)
        try:
            return self._host.make(task, worker)
        except errors.SourceUnavailable:  # once more
            self._host.end()
            return self._start_host().make(task, worker)

    def _compare_some(self, samples: int, describe: Callable[
            [List[int]], Tuple[Any, Sequence[str], List[Flat]]]) -> None:
        """Compares some samples of a batch with own ones, if another's workers have
        made them. Ends the run if they differ.

        Args:
          samples: in the batch.
          describe: returns the arguments of SharedCheck.compare for the samples at
            these places.
        """
        chosen = [] if self._check is None else self._check.choose(samples)
        if not chosen or self._check is None:
            return
        try:
            self._check.compare(*describe(chosen))
        except BaseException:  # an interrupt, too, leaves the rest unchecked
            self.close()
            raise

    def restart(self, epoch: Any) -> None:
        """Starts anew where next() stands: a daemon or the host was lost, or another
        job's host has ended with its trainer."""
        self._end_processes(keeps_spare=True)
        self._start()
        epoch.read_from(self._connection)

    def _go_on(self, epoch: Any) -> None:
        """Starts the epoch again behind a batch that failed."""
        self._is_stopped = False
        self._start_epoch()
        epoch.read_from(self._connection)

    def _end_processes(self, keeps_spare: bool = False) -> None:
        """Ends the connection and the host.

        Args:
          keeps_spare: whether a host stays that has not served yet. It has the
            dataset as it was at the iter().
        """
        self._is_served = False
        self._check, connection = None, self._connection
        if connection is not None:
            try:
                self._plan.note(self.stats())
            except errors.ForebayError:
                pass  # the daemon is gone
            self._connection = None
            connection.close()
        host = self._host
        if host is not None and not (keeps_spare and host.may_serve()):
            self._host = None
            host.end()

    def close(self) -> None:
        """Ends the iteration and its processes; batches in use stay valid."""
        self.is_resting = False
        self._current = None
        if self._pid == os.getpid():
            self._end_processes()


def identity(plan: Plan, size: int, fields: Any) -> bytes:
    """16 bytes that tell this dataset from others."""
    kind = type(plan.stage.dataset)
    return hashlib.blake2b(
        repr((kind.__module__, kind.__qualname__, size, fields)).encode(),
        digest_size=16).digest()


def ender(loader: Any) -> Callable[[Position], None]:
    """A function that ends a position's epoch, which is complete, for a StagedLoader if
    that is there still. Runs that the loader keeps do not keep the loader."""
    reference = weakref.ref(loader)

    def end(position: Position) -> None:
        found = reference()
        if found is not None:
            with found._lock:
                found._progress.end(position)

    return end
