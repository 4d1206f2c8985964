"""Transforms with the names, defaults and numerics of torchvision.transforms.v2.

They are data: the daemon carries them out. Sizes are pixels; images are
H x W pixels of C channels.
"""

from __future__ import annotations

import ctypes as _c
import enum as _enum
import numbers as _numbers

from . import _native

__all__ = [
    "CenterCrop", "ColorJitter", "Compose", "Grayscale", "InterpolationMode",
    "Normalize", "Pad", "RandomCrop", "RandomHorizontalFlip",
    "RandomResizedCrop", "RandomVerticalFlip", "Resize", "ToDtype", "ToImage",
    "Transform",
]

_PADDING_MODES = {"constant": 1, "edge": 2, "reflect": 3, "symmetric": 4}
_DTYPES = {
    "uint8": _native.UINT8, "float16": _native.FLOAT16,
    "half": _native.FLOAT16, "bfloat16": _native.BFLOAT16,
    "float32": _native.FLOAT32, "float": _native.FLOAT32,
}
_LAYOUTS = {"NCHW": 1, "NHWC": 2}


class InterpolationMode(_enum.Enum):
    """How pixels between pixels are found."""

    NEAREST = "nearest"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"


def _interpolation(mode):
    # torchvision's own enum has the same values.
    try:
        return InterpolationMode(getattr(mode, "value", mode))
    except ValueError:
        raise ValueError(
            f"interpolation must be nearest, bilinear or bicubic, not "
            f"{mode!r}") from None


_FILTERS = {
    (InterpolationMode.NEAREST, True): 1, (InterpolationMode.NEAREST, False): 1,
    (InterpolationMode.BILINEAR, True): 2, (InterpolationMode.BILINEAR, False): 4,
    (InterpolationMode.BICUBIC, True): 3}


def _antialias(antialias, interpolation):
    antialias = antialias in (True, None, "warn")
    if (interpolation, antialias) not in _FILTERS:
        raise ValueError("antialias=False goes with bilinear interpolation only")
    return antialias


def _pixels(value, what, smallest=1):
    if isinstance(value, bool) or not isinstance(value, _numbers.Integral):
        raise TypeError(f"{what} should be an integer, not {value!r}")
    if not smallest <= value <= 65535:
        raise ValueError(
            f"{what} should be between {smallest} and 65535, not {value}")
    return int(value)


def _height_width(size):
    if isinstance(size, _numbers.Integral):
        size = (size, size)
    size = tuple(size)
    if len(size) == 1:
        size = size * 2
    if len(size) != 2:
        raise ValueError("Please provide only two dimensions (h, w) for size.")
    return _pixels(size[0], "height"), _pixels(size[1], "width")


def _probability(p):
    if not 0.0 <= p <= 1.0:
        raise ValueError(
            f"`p` should be a floating point value in the interval [0.0, 1.0], "
            f"not {p}")
    return float(p)


def _pair(value, what):
    try:
        low, high = (float(v) for v in value)
    except (TypeError, ValueError):
        raise TypeError(f"{what} should be a sequence of two numbers, not "
                        f"{value!r}") from None
    if low > high:
        raise ValueError(f"{what} should be of kind (min, max), not {value!r}")
    return low, high


class Transform:
    """One step of a pipeline."""

    def _append(self, lib, pipeline):
        """Adds the step to a native pipeline; returns a status."""
        raise NotImplementedError

    def __repr__(self):
        shown = (f"{name}={value!r}" for name, value in vars(self).items()
                 if not name.startswith("_"))
        return f"{type(self).__name__}({', '.join(shown)})"


class Compose(Transform):
    """Several transforms, one after the other."""

    def __init__(self, transforms):
        transforms = list(transforms)
        if not transforms:
            raise ValueError("Pass at least one transform")
        for transform in transforms:
            if not isinstance(transform, Transform):
                raise TypeError(
                    f"{transform!r} is not a transform of forebay.transforms")
        self.transforms = transforms

    def _append(self, lib, pipeline):
        for transform in self.transforms:
            status = transform._append(lib, pipeline)
            if status != _native.OK:
                return status
        return _native.OK

    def __repr__(self):
        lines = "".join(f"\n      {t!r}" for t in self.transforms)
        return f"Compose({lines}\n)"


