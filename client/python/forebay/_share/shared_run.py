"""A job's part in an iterable over which one process iterates for all jobs."""

from __future__ import annotations

import contextlib
import logging
import os
from typing import TYPE_CHECKING, Any, Optional

from .. import (_batch, _connection, _fork, _native, _native_dataset, _retry,
                errors)
from .._position import Position
from .._stage import failure, payload
from .._stage.batch_epoch import BatchEpoch
from .._stage.batch_run import Made
from .._stage.plan import Plan
from .._stage.run import Run
from .deadline import Deadline, Missed
from .iteration import NUMBERS, Gone, State
from .place import Place

if TYPE_CHECKING:
    from .shared import Shared

_FIRST_ROOM = 1 << 20  # the bytes of a batch, until a batch is known
_HUGE_PAGE = 2 << 20
_MANY = 1 << 40  # more batches than any epoch has
_TRIES = 3  # the tries to join a stream
_log = logging.getLogger("forebay")


def closed() -> errors.StateError:
    """Returns the error for a thread whose shared iterable was closed by another
    thread."""
    return errors.StateError("what was shared is closed")


class SharedRun(Run):
    """The connection of a job, and its part in the process that iterates.

    Attributes:
      taken: the number of batches that the user has got, over all connections.
      missed: the number of batches that were gone before this job could read them.
    """

    def __init__(self, source: Any, plan: Plan, place: Place, identity: bytes):
        super().__init__(plan, Position(0), identity, lambda _: None)
        self.stays = True
        self._source = source
        self._place = place
        self._wrapper_of_bytes = _batch.Wrapper("numpy", None)
        self._room = _FIRST_ROOM
        # The place of the next batch; the epoch is None until one is known.
        self._epoch: Optional[int] = None
        self._number = 0
        self._first = 0  # the number of batches in earlier iterations
        self._state: Optional[State] = None
        self._has_batch = False  # whether this iteration has given a batch
        self.taken = self.missed = 0
        self._has_warned = False
        self._is_lockstep = plan.options["sharing"] == _native.SHARING["lockstep"]
        self._deadline = Deadline(0)

    @property
    def connection(self) -> Any:
        """The connection of the present stream.

        Raises:
          errors.StateError: another thread has closed the shared iterable.
        """
        connection = self._connection
        if connection is None:
            raise closed()
        return connection

    def epoch(self, owner: Shared) -> BatchEpoch:
        """Begins an iteration."""
        position = Position(self._epoch or 0)
        self._has_batch = False
        self._deadline = Deadline(self._plan.timeout)
        if self.is_own:
            self.abandon()  # ends an iteration that is still under way
        if self.is_resting and self.is_own:
            self.is_resting = False
            self._position = self._current = position
            try:
                self._start_epoch()
            except (errors.StateError, *errors.PASSING):
                self._move()
        else:
            self._end_processes()
            self._position = self._current = position
            if not self.is_own:
                self._pid = os.getpid()
                self.taken = self.missed = 0  # these counts belong to the parent
            self.start()
        return BatchEpoch(self, position, owner)  # type: ignore[arg-type]

    # --- The methods that BatchEpoch calls.

    def take(self, epoch: BatchEpoch) -> Made:
        """Returns the next batch.

        Raises:
          StopIteration: the iteration has ended.
          errors.ForebayError: of the fitting class.
        """
        self._deadline = Deadline(self._plan.timeout)
        while True:
            memory = epoch._next_memory()
            if memory.__class__ is int:
                memory = self._await(epoch, memory)
            made = self._read(epoch, memory)
            if made is not None:
                return made

    def _read(self, epoch: BatchEpoch, memory: Any) -> Optional[Made]:
        array = self._wrapper_of_bytes.wrap(memory, epoch._view)[0][0]
        samples = self._position.samples
        try:
            found = payload.read(memoryview(array))
        except Exception as error:
            self._number += 1
            return Made(self._number - 1, None, error, samples, samples + 1)
        if found.kind == payload.FAILED:
            if not self._comes_to(epoch, *NUMBERS.unpack(found.state)):
                return None
            return Made(self._number - 1, None, failure.restore(
                found.value, f"process that iterates {self._plan.name}"), samples,
                samples + 1)
        if found.kind == payload.BATCH:
            return self._place_batch(epoch, *found.value)
        epoch.drop_pending()
        if found.kind == payload.TOO_LARGE:
            self._room = _with_reserve(found.value[0])
            self.restart(epoch)
            return None
        self._end_of(epoch, *found.value)
        return None

    def _place_batch(self, epoch: BatchEpoch, iteration: int, number: int, first: int,
                     state: Optional[State], batch: Any) -> Optional[Made]:
        if not self._comes_to(epoch, iteration, number, first):
            return None
        self._state = state or self._state
        if isinstance(batch, Gone):
            self._note_missed(1)
            epoch.drop_pending()
            return None
        samples = self._position.samples
        return Made(number, batch, None, samples, samples + 1)

    def _comes_to(self, epoch: BatchEpoch, iteration: int, number: int,
                  first: int) -> bool:
        """Records that this batch is being read. Returns whether the user gets it: no
        user gets a batch twice.

        Raises:
          StopIteration: the batch is of a later iteration.
        """
        if self._epoch is not None and (
                (iteration, number) < (self._epoch, self._number)):
            epoch.drop_pending()
            return False
        self._note_missed(self._batches_to(first + number))
        if self._has_batch and iteration != self._epoch:
            epoch.drop_pending()
            self._leave_iteration(epoch, iteration, number, first)
        self._epoch, self._number, self._first = iteration, number + 1, first
        self._has_batch = True
        return True

    def _leave_iteration(self, epoch: BatchEpoch, iteration: int, number: int,
                         first: int) -> None:
        """Ends an iteration. The next iteration begins at the given place."""
        self._epoch, self._number, self._first = iteration, number, first
        self._position.epoch = iteration
        self.end(epoch)
        raise StopIteration

    def _batches_to(self, place: int) -> int:
        """Returns the number of batches from this job's place to `place`. Both places
        are counted in batches over all iterations."""
        return 0 if self._epoch is None else place - self._first - self._number

    def _note_missed(self, batches: int) -> None:
        if batches <= 0:
            return
        if not self._has_warned:
            self._has_warned = True
            _log.warning("%s: this job has missed batches: %s", self._plan.name,
                         "the process or the daemon that had them died"
                         if self._is_lockstep else
                         'others are too far ahead (sharing="lockstep" makes them '
                         "wait)")
        self.missed += batches

    def _end_of(self, epoch: BatchEpoch, iteration: int, size: Optional[int],
                first: int, following: int) -> None:
        # A job that has no place yet joins the other jobs at their place.
        joined = not self._has_batch and (size != 0 or self._epoch is None)
        first += size or 0
        self._note_missed(self._batches_to(first))
        if not joined:
            self._leave_iteration(epoch, following, 0, first)
        self._epoch, self._number, self._first = following, 0, first
        self._position.epoch = following
        # This job came when the other jobs had already ended the iteration, so it joins
        # the next one.
        self.connection.stop_epoch()
        self._start_epoch()
        epoch.read_from(self.connection)

    def passed(self, number: int, samples: int = 0) -> None:
        """Counts a batch that has reached the user."""
        del number, samples
        self.taken += 1

    # --- The methods of Run.

    def restart(self, epoch: Any) -> None:
        """Continues in another stream. This job leaves the old stream only once it has
        joined the new one, whose batches wait for it."""
        self._move()
        epoch.read_from(self.connection)

    def _move(self) -> None:
        before, self._connection = self.connection, None
        with contextlib.suppress(errors.ForebayError):  # the daemon may have gone
            self._plan.note(before.stats())
        try:
            try:
                self._start()
            except errors.ResourceExhausted:
                before.close()  # the memory may suffice for one stream only
                self._start()
        except BaseException:
            self._end_processes()
            raise
        finally:
            before.close()

    def _start(self) -> None:
        try:
            for _ in range(_TRIES - 1):
                # The process or the stream may end while this job joins.
                with contextlib.suppress(errors.StateError):
                    self._join()
                    return
                if self._current is None:
                    raise closed()
            self._join()
        except Missed:
            raise self._timed_out() from None

    def _join(self) -> None:
        plan = self._plan
        if plan.start_daemon is not None:
            plan.start_daemon()
        with self._place.locked(self._deadline) as folder:
            socket = self._open()
            try:
                if socket is not None:
                    self._serve(folder, socket)
                # The epoch starts while this job holds the lock, so that the next job
                # finds this job at its place.
                self._start_epoch()
                if self._current is None:  # another thread has closed the iterable
                    raise closed()
            except BaseException:
                if self._connection is not None:
                    self._connection.close()
                raise

    def _open(self) -> Optional[_fork.Descriptor]:
        """Opens a connection. Returns the socket for a worker pool's tasks, or None if
        another process serves that stream."""
        plan = self._plan
        fields = (("payload", "uint8", (self._room,)),)
        options = {**plan.options, "order": _native.SEQUENTIAL}
        options["dataset"] = _native_dataset.from_workers(
            plan.options["uri"], self.share_id, _MANY, fields, live=True)
        connection = self._connection = _retry.until_available(
            plan.name,
            lambda: _connection.Connection(options, None, plan.start_daemon),
            plan.start_daemon)
        try:
            return _fork.Descriptor(connection.start_workers(1))
        except errors.StateError:
            return None

    def _serve(self, folder: int, socket: _fork.Descriptor) -> None:
        process: Any = None
        try:
            process, (self._epoch, self._number, self._first,
                      needed) = self._ask_for_place(folder)
            if needed > self._room:
                socket.close()
                self.connection.close()
                self._room = _with_reserve(needed)
                opened = self._open()
                if opened is None:
                    return  # another process iterates by now
                socket = opened
            process.serve(self._room, socket.number)
        finally:
            if process is not None:
                process.close()
            socket.close()

    def _ask_for_place(self, folder: int) -> Any:
        """Returns the process that iterates, and its answer: the place of the next
        batch."""
        place = self._epoch, self._number, self._first, self._state
        process = self._place.find(folder, self._deadline)
        if process is not None:
            with contextlib.suppress(errors.StateError):  # the process was ending
                return process, process.prepare(*place)
        process = self._place.start(folder, self._source, self._deadline)
        return process, process.prepare(*place)

    def _start_epoch(self) -> None:
        # A place beyond all batches means the other jobs' place.
        self.connection.start_epoch(
            self._epoch or 0, _MANY if self._epoch is None else self._number)

    def _fail(self, text: str) -> None:
        raise failure.restore(text, f"process that iterates {self._plan.name}")


def _with_reserve(needed: int) -> int:
    """Returns the bytes to reserve for batches of about this size: a whole number of
    huge pages."""
    return -(-(needed + needed // 8) // _HUGE_PAGE) * _HUGE_PAGE
