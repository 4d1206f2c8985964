"""Transforms with the names, defaults and numerics of torchvision.transforms.v2.

Transforms are data; the daemon executes them. Sizes are in pixels. Images are H x W
pixels of C channels. Slice, RandomWindow, Transpose, ToDtype and Normalize also take
arrays: DataLoader's transform={"npy": ...}. A negative axis counts from the last. Ops
of audio take arrays, too, with torchaudio.transforms' names and numerics.
"""

from __future__ import annotations

import numbers as _numbers
from typing import Any, Dict, Iterable, Optional, Sequence, Union

from . import _native, _op_classes, _transform_values as _values
from ._audio_transforms import (
    AmplitudeToDB, FrequencyMasking, MFCC, MelSpectrogram, Resample, Spectrogram,
    TimeMasking, Vol)
from ._op_classes import *  # noqa: F401,F403
from ._transform import Transform
from ._transform_values import Fill, InterpolationMode, JitterValue, Size

__all__ = [
    "AmplitudeToDB", "CenterCrop", "ColorJitter", "Compose", "FrequencyMasking",
    "Grayscale", "InterpolationMode", "MFCC", "MelSpectrogram", "Normalize", "Pad",
    "RandomCrop", "RandomResizedCrop", "RandomWindow", "Resample", "Resize", "Slice",
    "Spectrogram", "TimeMasking", "ToDtype", "ToImage", "Transform", "Transpose", "Vol",
]
__all__ += _op_classes.__all__
for _name in _op_classes.__all__:  # Pickles and users see the public name alone.
    globals()[_name].__module__ = __name__

_LAYOUTS = ("NCHW", "NHWC")


class Compose(Transform):
    """Several transforms, one after the other."""

    def __init__(self, transforms: Iterable[Transform]) -> None:
        self.transforms = list(transforms)
        if not self.transforms:
            raise ValueError("Pass at least one transform")
        for transform in self.transforms:
            if not isinstance(transform, Transform):
                raise TypeError(
                    f"{transform!r} is not a transform of forebay.transforms")

    def _append(self, lib: Any, pipeline: Any) -> int:
        for transform in self.transforms:
            status = transform._append(lib, pipeline)
            if status != _native.OK:
                return status
        return _native.OK

    def __repr__(self) -> str:
        lines = "".join(f"\n      {t!r}" for t in self.transforms)
        return f"Compose({lines}\n)"


class Resize(Transform):
    """Resizes to (h, w). A single number is the length of the shorter edge.

    max_size bounds the longer edge; it needs a single number as size. With antialias,
    pixels equal PIL's. Without antialias, each pixel is computed from the four pixels
    around its place, as by torchvision for tensors and by OpenCV.
    """

    def __init__(
            self, size: Size,
            interpolation: Union[InterpolationMode, str] =
            InterpolationMode.BILINEAR,
            max_size: Optional[int] = None,
            antialias: Optional[bool] = True) -> None:
        sides: Any = (size,) if isinstance(size, _numbers.Integral) else size
        self.size = tuple(_values.pixels(side, "size") for side in sides)
        if len(self.size) not in (1, 2):
            raise ValueError("size must be an integer or a sequence of one or "
                             "two integers")
        if max_size is not None:
            if len(self.size) == 2:
                raise ValueError("max_size should only be passed if size "
                                 "specifies the length of the smaller edge")
            if _values.pixels(max_size, "max_size") <= self.size[0]:
                raise ValueError(
                    f"max_size = {max_size} must be strictly greater than the "
                    f"requested size for the smaller edge size = "
                    f"{self.size[0]}")
        self.interpolation = _values.read_interpolation(interpolation)
        self.max_size = max_size
        self.antialias = _values.read_antialias(antialias, self.interpolation)

    def _op(self) -> Dict[str, Any]:
        height, width = (self.size + (0,))[:2]
        return {"resize": {
            "height": height, "width": width, "max_size": self.max_size or 0,
            "interpolation": _values.FILTERS[self.interpolation, self.antialias]}}


