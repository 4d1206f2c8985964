"""The transforms of a dataset's fields by name."""

from __future__ import annotations

import os
from typing import Any, Dict, Mapping, Optional, Tuple

from . import _native, errors
from .transforms import Transform

_IMAGES = ("image", "jpg", "jpeg", "png")


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


def split(transforms: Mapping[Any, Any]) -> Tuple[Any, Dict[str, Transform]]:
    """The transforms of images, or None, and those of arrays by their fields.

    Args:
      transforms: by field, as DataLoader takes them.

    Raises:
      errors.InvalidArgument: one of them is none, or there are two of images.
    """
    image, arrays = None, {}
    for name, transform in transforms.items():
        if not isinstance(name, str):
            raise errors.InvalidArgument(
                f"transform: {name!r} is no name of a field")
        field = name.split(";")[0]
        if field.rpartition(".")[2] in _IMAGES:
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
