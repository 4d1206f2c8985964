"""The trainer's work on a batch that the daemon made."""

from __future__ import annotations

import sys
import warnings
from typing import Any, Callable, List, Optional, Sequence

from . import errors


def _stack(values: Sequence[Any]) -> Any:
    """Stacks samples into one batch: tensors, arrays or PIL images."""
    first = values[0]
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(first, torch.Tensor):
        # If samples are of a subclass, such as torchvision's images, their batch is
        # still a plain tensor.
        return torch.stack([value.as_subclass(torch.Tensor) for value in values])
    import numpy
    if hasattr(first, "getbands"):  # a PIL image
        arrays = [numpy.asarray(value) for value in values]
        return numpy.stack([array[None] if array.ndim == 2 else
                            array.transpose(2, 0, 1) for array in arrays])
    if isinstance(first, (numpy.ndarray, numpy.number, int, float)):
        return numpy.stack([numpy.asarray(value) for value in values])
    if torch is not None:
        return torch.utils.data.default_collate(list(values))
    return list(values)


def _in_framework(value: Any, framework: str) -> Any:
    torch = sys.modules.get("torch")
    is_tensor = torch is not None and isinstance(value, torch.Tensor)
    if framework == "numpy":
        return value.numpy() if is_tensor else value
    if torch is None or is_tensor or not hasattr(value, "__array__"):
        return value
    return torch.from_numpy(value)


def _to_pil(row: Any) -> Any:
    import numpy
    import PIL.Image
    array = numpy.asarray(row)
    return PIL.Image.fromarray(array[:, :, 0] if array.shape[2] == 1 else array)


def _to_tensor(row: Any) -> Any:
    import torch
    return row if isinstance(row, torch.Tensor) else torch.from_numpy(row)


def _to_array(row: Any) -> Any:
    import numpy
    return numpy.asarray(row)


# For each kind of input, a function that makes it of an array (H, W, C) or a tensor.
INPUTS = {"pil": _to_pil, "tensor": _to_tensor, "array": _to_array}


class PostProcessing:
    """Turns the daemon's batches into the batches that the user gets.

    Threads may share it if they may share the user's functions.
    """

    def __init__(self, framework: str, trailing: Sequence[Callable] = (),
                 input_kind: str = "tensor", image: Optional[str] = None,
                 target_transform: Optional[Callable] = None,
                 batch_transform: Optional[Callable] = None,
                 pin_memory: bool = False):
        """Sets the steps, which run in the order of the arguments.

        Args:
          framework: "torch", "numpy" or "dlpack", the batches' kind of array.
          trailing: the ops for each image.
          input_kind: the kind of input of the first op in `trailing`: see
            _translate.Translation.
          image: the field on whose images the ops in `trailing` run; None: all image
            fields.
          target_transform: a function of each label, an int.
          batch_transform: a function of the whole batch. The batch's fields are its
            arguments.
          pin_memory: whether to copy tensors to page-locked memory.
        """
        self._framework = framework
        self._trailing, self._input_kind = trailing, input_kind
        self._input = INPUTS[input_kind]
        self._image = image
        self._target_transform = target_transform
        self._batch_transform = batch_transform
        self._pin = pin_memory and can_pin(framework)

    @property
    def is_empty(self) -> bool:
        """Whether this object leaves batches unchanged."""
        return not (self._trailing or self._target_transform or
                    self._batch_transform or self._pin)

    def _sample(self, row: Any) -> Any:
        value = self._input(row)
        for op in self._trailing:
            value = (op(image=value)["image"] if self._input_kind == "array"
                     else op(value))
        return value

    def _places(self, batch: Any) -> Sequence[int]:
        """Returns the indices of the fields on which the trailing ops run."""
        if self._image is None or len(batch.image_places) == 1:
            return batch.image_places
        return [batch.place_of(self._image)]

    def __call__(self, batch: Any) -> Any:
        values: List[Any] = list(batch)
        for place in self._places(batch) if self._trailing else ():
            values[place] = _in_framework(
                _stack([self._sample(row) for row in values[place]]),
                self._framework)
        if self._target_transform is not None:
            place = batch._fields.index("label")
            values[place] = _in_framework(
                _stack([self._target_transform(int(label))
                        for label in values[place]]), self._framework)
        made = batch.with_values(values)
        if self._batch_transform is not None:
            made = self._batch_transform(*made)
            if isinstance(made, (tuple, list)) and len(made) == len(values):
                made = batch.with_values(made)
        return _pinned(made) if self._pin else made


def can_pin(framework: str) -> bool:
    """Whether tensors can be page-locked; warns if torch finds no GPU.

    Raises:
      errors.Unsupported: the framework is not torch.
    """
    if framework != "torch":
        raise errors.Unsupported(
            'pin_memory=True needs framework="torch": NumPy has no page-locked '
            "memory")
    import torch
    if torch.cuda.is_available():
        return True
    warnings.warn("pin_memory=True, but torch finds no GPU: batches stay in "
                  "pageable memory", stacklevel=6)
    return False


def _pinned(made: Any) -> Any:
    """Returns a value with its tensors copied to page-locked memory."""
    if hasattr(made, "pin_memory"):
        return made.pin_memory()
    if hasattr(made, "with_values"):
        return made.with_values([_pinned(value) for value in made])
    if hasattr(made, "_make"):  # a named tuple
        return made._make(map(_pinned, made))
    if isinstance(made, (tuple, list)):
        return type(made)([_pinned(value) for value in made])
    return made
