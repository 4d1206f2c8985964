"""Compares the values that several processes have made for one sample or batch."""

from __future__ import annotations

import collections.abc
import copyreg
import hashlib
import sys
import types
from typing import Any, Dict, NamedTuple, Optional, Set, Tuple

_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_MAX_SHOWN = 80  # characters
_MISSING = ("nothing",)
_VARYING = ("another value each time",)

# The flat form of a value has all parts of the value, by their place: structure, keys,
# texts and digests of bytes. Equal values have equal flat forms in all processes.
Flat = Dict[str, Tuple[Any, ...]]


class Difference(NamedTuple):
    """A place where two values differ.

    Attributes:
      field: the place within the sample or batch.
      own, other: the two values at that place, for people.
    """

    field: str
    own: str
    other: str


def flat(value: Any) -> Flat:
    """Returns the flat form of a value."""
    found: Flat = {}
    try:
        _add(found, "", value, set())
    except RecursionError:
        found["(nested too deeply)"] = ("",)
    return found


def failed(error: BaseException) -> Flat:
    """Returns the flat form for a value that could not be made."""
    return {"": ("an exception,", f"{type(error).__name__}: {error}")}


def difference(own: Flat, again: Optional[Flat], other: Flat) -> Optional[Difference]:
    """Returns the first place where two flat forms differ; None if there is no such
    place.

    Args:
      again: the flat form of this process's value, made once more. Places where it
        differs from `own` are not deterministic, and are not compared. None: the value
        was not made again.
      other: the flat form of the other process's value.
    """
    for place in [*own, *(place for place in other if place not in own)]:
        mine, theirs = own.get(place, _MISSING), other.get(place, _MISSING)
        if mine != theirs and (
                again is None or again.get(place, _MISSING) == mine):
            return Difference(place or "(whole)", _shown(mine), _shown(theirs))
    return None


def merged(one: Flat, other: Flat) -> Flat:
    """Returns the flat form of a value that was made twice. Places where the two forms
    differ get a mark that is not equal to any value."""
    return {place: part if one.get(place) == other.get(place) else _VARYING
            for place, part in {**other, **one}.items()}


def of_array(array: Any) -> Tuple[Any, ...]:
    """Returns the flat form of a NumPy array without objects."""
    said = f"{array.dtype} of shape {list(array.shape)}"
    if array.ndim == 0:
        return said, repr(array.item()), array.tobytes()
    return said, *_of_bytes(array.tobytes())


def _shown(part: Tuple[Any, ...]) -> str:
    # For an array, the last item is a digest of its bytes.
    said = " ".join(str(item) for item in part if not isinstance(item, bytes))
    return said if len(said) <= _MAX_SHOWN else f"{said[:_MAX_SHOWN]}..."


def _of_bytes(data: bytes) -> Tuple[str, bytes]:
    shown = f"{data[:8].hex()}..." if len(data) > 8 else data.hex()
    return f"that begins with {shown}", hashlib.blake2b(data, digest_size=16).digest()


def _add(found: Flat, place: str, value: Any, above: Set[int]) -> None:
    if isinstance(value, _PLAIN):
        found[place] = type(value).__qualname__, repr(value)
        return
    numbers = _numbers(value)
    if numbers is not None:
        found[place] = numbers
    elif isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
        found[place] = f"{value.__module__}.{value.__qualname__}",
    elif id(value) in above:
        found[place] = "what holds it",
    else:
        above.add(id(value))
        _add_parts(found, place, value, above)
        above.discard(id(value))


def _add_parts(found: Flat, place: str, value: Any, above: Set[int]) -> None:
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, collections.abc.Mapping):
        keys = list(value)
        found[place] = name, "of", repr(keys)
        for number, key in enumerate(keys):
            shown = repr(key) if isinstance(key, _PLAIN) else str(number)
            _add(found, f"{place}[{shown}]", value[key], above)
    elif isinstance(value, (tuple, list)):
        found[place] = name, "of", len(value)
        names = getattr(value, "_fields", None)
        for number, item in enumerate(value):
            _add(found, f"{place}.{names[number]}" if names else f"{place}[{number}]",
                 item, above)
    elif isinstance(value, (set, frozenset)):
        found[place] = name, "of", repr(sorted(map(repr, value)))
    else:
        found[place] = name,
        _add(found, f"{place}.", _state(value), above)


def _state(value: Any) -> Any:
    """Returns the parts of an object that pickle would store; None if there are
    none."""
    reduce = copyreg.dispatch_table.get(type(value))
    try:
        parts = value.__reduce_ex__(4) if reduce is None else reduce(value)
    except Exception:
        return None
    if isinstance(parts, str):
        return parts
    return tuple(list(part) if number in (3, 4) and part is not None else part
                 for number, part in enumerate(parts))


def _numbers(value: Any) -> Optional[Tuple[Any, ...]]:
    """Returns the flat form of a tensor, an array or one of NumPy's numbers."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        if value.layout is not torch.strided or value.is_quantized:
            return str(value.layout), repr(value)
        plain = value.detach().cpu().resolve_conj().resolve_neg().contiguous()
        said = f"{value.dtype} of shape {list(value.shape)}"
        if numpy is None or not value.numel():
            return said, repr(plain.tolist())
        data = plain.reshape(-1).view(torch.uint8).numpy().tobytes()
        return said, *_of_bytes(data)
    if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
        array = numpy.asarray(value)
        return None if array.dtype.hasobject else of_array(array)
    return None