class Resize(Transform):
    """To (h, w); an int, or one number, is the length of the shorter edge.

    max_size bounds the longer edge, and needs a size of one number. With
    antialias, pixels are those that PIL makes; without, each is made of the
    four around its place, as torchvision does for tensors, and OpenCV.
    """

    def __init__(self, size, interpolation=InterpolationMode.BILINEAR,
                 max_size=None, antialias=True):
        if isinstance(size, _numbers.Integral):
            size = (size,)
        size = tuple(_pixels(side, "size") for side in size)
        if len(size) not in (1, 2):
            raise ValueError("size must be an integer or a sequence of one or "
                             "two integers")
        if max_size is not None:
            if len(size) == 2:
                raise ValueError("max_size should only be passed if size "
                                 "specifies the length of the smaller edge")
            if _pixels(max_size, "max_size") <= size[0]:
                raise ValueError(
                    f"max_size = {max_size} must be strictly greater than the "
                    f"requested size for the smaller edge size = {size[0]}")
        self.size = size
        self.interpolation = _interpolation(interpolation)
        self.max_size = max_size
        self.antialias = _antialias(antialias, self.interpolation)

    def _append(self, lib, pipeline):
        height, width = (self.size + (0,))[:2]
        return lib.forebay_pipeline_add_resize(
            pipeline, height, width, self.max_size or 0,
            _FILTERS[self.interpolation, self.antialias])


class CenterCrop(Transform):
    """The middle (h, w) of the image, padded with 0 if it is smaller."""

    def __init__(self, size):
        self.size = _height_width(size)

    def _append(self, lib, pipeline):
        return lib.forebay_pipeline_add_center_crop(pipeline, *self.size)


def _padding_sides(padding):
    """(left, top, right, bottom) of torchvision's ways to give padding."""
    if isinstance(padding, _numbers.Integral):
        padding = (padding,)
    padding = tuple(_pixels(side, "padding", 0) for side in padding)
    if len(padding) not in (1, 2, 4):
        raise ValueError("Padding must be an int or a 1, 2, or 4 element tuple, "
                         f"not a {len(padding)} element tuple")
    return (padding * 4)[:4] if len(padding) < 4 else padding


def _fill_values(fill):
    values = (fill,) if isinstance(fill, _numbers.Real) else tuple(fill or (0,))
    for value in values:
        if (not isinstance(value, _numbers.Real) or
                not 0 <= float(value) <= 255):
            raise ValueError(f"fill should be between 0 and 255, not {fill!r}")
    return tuple(float(value) for value in values)


def _check_padding_mode(mode):
    if mode not in _PADDING_MODES:
        raise ValueError("Padding mode should be either constant, edge, "
                         f"reflect or symmetric, not {mode!r}")
    return mode


def _native_padding(sides, fill, mode):
    values = _fill_values(fill)
    return _native.Padding(
        *sides, (_c.c_double * len(values))(*values), len(values),
        _PADDING_MODES[mode])


class Pad(Transform):
    """Adds pixels: one number for all sides, (x, y) or (left, top, right,
    bottom)."""

    def __init__(self, padding, fill=0, padding_mode="constant"):
        self.padding = _padding_sides(padding)
        _fill_values(fill)
        self.fill = fill
        self.padding_mode = _check_padding_mode(padding_mode)

    def _append(self, lib, pipeline):
        return lib.forebay_pipeline_add_pad(
            pipeline, _c.byref(_native_padding(self.padding, self.fill,
                                               self.padding_mode)))


class RandomCrop(Transform):
    """A crop of (h, w) at a random place."""

    def __init__(self, size, padding=None, pad_if_needed=False, fill=0,
                 padding_mode="constant"):
        self.size = _height_width(size)
        self.padding = None if padding is None else _padding_sides(padding)
        self.pad_if_needed = bool(pad_if_needed)
        _fill_values(fill)
        self.fill = fill
        self.padding_mode = _check_padding_mode(padding_mode)

    def _append(self, lib, pipeline):
        padding = None
        if self.padding is not None or self.pad_if_needed:
            padding = _c.byref(_native_padding(
                self.padding or (0, 0, 0, 0), self.fill, self.padding_mode))
        return lib.forebay_pipeline_add_random_crop(
            pipeline, *self.size, padding, self.pad_if_needed)


class RandomResizedCrop(Transform):
    """A crop of random area (a fraction) and ratio (w / h), resized to (h, w)."""

    def __init__(self, size, scale=(0.08, 1.0), ratio=(3.0 / 4.0, 4.0 / 3.0),
                 interpolation=InterpolationMode.BILINEAR, antialias=True):
        self.size = _height_width(size)
        self.scale = _pair(scale, "scale")
        self.ratio = _pair(ratio, "ratio")
        self.interpolation = _interpolation(interpolation)
        self.antialias = _antialias(antialias, self.interpolation)

    def _append(self, lib, pipeline):
        return lib.forebay_pipeline_add_random_resized_crop(
            pipeline, *self.size, _native.Range(*self.scale),
            _native.Range(*self.ratio),
            _FILTERS[self.interpolation, self.antialias])


