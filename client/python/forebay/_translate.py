"""Translates pipelines of other libraries into Forebay's own.

Ops with a counterpart are translated. Ops without a counterpart run in the trainer if
they come last. If they do not come last, workers run them, or they are refused.
"""

from __future__ import annotations

import warnings
from typing import Any, List, NamedTuple, Optional, Tuple

from . import _albumentations, _torchvision, errors
from ._code import Code, Trace
from ._counterpart import NoCounterpart, name_of
from .transforms import (CenterCrop, Compose, RandomCrop, RandomResizedCrop, Resize,
                         Transform)

_LIBRARIES = (_torchvision, _albumentations)


class Translation(NamedTuple):
    """A pipeline in two parts.

    Attributes:
      transform: the daemon's ops; None if the daemon only decodes, to uint8 NCHW.
      trailing: ops of another library that the trainer then runs on each
        sample.
      input_kind: the input of the first trailing op: "pil", "tensor" (C, H, W), or
        "array" (H, W, C), which is passed as the argument `image`.
      code: the ops that workers run between the daemon's ops, or None. If there is a
        `code`, it also has the daemon's ops, and `transform` is None.
      is_opaque: whether no op has a counterpart, and the first op takes the image as it
        is in the dataset.
    """

    transform: Optional[Transform]
    trailing: tuple = ()
    input_kind: str = "tensor"
    code: Optional[Code] = None
    is_opaque: bool = False


def _library(transform: Any) -> Any:
    for library in _LIBRARIES:
        if library.owns(transform):
            return library
    return None


def is_foreign(transform: Any) -> bool:
    """Whether `transform` is a pipeline or an op of a known library."""
    return _library(transform) is not None


def _refuse(foreign: Any, why: NoCounterpart, after: Any) -> None:
    raise errors.Unsupported(
        f"{name_of(foreign)} has no counterpart in forebay.transforms{why}, and "
        f"images of different sizes come to it; but {name_of(after)} comes after "
        "it: put RandomResizedCrop(size), or Resize(size) and CenterCrop(size), "
        "before it, or move it to the end")


def translate(transform: Any, channels: int = 3,
              extent: Optional[Tuple[int, int]] = None) -> Translation:
    """Splits a pipeline into the daemon's part and the trainer's.

    Args:
      transform: a transform of forebay.transforms, torchvision.transforms (v1 or v2) or
        Albumentations; any other callable, which runs in the trainer; or None.
      channels: the number of the images' channels.
      extent: the (height, width) of all images, or None if images may differ.

    Raises:
      errors.Unsupported: an op without a counterpart comes before an op with one, and
        no worker can run it; the message names both ops.
    """
    if isinstance(transform, Transform):
        return Translation(_sized(transform, extent))
    library = _library(transform) or _torchvision
    ops = [] if transform is None else library.flatten(transform)
    pixels = library.Pixels(channels)
    done: List[Transform] = [] if extent is None else [CenterCrop(extent)]
    done += pixels.beginning()
    trace = Trace(library, pixels, len(done))
    for number, op in enumerate(ops):
        try:
            done += library.counterparts(op, pixels)
        except NoCounterpart as why:
            for later in ops[number + 1:]:
                if library.knows(later):
                    code = trace.split(ops, done)
                    if code is None:
                        _refuse(op, why, later)
                    return Translation(None, code=code)
            break
        trace.add(pixels, len(done))
    else:
        number = len(ops)
    trailing = tuple(ops[number:])
    done += pixels.ending(bool(trailing))
    return Translation(Compose(done) if done else None, trailing, pixels.kind,
                       is_opaque=bool(trailing) and not number and
                       pixels.kind == "pil")


def _sized(transform: Optional[Transform],
           extent: Optional[Tuple[int, int]]) -> Optional[Transform]:
    """Adds an op that tells the daemon the size that all images have."""
    if extent is None:
        return transform
    whole = CenterCrop(extent)
    return Compose([whole] if transform is None else [whole, transform])


def makes_one_size(transform: Optional[Transform]) -> bool:
    """Whether the transform's results all have one size, whatever the sizes of the
    images."""
    if isinstance(transform, Compose):
        return any(map(makes_one_size, transform.transforms))
    return (isinstance(transform, (CenterCrop, RandomCrop, RandomResizedCrop)) or
            isinstance(transform, Resize) and len(transform.size) == 2)


def names_of(trailing: tuple) -> str:
    """Returns the ops' names, as a list for people."""
    return ", ".join(name_of(op) for op in trailing)


def warn_of(trailing: tuple, stacklevel: int) -> None:
    """Warns of the ops that run in the trainer."""
    warnings.warn(
        "without a counterpart in forebay.transforms: "
        f"{names_of(trailing)}: runs in the "
        "trainer, on each sample", stacklevel=stacklevel + 1)