class CenterCrop(Transform):
    """Takes the middle (h, w) of the image. A smaller image is padded with 0."""

    def __init__(self, size: Size) -> None:
        self.size = _values.height_width(size)

    def _op(self) -> Dict[str, Any]:
        height, width = self.size
        return {"center_crop": {"height": height, "width": width}}


class Pad(Transform):
    """Adds pixels: one number for all sides, (x, y), or (left, top, right,
    bottom)."""

    def __init__(self, padding: Size, fill: Fill = 0,
                 padding_mode: str = "constant") -> None:
        self.padding = _values.padding_sides(padding)
        _values.fill_values(fill)
        self.fill = fill
        self.padding_mode = _values.padding_mode(padding_mode)

    def _op(self) -> Dict[str, Any]:
        return {"pad": {"padding": _values.padding_message(
            self.padding, self.fill, self.padding_mode)}}


class RandomCrop(Transform):
    """Crops (h, w) at a random place."""

    def __init__(self, size: Size, padding: Optional[Size] = None,
                 pad_if_needed: bool = False, fill: Fill = 0,
                 padding_mode: str = "constant") -> None:
        self.size = _values.height_width(size)
        self.padding = None if padding is None else _values.padding_sides(padding)
        self.pad_if_needed = bool(pad_if_needed)
        _values.fill_values(fill)
        self.fill = fill
        self.padding_mode = _values.padding_mode(padding_mode)

    def _op(self) -> Dict[str, Any]:
        height, width = self.size
        padding = None
        if self.padding is not None or self.pad_if_needed:
            padding = _values.padding_message(
                self.padding or (0, 0, 0, 0), self.fill, self.padding_mode)
        return {"random_crop": {"height": height, "width": width, "padding": padding,
                                "pad_if_needed": self.pad_if_needed}}


class RandomResizedCrop(Transform):
    """Crops a part with a random area (a fraction of the image's area) and a random
    ratio (w / h), and resizes it to (h, w)."""

    def __init__(
            self, size: Size, scale: Sequence[float] = (0.08, 1.0),
            ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0),
            interpolation: Union[InterpolationMode, str] =
            InterpolationMode.BILINEAR,
            antialias: Optional[bool] = True) -> None:
        self.size = _values.height_width(size)
        self.scale = _values.pair(scale, "scale")
        self.ratio = _values.pair(ratio, "ratio")
        self.interpolation = _values.read_interpolation(interpolation)
        self.antialias = _values.read_antialias(antialias, self.interpolation)

    def _op(self) -> Dict[str, Any]:
        height, width = self.size
        return {"random_resized_crop": {
            "height": height, "width": width,
            "scale_min": self.scale[0], "scale_max": self.scale[1],
            "ratio_min": self.ratio[0], "ratio_max": self.ratio[1],
            "interpolation": _values.FILTERS[self.interpolation, self.antialias]}}


class ColorJitter(Transform):
    """Changes colours at random, in random order. A number v means 1 - v to 1 + v
    (hue: -v to v)."""

    def __init__(self, brightness: JitterValue = None,
                 contrast: JitterValue = None, saturation: JitterValue = None,
                 hue: JitterValue = None) -> None:
        infinity = float("inf")
        self.brightness = _values.jitter(brightness, "brightness", 1, 0, infinity, True)
        self.contrast = _values.jitter(contrast, "contrast", 1, 0, infinity, True)
        self.saturation = _values.jitter(saturation, "saturation", 1, 0, infinity, True)
        self.hue = _values.jitter(hue, "hue", 0, -0.5, 0.5, False)

    def _op(self) -> Dict[str, Any]:
        ranges = {"brightness": self.brightness, "contrast": self.contrast,
                  "saturation": self.saturation, "hue": self.hue}
        # A jitter that changes nothing is not added, so later ops keep their random
        # streams.
        set_ranges = {name: {"min": pair[0], "max": pair[1]}
                      for name, pair in ranges.items() if pair is not None}
        return {"color_jitter": set_ranges} if set_ranges else {}


