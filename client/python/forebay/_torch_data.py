"""Reads datasets of torch and torchvision by their class names and attributes.

This module imports neither library; whoever passes such an object has imported its
library.
"""

from __future__ import annotations

import operator
import os
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

from . import _native, _torch_files, _torch_folders, _torch_labels, errors
from ._array_record import ArrayRecords
from ._counterpart import is_plainly
from ._hdf5 import HDF5
from ._lmdb import LMDB
from ._manifest import Manifest
from ._source import (Arrays, Concat, Folder, LabelledFiles, NpyClasses, Rows, Source,
                      Subset)
from ._tfrecord import TFRecords

_OURS = (str, bytes, os.PathLike, Manifest, TFRecords, LMDB, ArrayRecords, HDF5, Arrays,
         Concat, Folder, LabelledFiles, NpyClasses, Rows, Subset)
_SEQUENCES = (list, tuple, dict, range)
# The datasets that torchvision holds in memory, with the channels of their images.
_IN_MEMORY = {"CIFAR10": 3, "CIFAR100": 3, "EMNIST": 1, "FashionMNIST": 1, "KMNIST": 1,
              "MNIST": 1, "SEMEION": 1, "STL10": 3, "SVHN": 3, "USPS": 1}
_CHANNELS_FIRST = ("STL10", "SVHN")
_UNCUT = ("CIFAR10", "CIFAR100")  # these return labels unchanged; all others use int()
_PATTERNS = "{}*?[]"


class TorchData(NamedTuple):
    """The contents of a dataset object.

    Attributes:
      source: the object's samples.
      size: the number of samples.
      transform: the dataset's own function of each image, or None.
      target_transform: the dataset's own function of each label, or None.
      channels: the number of the images' channels; 0 if there are no images.
      extent: the (height, width) that all images have, or None if they differ.
      classes: list of str, or None.
      form: the types and shapes of labels and tensors, as text. Parts that can be
        concatenated have equal texts.
      places: folders and environments of the source, with the number of samples that
        each must have. If the daemon finds another number, `read` must list samples.
    """

    source: Source
    size: int
    transform: Optional[Callable] = None
    target_transform: Optional[Callable] = None
    channels: int = 3
    extent: Optional[Tuple[int, int]] = None
    classes: Optional[List[str]] = None
    form: str = "int64"
    places: Tuple[Tuple[Source, int], ...] = ()


def is_object(dataset: Any) -> bool:
    """Whether a dataset is an object like torch's datasets, and not a path, a URI or a
    source of this package."""
    kind = type(dataset)
    return (not isinstance(dataset, _OURS) and
            kind.__module__ not in ("builtins", "numpy") and
            (hasattr(kind, "__getitem__") or hasattr(kind, "__iter__")))


def _name(dataset: Any) -> str:
    return type(dataset).__name__


def _plain(dataset: Any, package: str, *names: str) -> bool:
    return is_plainly(dataset, package, names, "__getitem__")


def has_own_code(dataset: Any) -> bool:
    """Whether only the dataset's own __getitem__ can make its samples."""
    if not is_object(dataset):
        kind = type(dataset)
        return kind in _SEQUENCES or any(
            (base.__module__, base.__name__) == ("numpy", "ndarray")
            for base in kind.__mro__)
    if _plain(dataset, "torch.utils.data", "Subset"):
        return has_own_code(dataset.dataset)
    if _plain(dataset, "torch.utils.data", "ConcatDataset"):
        return any(map(has_own_code, dataset.datasets))
    return not (_plain(dataset, "torch.utils.data", "TensorDataset") or
                _plain(dataset, "torchvision.datasets", *_IN_MEMORY, "LSUN") or
                _torch_folders.knows(dataset) or _torch_files.knows(dataset))


def read(dataset: Any, is_listed: bool = False) -> TorchData:
    """Reads the contents of a dataset object.

    Args:
      is_listed: whether each place must be described by a list of its samples.

    Raises:
      errors.Unsupported: only the object's own code can make its samples.
      errors.InvalidArgument: the object contradicts itself.
    """
    return _first(_read(dataset, is_listed), len(dataset), dataset)


