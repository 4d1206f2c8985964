"""Reads torchvision's transforms, v1 and v2, by class names and attributes.

This module does not import torchvision: a transform's attributes tell its class and
arguments.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, Sequence

from . import _transform_values, transforms as T
from ._counterpart import NoCounterpart, check_jitter, comes_from

_PACKAGE = "torchvision.transforms"
# Pillow's numbers of interpolations, which old versions of torchvision take.
_PIL_MODES = {0: "nearest", 2: "bilinear", 3: "bicubic"}
_FLOATS = "it would change floating-point pixels: put it before what makes those"


class Pixels:
    """The state of a sample's pixels between two ops.

    Attributes:
      tensor: bool, whether the pixels are a tensor (C, H, W) or a PIL image.
      dtype: str, the tensor's type.
      channels: int.
    """

    def __init__(self, channels: int):
        self.tensor = False
        self.dtype = "uint8"
        self.channels = channels

    @property
    def kind(self) -> str:
        return "tensor" if self.tensor else "pil"

    def beginning(self) -> List[T.Transform]:
        """Returns the ops that turn the daemon's three channels into the channels that
        these pixels have."""
        return [T.Grayscale(1)] if self.channels == 1 else []

    @property
    def has_bytes(self) -> bool:
        """Whether the user's code can take the pixels as they are."""
        return self.dtype == "uint8"

    def take(self, result: Any, behind: Sequence[Any]) -> bool:
        """Sets the state to that of `result`, a _code.Result that the user's code
        returned. Returns False if the ops `behind` that code cannot take such
        pixels."""
        self.tensor = result.kind == "tensor"
        if result.kind == "array":  # some ops take arrays like PIL images
            return bool(behind) and type(behind[0]).__name__ in ("ToTensor",
                                                                 "ToImage")
        return result.kind != ""

    def ending(self, trailing: bool) -> List[T.Transform]:
        """Returns the daemon's last ops. PIL images are made of rows of pixels, so
        their channels come last."""
        return [T.ToImage("NHWC")] if trailing and not self.tensor else []


def _need_uint8(pixels: Pixels) -> None:
    if pixels.dtype != "uint8":
        raise NoCounterpart(_FLOATS)


def _sampling(op: Any, pixels: Pixels) -> Dict[str, Any]:
    _need_uint8(pixels)
    mode = getattr(op.interpolation, "value", op.interpolation)
    mode = _PIL_MODES.get(mode, mode)
    if mode == "nearest-exact" or mode == "nearest" and not pixels.tensor:
        return {"interpolation": "nearest"}
    # PIL always antialiases; tensors do if the op says so.
    antialias = not pixels.tensor or getattr(op, "antialias", None) is True
    if mode == "bilinear":
        return {"interpolation": mode, "antialias": antialias}
    if mode == "bicubic" and not pixels.tensor:
        return {"interpolation": mode}
    where = "tensors" if pixels.tensor else "PIL images"
    raise NoCounterpart(f"interpolation={mode!r} of {where}")


def _resize(op: Any, pixels: Pixels) -> List[T.Transform]:
    return [T.Resize(op.size, max_size=op.max_size, **_sampling(op, pixels))]


def _random_resized_crop(op: Any, pixels: Pixels) -> List[T.Transform]:
    return [T.RandomResizedCrop(op.size, op.scale, op.ratio,
                                **_sampling(op, pixels))]


def _pad(op: Any, pixels: Pixels) -> List[T.Transform]:
    _need_uint8(pixels)
    return [T.Pad(op.padding, op.fill, op.padding_mode)]


def _color_jitter(op: Any, pixels: Pixels) -> List[T.Transform]:
    _need_uint8(pixels)
    if pixels.tensor:
        if op.hue is not None:
            raise NoCounterpart(
                "torchvision turns the hue of tensors otherwise than that of PIL "
                "images: put it before what makes tensors")
        check_jitter(op, brightness=math.inf, contrast=0.9, saturation=0.9)
    return [T.ColorJitter(op.brightness, op.contrast, op.saturation, op.hue)]


def _grayscale(op: Any, pixels: Pixels) -> List[T.Transform]:
    _need_uint8(pixels)
    pixels.channels = op.num_output_channels
    return [T.Grayscale(op.num_output_channels)]


