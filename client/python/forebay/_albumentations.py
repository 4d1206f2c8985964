"""Reads Albumentations' transforms by class names and attributes.

This module does not import Albumentations: a transform's attributes tell its class and
arguments. Albumentations rounds some lengths differently from torchvision and Forebay.
An op that rounds a length has a counterpart only if the image's size is known, and both
round that length equally.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from . import transforms as T
from ._counterpart import NoCounterpart, check_jitter, comes_from

_PACKAGE = "albumentations"
_CV2_LINEAR = 1
_CV2_BORDERS = {0: "constant", 1: "edge", 2: "symmetric", 4: "reflect"}


class Pixels:
    """The state of a sample's pixels between two ops.

    Attributes:
      size: (height, width), or None if not known.
      tensor: bool, whether the pixels are a tensor (C, H, W) or an array (H, W, C).
      uint8: bool, whether the pixels are uint8 or float32.
    """

    kind = "array"

    def __init__(self, channels: int):
        self._channels = channels
        self.size: Optional[Tuple[int, int]] = None
        self.tensor = False
        self.uint8 = True

    def beginning(self) -> List[T.Transform]:
        """Returns the ops that turn the daemon's three channels into the channels that
        these pixels have."""
        return [T.Grayscale(1)] if self._channels == 1 else []

    @property
    def has_bytes(self) -> bool:
        """Whether the user's code can take the pixels as they are."""
        return self.uint8 and not self.tensor

    def take(self, result: Any, behind: Sequence[Any]) -> bool:
        """Sets the state to that of `result`, a _code.Result that the user's code
        returned. Returns False if the ops `behind` that code cannot take such
        pixels."""
        del behind
        self.size = result.shape[0], result.shape[1]
        return result.kind == "array"

    def ending(self, trailing: bool) -> List[T.Transform]:
        """Returns the daemon's last ops: arrays have their channels last."""
        del trailing
        return [] if self.tensor else [T.ToImage("NHWC")]


def _pair(op: Any, *names: str) -> Tuple[int, int]:
    """Returns (height, width) of an op. The names of these attributes depend on the
    version of Albumentations."""
    size = getattr(op, "size", None)
    if size is not None:
        return int(size[0]), int(size[1])
    return int(op.height), int(op.width)


def _need_uint8(pixels: Pixels) -> None:
    if not pixels.uint8:
        raise NoCounterpart(
            "it would change floating-point pixels: put it before Normalize")


def _check_linear(op: Any, pixels: Pixels) -> None:
    _need_uint8(pixels)
    if op.interpolation != _CV2_LINEAR:
        raise NoCounterpart(f"interpolation={op.interpolation}, not INTER_LINEAR")
    if getattr(op, "area_for_downscale", None):
        raise NoCounterpart(f"area_for_downscale={op.area_for_downscale!r}")


def _resize(op: Any, pixels: Pixels) -> List[T.Transform]:
    _check_linear(op, pixels)
    pixels.size = _pair(op)
    return [T.Resize(pixels.size, antialias=False)]


def _random_resized_crop(op: Any, pixels: Pixels) -> List[T.Transform]:
    _check_linear(op, pixels)
    pixels.size = _pair(op)
    return [T.RandomResizedCrop(pixels.size, op.scale, op.ratio,
                                antialias=False)]


def _random_crop(op: Any, pixels: Pixels) -> List[T.Transform]:
    if getattr(op, "pad_if_needed", False):
        raise NoCounterpart("pad_if_needed=True")
    pixels.size = _pair(op)
    return [T.RandomCrop(pixels.size)]


def _center_crop(op: Any, pixels: Pixels) -> List[T.Transform]:
    if getattr(op, "pad_if_needed", False):
        raise NoCounterpart("pad_if_needed=True")
    size = _pair(op)
    if pixels.size is None:
        raise NoCounterpart(
            "its place is rounded otherwise than torchvision's, which may differ "
            "where images have different sizes: put Resize(height, width) before "
            "it, or use forebay.transforms.CenterCrop")
    for whole, part in zip(pixels.size, size):
        # Half of a margin of 3, 7, 11, ... rounds down in Albumentations and up in
        # torchvision.
        if part > whole or (whole - part) % 4 == 3:
            raise NoCounterpart(f"the middle {part} of {whole} pixels")
    pixels.size = size
    return [T.CenterCrop(size)]


