"""What a DataLoader's arguments come to, whoever's objects they are."""

from __future__ import annotations

from typing import Any, Callable, List, NamedTuple, Optional

from . import _sampling, _torch_data, _translate, errors
from ._sampling import Sampling
from ._source import Folder
from ._trainer_side import TrainerSide
from .transforms import Transform


class Plan(NamedTuple):
    """What is asked of the daemon, and what is left to the trainer.

    Attributes:
      dataset: a place, a manifest or a source.
      transform: for the daemon, or None.
      trainer_side: for each batch, or None: batches stay as they come.
      sampling: the order.
      size: samples of a dataset object; None: the daemon will know.
      classes: of a dataset object, if it tells them.
    """

    dataset: Any
    transform: Optional[Transform]
    trainer_side: Optional[TrainerSide]
    sampling: Sampling
    size: Optional[int]
    classes: Optional[List[str]]


def make(dataset: Any, transform: Any, sampler: Any, shuffle: Any,
         generator: Any, framework: str, batch_transform: Optional[Callable],
         pin_memory: bool, stacklevel: int) -> Plan:
    """Understands a DataLoader's arguments.

    Args:
      framework: "torch" or "numpy".
      stacklevel: of warnings, as seen from the caller.
      The others: as DataLoader's.

    Raises:
      errors.ForebayError: of the class that suits; one sentence says why.
    """
    if batch_transform is not None and not callable(batch_transform):
        raise errors.InvalidArgument(
            f"batch_transform must be a function, not {batch_transform!r}")
    data = None
    if _torch_data.is_object(dataset):
        data = _torch_data.read(dataset)
        transform = _the_transform(data, transform)
    elif not (transform is None or isinstance(transform, Transform) or
              _translate.is_foreign(transform)):
        raise errors.InvalidArgument(
            "transform must come from forebay.transforms, torchvision or "
            f"Albumentations, not {transform!r}: code for whole batches goes "
            "into batch_transform")
    split = _translate.translate(transform, 3 if data is None else data.channels)
    if split.trailing:
        _translate.warn_of(split.trailing, stacklevel + 1)
    side = TrainerSide(framework, split.trailing, split.takes,
                       None if data is None else data.target_transform,
                       batch_transform, pin_memory)
    size = None
    if data is not None:
        size, dataset = data.size, data.source
        if isinstance(dataset, Folder):
            dataset = dataset.path
    return Plan(dataset, split.transform,
                None if side.idle else side,
                _sampling.read(sampler, size, shuffle, generator), size,
                None if data is None else data.classes)


def _the_transform(data: _torch_data.TorchData, transform: Any) -> Any:
    if transform is None:
        return data.transform
    if data.transform is not None:
        raise errors.InvalidArgument(
            "the dataset has a transform, and transform= is another: give one of "
            "them")
    if not data.channels:
        raise errors.Unsupported(
            "a TensorDataset's tensors are delivered as they are: use "
            "batch_transform instead of transform")
    return transform
