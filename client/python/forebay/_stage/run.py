"""Iterations of a loader whose batches the user's code makes."""

from __future__ import annotations

import hashlib
import os
import re
import time
from typing import Any, Callable, Dict, Optional, Tuple

from .. import _connection, _native, _native_dataset, _retry, errors
from .._position import Position
from . import failure, structure
from .feed import Feed
from .host_process import HostProcess
from .listed import Listed
from .plan import Plan

_MAX_HOSTS = 8  # that may end, one after the other, before a batch comes


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

    _feed: Optional[Feed] = None

    def __init__(self, plan: Plan, position: Position, share_id: Optional[bytes],
                 on_end: Callable[[], None]):
        """
        Args:
          share_id: as the attribute.
          on_end: is called when the epoch is over.
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
        try:
            self._start_epoch()
        except (errors.StateError, *errors.PASSING):
            self._end_processes()
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
            "the loader is closed: this iteration is over"
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
        hosts = 0
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
            except (errors.StateError, *errors.PASSING):
                hosts += 1
                if hosts > _MAX_HOSTS or self._current is None:
                    self.close()
                    raise
                self.restart(epoch)
            timeout = self._plan.timeout
            if timeout and time.monotonic() - began > timeout:
                self.close()
                raise RuntimeError(
                    f"DataLoader timed out after {timeout:g} seconds: "
                    f"{self._plan.name} has not made batch {self._awaited()}")
            self._while_waiting()
            memory = status = epoch._next_memory()
            if memory.__class__ is not int:
                return memory
        self.end(epoch)
        raise StopIteration

    def _while_waiting(self) -> None:
        """Is called now and then."""

    def end(self, epoch: Any) -> None:
        """Ends the epoch, which is complete."""
        epoch.end()
        self._finish()
        self._on_end()

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
        self._host = HostProcess(plan.name, plan.context, plan.stage, self._feed,
                                 self.share_id is not None, plan.timeout)
        self._prepare(self._host)
        options = dict(self._options())
        options["dataset"] = self._dataset()
        self._connection = _connection.Connection(options, None, plan.start_daemon)
        try:
            socket = self._connection.start_producers(
                plan.stage.workers, plan.are_persistent)
        except errors.StateError:
            # The workers of an equal loader make the samples for this one, too.
            self._host.end()
            self._host = None
        else:
            self._host.serve(self._order(), socket)

    def restart(self, epoch: Any) -> None:
        """Starts anew where next() stands: a daemon or the host was lost."""
        self._end_processes()
        self._start()
        epoch.read_from(self._connection)

    def _go_on(self, epoch: Any) -> None:
        """Starts the epoch again behind a batch that failed."""
        self._is_stopped = False
        self._start_epoch()
        epoch.read_from(self._connection)

    def _end_processes(self) -> None:
        connection = self._connection
        if connection is not None:
            try:
                self._plan.note(self.stats())
            except errors.ForebayError:
                pass  # the daemon is gone
            self._connection = None
            connection.close()
        process, self._host = self._host, None
        if process is not None:
            process.end()

    def close(self) -> None:
        """Ends the iteration and its processes; batches in use stay valid."""
        self.is_resting = False
        self._current = None
        if self._pid == os.getpid():
            self._end_processes()


class RowRun(Run):
    """Samples of one structure, each in its row of a batch."""

    def __init__(self, plan: Plan, position: Position, size: int,
                 listed: Optional[Listed], share_id: Optional[bytes],
                 on_end: Callable[[], None]):
        """
        Args:
          size: samples in the dataset.
          listed: their keys. The daemon's numbers are places in it then. Without
            it, the daemon has those of a position that lists them.
        """
        super().__init__(plan, position, share_id, on_end)
        self._size = size if listed is None else len(listed.keys)
        self._listed = listed
        self._layout: Any = None

    def _post_processing(self, batch: Any) -> Any:
        fields = list(batch)
        if self._plan.gpu is None:
            self._detach_numbers(fields)
        return self._plan.finish(structure.collated(self._layout, fields))

    def _detach_numbers(self, fields: Any) -> None:
        for index, leaf in enumerate(structure.leaves(self._layout)):
            if not leaf.shape:
                # Holding a label is to keep no batch alive.
                fields[index] = (fields[index].clone()
                                 if self._plan.framework == "torch" else
                                 fields[index].copy())

    def _prepare(self, host: HostProcess) -> None:
        if self._layout is None:
            indices = self._position.indices
            first = 0 if indices is None else int(indices[0])
            self._layout = host.probe(first, self._plan.stage.seed)

    def _options(self) -> Dict[str, Any]:
        if self._listed is None:
            return super()._options()
        return {**super()._options(), "order": _native.SEQUENTIAL, "rank": 0,
                "world_size": 1, "uneven": _native.UNEVEN["none"]}

    def _dataset(self) -> Any:
        plan = self._plan
        fields = tuple((f"field{number}", leaf.dtype, leaf.shape)
                       for number, leaf in
                       enumerate(structure.leaves(self._layout)))
        return _native_dataset.from_producers(
            plan.options["uri"],
            identity(plan, self._size, (
                self.share_id, fields, structure.names(self._layout))),
            self._size, fields)

    def _order(self) -> Tuple[Any, ...]:
        return ("rows", self._layout, self._plan.options["batch_size"],
                self._listed)

    def _start_epoch(self) -> None:
        position = self._position
        self._connection.start_epoch(position.epoch,
                                     position.first + position.samples,
                                     position.list_to_send()
                                     if self._listed is None else None)

    def _fail(self, text: str) -> None:
        if failure.is_of(text, structure.Irregular):
            self.close()  # another run goes on
            raise structure.Irregular(failure.message(text)) from None
        self._position.samples = min(
            self._position.samples + self._plan.options["batch_size"],
            self._samples() - self._position.first)
        if self._listed is not None:
            text = re.sub(r"(?<=made sample )(\d+)(?=:|$)", self._name_of_key, text)
        raise self._restored(text) from None

    def _name_of_key(self, place: "re.Match[str]") -> str:
        assert self._listed is not None
        return f"{self._listed.keys[int(place.group(1))]}"

    def _samples(self) -> int:
        """The samples of this rank in the epoch."""
        indices = self._position.indices
        return (self._connection.samples_per_epoch
                if indices is None or self._listed is not None else len(indices))


def identity(plan: Plan, size: int, fields: Any) -> bytes:
    """16 bytes that tell this dataset from others."""
    kind = type(plan.stage.dataset)
    return hashlib.blake2b(
        repr((kind.__module__, kind.__qualname__, size, fields)).encode(),
        digest_size=16).digest()
