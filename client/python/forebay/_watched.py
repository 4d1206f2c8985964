"""Tells whether a dataset object has changed since a loader was opened for it.

This module notes the parts of the object and of its transforms on which a loader's plan
can depend. Objects of the user's own classes are compared only by identity: the trainer
and the workers run their code as it is at present.
"""

from __future__ import annotations

import enum
import itertools
import operator
import pathlib
import sys
import weakref
from typing import Any, Dict, List, Optional, Set, Tuple, Type

from . import _memory_digest

# The size in bytes of the largest array whose numbers are compared. If a larger array
# changes in place, nothing notices it.
MAX_BYTES = 256 << 20
_PLAIN: Tuple[Type[Any], ...] = (type(None), bool, int, float, complex, str, bytes,
                                 range, pathlib.PurePath)
_Seen = Set[Tuple[int, int]]
_DATASETS = ("torch.utils.data", "torchvision.datasets")
# The modules of objects that a loader can translate. The two modules of torch have
# Sequential and Identity.
_MODULES = (*_DATASETS, "torchvision.transforms", "torchaudio.transforms",
            "torch.nn.modules.container", "torch.nn.modules.linear", "albumentations",
            "forebay")


class Watched:
    """A record of objects, which tells whether they have changed since the record was
    made. One thread at a time may use it."""

    def __init__(self, *things: Any):
        self._things = things
        self._notes = _Notes()
        self._root = self._notes.of(things)

    def has_changed(self) -> bool:
        """Whether one of the objects has changed."""
        return not self._root.is_of(self._things, set())


class _Note:
    """The record of one object's earlier state: its identity, or its value if it is a
    plain value."""

    def __init__(self, thing: Any):
        self._thing = thing

    def is_of(self, present: Any, seen: _Seen) -> bool:
        """Whether `present` is in the recorded state.

        Args:
          seen: the ids of pairs of note and object that were compared already.
        """
        key = id(self), id(present)
        if key in seen:
            return True
        seen.add(key)
        return self._compare(present, seen)

    def _compare(self, present: Any, seen: _Seen) -> bool:
        del seen
        thing = self._thing
        return thing is present or (
            type(thing) is type(present) and isinstance(thing, _PLAIN) and
            bool(thing == present))


class _Plain(_Note):
    """The record of a list or tuple of values that cannot change."""

    def __init__(self, items: Any, is_flat: bool):
        super().__init__(tuple(items))
        self._type = type(items)
        self._is_flat = is_flat

    def _compare(self, present: Any, seen: _Seen) -> bool:
        del seen
        items = self._thing
        if type(present) is not self._type or len(present) != len(items):
            return False
        return all(map(operator.is_, items, present)) or (
            self._is_flat and items == tuple(present) and
            all(map(operator.is_, map(type, items), map(type, present))))


class _Parts(_Note):
    """The record of an object that has parts, by name or in order.

    Attributes:
      names, parts: the parts' names and notes; set once all parts are recorded.
    """

    names: Optional[List[Any]] = None
    parts: List[_Note] = []

    def __init__(self, thing: Any):
        super().__init__(thing)
        self._type = type(thing)

    def _compare(self, present: Any, seen: _Seen) -> bool:
        if type(present) is not self._type:
            return False
        names, values = _parts_of(present)
        return (names == self.names and len(values) == len(self.parts) and
                all(note.is_of(value, seen)
                    for note, value in zip(self.parts, values)))


class _Numbers(_Note):
    """The record of the numbers of a NumPy array without objects, or of a torch tensor.
    If there are too many numbers, or they lie on a GPU, records the identity instead,
    and for a tensor also its version counter."""

    def __init__(self, thing: Any):
        super().__init__(None)
        self._reference = weakref.ref(thing)
        self._state = _state_of(thing)

    def _compare(self, present: Any, seen: _Seen) -> bool:
        del seen
        return _state_of(present) == self._state and (
            isinstance(self._state[-1], list) or self._reference() is present)


