"""Iterations of batches of any structure, which the user's code makes as a whole."""

from __future__ import annotations

import copy
import re
import reprlib
from typing import Any, Callable, Dict, Iterator, NamedTuple, Optional, Tuple

from .. import (_batch, _native, _native_dataset, _system_error, _user_error,
                errors)
from .._position import Position
from . import failure, own_samples, payload, placed, values
from .batches import Ordered
from .feed import Batch, Feed
from .listed import Listed
from .plan import Plan
from .room import Room
from .run import Run, identity

# The number of batches, after those that the trainer has received, that workers know.
_AHEAD = 64
_MAX_DEPTH = 16  # the daemon's largest depth
MAX_BATCHES = 1 << 40


class Made(NamedTuple):
    """A batch on its way to the user.

    Attributes:
      number: the batch's number in the run.
      batch: the batch that the user's code made.
      error: the exception that takes the batch's place, or None.
      before, after: the position's `samples` before and after the batch.
      states: with an iterable dataset, the worker's number, and its states before and
        after the batch; None if it has no state.
    """

    number: int
    batch: Any
    error: Optional[Exception]
    before: int
    after: int
    states: Optional[Tuple[int, Optional[bytes], bytes]] = None


class BatchRun(Run):
    """Batches. Each batch is made by one task of one worker, and lies in a slot.

    If the slots are too small for a batch, the run starts again with larger slots.
    """

    def __init__(self, plan: Plan, position: Position, share_id: Optional[bytes],
                 room: Room, on_end: Callable[[Position], None]):
        """
        Args:
          room: the Room that all runs of the loader share.
        """
        super().__init__(plan, position, share_id, on_end)
        self._wrapper_of_bytes = _batch.Wrapper(
            "numpy", None if plan.gpu is None else placed.Places())
        self._samples_taken = self._batches_taken = 0  # totals of the connection
        self._loaders_room = room
        self._room = copy.copy(room)
        self.next = self._first()  # the number of the next batch

    # --- The methods that subclasses implement.

    def _first(self) -> int:
        """Returns the number of the batch at the position."""
        return 0

    def _samples_after(self, number: int) -> int:
        """Returns the position's `samples` after batch `number`, which is the next
        batch."""
        raise NotImplementedError

    def _is_over(self, number: int, state: bytes) -> bool:
        """Records that a worker has no batch `number`. Returns whether the epoch has no
        further batch.

        Args:
          state: the state that came with the worker's answer.
        """
        return True

    def _states(self, number: int,
                state: bytes) -> Optional[Tuple[int, Optional[bytes], bytes]]:
        """Returns the `states` of a Made.

        Args:
          state: the state that came with the batch.
        """
        return None

    def _name_of(self, number: int) -> str:
        """Returns a batch's name, for people."""
        raise NotImplementedError

    def _fill(self, end: int) -> None:
        """Gives workers the batches up to number `end`, which is excluded."""

    def _shape(self) -> Tuple[Any, ...]:
        """Returns the number of the native dataset's batches, and the number of workers
        to which batches have affinity: worker k % number makes batch k."""
        return MAX_BATCHES, 0

    def _work(self) -> Any:
        """Returns the source of batches for the workers."""
        raise NotImplementedError

    # --- The methods that BatchEpoch calls.

    def take(self, epoch: Any) -> Made:
        """Returns the next batch.

        Raises:
          StopIteration: the epoch has ended.
          errors.ForebayError: of the fitting class.
        """
        while True:
            self._fill(self.next + _AHEAD)
            memory = epoch._next_memory()
            if memory.__class__ is int:
                memory = self._await(epoch, memory)
            made = self._read(epoch, memory)
            if made is not None:
                return made

    def _read(self, epoch: Any, memory: Any) -> Optional[Made]:
        """Reads the batch in `memory`. Returns None if the memory has no batch."""
        number = memory.next_sample - 1
        fields = self._wrapper_of_bytes.wrap(memory, epoch._view)
        before = self._position.samples
        after = self._samples_after(number)
        try:
            found = self._read_fields(fields)
        except errors.ForebayError:
            raise  # the error concerns the GPU
        except payload.Damaged:
            return Made(number, None, RuntimeError(
                f"{self._plan.name}: a worker process wrote over its batch"),
                before, after)
        except Exception as error:
            return Made(number, None, error, before, after)
        states = self._states(number, found.state)
        if found.kind == payload.BATCH:
            self._compare_some(after - before, lambda _: (
                own_samples.OwnBatch(self._work().batch(self._position.epoch, number)),
                [self._name_of(number)], [values.flat(found.value)]))
            return Made(number, found.value, None, before, after, states)
        if found.kind == payload.FAILED:
            return Made(number, None, failure.restore(
                found.value, f"worker process of {self._plan.name}"), before,
                after, states)
        epoch.drop_pending()
        if found.kind == payload.TOO_LARGE:
            self._room = self._room.grown(*found.value)
            self._loaders_room.widen(self._room)
            self.restart(epoch)
        else:
            self.next = number + 1
            if self._is_over(number, found.state):
                self.end(epoch)
                raise StopIteration
        return None

    def _read_fields(self, fields: Any) -> payload.Payload:
        memory, gpu = memoryview(fields[0][0]), self._plan.gpu
        if gpu is None:
            return payload.read(memory)
        tensors = fields[1]
        return payload.read(memory, placed.restorer(
            gpu, tensors if isinstance(tensors, placed.OnDevice) else
            tensors[0]).load)

    def passed(self, number: int, samples: int = 0) -> None:
        """Records that the user has batch `number`, of `samples` samples, and all
        batches before it."""
        if number >= self.next:  # a batch may be recorded twice
            self._samples_taken += samples
            self._batches_taken += 1
        self.next = number + 1

    def stats(self) -> Dict[str, int]:
        # The daemon counts each payload as one sample.
        found = super().stats()
        return found and {**found, "samples_delivered": self._samples_taken,
                          "batches_delivered": self._batches_taken}

    def _end_processes(self, keeps_spare: bool = False) -> None:
        super()._end_processes(keeps_spare)
        self._samples_taken = self._batches_taken = 0

    # --- The methods of Run.

    def begin(self, position: Position) -> None:
        self._position = position
        self.next = self._first()
        self._begin_epoch()
        super().begin(position)

    def _begin_epoch(self) -> None:
        """Forgets the previous epoch."""

    def _options(self) -> Dict[str, Any]:
        depth = max(self._plan.options["depth"],
                    min(self._plan.stage.workers + 1, _MAX_DEPTH))
        return {**super()._options(), "batch_size": 1, "depth": depth,
                "order": _native.SEQUENTIAL, "rank": 0, "world_size": 1,
                "uneven": _native.UNEVEN["none"], "drop_last": False}

    def _dataset(self) -> Any:
        fields = [("payload", "uint8", (self._room.bytes,))]
        if self._room.tensors:
            fields.append(("tensors", "uint8", (self._room.tensors,)))
        count, affinity_workers = self._shape()
        plan = self._plan
        told = (self.share_id, fields, plan.framework, plan.stage.is_batched,
                [plan.options[name] for name in (
                    "order", "seed", "rank", "world_size", "uneven",
                    "batch_size", "drop_last")])
        return _native_dataset.from_workers(
            plan.options["uri"], identity(plan, count, told), count, fields,
            affinity_workers, host_fields=len(fields) - 1)

    def _order(self) -> Tuple[Any, ...]:
        return ("batches", self._work(), self._room.bytes, self._room.tensors,
                self._plan.framework)

    def _start_epoch(self) -> None:
        self._fill(self.next + _AHEAD)
        self._connection.start_epoch(self._position.epoch, self.next)

    def _fail(self, text: str) -> None:
        number = self.next
        name = self._name_of(number)
        text = re.sub(rf"sample {number}(?=:|$)", lambda _: name, text, count=1)
        self._position.samples = self._samples_after(number)
        self.passed(number)
        raise self._restored(text) from None

    def _awaited(self) -> int:
        return self.next

    def _names_of(self, keys: Any) -> str:
        """Returns a name, for people, of the batch with these keys."""
        return (f"the batch of samples {reprlib.repr(keys)}"
                if self._plan.stage.is_batched else f"sample {keys!r}")


