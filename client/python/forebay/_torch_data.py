"""Reads datasets of torch and torchvision by their class names and attributes.

Imports neither: a caller that passes such an object has done that.
"""

from __future__ import annotations

import operator
import os
from typing import Any, Callable, List, NamedTuple, Optional, Set, Tuple

from . import _torch_files, errors
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
_FOLDERS = ("ImageFolder", "DatasetFolder", "ImageNet", "Country211", "EuroSAT")
# Those in memory, with the channels of their images.
_IN_MEMORY = {"CIFAR10": 3, "CIFAR100": 3, "EMNIST": 1, "FashionMNIST": 1, "KMNIST": 1,
              "MNIST": 1, "SEMEION": 1, "STL10": 3, "SVHN": 3, "USPS": 1}
_CHANNELS_FIRST = ("STL10", "SVHN")
_PATTERNS = "{}*?[]"
_IMAGE_LOADERS = ("default_loader", "pil_loader", "accimage_loader")
IMAGE_EXTENSIONS = {".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif",
                    ".tiff", ".webp"}


class TorchData(NamedTuple):
    """The contents of a dataset object.

    Attributes:
      source: its samples.
      size: how many.
      transform: the dataset's own, for each image, or None.
      target_transform: likewise, for each label.
      channels: of the images; 0 if there are none.
      extent: (height, width) that all images have, or None.
      classes: list of str, or None.
    """

    source: Source
    size: int
    transform: Optional[Callable] = None
    target_transform: Optional[Callable] = None
    channels: int = 3
    extent: Optional[Tuple[int, int]] = None
    classes: Optional[List[str]] = None


def is_object(dataset: Any) -> bool:
    """Whether a dataset is an object like torch's, rather than a path, a URI or a
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
    """Whether only the dataset's own __getitem__ knows its samples."""
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
                _plain(dataset, "torchvision.datasets", *_FOLDERS, *_IN_MEMORY,
                       "LSUN") or _torch_files.knows(dataset))


def read(dataset: Any) -> TorchData:
    """Reads the contents of a dataset object.

    Raises:
      errors.Unsupported: only the object's own code knows its samples.
      errors.InvalidArgument: the object contradicts itself.
    """
    if _plain(dataset, "torch.utils.data", "Subset"):
        return _subset(dataset)
    if _plain(dataset, "torch.utils.data", "ConcatDataset"):
        return _concat(dataset)
    if _plain(dataset, "torch.utils.data", "TensorDataset"):
        return _tensors(dataset)
    if _plain(dataset, "torchvision.datasets", *_FOLDERS):
        return _folder(dataset)
    for name, channels in _IN_MEMORY.items():
        if _plain(dataset, "torchvision.datasets", name):
            return _images(dataset, name, channels)
    if _plain(dataset, "torchvision.datasets", "LSUN"):
        return _lsun(dataset)
    if _torch_files.knows(dataset):
        return _files(_torch_files.read(dataset))
    raise errors.Unsupported(f"{_name(dataset)} has code of its own")


def _subset(dataset: Any) -> TorchData:
    import numpy
    whole = read(dataset.dataset)
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


def _concat(dataset: Any) -> TorchData:
    parts = [read(part) for part in dataset.datasets]
    first = parts[0]
    for part in parts[1:]:
        if (not _same(part.transform, first.transform, first.channels) or
                part.target_transform is not first.target_transform or
                part.channels != first.channels):
            raise errors.Unsupported(
                "the parts of a ConcatDataset have different transforms: give "
                "them the same, or read each with a loader of its own")
    alike = all(part.extent == first.extent for part in parts)
    return first._replace(source=Concat(tuple(part.source for part in parts)),
                          size=sum(part.size for part in parts),
                          extent=first.extent if alike else None)


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
        array = tensor.detach().cpu().numpy()
        label = array.ndim == 1 and array.dtype == "int64"
        fields.append((f"tensor{number}", "label" if label else "array", array))
    return TorchData(Arrays(tuple(fields)), len(dataset), channels=0)


