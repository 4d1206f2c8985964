"""Samples that a job makes by itself, to compare with those that another job's
workers make."""

from __future__ import annotations

import io
from typing import Any, List, NamedTuple, Tuple

from . import forked, images, making, payload, seeds, structure, values
from .feed import Batch
from .making import Stage
from .values import Flat


class OwnRows(NamedTuple):
    """Samples of one structure.

    Attributes:
      layout: the structure.
      keys: of the samples, and the seed of each.
    """

    layout: Any
    keys: Tuple[Tuple[int, int], ...]

    @property
    def name(self) -> str:
        """For people."""
        return f"sample {self.keys[0][0]}"

    def make(self, stage: Stage) -> List[Flat]:
        """Makes the samples, in a worker."""
        return [self._make_one(stage, key, seed) for key, seed in self.keys]

    def _make_one(self, stage: Stage, key: int, seed: int) -> Flat:
        seeds.seed_generators(seed)
        try:
            made = stage.dataset[key]
            forked.end_child()
            return of_row(self.layout, structure.row_of(self.layout, made))
        except BaseException as error:
            forked.end_child(error)
            return values.failed(error)


class OwnBatch(NamedTuple):
    """A batch.

    Attributes:
      batch: that is to be made.
    """

    batch: Batch

    @property
    def name(self) -> str:
        """For people."""
        return "a batch of samples"

    def make(self, stage: Stage) -> List[Flat]:
        """Makes the batch, in a worker."""
        try:
            made = making.make(stage, self.batch)
            forked.end_child()
            # The trainer gets batches of other workers unpickled.
            data, buffers = payload.pickled(made)
            return [values.flat(payload.Unpickler(
                io.BytesIO(data), _no_place, list(map(bytearray, buffers))).load())]
        except BaseException as error:
            forked.end_child(error)
            return [values.failed(error)]


class OwnImages(NamedTuple):
    """Results of a pipeline's ops on images of noise.

    Attributes:
      total: of the images.
      seed: of the loader.
    """

    total: int
    seed: int

    @property
    def name(self) -> str:
        """For people."""
        return "an image of noise"

    def make(self, stage: Stage) -> List[Flat]:
        """Runs the ops, in a worker."""
        return [self._make_one(stage.dataset, number) for number in range(self.total)]

    def _make_one(self, ops: images.Ops, number: int) -> Flat:
        seeds.seed_generators(seeds.of_sample(self.seed, 0, number, 0))
        try:
            made = ops.run(images.noise(ops, number))
            forked.end_child()
            kind, array = images.read(made)
            return {kind: values.of_array(array)}
        except BaseException as error:
            forked.end_child(error)
            return values.failed(error)


def _no_place(which: Any) -> Any:
    raise ValueError(f"{which} lies nowhere")


def of_row(layout: Any, row: List[Any]) -> Flat:
    """The flat form of a sample.

    Args:
      row: its values: arrays, tensors and numbers, one for each leaf.
    """
    return {place: _of_value(leaf, value) for place, leaf, value in
            zip(structure.places(layout), structure.leaves(layout), row)}


def _of_value(leaf: Any, value: Any) -> Tuple[Any, ...]:
    import numpy
    to_host = getattr(value, "cpu", None)  # of torch's tensors
    array = structure.array_of(value if to_host is None else to_host())
    return values.of_array(numpy.asarray(value, leaf.dtype) if array is None else
                           array)
