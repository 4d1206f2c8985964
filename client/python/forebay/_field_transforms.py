"""The transforms of a dataset's fields by name."""

from __future__ import annotations

import os
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple

from . import _native, _translate, errors
from .transforms import Transform

_IMAGES = ("image", "jpg", "jpeg", "png", "webp", "gif", "bmp", "tif", "tiff")


class _DecodeOnly(Transform):
    """No step."""

    def _append(self, lib: Any, pipeline: Any) -> int:
        return _native.OK


class FieldTransforms(Transform):
    """The transforms of images, and of fields that have some of their own: arrays,
    and further images."""

    def __init__(self, image: Optional[Transform],
                 own: Mapping[str, Transform]) -> None:
        self.image = image
        self.own = dict(own)

    def _append(self, lib: Any, pipeline: Any) -> int:
        status = _native.OK
        if self.image is not None:
            status = self.image._append(lib, pipeline)
        for field, transform in self.own.items():
            if status != _native.OK:
                break
            ops = lib.forebay_pipeline_new()
            try:
                status = transform._append(lib, ops)
                if status == _native.OK:
                    status = lib.forebay_pipeline_add_array(
                        pipeline, os.fsencode(field), ops)
            finally:
                lib.forebay_pipeline_free(ops)
        return status


def _translated(field: str, transform: Any) -> Transform:
    """The daemon's ops for a field that is an array, or not the first image."""
    if isinstance(transform, Transform):
        return transform
    if _translate.is_foreign(transform):
        found = _translate.translate(transform)
        if found.code is None and not found.trailing:
            return found.transform or _DecodeOnly()
        raise errors.Unsupported(
            f"transform: that of {field} has ops without a counterpart in "
            "forebay.transforms, and only the first image's may")
    raise errors.InvalidArgument(
        f"transform: that of {field} must come from forebay.transforms, not "
        f"{transform!r}")


def _is_image(field: str) -> bool:
    return field.rpartition(".")[2] in _IMAGES


def split(transforms: Mapping[Any, Any],
          fields: Optional[Sequence[str]]) -> Tuple[Any, Dict[str, Transform]]:
    """The transforms of the first image, or None, and those of other fields by name.

    An image that has none is only decoded.

    Args:
      transforms: by field, as DataLoader takes them; None has no effect.
      fields: the argument of DataLoader's.

    Raises:
      errors.InvalidArgument: one of them is none, or is of no field.
      errors.Unsupported: the daemon cannot run one that it must.
    """
    known = ["image"] if fields is None else [
        str(field).split(";")[0] for field in fields]
    images = [field for field in known if _is_image(field)]
    given: Dict[str, Any] = {}
    for name, transform in transforms.items():
        if not isinstance(name, str):
            raise errors.InvalidArgument(
                f"transform: {name!r} is no name of a field")
        field = name.split(";")[0]
        # Without `fields`, only the daemon knows them.
        if field not in known and fields is not None:
            raise errors.InvalidArgument(f"transform: there is no field {field}")
        if field in given:
            raise errors.InvalidArgument(f"transform: {field} has two of them")
        given[field] = transform
    first = given.pop(images[0], None) if images else None
    own = {field: _translated(field, transform)
           for field, transform in given.items() if transform is not None}
    for field in images[1:]:
        own.setdefault(field, _DecodeOnly())
    return first, own