def _images(dataset: Any, name: str, channels: int) -> TorchData:
    """Reads a dataset that torchvision holds in memory as pixels and labels."""
    import numpy
    images = numpy.asarray(dataset.data)
    if name in _CHANNELS_FIRST:
        images = images.transpose(0, 2, 3, 1)
    labels = dataset.targets if hasattr(dataset, "targets") else dataset.labels
    if labels is None:
        raise errors.Unsupported(f"the {_name(dataset)} has no labels")
    labels = numpy.asarray(labels, numpy.int64)
    source = Arrays((("image", "image", images), ("label", "label", labels)))
    classes = getattr(dataset, "classes", None)
    return TorchData(source, len(images), dataset.transform,
                     dataset.target_transform, channels,
                     (images.shape[1], images.shape[2]),
                     None if classes is None else list(classes))


def _files(found: _torch_files.Samples) -> TorchData:
    return TorchData(found.files, len(found.files.names), found.transform,
                     found.target_transform, found.channels, classes=found.classes)


def _lsun(dataset: Any) -> TorchData:
    """Reads an LMDB environment for each class: its number is the label."""
    parts = dataset.dbs
    if not parts or not all(_is_in_order(part) for part in parts):
        raise errors.Unsupported(
            "the LSUN's parts are not those of its folders, in the order of their keys")
    transform = parts[0].transform  # LSUN's own is not used
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
    return TorchData(LMDB(path, "lsun"), dataset.length, transform,
                     dataset.target_transform, classes=list(dataset.classes))


def _is_in_order(part: Any) -> bool:
    """Whether a part of LSUN has all of its environment's entries, by their keys."""
    keys = part.keys
    return (_plain(part, "torchvision.datasets", "LSUNClass") and
            len(keys) == part.length and all(map(operator.lt, keys, keys[1:])))


def _folder(dataset: Any) -> TorchData:
    loader = dataset.loader
    if (getattr(loader, "__module__", None), getattr(loader, "__name__", None)) == (
            "numpy", "load") and dataset.transform is None:
        _check_samples(dataset, {".npy"})
        return TorchData(NpyClasses(_root(dataset)), len(dataset.samples),
                         target_transform=dataset.target_transform, channels=0,
                         classes=list(dataset.classes))
    if (getattr(loader, "__module__", None) != "torchvision.datasets.folder" or
            getattr(loader, "__name__", None) not in _IMAGE_LOADERS):
        raise errors.Unsupported(
            f"the {_name(dataset)} has a loader of its own, which the daemon "
            "cannot run: leave loader= out, or keep torch's DataLoader for it")
    _check_samples(dataset, IMAGE_EXTENSIONS)
    return TorchData(Folder(_root(dataset)), len(dataset.samples),
                     dataset.transform, dataset.target_transform,
                     classes=list(dataset.classes))


def _root(dataset: Any) -> str:
    """The folder of class folders; the own root of some datasets holds that."""
    if _plain(dataset, "torchvision.datasets", "Country211"):
        return os.path.join(dataset._base_folder, dataset._split)
    if _plain(dataset, "torchvision.datasets", "EuroSAT"):
        return os.fspath(dataset._data_folder)
    return os.fspath(getattr(dataset, "split_folder", dataset.root))


def _check_samples(dataset: Any, extensions: Set[str]) -> None:
    """Refuses samples other than all of the root's files that end so, labelled by
    folder."""
    root = _root(dataset)
    if (dataset.extensions is None or
            {name.lower() for name in dataset.extensions} != extensions):
        raise errors.Unsupported(
            f"{root}: the {_name(dataset)} chooses files by is_valid_file or "
            "extensions: use torch.utils.data.Subset for some of the images")
    start = os.path.join(root, "")
    folders = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
    labels = {name: label for label, name in enumerate(folders)}
    length = len(start)
    for path, label in dataset.samples:
        name = path[length:].partition(os.sep)[0]
        if labels.get(name) != label or not path.startswith(start):
            raise _not_the_folders(dataset, path)
    # The lists may have been replaced.
    if (len(dataset.targets) != len(dataset.samples) or
            getattr(dataset, "imgs", dataset.samples) is not dataset.samples):
        raise _not_the_folders(dataset, root)


def _not_the_folders(dataset: Any, path: str) -> errors.ForebayError:
    return errors.Unsupported(
        f"{path}: the {_name(dataset)}'s samples are not those of its class "
        "folders: use torch.utils.data.Subset for some of them, or "
        "forebay.manifest for labels of your own")
