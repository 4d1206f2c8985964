"""A worker process: makes samples or batches in the daemon's slots."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import select
import signal
import socket
import sys
import time
from typing import Any, Dict, List, NamedTuple, Optional, Set, Tuple, Union

from . import failure, forked, making, payload, placed, seeds, structure, wire
from .batches import Ordered
from .feed import Feed
from .iteration import Exhausted, Shard, Sharded
from .listed import Listed
from .making import Stage
from .shard_state import Kept
from .slots import Guard, Slot

_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15
_prctl = ctypes.CDLL(None).prctl
_FEED_SECONDS = 0.005  # the time between looks for a batch that was not put yet
_GUESSED_NANOS = 8_000_000  # the daemon's guess, in server/stream/sample_cost.h
_IDLE_MILLISECONDS = 5  # the time without a task after which slots are protected


def become(number: int, stage: Stage) -> None:
    """Makes this process a worker. From now on, the process ends with its parent,
    ignores signals of the terminal, and computes on one thread. If a fault such as
    SIGSEGV ends it, it prints a traceback.

    Args:
      number: 0 to stage.workers - 1.
    """
    parent = os.getppid()
    _prctl(_PR_SET_NAME, b"forebay-worker")
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    forked.note_worker()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if not faulthandler.is_enabled():
        try:
            faulthandler.enable()
        except Exception:
            pass  # stderr is not a file with a descriptor
    torch = sys.modules.get("torch")
    if torch is not None:
        # If no descriptor is left, torch could not read this file, and would abort the
        # process.
        with contextlib.suppress(OSError):
            os.close(os.open("/proc/cpuinfo", os.O_RDONLY))
            torch.set_num_threads(1)
        info = sys.modules.get("torch.utils.data._utils.worker")
        if info is not None:
            info._worker_info = info.WorkerInfo(  # type: ignore[attr-defined]
                id=number, num_workers=stage.workers, seed=stage.seed + number,
                dataset=stage.dataset)


class RowFeed(NamedTuple):
    """The samples that workers make one by one, each as a row of a batch.

    Attributes:
      batch_size: the number of samples in a batch.
      listed: the samples' keys; None: the daemon's numbers are the keys.
    """

    batch_size: int
    listed: Optional[Listed]


class First(NamedTuple):
    """A sample that was made before the daemon asked for it.

    Attributes:
      key, seed: those of the sample.
      value: the sample.
      nanos: the nanoseconds that it took to make the sample.
    """

    key: int
    seed: int
    value: Any
    nanos: int


class Rows:
    """Makes samples of one structure, each in its row of a batch. If the slot has a
    device part, all fields lie there."""

    def __init__(self, layout: Any, feed: RowFeed, first: Optional[First] = None):
        """
        Args:
          layout: the structure of the samples.
          first: a sample that was made already. It is used if it is the first sample
            for which the daemon asks.
        """
        self._layout = layout
        self._batch_size, self._listed = feed
        self._first = first

    def begin(self, stage: Stage, number: int) -> None:
        """Must be called once, in the worker."""
        del number
        self._dataset = stage.dataset
        self._seed = stage.seed
        self._write = structure.writer(self._layout)
        self._leaves = structure.leaves(self._layout)
        self._arrays: Dict[int, List[Any]] = {}

    def make(self, sample: wire.Sample, epoch: int,
             slots: Dict[int, Slot]) -> None:
        """Makes a sample.

        Raises:
          Exception: an exception of the user's code.
          structure.Irregular: the sample has another structure than the first one.
        """
        number = sample.slot if sample.device is None else sample.device
        arrays = self._arrays.get(number)
        if arrays is None:
            arrays = self._arrays[number] = self._map(slots[number])
        key, seed = self._key_of(sample, epoch)
        first, self._first = self._first, None
        try:
            if first is not None and (first.key, first.seed) == (key, seed):
                made = first.value
            else:
                seeds.seed_generators(seed)
                made = self._dataset[key]
                forked.end_child()
            self._write(made, arrays, sample.row)
        except structure.Irregular as error:
            raise structure.Irregular(f"sample {key}: {error}") from None
        except BaseException as error:
            failure.note(error, f"making sample {key}")
            raise

    def wants_first(self, task: wire.Task) -> bool:
        """Whether a task begins with the sample `first`."""
        assert self._first is not None
        return self._key_of(task.samples[0], task.epoch) == (
            self._first.key, self._first.seed)

    def _key_of(self, sample: wire.Sample, epoch: int) -> Tuple[int, int]:
        """Returns the key and the seed of a sample."""
        if self._listed is None:
            return sample.id, sample.seed
        return (int(self._listed.keys[sample.id]),
                self._listed.seed(self._seed, epoch, sample.id))

    def _map(self, slot: Slot) -> List[Any]:
        import numpy
        return [numpy.ndarray((self._batch_size, *leaf.shape), leaf.dtype,
                              slot.memory, offset)
                for leaf, offset in zip(self._leaves, slot.offsets)]


class Batches:
    """Makes whole batches, each in its own slot. A failure also becomes a payload."""

    def __init__(self, source: Union[Feed, Ordered, Listed, Sharded], room: int,
                 tensors: int, framework: str):
        """
        Args:
          room: the room for a payload, in bytes.
          tensors: the room, in bytes, for tensors, which then are another field. 0:
            tensors are in the payload.
          framework: the framework of these tensors.
        """
        self._source = source
        self._room = room
        self._kept = Kept() if isinstance(source, Sharded) else None
        self._tensors = tensors
        self._framework = framework

    def begin(self, stage: Stage, number: int) -> None:
        """Must be called once, in the worker."""
        self._stage = stage
        self._shard: Optional[Shard] = None
        if isinstance(self._source, Sharded):
            self._shard = Shard(stage, number, self._source.states.get(number),
                                self._kept)

    def make(self, sample: wire.Sample, epoch: int,
             slots: Dict[int, Slot]) -> None:
        """Makes the batch whose number is the sample's number."""
        slot = slots[sample.slot]
        begin = slot.offsets[0]
        memory = memoryview(slot.memory)[begin:begin + self._room]
        kind, value = self._made(sample.id, epoch)
        forked.end_child()
        try:
            state = None if self._shard is None else self._shard.state()
            payload.write(memory, kind, value, state or b"",
                          self._apart(sample, slots))
        except Exception as error:
            payload.write(memory, payload.FAILED, failure.describe(
                error, "pickling the batch"))

    def _apart(self, sample: wire.Sample,
               slots: Dict[int, Slot]) -> Optional[placed.Apart]:
        """Returns the Apart that takes the tensors; None: they go into the payload."""
        if not self._tensors:
            return None
        slot = slots[sample.slot if sample.device is None else sample.device]
        begin = slot.offsets[1]
        return placed.Apart(memoryview(slot.memory)[begin:begin + self._tensors],
                            self._framework)

    def _made(self, number: int, epoch: int) -> Tuple[int, Any]:
        source, doing = self._source, ""
        try:
            if isinstance(source, Sharded):
                assert self._shard is not None
                number //= source.workers
                doing = f"making batch {number} of its own"
                return payload.BATCH, self._shard.batch(epoch, number)
            batch = (source.batch(epoch, number)
                     if isinstance(source, (Ordered, Listed)) else
                     _await(source, number))
            if batch is None:
                return payload.END, None
            return payload.BATCH, making.make(self._stage, batch)
        except Exhausted:
            return payload.END, None
        except BaseException as error:
            forked.end_child(error)
            return payload.FAILED, failure.describe(error, doing)


