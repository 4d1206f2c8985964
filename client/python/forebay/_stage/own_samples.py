"""Samples that a job makes itself, to compare them with those of another job's
workers."""

from __future__ import annotations

import io
from typing import Any, Dict, List, NamedTuple, Tuple

from . import forked, images, making, payload, seeds, structure, values
from .feed import Batch
from .making import Stage
from .values import Flat


class OwnRows(NamedTuple):
    """Samples of one structure that a job makes itself.

    Attributes:
      layout: the structure.
      keys: pairs of a sample's key and seed.
    """

    layout: Any
    keys: Tuple[Tuple[int, int], ...]

    @property
    def name(self) -> str:
        """A name, for people, of what the task makes."""
        return f"sample {self.keys[0][0]}"

    @property
    def parts(self) -> int:
        """The number of samples."""
        return len(self.keys)

    def make(self, stage: Stage) -> List[Flat]:
        """Makes the samples, in a worker."""
        return _in_order(self, stage)

    def make_part(self, stage: Stage, place: int) -> Flat:
        """Makes one of the samples."""
        key, seed = self.keys[place]
        seeds.seed_generators(seed)
        try:
            made = stage.dataset[key]
            forked.end_child()
            return of_row(self.layout, structure.row_of(self.layout, made))
        except BaseException as error:
            forked.end_child(error)
            return values.failed(error)


class OwnBatch(NamedTuple):
    """A batch that a job makes itself.

    Attributes:
      batch: the keys of the batch.
    """

    batch: Batch

    @property
    def name(self) -> str:
        """A name, for people, of what the task makes."""
        return "a batch of samples"

    @property
    def parts(self) -> int:
        """The number of parts. The batch is made as a whole, so the number is 1."""
        return 1

    def make(self, stage: Stage) -> List[Flat]:
        """Makes the batch, in a worker."""
        return _in_order(self, stage)

    def make_part(self, stage: Stage, place: int) -> Flat:
        """Makes the batch."""
        del place
        try:
            made = making.make(stage, self.batch)
            forked.end_child()
            # The batch is pickled and unpickled, like the batches of other workers.
            data, buffers = payload.pickled(made)
            return values.flat(payload.Unpickler(
                io.BytesIO(data), _no_place, list(map(bytearray, buffers))).load())
        except BaseException as error:
            forked.end_child(error)
            return values.failed(error)


class OwnImages(NamedTuple):
    """Results of a pipeline's ops for images of noise.

    Attributes:
      total: the number of images.
      seed: the loader's seed.
    """

    total: int
    seed: int

    @property
    def name(self) -> str:
        """A name, for people, of what the task makes."""
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


class Again(NamedTuple):
    """OwnRows or an OwnBatch that are made again, to see which values differ.

    All samples are made twice, in reverse order. A value then also differs if it
    depends on the samples that its process has made before.

    Attributes:
      task: the samples or the batch.
      rounds: how often all samples are made.
    """

    task: Any
    rounds: int = 2

    @property
    def name(self) -> str:
        """A name, for people, of what the task makes."""
        return str(self.task.name)

    def make(self, stage: Stage) -> List[Flat]:
        """Makes all samples, in a worker. Marks the places where the rounds differ."""
        made: Dict[int, Flat] = {}
        for _ in range(self.rounds):
            for place in reversed(range(self.task.parts)):
                part = self.task.make_part(stage, place)
                made[place] = values.merged(made.get(place, part), part)
        return [made[place] for place in range(self.task.parts)]


def _in_order(task: Any, stage: Stage) -> List[Flat]:
    return [task.make_part(stage, place) for place in range(task.parts)]


def _no_place(which: Any) -> Any:
    raise ValueError(f"{which} lies nowhere")


def of_row(layout: Any, row: List[Any]) -> Flat:
    """Returns the flat form of a sample.

    Args:
      row: the sample's values, one for each leaf: arrays, tensors and numbers.
    """
    return {place: _of_value(leaf, value) for place, leaf, value in
            zip(structure.places(layout), structure.leaves(layout), row)}


def _of_value(leaf: Any, value: Any) -> Tuple[Any, ...]:
    import numpy
    to_host = getattr(value, "cpu", None)  # torch's tensors have it
    array = structure.array_of(value if to_host is None else to_host())
    return values.of_array(numpy.asarray(value, leaf.dtype) if array is None else
                           array)