def _pad_if_needed(op: Any, pixels: Pixels) -> List[T.Transform]:
    _need_uint8(pixels)
    if pixels.size is None:
        raise NoCounterpart("how much it pads depends on the image's size")
    position = getattr(op.position, "value", op.position)
    if position != "center" or op.min_height is None or op.min_width is None:
        raise NoCounterpart("other than to min_height, min_width from the center")
    top, bottom, left, right = (
        part for whole, least in zip(pixels.size, (op.min_height, op.min_width))
        for part in (max(least - whole, 0) // 2, (max(least - whole, 0) + 1) // 2))
    height, width = pixels.size
    pixels.size = height + top + bottom, width + left + right
    fill = getattr(op, "fill", getattr(op, "value", 0))
    if op.border_mode not in _CV2_BORDERS:
        raise NoCounterpart(f"border_mode={op.border_mode}")
    return [T.Pad((left, top, right, bottom), 0 if fill is None else fill,
                  _CV2_BORDERS[op.border_mode])]


def _flip(make: Callable[[float], T.Transform]
          ) -> Callable[[Any, Pixels], List[T.Transform]]:
    return lambda op, pixels: [make(1.0 if _always(op) else op.p)]


def _color_jitter(op: Any, pixels: Pixels) -> List[T.Transform]:
    _need_uint8(pixels)
    if tuple(op.hue) != (0, 0):
        raise NoCounterpart("OpenCV turns hues otherwise than PIL: set hue=0")
    check_jitter(op, brightness=math.inf, contrast=1, saturation=0.5)
    return [T.ColorJitter(tuple(op.brightness), tuple(op.contrast),
                          tuple(op.saturation))]


def _normalize(op: Any, pixels: Pixels) -> List[T.Transform]:
    if getattr(op, "normalization", "standard") != "standard":
        raise NoCounterpart(f"normalization={op.normalization!r}")
    if op.max_pixel_value is None:
        raise NoCounterpart("max_pixel_value=None")
    scaled = pixels.uint8 and op.max_pixel_value == 255
    factor = 1.0 if scaled else float(op.max_pixel_value)
    done = _to_float32(pixels, scaled)
    mean, std = ([float(v) * factor for v in (
        values if hasattr(values, "__iter__") else [values])]
        for values in (op.mean, op.std))
    return done + [T.Normalize(mean, std)]


def _to_float32(pixels: Pixels, scale: bool) -> List[T.Transform]:
    if not pixels.uint8:
        return []
    pixels.uint8 = False
    return [T.ToDtype("float32", scale)]


def _to_float(op: Any, pixels: Pixels) -> List[T.Transform]:
    if not pixels.uint8 or op.max_value not in (None, 255):
        raise NoCounterpart(f"max_value={op.max_value}")
    return _to_float32(pixels, True)


def _to_tensor(op: Any, pixels: Pixels) -> List[T.Transform]:
    del op
    pixels.tensor = True
    return [T.ToImage("NCHW")]


_FLIPS: Dict[str, Callable[[Any, Pixels], List[T.Transform]]] = {
    "HorizontalFlip": _flip(T.RandomHorizontalFlip),
    "VerticalFlip": _flip(T.RandomVerticalFlip),
}
_COUNTERPARTS: Dict[str, Callable[[Any, Pixels], List[T.Transform]]] = {
    "CenterCrop": _center_crop, "ColorJitter": _color_jitter,
    "Normalize": _normalize, "PadIfNeeded": _pad_if_needed,
    "RandomCrop": _random_crop, "RandomResizedCrop": _random_resized_crop,
    "Resize": _resize, "ToFloat": _to_float, "ToTensorV2": _to_tensor, **_FLIPS,
}


def owns(transform: Any) -> bool:
    """Whether a transform is Albumentations'."""
    return comes_from(transform, _PACKAGE)


def _always(op: Any) -> bool:
    return getattr(op, "p", 1) >= 1 or getattr(op, "always_apply", False)


def flatten(transform: Any) -> List[Any]:
    """Returns the ops in order. Nested sequences that always run are replaced by their
    ops."""
    if (owns(transform) and type(transform).__name__ in ("Compose", "Sequential")
            and _always(transform) and not getattr(transform, "processors", None)
            and not getattr(transform, "additional_targets", None)):
        return [op for part in transform.transforms for op in flatten(part)]
    return [transform]


def knows(op: Any) -> bool:
    """Whether the op's class has counterparts."""
    return owns(op) and type(op).__name__ in _COUNTERPARTS


def counterparts(op: Any, pixels: Pixels) -> List[T.Transform]:
    """Returns the daemon's transforms that do what an op does to `pixels`. Updates
    `pixels`.

    Raises:
      NoCounterpart: the op has no counterpart.
    """
    if not knows(op):
        raise NoCounterpart
    if type(op).__name__ not in _FLIPS and not _always(op):
        raise NoCounterpart(f"p={op.p}")
    if pixels.tensor:
        raise NoCounterpart("it takes arrays, but gets tensors")
    try:
        return _COUNTERPARTS[type(op).__name__](op, pixels)
    except (ValueError, TypeError) as error:
        raise NoCounterpart(str(error)) from None
