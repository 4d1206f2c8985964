"""A worker process: makes samples of a dataset in the daemon's slots."""

from __future__ import annotations

import ctypes
import os
import random
import signal
import socket
import sys
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from . import failure, structure, wire

_PR_SET_PDEATHSIG = 1


class Stage(NamedTuple):
    """The user's code, and what its workers are told.

    Attributes:
      dataset: has __getitem__.
      worker_init_fn: of the worker's number; called once in each. None: nothing.
      workers: how many there are at most.
      seed: of the loader.
    """

    dataset: Any
    worker_init_fn: Optional[Callable[[int], None]]
    workers: int
    seed: int


class Slot(NamedTuple):
    """Memory that workers write.

    Attributes:
      memory: mmap.mmap.
      offsets: of the fields.
    """

    memory: Any
    offsets: Tuple[int, ...]


def become(number: int, stage: Stage) -> None:
    """Makes this process a worker: it ends with its parent, leaves signals of the
    terminal to the trainer, and computes on one thread.

    Args:
      number: 0 to stage.workers - 1.
    """
    parent = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
        info = sys.modules.get("torch.utils.data._utils.worker")
        if info is not None:
            info._worker_info = info.WorkerInfo(  # type: ignore[attr-defined]
                id=number, num_workers=stage.workers, seed=stage.seed,
                dataset=stage.dataset)


def seed_generators(seed: int) -> None:
    """Seeds Python's, NumPy's and torch's random generators.

    Args:
      seed: 64 bits.
    """
    random.seed(seed)
    numpy = sys.modules.get("numpy.random")
    if numpy is not None:
        numpy.seed(seed & 0xFFFFFFFF)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.default_generator.manual_seed(seed)


class Worker:
    """Answers the tasks of one socket, until it ends."""

    def __init__(self, tasks: socket.socket, stage: Stage, layout: Any,
                 batch_size: int, slots: Dict[int, Slot]):
        """
        Args:
          layout: the structure of the samples.
          slots: by number.
        """
        self._tasks = tasks
        self._stage = stage
        self._write = structure.writer(layout)
        self._leaves = structure.leaves(layout)
        self._batch_size = batch_size
        self._slots = slots
        self._arrays: Dict[int, List[Any]] = {}
        self._failed_init: Optional[str] = None

    def run(self, number: int) -> None:
        """Serves; returns when the socket ends.

        Args:
          number: of the worker.
        """
        become(number, self._stage)
        if self._stage.worker_init_fn is not None:
            try:
                seed_generators(self._stage.seed + number)
                self._stage.worker_init_fn(number)
            except BaseException as error:
                self._failed_init = failure.describe(error)
        while True:
            message = self._tasks.recv(wire.MAX_MESSAGE)
            if not message:
                return
            began = time.process_time_ns()
            failures = self._make(wire.read_task(message).samples)
            self._tasks.send(wire.answer(
                time.process_time_ns() - began, failures))

    def _make(self, samples: List[wire.Sample]) -> List[Tuple[int, str]]:
        if self._failed_init is not None:
            return [(index, self._failed_init) for index in range(len(samples))]
        failures = []
        dataset = self._stage.dataset
        for index, (number, seed, slot, row) in enumerate(samples):
            try:
                arrays = self._arrays.get(slot) or self._map(slot)
                seed_generators(seed)
                self._write(dataset[number], arrays, row)
            except structure.Irregular as error:
                failures.append((index, failure.describe(RuntimeError(
                    f"sample {number}: {error}"))))
            except BaseException as error:
                failures.append((index, failure.describe(error)))
        return failures

    def _map(self, slot: int) -> List[Any]:
        import numpy
        memory, offsets = self._slots[slot]
        arrays: List[Any] = [
            numpy.ndarray((self._batch_size, *leaf.shape), leaf.dtype, memory,
                          offset)
            for leaf, offset in zip(self._leaves, offsets)]
        self._arrays[slot] = arrays
        return arrays