class FedRun(BatchRun):
    """Batches whose keys only the trainer knows. It gives them to its workers by a
    Feed."""

    _feed: Feed

    def __init__(self, plan: Plan, position: Position, batches: Iterator[Batch],
                 room: Room, on_end: Callable[[Position], None]):
        """
        Args:
          batches: the batches, beginning at the position.
          All others: see BatchRun.
        """
        with _system_error.exhaustion_of(
                f"no memory can be shared with the workers of {plan.name}"):
            self._feed = Feed()
        super().__init__(plan, position, None, room, on_end)
        self._batches = batches
        self._sizes: Dict[int, int] = {}  # the number of samples in coming batches
        self._is_fed = False  # whether all batches were put into the feed

    def feed(self, batches: Iterator[Batch]) -> None:
        """Prepares another epoch, for `begin`. Its batches get later numbers."""
        self._batches = batches
        self._sizes.clear()
        self._is_fed = False
        self._feed.begin()

    def _first(self) -> int:
        return self._feed.first

    def _samples_after(self, number: int) -> int:
        return self._position.samples + self._sizes.get(number, 1)

    def _fill(self, end: int) -> None:
        while not self._is_fed and self._feed.count < end:
            try:
                batch = next(self._batches, None)
            except Exception as error:
                # After an exception, a sampler that is a generator would seem to be at
                # its end.
                _user_error.marked(error)
                raise
            if batch is None:
                self._is_fed = True
            else:
                self._sizes[self._feed.count] = (
                    len(batch.keys) if self._plan.stage.is_batched else 1)
            self._feed.put(batch)

    def _while_waiting(self) -> None:
        # Feeds another batch: all workers may be waiting for batches that were not fed
        # yet, while the batch that is due must be made again.
        self._fill(self._feed.count + 1)

    def passed(self, number: int, samples: int = 0) -> None:
        super().passed(number, samples)
        self._sizes.pop(number, None)
        self._feed.drop_before(number)

    def _name_of(self, number: int) -> str:
        return self._names_of(self._feed.get(number).keys)

    def _work(self) -> Any:
        return None  # the worker pool has the feed already

    def close(self) -> None:
        super().close()
        self._feed.close()


