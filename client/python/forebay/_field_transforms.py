"""The transforms of a dataset's fields by name."""

from __future__ import annotations

import os
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple

from . import _native, errors
from .transforms import Transform

_IMAGES = ("image", "jpg", "jpeg", "png", "webp", "gif", "bmp", "tif", "tiff")


class FieldTransforms(Transform):
    """The transforms of images, and of fields that are arrays."""

    def __init__(self, image: Optional[Transform],
                 arrays: Mapping[str, Transform]) -> None:
        self.image = image
        self.arrays = dict(arrays)

    def _append(self, lib: Any, pipeline: Any) -> int:
        status = _native.OK
        if self.image is not None:
            status = self.image._append(lib, pipeline)
        for field, transform in self.arrays.items():
            if status != _native.OK:
                break
            own = lib.forebay_pipeline_new()
            try:
                status = transform._append(lib, own)
                if status == _native.OK:
                    status = lib.forebay_pipeline_add_array(
                        pipeline, os.fsencode(field), own)
            finally:
                lib.forebay_pipeline_free(own)
        return status


def split(transforms: Mapping[Any, Any],
          fields: Optional[Sequence[str]]) -> Tuple[Any, Dict[str, Transform]]:
    """The transforms of images, or None, and those of arrays by their fields.

    Args:
      transforms: by field, as DataLoader takes them; None has no effect.
      fields: the argument of DataLoader's.

    Raises:
      errors.InvalidArgument: one of them is none, or is of no field.
    """
    image: Any = None
    arrays: Dict[str, Transform] = {}
    known = {"image"} if fields is None else {
        str(field).split(";")[0] for field in fields}
    seen = set()
    for name, transform in transforms.items():
        if not isinstance(name, str):
            raise errors.InvalidArgument(
                f"transform: {name!r} is no name of a field")
        field = name.split(";")[0]
        is_image = field.rpartition(".")[2] in _IMAGES
        # Without `fields`, only the daemon knows those of arrays.
        if field not in known and (is_image or fields is not None):
            raise errors.InvalidArgument(f"transform: there is no field {field}")
        if field in seen:
            raise errors.InvalidArgument(f"transform: {field} has two of them")
        seen.add(field)
        if transform is None:
            continue
        if is_image:
            if image is not None:
                raise errors.InvalidArgument(
                    "transform: two fields are images, of which a batch can have one")
            image = transform
        elif isinstance(transform, Transform):
            arrays[field] = transform
        else:
            raise errors.InvalidArgument(
                f"transform: that of {field} must come from forebay.transforms, not "
                f"{transform!r}")
    return image, arrays
