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

# The largest number of worker hosts that may end, one after the other, before a batch
# comes. The run's own hosts and those of other jobs, which may end at any time, are
# counted separately.
_MAX_HOSTS = 8
_MAX_OTHERS_HOSTS = 1000


class Run:
    """Workers, and a connection to the daemon. Starts both again when one of them is
    lost.

    An Epoch uses a Run in place of a loader. Subclasses determine what a sample is for
    the daemon: a row or a batch.

    Attributes:
      share_id: an id that is equal for runs that share workers; None: this run does not
        share.
      stays: whether the run rests between epochs; if not, it ends with its epoch.
      is_resting: whether `begin` may start an epoch.
    """

    _feed: Any = None  # see host.main
    _check: Optional[SharedCheck] = None  # None: own workers make the samples
    _is_served = False  # whether this run's own workers serve the daemon

    def __init__(self, plan: Plan, position: Position, share_id: Optional[bytes],
                 on_end: Callable[[Position], None]):
        """
        Args:
          share_id: see the attribute.
          on_end: a function that is called with the position of an epoch that is over.
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
        self._is_stopped = False  # whether the epoch stands at a batch that failed
        self._pid = os.getpid()

    def start(self) -> None:
        """Starts the workers, and the epoch at its present position.

        Raises:
          Exception: an exception of the user's code, which makes the first sample.
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
        """Whether this process itself began the run, and not its parent."""
        return self._pid == os.getpid()

    # --- The methods that subclasses implement.

    def _prepare(self, host: HostProcess) -> None:
        """Asks the worker host for what the native dataset needs."""

    def _dataset(self) -> Any:
        """Returns the native dataset, whose samples the daemon asks for."""
        raise NotImplementedError

    def _options(self) -> Dict[str, Any]:
        """Returns the options of the native loader, without `dataset`."""
        if self.share_id is not None:
            return self._plan.options
        return {**self._plan.options, "sharing": _native.SHARING["off"]}

    def _order(self) -> Tuple[Any, ...]:
        """Returns the command for the worker host; see host.main."""
        raise NotImplementedError

    def _start_epoch(self) -> None:
        """Starts the epoch at its present position."""
        raise NotImplementedError

    def _fail(self, text: str) -> None:
        """Skips the batch that failed, and raises its exception."""
        raise NotImplementedError

    def _awaited(self) -> int:
        """Returns the number of the next batch in the epoch."""
        position = self._position
        return (position.first + position.samples) // (
            self._plan.options["batch_size"])

    def _restored(self, text: str) -> Exception:
        """Returns the exception that a worker described, or one with the daemon's
        message about workers."""
        where = f"worker process of {self._plan.name}"
        return (failure.restore(text, where) if self._host is None else
                self._host.restore(text, where))

    # --- The methods that Epoch calls.

    @property
    def connection(self) -> Any:
        return self._connection

    @property
    def _wrapper(self) -> Any:
        return self._plan.wrapper

    def stats(self) -> Dict[str, int]:
        """Returns the stats of DataLoader for this connection; an empty dict without a
        connection."""
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
        """Ends the epoch, so that another one can begin."""
        if self._current is not None:
            self._finish()

    def _await(self, epoch: Any, status: Any) -> Any:
        """Waits for the memory of the next batch, as DataLoader does."""
        began = time.monotonic()
        hosts = [0, 0]  # worker hosts that have ended: those of others, and its own
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
        """Called after each slice of a wait. Subclasses may override it."""

    def end(self, epoch: Any) -> None:
        """Ends the epoch, which is complete."""
        epoch.end()
        self._finish()
        self._on_end(epoch._position)

    def _finish(self) -> None:
        """Ends the work on the epoch, which is complete or abandoned."""
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
            socket = self._connection.start_workers(
                plan.stage.workers, plan.are_persistent)
        except errors.StateError as error:
            # Another loader's workers make the samples for this one, too. With
            # "dlpack", the samples are not checked, because the client cannot copy such
            # tensors to the host.
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
        except errors.SourceUnavailable:  # the worker host was killed: tries once more
            self._host.end()
            return self._start_host().make(task, worker)

    def _compare_some(self, samples: int, describe: Callable[
            [List[int]], Tuple[Any, Sequence[str], List[Flat]]]) -> None:
        """If another loader's workers have made a batch, makes some of its samples
        itself and compares them. Ends the run if they differ.

        Args:
          samples: the number of samples in the batch.
          describe: a function of places in the batch that returns the arguments of
            SharedCheck.compare.
        """
        chosen = [] if self._check is None else self._check.choose(samples)
        if not chosen or self._check is None:
            return
        try:
            self._check.compare(*describe(chosen))
        except BaseException:  # an interrupt, too, leaves the batch unchecked
            self.close()
            raise

    def restart(self, epoch: Any) -> None:
        """Starts again at the next batch. Called if the daemon or the worker host was
        lost, or if another job's worker host has ended with its trainer."""
        self._end_processes(keeps_spare=True)
        self._start()
        epoch.read_from(self._connection)

    def _go_on(self, epoch: Any) -> None:
        """Starts the epoch again after a batch that failed."""
        self._is_stopped = False
        self._start_epoch()
        epoch.read_from(self._connection)

    def _end_processes(self, keeps_spare: bool = False) -> None:
        """Ends the connection and the worker host.

        Args:
          keeps_spare: whether to keep a worker host that has not served yet. It has the
            dataset as it was at the iter().
        """
        self._is_served = False
        self._check, connection = None, self._connection
        if connection is not None:
            try:
                self._plan.note(self.stats())
            except errors.ForebayError:
                pass  # the daemon has gone
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
    """Returns 16 bytes that identify this dataset."""
    kind = type(plan.stage.dataset)
    return hashlib.blake2b(
        repr((kind.__module__, kind.__qualname__, size, fields)).encode(),
        digest_size=16).digest()


def ender(loader: Any) -> Callable[[Position], None]:
    """Returns a function that tells a StagedLoader, if it still exists, that a
    position's epoch is complete. The loader keeps runs, and these must not keep the
    loader alive."""
    reference = weakref.ref(loader)

    def end(position: Position) -> None:
        found = reference()
        if found is not None:
            with found._lock:
                found._progress.end(position)

    return end
