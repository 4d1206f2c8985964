"""One iteration of a loader whose samples the user's code makes."""

from __future__ import annotations

import hashlib
import multiprocessing
import multiprocessing.reduction
import os
import time
from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple

from .. import _batch, _connection, _native, _native_dataset, _retry, errors
from .._position import Position
from . import failure, host, structure
from .worker import Stage

_PROBE_SECONDS = 0.25  # between looks whether the host lives
_MAX_HOSTS = 3  # that may end, one after the other, before a batch comes


class Plan(NamedTuple):
    """All that the iterations of a loader have in common.

    Attributes:
      stage: the user's code.
      size: samples in the dataset.
      options: dict of fields of _native.LoaderOptions, without `dataset`.
      framework: "torch" or "numpy".
      start_daemon: see _retry.Retry.
      context: of multiprocessing, by which the host is started.
      timeout: seconds to wait for a batch; 0: without end.
      batch_transform: of the parts of each batch, or None.
      pins: whether batches go to page-locked memory.
    """

    stage: Stage
    size: int
    options: Dict[str, Any]
    framework: str
    start_daemon: Optional[Callable[[], None]]
    context: Any
    timeout: float
    batch_transform: Optional[Callable[..., Any]]
    pins: bool


class Host:
    """The host process of the workers, as the trainer sees it."""

    def __init__(self, plan: Plan):
        ours, theirs = multiprocessing.Pipe()
        self._connection = ours
        # Its own way of ending is that the connection does; daemonic processes
        # end with the trainer.
        self._process = plan.context.Process(
            target=host.main, args=(theirs, ours, plan.stage), daemon=True)
        self._process.start()
        theirs.close()

    def probe(self, number: int, seed: int) -> Any:
        """The structure of a sample.

        Raises:
          structure.Irregular: batches cannot have such samples.
          Exception: that of the user's code.
        """
        kind, said = self._ask(("probe", number, seed))
        if kind == "irregular":
            raise structure.Irregular(said)
        if kind == "failed":
            raise failure.restore(said, "worker process")
        return said

    def _ask(self, order: Tuple[Any, ...]) -> Any:
        try:
            self._connection.send(order)
            while not self._connection.poll(_PROBE_SECONDS):
                if not self._process.is_alive():
                    raise EOFError
            return self._connection.recv()
        except (EOFError, OSError):
            raise errors.StateError(
                "the process that runs the dataset's code has ended") from None

    def serve(self, layout: Any, batch_size: int, socket: int) -> None:
        """Lets it serve the daemon; closes `socket`, a descriptor."""
        try:
            self._connection.send(("serve", layout, batch_size))
            multiprocessing.reduction.send_handle(
                self._connection, socket, self._process.pid)
        except OSError:
            pass  # the daemon finds the socket closed
        finally:
            os.close(socket)

    def end(self) -> None:
        """Ends the process and its workers; waits for that."""
        self._connection.close()
        self._process.join(5)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