def _await(feed: Feed, number: int) -> Any:
    while True:
        try:
            return feed.get(number)
        except LookupError:
            time.sleep(_FEED_SECONDS)


class Worker:
    """Does the tasks that come on a socket, and answers them, until the socket is
    closed."""

    def __init__(self, tasks: socket.socket, stage: Stage, maker: Any,
                 slots: Dict[int, Slot]):
        """
        Args:
          maker: Rows or Batches.
          slots: the slots by number.
        """
        self._tasks = tasks
        self._stage = stage
        self._maker = maker
        self._slots = slots
        self._guard = Guard(slots)
        self._failed_init: Optional[str] = None

    def run(self, number: int) -> None:
        """Becomes a worker, and serves until the socket is closed.

        Args:
          number: the worker's number.
        """
        become(number, self._stage)
        for slot in self._slots.values():
            slot.keep_from_children()
        try:
            making.initialize(self._stage, number)
            forked.end_child()
        except BaseException as error:
            forked.end_child(error)
            self._failed_init = failure.describe(error, "running worker_init_fn")
        self._maker.begin(self._stage, number)
        self._answer_all(0)

    def run_from(self, first: First) -> None:
        """Does what `run` does, in the process that has made the sample `first`, as
        worker 0. If the first task does not begin with that sample, returns. Another
        process, whose dataset has not made the sample, then does the task."""
        self._maker.begin(self._stage, 0)
        message = self._tasks.recv(wire.MAX_MESSAGE, socket.MSG_PEEK)
        if message and self._maker.wants_first(wire.read_task(message)):
            # The first sample may have taken much longer than others, because it opened
            # files. Therefore the daemon is told no more than its own guess.
            self._answer_all(min(first.nanos, _GUESSED_NANOS))

    def _answer_all(self, nanos: int) -> None:
        """Answers tasks until the socket is closed.

        Args:
          nanos: nanoseconds that are added to those of the first task.
        """
        idle = select.poll()
        idle.register(self._tasks.fileno(), select.POLLIN)
        while True:
            if self._guard.is_open and not idle.poll(_IDLE_MILLISECONDS):
                self._guard.close()
            message = self._tasks.recv(wire.MAX_MESSAGE)
            if not message:
                return
            began = time.process_time_ns()
            failures = self._make(wire.read_task(message))
            self._tasks.send(wire.answer(
                time.process_time_ns() - began + nanos, failures))
            nanos = 0

    def _make(self, task: wire.Task) -> List[Tuple[int, str]]:
        text = self._failed_init
        try:
            self._guard.begin(_slots_of(task))
        except Exception as error:
            text = failure.describe(error)
        if text is not None:
            return [(index, text) for index in range(len(task.samples))]
        failures = []
        for index, sample in enumerate(task.samples):
            try:
                self._maker.make(sample, task.epoch, self._slots)
            except BaseException as error:
                forked.end_child(error)
                failures.append((index, failure.describe(
                    error, f"making sample {sample.id}")))
        self._guard.end()
        return failures


def _slots_of(task: wire.Task) -> Set[int]:
    """Returns the numbers of the slots that a task names."""
    return {number for sample in task.samples
            for number in (sample.slot, sample.device) if number is not None}