class _Notes:
    """Makes notes of objects, one note for each object."""

    def __init__(self) -> None:
        self._known: Dict[int, _Note] = {}

    def of(self, thing: Any) -> _Note:
        if isinstance(thing, _PLAIN):
            return _Note(thing)
        note = self._known.get(id(thing))
        if isinstance(note, _Note):
            return note
        constant = _constant(thing) if type(thing) in (list, tuple) else None
        if constant is not None or not _has_parts(thing):
            self._known[id(thing)] = note = constant or self._leaf(thing)
            return note
        self._known[id(thing)] = whole = _Parts(thing)
        whole.names, values = _parts_of(thing)
        whole.parts = [self.of(value) for value in values]
        return whole

    @staticmethod
    def _leaf(thing: Any) -> _Note:
        has_numbers = _is_array(thing) or _is_tensor(thing)
        return _Numbers(thing) if has_numbers else _Note(thing)


def _constant(items: Any) -> Optional[_Plain]:
    """Returns the record of a list or tuple of values that cannot change, or of tuples
    of such values. Returns None for other objects."""
    kinds = set(map(type, items))
    if _are_plain(kinds):
        return _Plain(items, True)
    if kinds == {tuple} and _are_plain(
            set(map(type, itertools.chain.from_iterable(items)))):
        return _Plain(items, False)
    return None


def _are_plain(kinds: Set[Type[Any]]) -> bool:
    numpy = sys.modules.get("numpy")
    plain = _PLAIN if numpy is None else (*_PLAIN, numpy.generic)
    return all(issubclass(kind, plain) for kind in kinds)


def _has_parts(thing: Any) -> bool:
    kind = type(thing)
    if isinstance(thing, (list, tuple, dict)):
        return True
    if _is_array(thing) or _is_tensor(thing):
        return False
    if _has_objects(thing):
        return True
    if isinstance(thing, (type, enum.Enum)) or not hasattr(thing, "__dict__"):
        return False
    return (kind.__module__.startswith(_MODULES) or
            any(base.__module__.startswith(_DATASETS) for base in kind.__mro__))


def _parts_of(thing: Any) -> Tuple[Optional[List[Any]], List[Any]]:
    """Returns the names of an object's parts, if they have names, and the parts."""
    if isinstance(thing, (list, tuple)):
        return None, list(thing)
    if _has_objects(thing):
        return list(thing.shape), thing.ravel().tolist()
    parts = thing if isinstance(thing, dict) else vars(thing)
    return list(parts), list(parts.values())


def _is_array(thing: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return (numpy is not None and isinstance(thing, numpy.ndarray) and
            not thing.dtype.hasobject)


def _has_objects(thing: Any) -> bool:
    """Whether `thing` is a NumPy array of objects."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(thing) is numpy.ndarray and thing.dtype == object


def _is_tensor(thing: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(thing, torch.Tensor)


def _state_of(thing: Any) -> Any:
    """Returns the state of an array or tensor, in a form that can be compared. If there
    is a digest of the numbers, a list, it is the last item. Returns None for other
    objects."""
    if _is_array(thing):
        return (type(thing), thing.dtype, thing.shape, thing.strides,
                _memory_digest.of(thing) if thing.nbytes <= MAX_BYTES else None)
    if _is_tensor(thing):
        return (type(thing), thing.dtype, thing.shape, thing.device,
                _numbers(thing) or (_version(thing), thing.data_ptr()))
    return None


def _numbers(tensor: Any) -> Optional[List[int]]:
    """Returns the digest of a tensor's numbers; None if the tensor is too large, or its
    numbers do not lie in this process's memory."""
    import torch
    if (tensor.device.type != "cpu" or tensor.layout is not torch.strided or
            tensor.is_quantized or
            tensor.numel() * tensor.element_size() > MAX_BYTES):
        return None
    plain = tensor.detach().as_subclass(torch.Tensor).resolve_conj().resolve_neg()
    return _memory_digest.of(plain.contiguous().reshape(-1).view(torch.uint8).numpy())


def _version(tensor: Any) -> int:
    try:
        return int(tensor._version)
    except RuntimeError:
        return -1  # an inference tensor has no version counter
