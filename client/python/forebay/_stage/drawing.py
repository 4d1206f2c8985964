"""Draws a sampler's keys in portions, and draws them again from a state.

Samplers that list more keys than memory holds, or that never end, cannot be drawn as a
whole. A loader's state then has the number of keys that were taken, and the states of
the random generators before the first key. To go on, the loader draws the same keys
again, and skips them.
"""

from __future__ import annotations

import itertools
import operator
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple

from .. import errors
from .._counterpart import is_plainly
from . import seeds

MOST_LISTED = 1 << 22  # the most keys that are listed as a whole
_MOST_BATCHES = 1 << 18
_PORTION = 1 << 16
_TORCH = "torch.utils.data"
# The samplers that use the process's random generators only before their first key.
_DRAWING_ONCE = ("RandomSampler", "SequentialSampler", "SubsetRandomSampler",
                 "WeightedRandomSampler", "DistributedSampler")


def length_of(thing: Any) -> Optional[int]:
    """Returns len(thing), or None if `thing` has no length."""
    try:
        return len(thing)
    except (TypeError, NotImplementedError):
        return None


def is_long(length: Optional[int], by_batches: bool) -> bool:
    """Whether a sampler is too long to be listed as a whole. `length` is the sampler's
    length; None: it has no length."""
    return length is None or length > (_MOST_BATCHES if by_batches else MOST_LISTED)


def origin_of(sampler: Any) -> Dict[str, Any]:
    """Returns the present states of the random generators, as plain values."""
    return {**seeds.State().plain(), **own_of(sampler)}


def generator_of(sampler: Any) -> Any:
    """Returns the torch.Generator with which the sampler draws; None if there is
    none."""
    own = getattr(sampler, "generator", None)
    return own if hasattr(own, "initial_seed") else None


def own_of(sampler: Any) -> Dict[str, Any]:
    """Returns, as plain values, the state of the sampler's own generator, if it has
    one."""
    own = generator_of(sampler)
    return {} if own is None else {"sampler": own.get_state().numpy().tobytes()}


def restore_own(sampler: Any, values: Dict[str, Any]) -> None:
    """Sets the state of the sampler's own generator, if it has one.

    Raises:
      errors.StateError: the values are not a state of that generator.
    """
    own = generator_of(sampler)
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
    """Returns an iterator over the items that `begin` makes of a sampler's keys.

    A sampler may draw with the process's random generators, which other code uses, too.
    The first item alone changes these generators, as with torch. All later items are
    drawn with a copy of them. Several iterators of one sampler may draw with the
    sampler's own generator. Each still draws the keys that it would draw alone.

    Args:
      origin: the result of origin_of: the generators' states before the first key.
        None: their present states.

    Raises:
      errors.StateError: the origin is damaged.
    """
    if origin is None:
        made, state = _with_first(begin())
    else:
        with seeds.Kept():
            try:
                seeds.set_generators(origin)
            except Exception as error:
                raise errors.StateError(
                    f"the state is damaged: its generators: {error!r}") from None
            restore_own(sampler, origin)
            made, state = _with_first(begin())
    if generator_of(sampler) is not None:
        made = _by_own(sampler, made, own_of(sampler))
    if is_plainly(sampler, _TORCH, _DRAWING_ONCE, "__iter__"):
        return made
    return _apart(made, state)


def _with_first(made: Iterator[Any]) -> Tuple[Iterator[Any], seeds.State]:
    """Draws the first item. Returns an iterator over all items, and the generators'
    state after the first item."""
    first = list(itertools.islice(made, 1))
    return itertools.chain(first, made), seeds.State()


def _by_own(sampler: Any, made: Iterator[Any], own: Dict[str, Any]) -> Iterator[Any]:
    """Yields items that the sampler's own generator draws. For the first item, the
    generator has the state `own`. For each further item, it has the state in which the
    previous item left it."""
    end = object()
    while True:
        others = own_of(sampler)
        is_used = others != own  # whether another iterator has drawn meanwhile
        if is_used:
            restore_own(sampler, own)
        try:
            item = next(made, end)
        finally:
            own = own_of(sampler)
            if is_used:
                restore_own(sampler, others)
        if item is end:
            return
        yield item


def _apart(made: Iterator[Any], state: seeds.State) -> Iterator[Any]:
    """Yields items that are drawn with random generators of the given state."""
    end = object()
    while True:
        with seeds.Kept():
            state.restore()
            item = next(made, end)
            state = seeds.State()
        if item is end:
            return
        yield item


def keys_of(sampler: Iterable[Any]) -> Iterator[Any]:
    """Yields the keys of a sampler, in the order of iter(sampler)."""
    if _is_with_replacement(sampler):
        return itertools.chain.from_iterable(
            drawn.tolist() for drawn in _with_replacement(sampler))
    return iter(sampler)


def arrays_of(sampler: Iterable[Any]) -> Iterator[Any]:
    """Yields the keys of a sampler, which are numbers, in arrays of bounded length:
    NumPy int64, (M,).

    Raises:
      errors.InvalidArgument: the sampler yields something other than numbers.
    """
    if _is_with_replacement(sampler):
        for drawn in _with_replacement(sampler):
            yield drawn.numpy()
        return
    import numpy
    keys = iter(sampler)
    while True:
        try:
            array = numpy.fromiter(
                map(operator.index, itertools.islice(keys, _PORTION)), numpy.int64)
        except (TypeError, OverflowError):
            raise errors.InvalidArgument(
                f"{type(sampler).__name__} yields something else than "
                "integers: pass a sampler of single samples") from None
        if not len(array):
            return
        yield array


def _is_with_replacement(sampler: Any) -> bool:
    return (is_plainly(sampler, _TORCH, ("RandomSampler",), "__iter__") and
            sampler.replacement)


def _with_replacement(sampler: Any) -> Iterator[Any]:
    """Yields, as tensors, the keys of torch's RandomSampler, which draws 32 keys at
    once."""
    import torch
    generator = sampler.generator
    if generator is None:
        generator = torch.Generator()
        generator.manual_seed(int(torch.empty((), dtype=torch.int64).random_().item()))
    size, left = len(sampler.data_source), sampler.num_samples
    while left:
        count = min(left, _PORTION)
        yield torch.randint(high=size, size=(count,), dtype=torch.int64,
                            generator=generator)
        left -= count


def portions(keys: Iterator[Any], count: int) -> Iterator[List[Any]]:
    """Yields the next `count` keys, or fewer at the end, in lists of bounded length."""
    while count > 0:
        portion = list(itertools.islice(keys, min(count, _PORTION)))
        if not portion:
            return
        yield portion
        count -= len(portion)
