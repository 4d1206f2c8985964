"""Checks the arguments of transforms, and finds their values in the messages of ops."""

from __future__ import annotations

import enum
import numbers
from typing import Any, Collection, Dict, Optional, Sequence, Tuple, Union

Size = Union[int, Sequence[int]]
Fill = Union[None, float, Sequence[float]]
JitterValue = Union[None, float, Sequence[float]]

PADDING_MODES = ("constant", "edge", "reflect", "symmetric")
_IMAGE_DTYPES = {
    "uint8": "UINT8", "float16": "FLOAT16",
    "half": "FLOAT16", "bfloat16": "BFLOAT16",
    "float32": "FLOAT32", "float": "FLOAT32",
}
DTYPES = {
    **_IMAGE_DTYPES, "float64": "FLOAT64", "double": "FLOAT64",
    "int8": "INT8", "int16": "INT16", "int32": "INT32",
    "int64": "INT64", "long": "INT64", "uint16": "UINT16",
    "uint32": "UINT32", "uint64": "UINT64",
}


class InterpolationMode(enum.Enum):
    """The ways in which resizing computes pixels."""

    NEAREST = "nearest"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"


def read_interpolation(mode: Any) -> InterpolationMode:
    # torchvision's own enum has the same values.
    try:
        return InterpolationMode(getattr(mode, "value", mode))
    except ValueError:
        raise ValueError(
            f"interpolation must be nearest, bilinear or bicubic, not "
            f"{mode!r}") from None


FILTERS = {
    (InterpolationMode.NEAREST, True): "NEAREST",
    (InterpolationMode.NEAREST, False): "NEAREST",
    (InterpolationMode.BILINEAR, True): "BILINEAR",
    (InterpolationMode.BILINEAR, False): "BILINEAR_ALIASED",
    (InterpolationMode.BICUBIC, True): "BICUBIC"}


def read_antialias(antialias: Any, interpolation: InterpolationMode) -> bool:
    wanted = antialias in (True, None, "warn")
    if (interpolation, wanted) not in FILTERS:
        raise ValueError("antialias=False goes with bilinear interpolation only")
    return wanted


def integer(value: Any, what: str, smallest: int, largest: int) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{what} should be an integer, not {value!r}")
    number = int(value)
    if not smallest <= number <= largest:
        raise ValueError(
            f"{what} should be between {smallest} and {largest}, not {value}")
    return number


def pixels(value: Any, what: str, smallest: int = 1) -> int:
    return integer(value, what, smallest, 65535)


def height_width(size: Any) -> Tuple[int, int]:
    if isinstance(size, numbers.Integral):
        size = (size, size)
    size = tuple(size)
    if len(size) == 1:
        size = size * 2
    if len(size) != 2:
        raise ValueError("Please provide only two dimensions (h, w) for size.")
    return pixels(size[0], "height"), pixels(size[1], "width")


def real(value: float, what: str, smallest: float, largest: float) -> float:
    if not smallest <= value <= largest:
        raise ValueError(
            f"`{what}` should be a floating point value in the interval "
            f"[{smallest}, {largest}], not {value}")
    return float(value)


def choice(value: Any, choices: Collection[Any], name: str) -> Any:
    """Returns a string or bool that is one of some."""
    if not isinstance(value, (str, bool)) or value not in choices:
        shown = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} should be one of {shown}, not {value!r}")
    return value


def pair(value: Any, what: str) -> Tuple[float, float]:
    try:
        low, high = (float(v) for v in value)
    except (TypeError, ValueError):
        raise TypeError(f"{what} should be a sequence of two numbers, not "
                        f"{value!r}") from None
    if low > high:
        raise ValueError(f"{what} should be of kind (min, max), not {value!r}")
    return low, high


def padding_sides(padding: Any) -> Tuple[int, ...]:
    """Returns (left, top, right, bottom) from any form of padding that torchvision
    takes."""
    if isinstance(padding, numbers.Integral):
        padding = (padding,)
    padding = tuple(pixels(side, "padding", 0) for side in padding)
    if len(padding) not in (1, 2, 4):
        raise ValueError("Padding must be an int or a 1, 2, or 4 element tuple, "
                         f"not a {len(padding)} element tuple")
    return (padding * 4)[:4] if len(padding) < 4 else padding


def fill_values(fill: Any) -> Tuple[float, ...]:
    values = (fill,) if isinstance(fill, numbers.Real) else tuple(fill or (0,))
    for value in values:
        if (not isinstance(value, numbers.Real) or
                not 0 <= float(value) <= 255):
            raise ValueError(f"fill should be between 0 and 255, not {fill!r}")
    return tuple(float(value) for value in values)


def padding_mode(mode: str) -> str:
    if mode not in PADDING_MODES:
        raise ValueError("Padding mode should be either constant, edge, "
                         f"reflect or symmetric, not {mode!r}")
    return mode


def padding_message(sides: Tuple[int, ...], fill: Fill, mode: str) -> Dict[str, Any]:
    left, top, right, bottom = sides
    return {"left": left, "top": top, "right": right, "bottom": bottom,
            "fill": fill_values(fill), "mode": mode.upper()}


def jitter(value: Any, name: str, center: float, low: float,
           high: float, clip: bool) -> Optional[Tuple[float, float]]:
    """Returns the range for an argument of ColorJitter; None if the argument changes
    nothing."""
    if value is None:
        return None
    if isinstance(value, numbers.Real):
        if value < 0:
            raise ValueError(
                f"If {name} is a single number, it must be non negative.")
        least, most = center - float(value), center + float(value)
        if clip:
            least = max(least, 0.0)
    else:
        least, most = pair(value, name)
    if not low <= least <= most <= high:
        raise ValueError(f"{name} values should be between {low} and {high}, "
                         f"not {value!r}")
    return None if (least, most) == (center, center) else (least, most)


def dtype_name(dtype: Any) -> str:
    """Returns the name of a type: "float32" for "float32", numpy.float32,
    torch.float32 and the like."""
    name = dtype if isinstance(dtype, str) else getattr(
        dtype, "name", getattr(dtype, "__name__", str(dtype)))
    name = name.rpartition(".")[2]
    if name not in DTYPES:
        raise ValueError("dtype should be a type of numbers, such as float32, "
                         f"not {dtype!r}")
    return name


def image_dtype(dtype: Any) -> str:
    """Returns the name of a type that images may have, as dtype_name does."""
    name = dtype_name(dtype)
    if name not in _IMAGE_DTYPES:
        raise ValueError("dtype should be uint8, float16, bfloat16 or float32, "
                         f"not {dtype!r}")
    return name


def index(value: Any, name: str) -> int:
    """Returns an integer that fits in 64 bits."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} should be an integer, not {value!r}")
    number = int(value)
    if not -1 << 63 <= number < 1 << 63:
        raise ValueError(f"{name} should fit in 64 bits, not {value!r}")
    return number


def axis(value: Any) -> int:
    """Returns the number of an axis, -8 to 7."""
    number = index(value, "axis")
    if not -8 <= number < 8:
        raise ValueError(f"axis should be the number of an axis, not {value!r}")
    return number
