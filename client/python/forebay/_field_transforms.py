"""The transforms of a dataset's fields by name."""

from __future__ import annotations

import os
from typing import Any, Dict, Mapping, Optional, Sequence, Set, Tuple

from . import _native, _options, errors
from ._lmdb import LMDB
from ._tfrecord import TFRecords
from .transforms import (Compose, Normalize, RandomWindow, Slice, ToDtype,
                         Transform, Transpose)

_IMAGES = ("image", "jpg", "jpeg", "png")  # types, and extensions
_DATUM = {"image": "image", "array": "npy", "label": "int64"}


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


def _is_images(transform: Any) -> bool:
    """Whether a transform is of images alone, as those of other libraries are."""
    if isinstance(transform, Compose):
        return any(map(_is_images, transform.transforms))
    return not isinstance(transform, (Normalize, RandomWindow, Slice, ToDtype,
                                      Transpose))


class _Fields:
    """The fields of a dataset, as far as they are known before the daemon sees it.

    Attributes:
      names: of all; None if they are not known.
      types: by name; None if names alone are known, or nothing.
      has_extensions: whether names tell images.
    """

    def __init__(self, dataset: Any, fields: Any) -> None:
        self.names: Optional[Set[str]] = None
        self.types: Optional[Mapping[str, str]] = None
        is_path = isinstance(dataset, (str, bytes, os.PathLike))
        has_records = isinstance(dataset, (LMDB, TFRecords))
        if has_records:
            fields = dataset.fields
        elif is_path:
            path = _options.path_of(dataset)
            has_records = _options.is_tfrecord(path)
        self.has_extensions = not has_records and not (
            is_path and _options.is_mds(os.fsdecode(path)))
        if has_records and isinstance(fields, str):
            fields = {"value" if isinstance(dataset, LMDB) else "record": fields}
        if has_records and isinstance(fields, Mapping):
            if isinstance(dataset, LMDB) and fields.get("value") == "datum":
                fields = {**fields, **_DATUM}
            self.types = fields
        if isinstance(fields, (list, tuple, set, Mapping)):
            self.names = {field if has_records else str(field).split(";")[0]
                          for field in fields}

    def is_image(self, field: str, transform: Any) -> bool:
        """Whether a field is the image, or must be it to have that transform."""
        if self.types is not None:
            return self.types.get(field) in _IMAGES
        if self.has_extensions:
            return field.rpartition(".")[2] in _IMAGES
        return transform is not None and _is_images(transform)

    def may_have(self, field: str, is_image: bool) -> bool:
        """Whether there may be a field of that name."""
        if self.names is not None:
            return field in self.names
        # The daemon finds out which arrays there are.
        return not is_image or not self.has_extensions or field == "image"


def split(transforms: Mapping[Any, Any], dataset: Any,
          fields: Optional[Sequence[str]]) -> Tuple[Any, Dict[str, Transform]]:
    """The transforms of images, or None, and those of arrays by their fields.

    Args:
      transforms: by field, as DataLoader takes them; None has no effect.
      dataset, fields: the arguments of DataLoader's.

    Raises:
      errors.InvalidArgument: one of them is none, or is of no field.
    """
    image: Any = None
    arrays: Dict[str, Transform] = {}
    known = _Fields(dataset, fields)
    seen = set()
    for name, transform in transforms.items():
        if not isinstance(name, str):
            raise errors.InvalidArgument(
                f"transform: {name!r} is no name of a field")
        field = name.split(";")[0] if known.has_extensions else name
        is_image = known.is_image(field, transform)
        if not known.may_have(field, is_image):
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
