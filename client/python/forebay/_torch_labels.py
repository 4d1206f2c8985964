"""Reads the labels of torchvision's in-memory datasets, with the values and types that
torch's DataLoader would give."""

from __future__ import annotations

from typing import Any, Tuple

from . import _native, errors


def read(dataset: Any, labels: Any, count: int, is_cut: bool) -> Tuple[str, Any]:
    """Returns the kind of the labels' field (see _source.Arrays), and the labels as a
    NumPy array.

    Args:
      labels: the dataset's labels: a sequence, an array or a tensor.
      count: the number of samples in the dataset.
      is_cut: whether the dataset's own code converts labels by int().

    Raises:
      errors.Unsupported: only the dataset's code can tell its labels.
    """
    import numpy
    try:
        has_enough = len(labels) >= count
        array = numpy.asarray(labels[:count])
    except (TypeError, ValueError, RuntimeError, OverflowError):
        raise _refusal(dataset, "are not numbers of one type") from None
    if not has_enough or array.ndim != 1 or array.dtype.kind not in "iufb":
        raise _refusal(dataset, f"are {array.dtype} {array.shape}, not one number for "
                       f"each of {count} images")
    if is_cut or not count:
        return "label", _cut(dataset, array)
    name = _collated(dataset, labels, count)
    if name == "int64":
        return "label", array.astype(numpy.int64)
    if dataset.target_transform is not None:
        raise _refusal(dataset, f"are {name}, and target_transform= takes them as they "
                       "are")
    return "array", array.astype(name)


def _cut(dataset: Any, array: Any) -> Any:
    """Converts labels to integers as int() does."""
    import numpy
    if array.dtype.kind == "f" and not (abs(array) < 2. ** 63).all():
        raise _refusal(dataset, "are not integers of 64 bits")
    if array.dtype == numpy.uint64 and (array >> numpy.uint64(63)).any():
        raise _refusal(dataset, "are not integers of 64 bits")
    return array.astype(numpy.int64)


def _collated(dataset: Any, labels: Any, count: int) -> str:
    """Returns NumPy's name of the type that a batch of labels has in torch's
    DataLoader."""
    import numpy
    import torch
    one: Any = labels[0]
    if not isinstance(labels, (numpy.ndarray, torch.Tensor)):
        kinds = set(map(type, labels[:count]))
        if len(kinds) > 1 or not isinstance(one, (int, float, numpy.generic)):
            raise _refusal(dataset, "are not numbers of one type")
    if isinstance(one, torch.Tensor) and dataset.target_transform is not None:
        raise _refusal(dataset, "are tensors, and target_transform= takes them as they "
                       "are")
    try:
        found = torch.utils.data.default_collate([one])
    except (TypeError, ValueError, RuntimeError):
        raise _refusal(dataset, f"are {type(one).__name__}") from None
    name = str(found.dtype).rpartition(".")[2]
    if name == "bfloat16" or name not in _native.DTYPES:
        raise _refusal(dataset, f"are {name}")
    return name


def _refusal(dataset: Any, why: str) -> errors.ForebayError:
    return errors.Unsupported(f"the labels of the {type(dataset).__name__} {why}")