class OrderedRun(BatchRun):
    """Batches in the daemon's order, which workers themselves get from the daemon.
    Loaders with one key share the batches."""

    def __init__(self, plan: Plan, position: Position, ordered: Ordered,
                 samples: int, share_id: Optional[bytes], room: Room,
                 on_end: Callable[[Position], None]):
        """
        Args:
          ordered: the batches; one of them begins at the position.
          samples: the number of samples of this rank in an epoch.
          All others: see BatchRun.
        """
        self._ordered = ordered
        self._samples = samples
        super().__init__(plan, position, share_id, room, on_end)

    def _first(self) -> int:
        return self._position.first // (self._ordered.batch_size or 1)

    def _samples_after(self, number: int) -> int:
        size = self._ordered.batch_size or 1
        return min((number + 1) * size, self._samples) - self._position.first

    def _name_of(self, number: int) -> str:
        return self._names_of(self._ordered.batch(self._position.epoch,
                                                  number).keys)

    def _shape(self) -> Tuple[Any, ...]:
        whole, rest = divmod(self._samples, self._ordered.batch_size or 1)
        return whole + (rest > 0 and not self._plan.stage.drop_last), 0

    def _work(self) -> Any:
        return self._ordered


class ListedRun(BatchRun):
    """Batches of a list that workers have. Loaders with one key share the batches."""

    def __init__(self, plan: Plan, position: Position, listed: Listed,
                 share_id: Optional[bytes], room: Room,
                 on_end: Callable[[Position], None]):
        """
        Args:
          listed: the keys, beginning at the position.
          All others: see BatchRun.
        """
        self._listed = listed
        super().__init__(plan, position, share_id, room, on_end)

    def _samples_after(self, number: int) -> int:
        return self._listed.end_of(number) - self._position.first

    def _name_of(self, number: int) -> str:
        return self._names_of(self._listed.batch(self._position.epoch,
                                                 number).keys)

    def _shape(self) -> Tuple[Any, ...]:
        return len(self._listed), 0

    def _work(self) -> Any:
        return self._listed