def _first(found: TorchData, length: int, dataset: Any) -> TorchData:
    """Returns the first `length` samples: an object's len() may say that it has fewer
    samples than it lists."""
    if length == found.size:
        return found
    if length > found.size:
        raise errors.Unsupported(
            f"the {_name(dataset)} says that it has {length} samples, but lists "
            f"{found.size}")
    import numpy
    return found._replace(source=Subset(found.source, numpy.arange(length)),
                          size=length)


def _read(dataset: Any, is_listed: bool) -> TorchData:
    """Reads the contents, and ignores the object's len()."""
    if _plain(dataset, "torch.utils.data", "Subset"):
        return _subset(dataset, is_listed)
    if _plain(dataset, "torch.utils.data", "ConcatDataset"):
        return _concat(dataset, is_listed)
    if _plain(dataset, "torch.utils.data", "TensorDataset"):
        return _tensors(dataset)
    if _torch_folders.knows(dataset):
        return _folder(dataset, is_listed)
    for name, channels in _IN_MEMORY.items():
        if _plain(dataset, "torchvision.datasets", name):
            return _images(dataset, name, channels)
    if _plain(dataset, "torchvision.datasets", "LSUN"):
        return _lsun(dataset, is_listed)
    if _torch_files.knows(dataset):
        return _files(_torch_files.read(dataset))
    raise errors.Unsupported(f"{_name(dataset)} has code of its own")


def _subset(dataset: Any, is_listed: bool) -> TorchData:
    import numpy
    whole = _read(dataset.dataset, is_listed)
    try:
        chosen = numpy.asarray(dataset.indices)
        if not len(chosen):
            chosen = chosen.astype(numpy.int64)
        indices = chosen.astype(numpy.int64, casting="same_kind")
    except (TypeError, ValueError):
        raise errors.InvalidArgument(
            "the indices of a Subset must be integers") from None
    if indices.ndim != 1:
        raise errors.InvalidArgument(
            "the indices of a Subset must be a sequence of integers")
    outside = (indices < -whole.size) | (indices >= whole.size)
    if outside.any():
        raise errors.InvalidArgument(
            f"a Subset has the index {indices[outside][0]}, but its dataset has "
            f"{whole.size} samples")
    indices = numpy.where(indices < 0, indices + whole.size, indices)
    return whole._replace(source=Subset(whole.source, indices),
                          size=len(indices))


def _concat(dataset: Any, is_listed: bool) -> TorchData:
    # A ConcatDataset keeps the numbers of samples that its parts had when it was made.
    ends = [0, *dataset.cumulative_sizes]
    parts = [_first(_read(part, is_listed), end - begin, part)
             for part, begin, end in zip(dataset.datasets, ends, ends[1:])]
    first = parts[0]
    for part in parts[1:]:
        if (not _same(part.transform, first.transform, first.channels) or
                part.target_transform is not first.target_transform or
                part.channels != first.channels):
            raise errors.Unsupported(
                "the parts of a ConcatDataset have different transforms: give "
                "them the same, or read each with a loader of its own")
    if any(part.form != first.form for part in parts):
        raise errors.Unsupported(
            "the parts of a ConcatDataset have labels or tensors of different types")
    alike = all(part.extent == first.extent for part in parts)
    return first._replace(source=Concat(tuple(part.source for part in parts)),
                          size=sum(part.size for part in parts),
                          extent=first.extent if alike else None,
                          places=sum((part.places for part in parts), ()))


def _same(one: Any, other: Any, channels: int) -> bool:
    """Whether two transforms certainly do the same."""
    if one is other:
        return True
    from ._translate import translate
    made = [translate(transform, channels) for transform in (one, other)]
    return (not any(one.trailing or one.code for one in made) and
            repr(made[0]) == repr(made[1]))