class RandomHorizontalFlip(Transform):
    """Left becomes right, with probability p."""

    def __init__(self, p=0.5):
        self.p = _probability(p)

    def _append(self, lib, pipeline):
        return lib.forebay_pipeline_add_random_horizontal_flip(pipeline, self.p)


class RandomVerticalFlip(Transform):
    """Top becomes bottom, with probability p."""

    def __init__(self, p=0.5):
        self.p = _probability(p)

    def _append(self, lib, pipeline):
        return lib.forebay_pipeline_add_random_vertical_flip(pipeline, self.p)


def _jitter(value, name, center, low, high, clip):
    """The range that a ColorJitter argument means; None leaves it alone."""
    if value is None:
        return None
    if isinstance(value, _numbers.Real):
        if value < 0:
            raise ValueError(
                f"If {name} is a single number, it must be non negative.")
        pair = (center - value, center + value)
        if clip:
            pair = (max(pair[0], 0.0), pair[1])
    else:
        pair = _pair(value, name)
    if not low <= pair[0] <= pair[1] <= high:
        raise ValueError(f"{name} values should be between {low} and {high}, "
                         f"not {value!r}")
    return None if pair == (center, center) else (float(pair[0]), float(pair[1]))


class ColorJitter(Transform):
    """Random changes of colour, in random order; a number v means 1 - v to
    1 + v (hue: -v to v)."""

    def __init__(self, brightness=None, contrast=None, saturation=None,
                 hue=None):
        infinity = float("inf")
        self.brightness = _jitter(brightness, "brightness", 1, 0, infinity, True)
        self.contrast = _jitter(contrast, "contrast", 1, 0, infinity, True)
        self.saturation = _jitter(saturation, "saturation", 1, 0, infinity, True)
        self.hue = _jitter(hue, "hue", 0, -0.5, 0.5, False)

    def _append(self, lib, pipeline):
        ranges = (self.brightness, self.contrast, self.saturation, self.hue)
        return lib.forebay_pipeline_add_color_jitter(pipeline, *(
            None if pair is None else _c.byref(_native.Range(*pair))
            for pair in ranges))


class Grayscale(Transform):
    """To luma, as 1 channel or as 3 equal ones."""

    def __init__(self, num_output_channels=1):
        if num_output_channels not in (1, 3):
            raise ValueError("num_output_channels should be either 1 or 3, not "
                             f"{num_output_channels!r}")
        self.num_output_channels = num_output_channels

    def _append(self, lib, pipeline):
        return lib.forebay_pipeline_add_grayscale(
            pipeline, self.num_output_channels)


class Normalize(Transform):
    """(x - mean) / std, a channel at a time; needs a floating type."""

    def __init__(self, mean, std, inplace=False):
        del inplace  # the daemon writes each pixel once in any case
        self.mean = [float(v) for v in mean]
        self.std = [float(v) for v in std]
        if not self.mean or not self.std:
            raise ValueError("mean and std should each have a value")
        if 0.0 in self.std:
            raise ValueError("std should not be 0: that would divide by zero")

    def _append(self, lib, pipeline):
        mean = (_c.c_double * len(self.mean))(*self.mean)
        std = (_c.c_double * len(self.std))(*self.std)
        return lib.forebay_pipeline_add_normalize(
            pipeline, mean, len(mean), std, len(std))


class ToImage(Transform):
    """To a tensor: layout "NCHW", as torchvision, or "NHWC"."""

    def __init__(self, layout="NCHW"):
        if layout not in _LAYOUTS:
            raise ValueError(f'layout should be "NCHW" or "NHWC", not {layout!r}')
        self.layout = layout

    def _append(self, lib, pipeline):
        return lib.forebay_pipeline_add_to_image(
            pipeline, _LAYOUTS[self.layout])


def _dtype_name(dtype):
    """ "float32" for "float32", numpy.float32, torch.float32 and the like."""
    name = dtype if isinstance(dtype, str) else getattr(
        dtype, "name", getattr(dtype, "__name__", str(dtype)))
    name = name.rpartition(".")[2]
    if name not in _DTYPES:
        raise ValueError("dtype should be uint8, float16, bfloat16 or float32, "
                         f"not {dtype!r}")
    return name


class ToDtype(Transform):
    """To uint8, float16, bfloat16 or float32, given as a string, a NumPy or a
    torch dtype; with scale, 0..255 becomes 0..1."""

    def __init__(self, dtype, scale=False):
        self.dtype = _dtype_name(dtype)
        self.scale = bool(scale)

    def _append(self, lib, pipeline):
        return lib.forebay_pipeline_add_to_dtype(
            pipeline, _DTYPES[self.dtype], self.scale)
