"""A native loader, open at a daemon."""

from __future__ import annotations

import ctypes as c
import os
from typing import Any

from . import _batch_reader, _native, _retry, _stats, errors

# A native wait lasts at most this long, so that signals and other threads get their
# turn.
SLICE_SECONDS = 0.25
# The size of the buffer for a loader's counters. Their message takes some 100 bytes.
_STATS_BYTES = 1024


def _build_pipeline(transform):
    lib = _native.lib
    pipeline = lib.forebay_pipeline_new()
    try:
        if transform is not None:
            _native.check(transform._append(lib, pipeline))
    except BaseException:
        lib.forebay_pipeline_free(pipeline)
        raise
    return pipeline


class Connection:
    """A native loader.

    A single thread at a time may use it. Any thread may use `close`, `stats` and the
    attributes. Batches outlive it.

    Attributes:
      dataset_version: bytes, which change with the samples' names, sizes and
        times.
      dataset_size, samples_per_epoch, batches_per_epoch: int. samples_per_epoch and
        batches_per_epoch are those of this rank.
      classes: list of str, in label order.
    """

    _handle: Any = None  # stays None if __init__ fails early

    def __init__(self, options, transform, start_daemon=None):
        """Opens the loader, and waits until the dataset is indexed.

        Args:
          options: dict of fields of _native.LoaderOptions.
          transform: a Transform or None.
          start_daemon: see _retry.Retry.
        """
        self._lib = _native.lib
        self._handle = c.c_void_p()  # null until it is created
        native = _native.loader_options(options)
        native.reattach_seconds = 0  # _retry waits for the daemon instead
        self._uri = os.fsdecode(options["uri"])
        pipeline = _build_pipeline(transform)
        try:
            _native.check(self._lib.forebay_loader_create(
                c.byref(native), pipeline, c.byref(self._handle)))
        finally:
            self._lib.forebay_pipeline_free(pipeline)
        try:
            _wait(lambda: self._lib.forebay_loader_open(
                self._handle, SLICE_SECONDS))
        except errors.DaemonUnavailable as error:
            if self._lib.forebay_loader_is_attached(self._handle):
                raise  # the daemon cannot reach the dataset
            retry = self.retry(start_daemon)
            retry.wait(error)
            retry.done()
        self._read_info()

    def _read_info(self):
        info = _native.LoaderInfo()
        _native.check(
            self._lib.forebay_loader_get_info(self._handle, c.byref(info)))
        self.dataset_version = bytes(info.dataset_version)
        self.dataset_size = info.dataset_size
        self.samples_per_epoch = info.samples_per_epoch
        self.batches_per_epoch = info.batches_per_epoch
        self.classes = _native.class_names(
            self._lib.forebay_loader_class_name, self._handle, info.class_count)

    @property
    def refusal(self) -> str:
        """Why batches lie on the host although a GPU was asked for; "" if they do
        not."""
        return self._lib.forebay_loader_refusal(
            self._handle).decode(errors="replace")

    def start_epoch(self, epoch, first_sample, indices=None):
        """Starts an epoch at this rank's sample number `first_sample`.

        Args:
          indices: a contiguous NumPy array, int64, (M,). With the order LISTED, the
            numbers of the epoch's samples. With COORDINATED, the numbers of the epoch's
            samples that were seen, each once. None with other orders.
        """
        if indices is None:
            _native.check(self._lib.forebay_loader_start_epoch(
                self._handle, epoch, first_sample))
        else:
            _native.check(self._lib.forebay_loader_start_listed_epoch(
                self._handle, epoch, indices.ctypes.data, len(indices),
                first_sample))

    def retry(self, start_daemon):
        """Makes a _retry.Retry that reattaches this loader."""
        return _retry.Retry(self._uri, self._reattach, start_daemon)

    def _reattach(self):
        status = self._lib.forebay_loader_reattach(self._handle, SLICE_SECONDS)
        if status in (_native.INTERRUPTED, _native.TIMEOUT):
            return False
        _native.check(status)
        return True

    def batch_reader(self, view):
        """Makes a batch reader for the iteration that was started last. The reader
        waits at most SLICE_SECONDS for a batch.

        Args:
          view: a _native.BatchView.
        """
        view.iteration = self._lib.forebay_loader_iteration(self._handle)
        return _batch_reader.create(self._handle.value, SLICE_SECONDS, view,
                                    self)

    def stop_epoch(self):
        _native.check(self._lib.forebay_loader_stop_epoch(self._handle))

    def start_workers(self, most, are_persistent=False):
        """Returns the descriptor of a socket for a worker pool, in which at most `most`
        workers make the samples. The caller owns the descriptor.

        Args:
          are_persistent: whether workers stay while the loader rests between epochs.
        """
        socket = c.c_int()
        start = (self._lib.forebay_loader_start_persistent_producers
                 if are_persistent else self._lib.forebay_loader_start_producers)
        _native.check(start(self._handle, most, c.byref(socket)))
        return socket.value

    def stats(self):
        message = c.create_string_buffer(_STATS_BYTES)
        size = c.c_size_t(_STATS_BYTES)
        _native.check(self._lib.forebay_loader_stats_message(
            self._handle, message, c.byref(size)))
        return _stats.of(message.raw[:size.value])

    def close(self):
        self._lib.forebay_loader_close(self._handle)

    def __del__(self):
        if self._handle:
            self._lib.forebay_loader_free(self._handle)


def _wait(call):
    """Repeats a native wait until it ends; signal handlers run in between."""
    while True:
        status = call()
        if status in (_native.INTERRUPTED, _native.TIMEOUT):
            continue
        _native.check(status)
        return