class Grayscale(Transform):
    """Converts to luma, as 1 channel or as 3 equal channels."""

    def __init__(self, num_output_channels: int = 1) -> None:
        if num_output_channels not in (1, 3):
            raise ValueError("num_output_channels should be either 1 or 3, not "
                             f"{num_output_channels!r}")
        self.num_output_channels = num_output_channels

    def _op(self) -> Dict[str, Any]:
        return {"grayscale": {"num_output_channels": self.num_output_channels}}


class Normalize(Transform):
    """Computes (x - mean) / std per channel; needs a floating type.

    For arrays, mean and std have a single value, or one value for each index of `axis`.
    """

    def __init__(self, mean: Sequence[float], std: Sequence[float],
                 inplace: bool = False, *, axis: Optional[int] = None) -> None:
        del inplace  # the daemon always writes each pixel only once
        self.mean = [float(v) for v in mean]
        self.std = [float(v) for v in std]
        if not self.mean or not self.std:
            raise ValueError("mean and std should each have a value")
        if 0.0 in self.std:
            raise ValueError("std should not be 0: that would divide by zero")
        self.axis = None if axis is None else _values.axis(axis)

    def _op(self) -> Dict[str, Any]:
        return {"normalize": {"mean": self.mean, "std": self.std, "axis": self.axis}}


class Slice(Transform):
    """Takes the elements [start, stop) of an array's axis, as Python's slices do."""

    def __init__(self, start: int = 0, stop: Optional[int] = None,
                 axis: int = 0) -> None:
        self.start = _values.index(start, "start")
        self.stop = None if stop is None else _values.index(stop, "stop")
        self.axis = _values.axis(axis)

    def _op(self) -> Dict[str, Any]:
        return {"slice": {"start": self.start, "stop": self.stop, "axis": self.axis}}


class RandomWindow(Transform):
    """Takes `length` successive elements of an array's axis, beginning at a random
    place.

    The place is uniformly random. All arrays of a sample that have the same length are
    cut at the same place. If a pipeline has several windows, each draws its own place.
    Shorter arrays are an error; with pad_if_needed, they get zeros at their end.
    """

    def __init__(self, length: int, axis: int = 0,
                 pad_if_needed: bool = False) -> None:
        self.length = _values.index(length, "length")
        if self.length < 1:
            raise ValueError(f"length should be at least 1, not {length!r}")
        self.axis = _values.axis(axis)
        self.pad_if_needed = bool(pad_if_needed)

    def _op(self) -> Dict[str, Any]:
        return {"random_window": {"length": self.length, "axis": self.axis,
                                  "pad_if_needed": self.pad_if_needed}}


class Transpose(Transform):
    """Reorders an array's axes, like numpy.transpose."""

    def __init__(self, axes: Sequence[int]) -> None:
        self.axes = tuple(_values.index(axis, "an axis") for axis in axes)
        if sorted(self.axes) != list(range(len(self.axes))) or not self.axes:
            raise ValueError(f"axes should be 0, 1, ... in some order, not {axes!r}")

    def _op(self) -> Dict[str, Any]:
        return {"transpose": {"order": self.axes}}


class ToImage(Transform):
    """Converts to a tensor. The layout is "NCHW", as in torchvision, or "NHWC"."""

    def __init__(self, layout: str = "NCHW") -> None:
        if layout not in _LAYOUTS:
            raise ValueError(f'layout should be "NCHW" or "NHWC", not {layout!r}')
        self.layout = layout

    def _op(self) -> Dict[str, Any]:
        return {"to_image": {"layout": self.layout}}


class ToDtype(Transform):
    """Converts to uint8, float16, bfloat16 or float32, given as a string, a NumPy
    or a torch dtype; with scale, 0..255 becomes 0..1.

    Arrays become any type of numbers, but floating types do not become integers. With
    scale, integers are divided by the largest number of their type.
    """

    def __init__(self, dtype: Any, scale: bool = False) -> None:
        self.dtype = _values.dtype_name(dtype)
        self.scale = bool(scale)

    def _op(self) -> Dict[str, Any]:
        return {"to_dtype": {"dtype": _values.DTYPES[self.dtype], "scale": self.scale}}
