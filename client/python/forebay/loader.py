"""The data loader."""

from __future__ import annotations

import os
import threading
import time
import weakref
from typing import Any, Iterable, Optional, Sequence, Union

from . import _batch, _connection, _daemon, _job, _native, _options, errors
from ._dataset import Dataset
from ._manifest import Manifest
from ._position import Position, Seen, from_state, to_state
from .transforms import Transform

# How long a daemon that went away may take to come back.
_REATTACH_SECONDS = 15.0

# A forked child has none of the threads that may have held a lock, and cannot
# go on with its parent's iterations.
_loaders: "weakref.WeakSet[DataLoader]" = weakref.WeakSet()


def _renew():
    for loader in _loaders:
        loader._lock = threading.RLock()
        loader._current = None


os.register_at_fork(after_in_child=_renew)


class _Epoch:
    """An iterator over the rest of one epoch."""

    def __init__(self, loader, connection, position):
        self._loader = loader
        self._position = position
        self._attach(connection)
        self._lock = threading.Lock()
        self._done = False

    def _attach(self, connection):
        self._view = _batch.View()
        self._take = connection.taker(self._view.native).take

    def __iter__(self):
        return self

    def __next__(self):
        # Runs for each batch, with cold caches: what is usual takes few steps.
        with self._lock:
            if self._done:
                raise StopIteration
            loader, position = self._loader, self._position
            try:
                if loader._current is not position:
                    loader._say_why_over()
                memory = self._take()
                if memory.__class__ is int:
                    memory = loader._await(self, memory)
                batch = loader._wrapper.wrap(memory, self._view)
                position.samples += memory.samples
                if position.seen is not None:
                    position.seen.add(batch.sample_ids)
                loader._state = position
                return batch
            except BaseException as error:
                # A signal handler may raise between two batches: the epoch goes
                # on if the user does.
                self._done = isinstance(error,
                                        (StopIteration, errors.ForebayError))
                raise

    def __del__(self):
        if not self._done:
            self._loader._abandon(self._position)


