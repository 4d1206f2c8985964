"""The transforms of a dataset's fields by name."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

from . import _native, _paths, _torchaudio, _translate, errors
from ._array_record import ArrayRecords
from ._counterpart import NoCounterpart
from ._hdf5 import HDF5
from ._lmdb import LMDB
from ._npy_folder import NpyFolder
from ._npz import Npz
from ._tfrecord import TFRecords
from ._tokens import Tokens
from ._transform import AudioTransform
from .transforms import (Compose, Normalize, RandomWindow, Slice, ToDtype,
                         Transform, Transpose)

# The types and extensions of fields that are images.
_IMAGES = ("image", "jpg", "jpeg", "png", "webp", "avif", "gif", "bmp", "tif",
           "tiff", "ppm", "pgm", "pbm", "pnm")
_RECORDS = (TFRecords, LMDB, ArrayRecords, HDF5)
_ARRAYS = (Npz, NpyFolder, Tokens)
_DATUM = {"image": "image", "array": "npy", "label": "int64"}


class DecodeOnly(Transform):
    """A transform without steps: images are only decoded."""

    def _append(self, lib: Any, pipeline: Any) -> int:
        return _native.OK


class FieldTransforms(Transform):
    """The transforms of the first image, and of other fields that have their own
    transforms: arrays and further images."""

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
    """Returns the daemon's ops for a field that is an array, or an image other than
    the first."""
    if isinstance(transform, Transform):
        return transform
    if _torchaudio.owns(transform):
        try:
            return _torchaudio.translate(transform)
        except NoCounterpart as why:
            raise errors.Unsupported(
                f"transform: that of {field} has no counterpart in "
                f"forebay.transforms{why}") from None
    if _translate.is_foreign(transform):
        found = _translate.translate(transform)
        if found.code is None and not found.trailing:
            return found.transform or DecodeOnly()
        raise errors.Unsupported(
            f"transform: that of {field} has ops without a counterpart in "
            "forebay.transforms, and only the first image's may")
    raise errors.InvalidArgument(
        f"transform: that of {field} must come from forebay.transforms, not "
        f"{transform!r}")


def _is_images(transform: Any) -> bool:
    """Whether a transform is only for images. Transforms of other libraries are."""
    if isinstance(transform, Compose):
        return any(map(_is_images, transform.transforms))
    if _torchaudio.owns(transform):
        return False
    return not isinstance(transform, (AudioTransform, Normalize, RandomWindow, Slice,
                                      ToDtype, Transpose))


def _hdf5_name(path: str) -> str:
    """Returns the name of the field for an HDF5 dataset, or for the datasets that match
    a path with \"*\"."""
    parts = path.strip("/").split("/")
    if "*" in parts:
        parts = parts[parts.index("*") + 1:] or ["value"]
    return "/".join(parts)


def _first_alternative(field: str) -> str:
    return field.split(";")[0]


def _as_given(field: str) -> str:
    return field