def _rgb(op: Any, pixels: Pixels) -> List[T.Transform]:
    del op
    if pixels.channels == 3:
        return []
    _need_uint8(pixels)
    pixels.channels = 3
    return [T.Grayscale(3)]


def _to_tensor(op: Any, pixels: Pixels) -> List[T.Transform]:
    if pixels.tensor:
        raise NoCounterpart("it takes PIL images, but gets tensors")
    return _to_image(op, pixels) + _dtype("float32", True, pixels)


def _to_image(op: Any, pixels: Pixels) -> List[T.Transform]:
    del op
    if pixels.tensor:
        return []
    pixels.tensor = True
    return [T.ToImage()]


def _dtype(dtype: Any, scale: bool, pixels: Pixels) -> List[T.Transform]:
    if not pixels.tensor:
        return []  # torchvision does not convert PIL images either
    made = T.ToDtype(_transform_values.image_dtype(dtype), scale)
    pixels.dtype = made.dtype
    return [made]


def _to_dtype(op: Any, pixels: Pixels) -> List[T.Transform]:
    return _dtype(op.dtype, op.scale, pixels)


def _convert_dtype(op: Any, pixels: Pixels) -> List[T.Transform]:
    if not pixels.tensor and type(op).__module__ == f"{_PACKAGE}.transforms":
        raise NoCounterpart("it takes tensors, but gets PIL images")
    return _dtype(op.dtype, True, pixels)


def _normalize(op: Any, pixels: Pixels) -> List[T.Transform]:
    if not pixels.tensor:
        raise NoCounterpart("it takes tensors, but gets PIL images")
    return [T.Normalize(op.mean, op.std)]


_COUNTERPARTS: Dict[str, Callable[[Any, Pixels], List[T.Transform]]] = {
    "CenterCrop": lambda op, _: [T.CenterCrop(op.size)],
    "ColorJitter": _color_jitter,
    "ConvertDtype": _convert_dtype, "ConvertImageDtype": _convert_dtype,
    "Grayscale": _grayscale, "Identity": lambda *_: [], "Normalize": _normalize,
    "PILToTensor": _to_image, "Pad": _pad, "RGB": _rgb,
    "RandomCrop": lambda op, _: [T.RandomCrop(
        op.size, op.padding, op.pad_if_needed, op.fill, op.padding_mode)],
    "RandomHorizontalFlip": lambda op, _: [T.RandomHorizontalFlip(op.p)],
    "RandomResizedCrop": _random_resized_crop,
    "RandomVerticalFlip": lambda op, _: [T.RandomVerticalFlip(op.p)],
    "Resize": _resize,
    "ToDtype": _to_dtype, "ToImage": _to_image, "ToImageTensor": _to_image,
    "ToPureTensor": lambda *_: [], "ToTensor": _to_tensor,
}


def owns(transform: Any) -> bool:
    """Whether a transform belongs to torchvision, or is torch's Sequential."""
    return comes_from(transform, _PACKAGE) or _is_sequence(transform)


def _is_sequence(transform: Any) -> bool:
    return (type(transform).__name__ == "Sequential" and
            comes_from(transform, "torch.nn"))


def flatten(transform: Any) -> List[Any]:
    """Returns the ops of nested sequences, in order."""
    if isinstance(transform, T.Compose):
        parts = transform.transforms
    elif _is_sequence(transform):
        parts = list(transform)
    elif owns(transform) and type(transform).__name__ in ("Compose",
                                                          "Sequential"):
        parts = transform.transforms
    else:
        return [transform]
    return [op for part in parts for op in flatten(part)]


def knows(op: Any) -> bool:
    """Whether the op's class has counterparts."""
    return (isinstance(op, T.Transform) or _is_identity(op) or
            comes_from(op, _PACKAGE) and type(op).__name__ in _COUNTERPARTS)


def _is_identity(op: Any) -> bool:
    return type(op).__name__ == "Identity" and comes_from(op, "torch.nn")


def counterparts(op: Any, pixels: Pixels) -> List[T.Transform]:
    """Returns the daemon's transforms that do what an op does to `pixels`. Updates
    `pixels`.

    Raises:
      NoCounterpart: the op has no counterpart.
    """
    if isinstance(op, T.Transform):
        return [op]
    if not knows(op):
        raise NoCounterpart
    try:
        return _COUNTERPARTS[type(op).__name__](op, pixels)
    except (ValueError, TypeError) as error:
        raise NoCounterpart(str(error)) from None
