"""Reads torchvision's datasets whose samples are image files with targets.

This module knows in which attributes each class keeps its paths and targets. It does
not import torchvision.
"""

from __future__ import annotations

import operator
import os
import re
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from . import errors
from ._counterpart import is_plainly
from ._source import LabelledFiles

_PACKAGE = "torchvision.datasets"
# The functions that read files as RGB images. The last one is a method of LFW.
_LOADERS = ("default_loader", "pil_loader", "accimage_loader", "_loader")
_JOINT = ("OxfordIIITPet", "Places365")  # these call only `transforms`
_GRAY = ("Omniglot",)
_DOUBLED = re.compile("//+")


class Samples(NamedTuple):
    """The samples of a dataset.

    Attributes:
      files: the images, each with a label.
      transform: the function of each image, or None.
      target_transform: the function of each label, or None.
      channels: the number of the images' channels.
      classes: list of str, or None.
    """

    files: LabelledFiles
    transform: Optional[Callable]
    target_transform: Optional[Callable]
    channels: int
    classes: Optional[List[str]]


class Targets:
    """Returns a sample's target for the sample's number. The daemon sends that number
    as the label."""

    def __init__(self, targets: Sequence[Any], transform: Optional[Callable]):
        self._targets = targets
        self._transform = transform

    def __call__(self, number: int) -> Any:
        target = self._targets[number]
        return target if self._transform is None else self._transform(target)


class _Rows:
    """The targets of CelebA. A target is a row of one tensor, or one row of each of
    several tensors."""

    def __init__(self, tensors: Sequence[Any]):
        self._tensors = tensors

    def __len__(self) -> int:
        return len(self._tensors[0])

    def __getitem__(self, number: int) -> Any:
        rows = tuple(tensor[number] for tensor in self._tensors)
        return rows if len(rows) > 1 else rows[0]


_Found = Tuple[Sequence[Any], Any]  # paths and targets


def _refusal(dataset: Any, why: str) -> errors.ForebayError:
    return errors.Unsupported(f"the {type(dataset).__name__} {why}")


def _lists(paths: str, targets: str) -> Callable[[Any], _Found]:
    """Returns a reader of two attributes: paths and targets."""
    return lambda dataset: (getattr(dataset, paths), getattr(dataset, targets))


def _pairs(name: str) -> Callable[[Any], _Found]:
    """Returns a reader of an attribute that holds pairs of path and target."""
    def read_pairs(dataset: Any) -> _Found:
        pairs = getattr(dataset, name)
        return [path for path, _ in pairs], [target for _, target in pairs]
    return read_pairs


def _columns(dataset: Any, types: Sequence[str],
             known: Dict[str, Any]) -> List[Any]:
    """Returns, for each target type of a dataset, the column of `known` with that
    name."""
    if not types or any(name not in known for name in types):
        raise _refusal(dataset, f"has targets of the types {list(types)}, but the "
                       f"daemon gives {sorted(known)} alone")
    return [known[name] for name in types]


def _together(columns: Sequence[Sequence[Any]]) -> Sequence[Any]:
    return columns[0] if len(columns) == 1 else list(zip(*columns))


def _pets(dataset: Any) -> _Found:
    known = {"category": dataset._labels}
    if hasattr(dataset, "_bin_labels"):  # since torchvision 0.20
        known["binary-category"] = dataset._bin_labels
    return dataset._images, _together(
        _columns(dataset, dataset._target_types, known))


def _caltech101(dataset: Any) -> _Found:
    _columns(dataset, dataset.target_type, {"category": ()})
    folder = os.path.join(dataset.root, "101_ObjectCategories")
    paths = [os.path.join(folder, dataset.categories[label], f"image_{number:04d}.jpg")
             for number, label in zip(dataset.index, dataset.y)]
    columns = [dataset.y for _ in dataset.target_type]
    return paths, _together(columns)


def _caltech256(dataset: Any) -> _Found:
    folder = os.path.join(dataset.root, "256_ObjectCategories")
    return [os.path.join(folder, dataset.categories[label],
                         f"{label + 1:03d}_{number:04d}.jpg")
            for number, label in zip(dataset.index, dataset.y)], dataset.y


def _celeba(dataset: Any) -> _Found:
    types = dataset.target_type
    identity = dataset.identity[:, 0]
    columns = _columns(dataset, types, {
        "attr": dataset.attr, "identity": identity, "bbox": dataset.bbox,
        "landmarks": dataset.landmarks_align})
    folder = os.path.join(dataset.root, dataset.base_folder, "img_align_celeba")
    paths = [os.path.join(folder, name) for name in dataset.filename]
    is_number = types == ["identity"] and dataset.target_transform is None
    return paths, identity.tolist() if is_number else _Rows(columns)


