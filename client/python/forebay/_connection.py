"""One open loader of the daemon, as long as it is connected."""

from __future__ import annotations

import ctypes as c

from . import _native

# Native waits are this long, so that signals and other threads get their turn.
SLICE_SECONDS = 0.25


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

    Used by one thread at a time, except `close`, `stats` and the attributes.
    Batches outlive it.

    Attributes:
      dataset_version: bytes, of the samples' names, sizes and times.
      dataset_size, samples_per_epoch, batches_per_epoch: int; the last two of
        this rank.
      classes: list of str, in label order.
      take, handle: the native function that waits SLICE_SECONDS for the next
        batch, and the loader to call it with.
    """

    def __init__(self, options, transform):
        """Opens the loader; waits until the dataset is indexed.

        Args:
          options: dict of fields of _native.LoaderOptions.
          transform: a Transform or None.
        """
        self._lib = _native.lib
        self.take = self._lib.forebay_loader_next_view
        self.handle = None
        native = _native.LoaderOptions()
        self._lib.forebay_loader_options_init(c.byref(native), c.sizeof(native))
        options = dict(options)
        roots = options.pop("extra_roots")
        native.extra_roots = (c.c_char_p * len(roots))(*roots)
        native.extra_root_count = len(roots)
        for name, value in options.items():
            setattr(native, name, value)
        pipeline = _build_pipeline(transform)
        handle = c.c_void_p()
        try:
            _native.check(self._lib.forebay_loader_create(
                c.byref(native), pipeline, c.byref(handle)))
        finally:
            self._lib.forebay_pipeline_free(pipeline)
        self.handle = handle
        _wait(lambda: self._lib.forebay_loader_open(handle, SLICE_SECONDS))
        self._read_info()

    def _read_info(self):
        info = _native.LoaderInfo()
        _native.check(
            self._lib.forebay_loader_get_info(self.handle, c.byref(info)))
        self.dataset_version = bytes(info.dataset_version)
        self.dataset_size = info.dataset_size
        self.samples_per_epoch = info.samples_per_epoch
        self.batches_per_epoch = info.batches_per_epoch
        self.classes = []
        name, length = c.c_void_p(), c.c_size_t()
        for label in range(info.class_count):
            _native.check(self._lib.forebay_loader_class_name(
                self.handle, label, c.byref(name), c.byref(length)))
            self.classes.append(
                c.string_at(name, length.value).decode(errors="surrogateescape"))

    def start_epoch(self, epoch, first_sample):
        _native.check(self._lib.forebay_loader_start_epoch(
            self.handle, epoch, first_sample))

    def next(self, reference, status):
        """Goes on waiting for the next batch.

        Args:
          reference: a byref of the view to be filled in.
          status: what the last call of `take` has returned.

        Returns:
          Whether there is a batch; False at the end of the epoch.
        """
        while status in (_native.INTERRUPTED, _native.TIMEOUT):
            status = self.take(self.handle, SLICE_SECONDS, reference)
        if status == _native.END_OF_EPOCH:
            return False
        _native.check(status)
        return True

    def stop_epoch(self):
        _native.check(self._lib.forebay_loader_stop_epoch(self.handle))

    def stats(self):
        stats = _native.LoaderStats()
        _native.check(
            self._lib.forebay_loader_get_stats(self.handle, c.byref(stats)))
        return {name: getattr(stats, name) for name, _ in stats._fields_}

    def close(self):
        self._lib.forebay_loader_close(self.handle)

    def __del__(self):
        if self.handle is not None:
            self._lib.forebay_loader_free(self.handle)


def _wait(call):
    """Repeats a native wait until it ends; signal handlers run in between."""
    while True:
        status = call()
        if status in (_native.INTERRUPTED, _native.TIMEOUT):
            continue
        _native.check(status)
        return
