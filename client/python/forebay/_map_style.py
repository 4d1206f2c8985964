"""A map-style dataset, for use with another DataLoader, such as torch's."""

from __future__ import annotations

import functools
import operator
import os
import threading
from typing import Any, Iterable, List, Optional, Sequence, Union

from . import (_daemon, _fork, _manifest, _native, _options, _reader, _reopen,
               _retry, errors)
from .transforms import Transform


class Dataset:
    """Samples of a dataset by number, from the cache that all jobs share.

    For torch.utils.data.DataLoader and others that take a map-style dataset. The daemon
    reads and decodes the samples. Transforms in Python, samplers and collate functions
    still work as before. A sample is a tuple of the dataset's fields, such as (image,
    label). Images are uint8 arrays of height x width x 3, or the bytes of their files
    if they are not decoded. Labels are int, arrays are NumPy arrays, texts are str, and
    JSON is what `json.loads` returns. All other fields are bytes. The caller owns the
    samples' memory.

    Several threads may use a Dataset; they take turns. A forked worker opens its own
    session when it first uses its copy. A spawned worker receives the arguments and
    opens the dataset again. Every worker waits while the daemon restarts, as DataLoader
    does.

    Args:
      dataset: as DataLoader's.
      fields: the fields of tar shards, as DataLoader's.
      decode: whether images are decoded.
      transform: a transform of forebay.transforms, for decoded images. It must draw
        nothing at random, and must give all images one shape. Images are then arrays of
        the transform's type and layout (C x H x W by default). None: images are not
        transformed.
      weight: the job's share of contended resources, 0.001 to 1000.
      extra_roots: folders to which links inside the dataset may lead, at most 8.
      autostart: whether to start a daemon for this user if none listens.

    Attributes:
      classes: list of str, the classes' names in label order.
      version: str, 32 hexadecimal digits that change with the samples.
      uri: str, the dataset's path or URI.

    Raises:
      errors.ForebayError: of the fitting class; one sentence says why.
    """

    def __init__(
        self,
        dataset: Any,
        *,
        fields: Optional[Sequence[str]] = None,
        decode: bool = True,
        transform: Optional[Transform] = None,
        weight: float = 1.0,
        extra_roots: Iterable[Union[str, "os.PathLike[str]"]] = (),
        autostart: bool = True,
    ):
        if not isinstance(decode, bool):
            raise errors.InvalidArgument(
                f"decode must be True or False, not {decode!r}")
        self._made_of = {
            "dataset": dataset, "fields": fields, "decode": decode,
            "transform": transform, "weight": weight,
            "extra_roots": tuple(extra_roots), "autostart": autostart}
        self._options = _options.build(
            dataset, fields=fields, batch_size=1, shuffle=False, seed=0,
            drop_last=False, transform=transform, rank=0, world_size=1,
            pad="wrap", on_error="raise", sharing="off", weight=weight,
            name=None, depth=None, extra_roots=extra_roots)
        # The directory is determined only once: while the machine's daemon is away, its
        # clients wait for it, and do not use another daemon.
        directory = _native.runtime_dir()
        self._options["runtime_dir"] = os.fsencode(directory)
        self._start_daemon = (
            functools.partial(_daemon.ensure_running, directory)
            if autostart else None)
        self._lock = threading.Lock()  # guards the attributes set below
        # True until a sample is returned or the dataset is opened again.
        self._is_new = True
        self._is_outdated = False  # whether the dataset has changed
        _fork.watch(self)
        self._reader = self._open()
        self.classes = self._reader.classes
        _manifest.warn_of_numbers(dataset, self.classes, 2)
        self.version = self._reader.dataset_version.hex()
        self.uri = os.fsdecode(self._options["uri"])
        self._size = self._reader.dataset_size

    def _after_fork(self):
        self._lock = threading.Lock()

    def _open(self):
        if self._start_daemon is not None:
            self._start_daemon()
        return _reader.Reader(self._options, self._made_of["transform"],
                              self._made_of["decode"])

    def _reopen(self):
        reader = self._open()
        _reopen.check_successor(self.uri, self._reader, reader, self._is_new)
        self._reader = reader
        self.version = reader.dataset_version.hex()
        self._is_outdated = False

    def _reopen_outdated(self, error):
        if not self._is_new:
            raise error
        _reopen.announce(error)
        self._is_outdated = True
        self._reopen()

    def _fetch(self, samples):
        def attempt():
            if self._is_outdated or not self._reader.is_usable():
                self._reopen()
            try:
                found = self._reader.fetch(samples)
            except errors.StateError as error:
                self._reopen_outdated(error)
                self._is_new = False
                found = self._reader.fetch(samples)
            self._is_new = False
            return found

        with self._lock:
            return _retry.until_available(self.uri, attempt, self._start_daemon)

    def _number(self, index):
        number = operator.index(index)
        if not -self._size <= number < self._size:
            raise IndexError(f"sample {number} of {self.uri}, which has "
                             f"{self._size}")
        return number % self._size

    def __getitem__(self, index: int) -> tuple:
        return self._fetch([self._number(index)])[0]

    def __getitems__(self, indices: Sequence[int]) -> List[tuple]:
        """Returns several samples, which the daemon reads and decodes in parallel."""
        numbers = [self._number(index) for index in indices]
        found: List[tuple] = []
        for begin in range(0, len(numbers), _reader.MAX_FETCH):
            found += self._fetch(numbers[begin:begin + _reader.MAX_FETCH])
        return found

    def __len__(self) -> int:
        return self._size

    @property
    def class_to_idx(self) -> dict:
        """The label of each class, by name."""
        return {name: label for label, name in enumerate(self.classes)}

    def __reduce__(self):
        return _make, (self._made_of,)

    def __repr__(self) -> str:
        return (f"Dataset({self.uri!r}, {self._size} samples, "
                f"{len(self.classes)} classes)")


def _make(made_of):
    return Dataset(made_of["dataset"],
                   **{name: value for name, value in made_of.items()
                      if name != "dataset"})