def _inaturalist(dataset: Any) -> _Found:
    paths = [os.path.join(dataset.root, dataset.all_categories[category], name)
             for category, name in dataset.index]
    kinds = dataset.categories_map
    known = {kind: [kinds[category][kind] for category in range(len(kinds))]
             for kind in (kinds[0] if kinds else ())}
    known["full"] = list(range(len(kinds)))
    columns = _columns(dataset, dataset.target_type, known)
    return paths, _together([[column[category] for category, _ in dataset.index]
                             for column in columns])


def _omniglot(dataset: Any) -> _Found:
    return [os.path.join(dataset.target_folder, dataset._characters[character], name)
            for name, character in dataset._flat_character_images], [
                character for _, character in dataset._flat_character_images]


_LISTS = _lists("_image_files", "_labels")
_READERS: Dict[str, Callable[[Any], _Found]] = {
    "CLEVRClassification": _LISTS, "Caltech101": _caltech101,
    "Caltech256": _caltech256, "CelebA": _celeba, "DTD": _LISTS,
    "FGVCAircraft": _LISTS, "Flowers102": _LISTS, "Food101": _LISTS,
    "INaturalist": _inaturalist, "Imagenette": _pairs("_samples"),
    "LFWPeople": _lists("data", "targets"), "Omniglot": _omniglot,
    "OxfordIIITPet": _pets, "Places365": _pairs("imgs"),
    "RenderedSST2": _pairs("_samples"), "SUN397": _LISTS,
    "StanfordCars": _pairs("_samples"),
}


def _class_of(dataset: Any) -> Optional[str]:
    for name in _READERS:
        if is_plainly(dataset, _PACKAGE, (name,), "__getitem__"):
            return name
    return None


def knows(dataset: Any) -> bool:
    """Whether a dataset's class is one of these, or is derived from one of these and
    does not override __getitem__."""
    return _class_of(dataset) is not None


def read(dataset: Any) -> Samples:
    """Reads a dataset that `knows` knows.

    Raises:
      errors.Unsupported: the daemon cannot read its samples; the message says why.
    """
    name = _class_of(dataset)
    assert name is not None
    _check_loader(dataset, name in _GRAY)
    transform, target_transform = _transforms(dataset, name in _JOINT)
    paths, targets = _READERS[name](dataset)
    if len(paths) != len(targets) or not paths:
        raise _refusal(dataset, f"has {len(paths)} images and {len(targets)} targets")
    if isinstance(targets, _Rows) or isinstance(targets[0], tuple):
        target_transform = Targets(targets, target_transform)
        targets = range(len(paths))
    classes = getattr(dataset, "classes", None)
    return Samples(
        labelled(dataset, paths, targets), transform, target_transform,
        1 if name in _GRAY else 3, None if classes is None else list(classes))


def _labels(dataset: Any, targets: Sequence[Any]) -> Any:
    import numpy
    if bool in set(map(type, targets)):
        raise _refusal(dataset, "has targets that are bool")
    try:
        return numpy.array([operator.index(target) for target in targets],
                           numpy.int64)
    except (TypeError, OverflowError):
        raise _refusal(dataset, "has targets that are not numbers") from None


def labelled(dataset: Any, paths: Sequence[Any],
             targets: Sequence[Any]) -> LabelledFiles:
    """Returns the image files of a dataset, at least one, in the order of their paths.

    Raises:
      errors.Unsupported: the targets are not integers.
    """
    labels = _labels(dataset, targets)
    here = os.getcwd()
    texts = [_DOUBLED.sub("/", os.path.join(here, os.fspath(path))) for path in paths]
    # A prefix that the first and the last text in sorted order share is a prefix of all
    # texts.
    alike = os.path.commonprefix([min(texts), max(texts)])
    end = alike.rindex("/")
    return LabelledFiles(alike[:end] or "/", [text[end + 1:] for text in texts], labels)


def _check_loader(dataset: Any, is_gray: bool) -> None:
    for name in ("loader", "_loader"):
        loader = getattr(dataset, name, None)
        if loader is None:
            continue
        module = getattr(loader, "__module__", None) or ""
        if (is_gray or not module.startswith(_PACKAGE + ".") or
                getattr(loader, "__name__", None) not in _LOADERS):
            raise _refusal(dataset, "has a loader of its own, which the daemon cannot "
                           "run: leave loader= out")


def _transforms(dataset: Any, is_joint: bool
                ) -> Tuple[Optional[Callable], Optional[Callable]]:
    """Returns the transforms of images and of targets."""
    if not is_joint:
        return dataset.transform, dataset.target_transform
    joint = dataset.transforms
    if joint is None:
        return None, None
    kind = type(joint)
    if (kind.__module__, kind.__name__) != (f"{_PACKAGE}.vision", "StandardTransform"):
        raise _refusal(dataset, "has transforms= for image and target together: use "
                       "transform= and target_transform=")
    return joint.transform, joint.target_transform
