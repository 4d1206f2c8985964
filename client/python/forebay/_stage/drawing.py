"""Draws a sampler's keys one portion after the other, and again from a state.

Samplers that list more keys than memory holds, or that never end, cannot be drawn as
a whole. A state of theirs is the number of keys that were taken, with the random
generators as they were before the first one. To go on, the same keys are drawn again,
and passed over.
"""

from __future__ import annotations

import itertools
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional

from .. import errors
from .._counterpart import is_plainly
from . import seeds

_MOST_LISTED = 1 << 22  # keys
_MOST_BATCHES = 1 << 18
_PORTION = 1 << 16
_TORCH = "torch.utils.data"
# The samplers that draw by the process's generators only before their first key.
_DRAWING_ONCE = ("RandomSampler", "SequentialSampler", "SubsetRandomSampler",
                 "WeightedRandomSampler", "DistributedSampler")


def is_long(length: Optional[int], by_batches: bool) -> bool:
    """Whether a sampler of this length, or of None, is not listed as a whole."""
    return length is None or length > (_MOST_BATCHES if by_batches else _MOST_LISTED)


def origin_of(sampler: Any) -> Dict[str, Any]:
    """The random generators as they are now, as plain values."""
    return {**seeds.State().plain(), **own_of(sampler)}


def own_of(sampler: Any) -> Dict[str, Any]:
    """The state of the sampler's own generator, if it has one, as plain values."""
    own = getattr(sampler, "generator", None)
    return {} if own is None else {"sampler": own.get_state().numpy().tobytes()}


def restore_own(sampler: Any, values: Dict[str, Any]) -> None:
    """Gives the sampler's own generator its state, if it has one.

    Raises:
      errors.StateError: that is no state of it.
    """
    own = getattr(sampler, "generator", None)
    if own is None or "sampler" not in values:
        return
    import torch
    try:
        own.set_state(torch.frombuffer(bytearray(values["sampler"]),
                                       dtype=torch.uint8))
    except (RuntimeError, TypeError, ValueError) as error:
        raise errors.StateError(
            f"the state is damaged: its generator: {error}") from None


def begun(sampler: Any, origin: Optional[Dict[str, Any]],
          begin: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    """The items that `begin` makes of a sampler's keys.

    A sampler may draw by the process's own random generators, which other code uses
    meanwhile. Only the first item changes these, as with torch; the others are drawn
    by a copy of them.

    Args:
      origin: of origin_of: the generators at the first key; None: as they are.

    Raises:
      errors.StateError: the origin is damaged.
    """
    if origin is None:
        made, state = begin(), None
    else:
        with seeds.Kept():
            try:
                seeds.set_generators(origin)
            except Exception as error:
                raise errors.StateError(
                    f"the state is damaged: its generators: {error!r}") from None
            restore_own(sampler, origin)
            made = begin()
            made = itertools.chain(list(itertools.islice(made, 1)), made)
            state = seeds.State()
    if is_plainly(sampler, _TORCH, _DRAWING_ONCE, "__iter__"):
        return made
    return _apart(made, state)


def _apart(made: Iterator[Any], state: Optional[seeds.State]) -> Iterator[Any]:
    """Items that are drawn by generators of this state; None: those after the first
    one by its state then."""
    end = object()
    if state is None:
        item = next(made, end)
        state = seeds.State()
        if item is end:
            return
        yield item
    while True:
        with seeds.Kept():
            state.restore()
            item = next(made, end)
            state = seeds.State()
        if item is end:
            return
        yield item


def keys_of(sampler: Iterable[Any]) -> Iterator[Any]:
    """The keys of a sampler, as iter() gives them."""
    if (is_plainly(sampler, _TORCH, ("RandomSampler",), "__iter__") and
            sampler.replacement):  # type: ignore[attr-defined]
        return _with_replacement(sampler)
    return iter(sampler)


def _with_replacement(sampler: Any) -> Iterator[int]:
    """The keys of torch's RandomSampler, which draws 32 at once."""
    import torch
    generator = sampler.generator
    if generator is None:
        generator = torch.Generator()
        generator.manual_seed(int(torch.empty((), dtype=torch.int64).random_().item()))
    size, left = len(sampler.data_source), sampler.num_samples
    while left:
        count = min(left, _PORTION)
        yield from torch.randint(high=size, size=(count,), dtype=torch.int64,
                                 generator=generator).tolist()
        left -= count


def portions(keys: Iterator[Any], count: int) -> Iterator[List[Any]]:
    """The next `count` keys, or fewer, in lists of a bounded length."""
    while count > 0:
        portion = list(itertools.islice(keys, min(count, _PORTION)))
        if not portion:
            return
        yield portion
        count -= len(portion)