class Run:
    """One iteration: its workers and its connection to the daemon.

    It is to _epoch.Epoch what a loader is.
    """

    def __init__(self, plan: Plan, position: Position,
                 on_end: Callable[[], None]):
        """Starts the workers, and the epoch at `position`.

        Args:
          on_end: is called when the epoch is over.

        Raises:
          Exception: that of the user's code, when it makes the first sample.
          errors.ForebayError: of the fitting class.
        """
        self._plan = plan
        self._position = position
        self._current: Optional[Position] = position
        self._on_end = on_end
        self._wrapper = _batch.Wrapper(plan.framework, None)
        self._host: Optional[Host] = None
        self._connection: Any = None
        self._is_stopped = False  # the epoch, at a batch that failed
        self._layout: Any = None
        self._pid = os.getpid()
        try:
            self._start()
        except structure.Irregular as error:
            self.close()
            raise errors.Unsupported(
                f"{plan.options['uri'].decode()}: a batch cannot have {error}, "
                "which its samples have: keep torch's DataLoader for it"
            ) from None
        except BaseException:
            self.close()
            raise

    # --- What Epoch uses.

    @property
    def connection(self) -> Any:
        return self._connection

    def _post_processing(self, batch: Any) -> Any:
        fields = list(batch)
        for index, leaf in enumerate(structure.leaves(self._layout)):
            if not leaf.shape:
                # Holding a label is to keep no batch alive.
                fields[index] = (fields[index].clone()
                                 if self._plan.framework == "torch" else
                                 fields[index].copy())
        made = structure.collated(self._layout, fields)
        transform = self._plan.batch_transform
        if transform is not None:
            made = (transform(*made) if isinstance(made, (tuple, list)) else
                    transform(made))
        return structure.pinned(made) if self._plan.pins else made

    def _say_why_over(self) -> None:
        raise errors.StateError("the loader is closed: this iteration is over")

    def _abandon(self, position: Position) -> None:
        self.close()

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
                self._skip(str(error))
            except (errors.StateError, *errors.PASSING) as error:
                hosts += 1
                if hosts > _MAX_HOSTS or self._current is None:
                    self.close()
                    raise
                self._restart(epoch, error)
            timeout = self._plan.timeout
            if timeout and time.monotonic() - began > timeout:
                self.close()
                raise RuntimeError(
                    f"DataLoader timed out after {timeout:g} seconds")
            memory = status = epoch._next_memory()
            if memory.__class__ is not int:
                return memory
        epoch.end()
        self.close()
        self._on_end()
        raise StopIteration

    # --- The workers and the connection.

    def _start(self) -> None:
        """Starts the workers, and the epoch where it stands."""
        plan, position = self._plan, self._position
        if plan.start_daemon is not None:
            plan.start_daemon()
        self._host = Host(plan)
        if self._layout is None:
            indices = position.indices
            first = 0 if indices is None else int(indices[0])
            self._layout = self._host.probe(first, plan.stage.seed)
        options = dict(plan.options)
        options["dataset"] = _dataset(plan, self._layout)
        self._connection = _retry.until_available(
            os.fsdecode(options["uri"]),
            lambda: _connection.Connection(options, None, plan.start_daemon),
            plan.start_daemon)
        socket = self._connection.start_producers(plan.stage.workers)
        self._host.serve(self._layout, options["batch_size"], socket)
        self._connection.start_epoch(position.epoch,
                                     position.first + position.samples,
                                     position.list_to_send())

    def _restart(self, epoch: Any, error: Exception) -> None:
        """Starts anew where next() stands: a daemon or the host was lost."""
        self._end_processes()
        self._start()
        epoch.read_from(self._connection)

    def _skip(self, text: str) -> None:
        """Passes over the batch that failed, and raises why it did."""
        self._position.samples = min(
            self._position.samples + self._plan.options["batch_size"],
            self._samples() - self._position.first)
        self._is_stopped = True
        raise failure.restore(
            text, f"worker process of {self._plan.options['uri'].decode()}")

    def _go_on(self, epoch: Any) -> None:
        """Starts the epoch again behind a batch that failed."""
        position = self._position
        self._is_stopped = False
        self._connection.start_epoch(position.epoch,
                                     position.first + position.samples,
                                     position.list_to_send())
        epoch.read_from(self._connection)

    def _samples(self) -> int:
        """The samples of this rank in the epoch."""
        indices = self._position.indices
        return (self._connection.samples_per_epoch if indices is None else
                len(indices))

    def _end_processes(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        process, self._host = self._host, None
        if process is not None:
            process.end()

    def close(self) -> None:
        """Ends the iteration and its processes; batches in use stay valid."""
        self._current = None
        if self._pid == os.getpid():
            self._end_processes()


def _dataset(plan: Plan, layout: Any) -> Any:
    """The native dataset of samples with this structure."""
    leaves = structure.leaves(layout)
    fields = tuple((f"field{number}", leaf.dtype, leaf.shape)
                   for number, leaf in enumerate(leaves))
    kind = type(plan.stage.dataset)
    identity = hashlib.blake2b(
        repr((kind.__module__, kind.__qualname__, plan.size, fields)).encode(),
        digest_size=16).digest()
    return _native_dataset.from_producers(
        plan.options["uri"], identity, plan.size, fields)


def default_context() -> Any:
    """As torch's: workers have what the trainer had when they were started."""
    return multiprocessing.get_context("fork")