class _Fields:
    """The known facts about a dataset's fields, before the daemon has seen the dataset.

    Attributes:
      names: the names of all fields, in their order; None if they are not known.
      types: the fields' types by name; None if they are not known.
      has_images: whether any field may be an image.
      has_extensions: whether a field's name tells whether it is an image.
      name_of: a function that returns a field's name for the name that the user gave.
      tells_images: whether it is known which fields are images.
    """

    def __init__(self, dataset: Any, fields: Any) -> None:
        self.names: Optional[List[str]] = None
        self.types: Optional[Mapping[str, str]] = None
        is_path = isinstance(dataset, (str, bytes, os.PathLike))
        self.has_images = not isinstance(dataset, _ARRAYS) and not (
            is_path and _paths.are_files(dataset, (".npz", ".npy")))
        has_records = isinstance(dataset, _RECORDS)
        if has_records:
            fields = dataset.fields
        elif is_path:
            path = _paths.path_of(dataset)
            has_records = (_paths.is_tfrecord(path) or
                           _paths.is_array_record(path) or _paths.is_hdf5(path))
        is_mds = is_path and _paths.is_mds(os.fsdecode(path))
        self.has_extensions = not has_records and not is_mds
        if not has_records and is_path and isinstance(fields, Mapping):
            self.types = fields
        if has_records and isinstance(fields, str):
            fields = {"value" if isinstance(dataset, LMDB) else "record": fields}
        if has_records and isinstance(fields, Mapping):
            if isinstance(dataset, LMDB) and fields.get("value") == "datum":
                fields = {**fields, **_DATUM}
            self.types = fields
        is_hdf5 = isinstance(dataset, HDF5) or (
            is_path and _paths.is_hdf5(_paths.path_of(dataset)))
        self.name_of = (_hdf5_name if is_hdf5 else
                        _first_alternative if self.has_extensions else _as_given)
        if self.types is not None:
            self.types = {self.name_of(field): kind
                          for field, kind in self.types.items()}
        if isinstance(fields, (list, tuple, set, Mapping)):
            self.names = [self.name_of(str(field)) for field in fields]
        self.tells_images = not self.has_images or self.has_extensions or (
            self.types is not None and all(self.types.values()))

    def is_image(self, field: str, transform: Any) -> bool:
        """Whether a field is an image, or must be one because of its transform."""
        if not self.has_images:
            return False
        kind = None if self.types is None else self.types.get(field)
        if kind:
            return kind in _IMAGES
        if self.has_extensions:
            plain = field[:-3] if field.endswith(".gz") else field
            return plain.rpartition(".")[2] in _IMAGES
        return transform is not None and _is_images(transform)

    def may_have(self, field: str, is_image: bool) -> bool:
        """Whether a field of that name may exist."""
        if self.names is not None:
            return field in self.names
        # Only the daemon finds out which arrays a dataset has.
        return not is_image or not self.has_extensions or field == "image"

    def listed(self) -> str:
        """Returns the end of a message about an unknown field: the names of the
        fields, if they are known."""
        return f"; there are: {', '.join(self.names)}" if self.names else ""

    def images(self, given: Mapping[str, Any]) -> List[str]:
        """Returns the fields that are known to be images, in their order.

        Args:
          given: the transforms, by field.
        """
        names = list(given) if self.names is None else self.names
        return [name for name in names if self.is_image(name, given.get(name))]


class Split(NamedTuple):
    """The transforms of a dataset's fields.

    Attributes:
      first: the transform of the first image, which may have ops of any kind; None if
        the first image has no transform.
      name: the field of that image; None if `first` is None.
      own: the transforms of other fields, by name.
      by_name: whether only the daemon knows which fields are images. No field may then
        be treated as the first image.
    """

    first: Any
    name: Optional[str]
    own: Dict[str, Transform]
    by_name: bool


def split(transforms: Mapping[Any, Any], dataset: Any,
          fields: Optional[Sequence[str]]) -> Split:
    """Separates the transform of the first image from the transforms of other fields.

    An image without a transform is only decoded.

    Args:
      transforms: transforms by field, in DataLoader's form; None has no effect.
      dataset, fields: the arguments of DataLoader's.

    Raises:
      errors.InvalidArgument: a value is not a transform, or a key is not a field's
        name.
      errors.Unsupported: the daemon cannot run a transform that it must run.
    """
    known = _Fields(dataset, fields)
    given: Dict[str, Any] = {}
    for name, transform in transforms.items():
        if not isinstance(name, str):
            raise errors.InvalidArgument(
                f"transform: {name!r} is not the name of a field")
        field = known.name_of(name)
        if not known.may_have(field, known.is_image(field, transform)):
            raise errors.InvalidArgument(
                f"transform: there is no field {field}{known.listed()}")
        if field in given:
            raise errors.InvalidArgument(f"transform: {field} has two of them")
        given[field] = transform
    images = known.images(given)
    # If the fields' names are unknown, nothing tells which of several images is the
    # first.
    has_first = len(images) == 1 or (bool(images) and known.names is not None)
    name = images[0] if has_first and given.get(images[0]) is not None else None
    first = given.pop(images[0], None) if has_first else None
    own = {field: _translated(field, transform)
           for field, transform in given.items() if transform is not None}
    for field in images[1:]:
        own.setdefault(field, DecodeOnly())
    return Split(first, name, own, not known.tells_images)
