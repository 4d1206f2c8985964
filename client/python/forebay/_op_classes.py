"""Classes of ops, as tools/protoc writes them from the messages of proto/."""

from typing import Any, Dict

from . import _transform_values as _values
from ._transform import AudioTransform, Transform

__all__ = [
    "RandomHorizontalFlip", "RandomVerticalFlip", "Decode", "ExifTranspose", "ToMono",
]


class RandomHorizontalFlip(Transform):
    """Mirrors left and right, with probability p.

    Args:
      p: The probability that an image is mirrored.
    """

    def __init__(self, p: float = 0.5) -> None:
        self.p = _values.real(p, "p", 0.0, 1.0)

    def _op(self) -> Dict[str, Any]:
        return {"random_horizontal_flip": {"p": self.p}}


class RandomVerticalFlip(Transform):
    """Mirrors top and bottom, with probability p.

    Args:
      p: The probability that an image is mirrored.
    """

    def __init__(self, p: float = 0.5) -> None:
        self.p = _values.real(p, "p", 0.0, 1.0)

    def _op(self) -> Dict[str, Any]:
        return {"random_vertical_flip": {"p": self.p}}


class Decode(Transform):
    """Says how images are decoded. No other op may come before this one.

    Args:
      scaled: Whether JPEGs may be decoded at 1/2, 1/4 or 1/8 of their size. This
        happens if the first Resize or RandomResizedCrop shrinks the image by at least
        that factor, with an antialiased filter. Decoding is then faster, and pixels
        differ a little; random draws do not. See images.md.
    """

    def __init__(self, scaled: bool = False) -> None:
        self.scaled = bool(scaled)

    def _op(self) -> Dict[str, Any]:
        return {"decode": {"scaled": self.scaled}}


class ExifTranspose(Transform):
    """Rotates and flips an image by its EXIF orientation, like Pillow's
    ImageOps.exif_transpose.

    Only Decode may come before it.
    """

    def _op(self) -> Dict[str, Any]:
        return {"exif_transpose": {}}


class ToMono(AudioTransform):
    """Takes the mean of a clip's channels: (frames, channels) becomes (frames)."""

    def _op(self) -> Dict[str, Any]:
        return {"to_mono": {}}