def _tensors(dataset: Any) -> TorchData:
    fields = []
    for number, tensor in enumerate(dataset.tensors):
        try:
            array = tensor.detach().cpu().numpy()
        except (TypeError, RuntimeError):
            raise errors.Unsupported(
                f"the TensorDataset has a tensor of {tensor.dtype}") from None
        if array.dtype.name not in _native.DTYPES:
            raise errors.Unsupported(
                f"the TensorDataset has a tensor of {tensor.dtype}")
        label = array.ndim == 1 and array.dtype == "int64"
        fields.append((f"tensor{number}", "label" if label else "array", array))
    form = str([(str(array.dtype), array.shape[1:]) for _, _, array in fields])
    return TorchData(Arrays(tuple(fields)), len(dataset), channels=0, form=form)


def _images(dataset: Any, name: str, channels: int) -> TorchData:
    """Reads a dataset that torchvision holds in memory as pixels and labels."""
    import numpy
    try:
        images = numpy.asarray(dataset.data)
    except (TypeError, ValueError, RuntimeError):
        raise errors.Unsupported(f"the images of the {_name(dataset)} are not an array"
                                 ) from None
    if name in _CHANNELS_FIRST and images.ndim == 4:
        images = images.transpose(0, 2, 3, 1)
    if images.dtype != "uint8" or images.shape[3:] != (3,) * (channels == 3) or (
            images.ndim < 3):
        raise errors.Unsupported(f"the images of the {_name(dataset)} are "
                                 f"{images.dtype} {images.shape}")
    labels = dataset.targets if hasattr(dataset, "targets") else dataset.labels
    if labels is None:
        raise errors.Unsupported(f"the {_name(dataset)} has no labels")
    kind, labels = _torch_labels.read(dataset, labels, len(images), name not in _UNCUT)
    source = Arrays((("image", "image", images), ("label", kind, labels)))
    classes = getattr(dataset, "classes", None)
    return TorchData(source, len(images), dataset.transform,
                     dataset.target_transform, channels,
                     (images.shape[1], images.shape[2]),
                     None if classes is None else list(classes), str(labels.dtype))


def _files(found: _torch_files.Samples) -> TorchData:
    return TorchData(found.files, len(found.files.names), found.transform,
                     found.target_transform, found.channels, classes=found.classes)


def _lsun(dataset: Any, is_listed: bool) -> TorchData:
    """Reads an LSUN dataset: an LMDB environment for each class, whose number is the
    label."""
    parts = dataset.dbs
    if is_listed or not parts or not all(_is_in_order(part) for part in parts):
        raise errors.Unsupported(
            "the LSUN's parts are not those of its folders, in the order of their keys")
    transform = parts[0].transform  # LSUN's own transform is not used
    if any(part.transform is not transform for part in parts):
        raise errors.Unsupported("the classes of the LSUN have different transforms")
    folders = [os.path.split(os.path.abspath(part.root)) for part in parts]
    place, names = folders[0][0], [name for _, name in folders]
    if (any(folder != place for folder, _ in folders) or
            len(set(names)) < len(names) or
            any(c in _PATTERNS for c in "".join([place, *names]))):
        raise errors.Unsupported(
            f"{place}: the LSUN's folders do not lie side by side, or have one of "
            f"{_PATTERNS} in their path")
    path = os.path.join(place, names[0] if len(names) == 1 else
                        "{" + ",".join(names) + "}")
    source, size = LMDB(path, "lsun"), sum(part.length for part in parts)
    return TorchData(source, size, transform, dataset.target_transform,
                     classes=list(dataset.classes), places=((source, size),))


def _is_in_order(part: Any) -> bool:
    """Whether a part of LSUN has all entries of its environment, in the order of their
    keys."""
    keys = part.keys
    return (_plain(part, "torchvision.datasets", "LSUNClass") and
            len(keys) == part.length and all(map(operator.lt, keys, keys[1:])))


def _folder(dataset: Any, is_listed: bool) -> TorchData:
    source, channels = _torch_folders.read(dataset, is_listed)
    size = len(dataset.samples)
    return TorchData(
        source, size, dataset.transform, dataset.target_transform, channels,
        classes=list(dataset.classes),
        places=() if isinstance(source, LabelledFiles) else ((source, size),))
