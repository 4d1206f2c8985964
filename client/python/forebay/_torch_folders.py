"""Reads torchvision's datasets of class folders: each sample is a file, labelled by
its folder.

This module does not import torchvision: it reads a dataset's class name and attributes.
"""

from __future__ import annotations

import os
from typing import Any, Set, Tuple

from . import _torch_files, errors
from ._counterpart import is_plainly
from ._source import Folder, LabelledFiles, NpyClasses, Source

_PACKAGE = "torchvision.datasets"
_NAMES = ("ImageFolder", "DatasetFolder", "ImageNet", "Country211", "EuroSAT")
_IMAGE_LOADERS = ("default_loader", "pil_loader", "accimage_loader")
IMAGE_EXTENSIONS = {".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif",
                    ".tiff", ".webp"}


def knows(dataset: Any) -> bool:
    """Whether a dataset's class is one of these, or is derived from one of these and
    does not override __getitem__."""
    return is_plainly(dataset, _PACKAGE, _NAMES, "__getitem__")


def read(dataset: Any, is_listed: bool) -> Tuple[Source, int]:
    """Reads a dataset for which `knows` is true. Returns its samples, and the number of
    the images' channels (0 if there are no images).

    Args:
      is_listed: whether the folders' files differ from those that the dataset lists.

    Raises:
      errors.Unsupported: the daemon cannot read its samples; the message says why.
    """
    root, loader = _root(dataset), dataset.loader
    place = getattr(loader, "__module__", None), getattr(loader, "__name__", None)
    if place == ("numpy", "load") and dataset.transform is None:
        _check_extensions(dataset, root, {".npy"})
        if is_listed or not _is_in_order(dataset.samples, root):
            raise errors.Unsupported(
                f"{root}: the {type(dataset).__name__}'s samples are not those of its "
                "class folders: use torch.utils.data.Subset for some of them")
        return NpyClasses(root), 0
    if place[0] != "torchvision.datasets.folder" or place[1] not in _IMAGE_LOADERS:
        raise errors.Unsupported(
            f"the {type(dataset).__name__} has a loader of its own, which the daemon "
            "cannot run: leave loader= out, or keep torch's DataLoader for it")
    _check_extensions(dataset, root, IMAGE_EXTENSIONS)
    if is_listed or not _is_in_order(dataset.samples, root):
        return _listed(dataset), 3
    return Folder(root), 3


def _listed(dataset: Any) -> LabelledFiles:
    if not dataset.samples:
        raise errors.Unsupported(f"the {type(dataset).__name__} has no samples")
    paths, labels = zip(*dataset.samples)
    return _torch_files.labelled(dataset, paths, labels)


def _root(dataset: Any) -> str:
    """Returns the folder that contains the class folders. In some datasets, it lies
    below the dataset's own root."""
    if is_plainly(dataset, _PACKAGE, ("Country211",), "__getitem__"):
        return os.path.join(dataset._base_folder, dataset._split)
    if is_plainly(dataset, _PACKAGE, ("EuroSAT",), "__getitem__"):
        return os.fspath(dataset._data_folder)
    return os.fspath(getattr(dataset, "split_folder", dataset.root))


def _check_extensions(dataset: Any, root: str, extensions: Set[str]) -> None:
    if (dataset.extensions is None or
            {name.lower() for name in dataset.extensions} != extensions):
        raise errors.Unsupported(
            f"{root}: the {type(dataset).__name__} chooses files by is_valid_file or "
            "extensions: use torch.utils.data.Subset for some of the images")


def _is_in_order(samples: Any, root: str) -> bool:
    """Whether samples have the labels of their class folders, and come in the order of
    the folders, each once. If there are as many samples as files, the samples then are
    the files."""
    start = os.path.join(root, "")
    folders = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
    labels = {name: label for label, name in enumerate(folders)}
    length = len(start)
    before = -1, "", ""
    for path, label in samples:
        if type(label) is not int or type(path) is not str:
            return False
        folder, _, name = path.rpartition(os.sep)
        if labels.get(folder[length:].partition(os.sep)[0]) != label:
            return False
        place = label, folder, name
        if place <= before or not path.startswith(start):
            return False
        before = place
    return True
