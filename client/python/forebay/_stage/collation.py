"""The functions that make batches of samples if the user gives no collate_fn."""

from __future__ import annotations

import collections.abc
from typing import Any, Callable, List


def default(framework: str, is_batched: bool) -> Callable[[Any], Any]:
    """Returns the function for a framework. "dlpack" has the same function as "numpy".

    Args:
      is_batched: whether the function gets lists of samples, and not single samples.
    """
    if framework != "torch":
        return stacked if is_batched else alone
    import torch.utils.data
    return (torch.utils.data.default_collate if is_batched else
            torch.utils.data._utils.collate.default_convert)


def is_default(function: Any) -> bool:
    """Whether a collate_fn is torch's own default_collate, or None."""
    return function is None or (
        getattr(function, "__name__", None) == "default_collate" and
        function.__module__ == "torch.utils.data._utils.collate")


def alone(sample: Any) -> Any:
    """Returns the sample as it is."""
    return sample


def stacked(samples: List[Any]) -> Any:
    """Makes a batch as torch's default_collate does, but with NumPy's arrays.

    Raises:
      ValueError: arrays differ in shape.
      TypeError: a value has a type that batches cannot have.
    """
    import numpy
    first = samples[0]
    kind: Any = type(first)
    if isinstance(first, (numpy.ndarray, numpy.generic)) or hasattr(
            first, "__array__"):
        return numpy.stack([numpy.asarray(sample) for sample in samples])
    if isinstance(first, (bool, int, float)):
        return numpy.asarray(samples)
    if isinstance(first, (str, bytes)):
        return list(samples)
    if isinstance(first, collections.abc.Mapping):
        made = {key: stacked([sample[key] for sample in samples])
                for key in first}
        return made if kind is dict else kind(made)
    if isinstance(first, (tuple, list)):
        if any(len(sample) != len(first) for sample in samples):
            raise ValueError("the samples of a batch differ in length")
        parts = [stacked(list(values)) for values in zip(*samples)]
        return kind(*parts) if hasattr(first, "_fields") else parts
    raise TypeError(f"a batch cannot have {kind.__module__}.{kind.__qualname__}")