class DataLoader:
    """Batches of a dataset, read, decoded and augmented by the host's daemon.

    Each `iter()` starts the next epoch; a second one abandons the first. A
    batch is a named tuple of the dataset's fields with the attribute
    `sample_ids`: `image` and `label` for a folder of class folders; those that
    were chosen of tar shards and manifests, by names that are made identifiers:
    all else becomes "_" ("left.png" is `left_png`, of "jpg;png" the first is
    the name), and what is taken or begins with no letter gets one before it
    ("f_"). Images and arrays are the memory that the daemon wrote, without a
    copy: writable, private to this process, and valid as long as something
    refers to it. Texts, JSON and bytes are lists, of str, of what
    `json.loads` makes of them, and of bytes.

    May be used by several threads. After a fork, the child's copy of a loader
    opens a session of its own at its next `iter()`.

    Args:
      dataset: a path or file:// URI, or a place that the daemon reads as itself:
        "gs://bucket/...", or (shards and manifests) "https://...". A folder has
        the semantics of torchvision's ImageFolder. What ends in ".tar" or has braces or
        wildcards ("/data/{00000..00127}.tar", "/data/*.tar") and is no folder
        is tar shards as webdataset writes them. Or a `forebay.manifest`.
      fields: of tar shards, what a batch is made of, in this order: members'
        extensions, such as ("jpg", "cls"); several with semicolons between
        ("jpg;png") stand for the first that a sample has. What is behind the
        last dot says how a field is decoded: jpg, jpeg and png as images, of
        which there may be one; cls, cls2, class, count, index, inx and id as
        integers; txt, text and transcript as texts; json and jsn as JSON; npy
        as arrays, which must all be of one type and shape; all else stays
        bytes.
      batch_size: samples, 1 to 65536.
      shuffle: whether each epoch has a new random order, keyed by the seed.
        "block": an order that stays near the files': blocks of some megabytes
        of consecutive samples are put in random order, then the samples of
        every 32 blocks that follow each other. Where the cache has room for
        these (`cache.memory`; about 170 MiB), each block is read as a whole, a
        group ahead of the trainer: for shards that are too large for the cache
        and far away, or on disks that are bad at random reads; where random
        reads are fast, True is faster.
      seed: of the order and of every augmentation.
      drop_last: whether a smaller last batch is left out.
      transform: from forebay.transforms; None: decode only, to uint8 NCHW.
      rank, world_size: which part of each epoch this process sees.
      distributed: take both from torchrun's, SLURM's or Horovod's variables.
      pad: what happens if samples do not divide among ranks: "wrap" repeats the
        first, "drop" leaves out the last, "none" gives each exactly once.
      device: "cpu".
      pin_memory: False.
      order: "exact": what the seed gives, whoever else runs. "coordinated":
        what the daemon picks, so that all loaders of this user and host that
        read the dataset in this order, and begin their transforms alike (what
        comes before the first random one but for Resize, and Resize and
        CenterCrop there), want an image at about the same time, whatever their
        batch size, speed and time of joining: then it is decoded about once for
        all of them. Each loader sees each sample exactly once in each epoch, in
        an order that is uniformly random for it, and augmented as its own seed
        says. But the order is another one in each run, and orders depend on one
        another: those of loaders that run at once, and those of a loader's
        successive epochs. Simulated with four loaders and room for a tenth of
        the images decoded, the rank correlation of a sample's places in
        successive epochs is .3 on average and below .45, and samples that are
        near each other in one epoch are near each other in the next 4 times as
        often as by chance. Needs shuffle=True; not with world_size above 1 or
        on_error="substitute". The state carries which samples were seen: a bit
        for each; an epoch that goes on gives the others, with the bytes that
        they would have had, in an order that may be another.
      sharing: "elastic" or "off": whether equal loaders may share work.
      weight: the job's share of contended resources, 0.001 to 1000.
      name: of this loader, for `forebayctl jobs`; None: "loader N".
      depth: batches prepared ahead, 1 to 16; None: 2. Fewer while the trainer
        is so slow that they would only wait.
      framework: "torch", "numpy", or None: torch if it was imported before this
        call. NumPy has no bfloat16: such batches come as uint16.
      on_error: "raise" ends the epoch at a corrupt sample; "substitute" takes
        another in its place, the same in every run, and counts it.
      extra_roots: folders that links inside the dataset may lead to, at most 8.
      autostart: start a daemon for this user if none listens.

    Raises:
      errors.ForebayError: of the class that suits; one sentence says why.
    """

    def __init__(
        self,
        dataset: Union[str, "os.PathLike[str]", Manifest],
        batch_size: int = 1,
        shuffle: Union[bool, str] = False,
        *,
        fields: Optional[Sequence[str]] = None,
        seed: int = 0,
        drop_last: bool = False,
        transform: Optional[Transform] = None,
        rank: int = 0,
        world_size: int = 1,
        distributed: bool = False,
        pad: str = "wrap",
        device: Any = "cpu",
        pin_memory: bool = False,
        order: str = "exact",
        sharing: str = "elastic",
        weight: float = 1.0,
        name: Optional[str] = None,
        depth: Optional[int] = None,
        framework: Optional[str] = None,
        on_error: str = "raise",
        extra_roots: Iterable[Union[str, "os.PathLike[str]"]] = (),
        autostart: bool = True,
    ):
        self._closed = True  # until it is open
        _options.check_unsupported(device, pin_memory, order, sharing, shuffle)
        self._wrapper = _batch.Wrapper(_batch.resolve_framework(framework))
        if distributed:
            rank, world_size = _job.distributed_rank()
        self._options = _options.build(
            dataset, fields=fields, batch_size=batch_size, shuffle=shuffle, seed=seed,
            drop_last=drop_last, transform=transform, rank=rank,
            world_size=world_size, pad=pad, on_error=on_error, weight=weight,
            name=name, depth=depth, extra_roots=extra_roots,
            coordinated=order == "coordinated")
        self._transform = transform
        self._autostart = autostart
        self.batch_size = self._options["batch_size"]
        self._lock = threading.RLock()  # guards what follows
        # Of the iterator that may go on.
        self._current: Optional[Position] = None
        _loaders.add(self)
        self._connection = self._connect()
        self._next_position = self._begin_of(0)
        self._state = self._next_position
        self._pid = os.getpid()
        self._closed = False
        self.dataset = Dataset(
            os.fsdecode(self._options["uri"]), self._connection.classes,
            self._connection.dataset_version.hex(),
            self._connection.dataset_size)

    def _begin_of(self, epoch):
        """The position before an epoch's first sample."""
        if self._options["order"] != _native.COORDINATED:
            return Position(epoch, 0)
        return Position(epoch, 0, Seen(self._connection.dataset_size))

    def _connect(self):
        if self._autostart:
            _daemon.ensure_running()
        return _connection.Connection(self._options, self._transform)

    def _reconnect(self):
        connection = self._connect()
        if connection.dataset_version.hex() != self.dataset.version:
            raise errors.StateError(
                f"{self.dataset.uri} has changed since this loader was opened: "
                "open another")
        self._connection = connection
        self._pid = os.getpid()

    def _check_open(self):
        if self._closed:
            raise errors.StateError("the loader is closed")

    def __len__(self) -> int:
        """Batches in a whole epoch of this rank."""
        return self._connection.batches_per_epoch

    def set_epoch(self, epoch: int) -> None:
        """Says which epoch the next `iter()` starts; 0 is the first."""
        if epoch < 0:
            raise errors.InvalidArgument(
                f"the epoch must not be negative, but is {epoch}")
        with self._lock:
            if epoch != self._next_position.epoch:
                self._next_position = self._begin_of(int(epoch))
                self._state = self._next_position

    def __iter__(self):
        with self._lock:
            self._check_open()
            position = Position(self._next_position.epoch,
                                self._next_position.samples,
                                self._next_position.seen)
            self._current = position
            self._start(position)
            self._next_position = self._begin_of(position.epoch + 1)
            self._state = position
            return _Epoch(self, self._connection, position)

    def _start(self, position):
        if self._pid != os.getpid():
            self._reconnect()
        try:
            self._start_epoch(position)
        except errors.DaemonUnavailable:
            self._reattach(position)

    def _start_epoch(self, position):
        seen = position.seen
        self._connection.start_epoch(
            position.epoch, position.samples,
            None if seen is None or not position.samples else seen.indices())

    def _reattach(self, position):
        """Goes on with a daemon that has come back."""
        end = time.monotonic() + _REATTACH_SECONDS
        while True:
            try:
                self._reconnect()
                self._start_epoch(position)
                return
            except errors.DaemonUnavailable:
                if time.monotonic() >= end:
                    raise
            time.sleep(0.1)

    def _say_why_over(self):
        """Raises what an iterator that may not go on has to tell."""
        with self._lock:
            self._check_open()
            if self._pid != os.getpid():
                raise errors.StateError(
                    "this iteration belongs to the process that this one was "
                    "forked from: call iter() again")
            raise errors.StateError(
                "another iteration of this loader has begun: this one is over")

    def _await(self, epoch, status):
        """Goes on waiting for a batch of `epoch`, where it was not there.

        Args:
          epoch: the iterator.
          status: what its taker has given instead.

        Returns:
          The batch's memory.

        Raises:
          StopIteration: the epoch has ended.
        """
        while status != _native.END_OF_EPOCH:
            try:
                if status not in (_native.INTERRUPTED, _native.TIMEOUT):
                    _native.check(status)
            except errors.DaemonUnavailable:
                with self._lock:
                    self._check_open()
                    self._reattach(epoch._position)
                    epoch._attach(self._connection)
            memory = epoch._take()
            if memory.__class__ is not int:
                return memory
            status = memory
        with self._lock:
            if self._current is epoch._position:
                self._state = self._next_position
                self._current = None
        raise StopIteration

    def _abandon(self, position):
        """Ends production for an iterator that nobody holds any more."""
        with self._lock:
            if (self._closed or self._current is not position or
                    self._pid != os.getpid()):
                return
            self._current = None
            try:
                self._connection.stop_epoch()
            except errors.ForebayError:
                pass  # the next iter() says what is wrong

    def state_dict(self) -> dict:
        """Where the loader stands: what `next()` has returned, not what was
        prefetched. A dict of plain values, for `load_state_dict`."""
        with self._lock:
            return to_state(self._state, self._options, self.dataset)

    def load_state_dict(self, state: dict) -> None:
        """The next `iter()` goes on where `state` was taken, to the sample.

        The batch size and the number of ranks may differ.

        Raises:
          errors.StateError: the state is of another dataset, seed or order.
        """
        position = from_state(state, self._options, self.dataset,
                              self._connection)
        with self._lock:
            self._current = None
            self._next_position = position
            self._state = self._next_position

    def stats(self) -> dict:
        """Totals since the loader was opened (or re-attached).

        samples, batches and bytes delivered; bytes_read from storage;
        samples_decoded, samples_substituted; cpu_nanos of decoding and
        transforming; wait_nanos that next() slept; batches_copied because more
        were held than the quota; batches_held now.
        """
        self._check_open()
        return self._connection.stats()

    def close(self) -> None:
        """Ends production and gives memory back; batches held stay valid."""
        if self._closed:
            return
        self._closed = True
        self._current = None
        self._connection.close()

    def __enter__(self) -> "DataLoader":
        return self

    def __exit__(self, *exception) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"{len(self)} batches an epoch"
        return (f"DataLoader({self.dataset.uri!r}, "
                f"batch_size={self.batch_size}, {state})")
