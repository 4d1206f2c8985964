"""Seeds of all that the user's code draws at random, one for each sample."""

from __future__ import annotations

import random
import sys
from typing import Any, Tuple

# Numbers, among the ops that draw, of the user's code: as in the daemon's
# server/stream/produced_samples.cc, and for what works on whole batches.
_SAMPLE_OP, _BATCH_OP = 0xFFFF, 0xFFFE
_MASK32, _MASK64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
_GOLDEN = 0x9E3779B97F4A7C15


def philox(key: int, counter: Tuple[int, int, int, int]) -> Tuple[int, ...]:
    """Philox4x32-10: four words of 32 bits. Source: Salmon et al., "Parallel random
    numbers: as easy as 1, 2, 3", SC 2011.

    Args:
      key: 64 bits.
      counter: four words of 32 bits.
    """
    a, b, c, d = counter
    low, high = key & _MASK32, key >> 32
    for _ in range(10):
        product0, product1 = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b = (product1 >> 32) ^ b ^ low, product1 & _MASK32
        c, d = (product0 >> 32) ^ d ^ high, product0 & _MASK32
        low, high = (low + 0x9E3779B9) & _MASK32, (high + 0xBB67AE85) & _MASK32
    return a, b, c, d


def _draw(seed: int, epoch: int, sample: int, repeat: int, op: int) -> int:
    key = (seed + repeat * _GOLDEN) & _MASK64
    key ^= ((epoch >> 32) * _GOLDEN) & _MASK64
    words = philox(key, (epoch & _MASK32, sample & _MASK32,
                         (sample >> 32) & _MASK32, op << 16))
    return words[0] | words[1] << 32


def of_sample(seed: int, epoch: int, sample: int, repeat: int) -> int:
    """64 bits that depend on nothing else.

    Args:
      repeat: how often the epoch has had the sample before.
    """
    return _draw(seed, epoch, sample, repeat, _SAMPLE_OP)


def of_batch(seed: int, epoch: int, sample: int, repeat: int) -> int:
    """64 bits for what works on the batch that begins with this sample."""
    return _draw(seed, epoch, sample, repeat, _BATCH_OP)


def seed_generators(seed: int) -> None:
    """Seeds Python's, NumPy's and torch's random generators.

    Args:
      seed: 64 bits.
    """
    random.seed(seed)
    numpy = sys.modules.get("numpy.random")
    if numpy is not None:
        numpy.seed(seed & _MASK32)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.default_generator.manual_seed(seed)


class State:
    """The state of the generators, as it is when this is made."""

    def __init__(self) -> None:
        self._own = random.getstate()
        self._numpy: Any = sys.modules.get("numpy.random")
        self._torch: Any = sys.modules.get("torch")
        if self._numpy is not None:
            self._of_numpy = self._numpy.get_state()
        if self._torch is not None:
            self._of_torch = self._torch.default_generator.get_state()

    def restore(self) -> None:
        """Gives the generators this state."""
        random.setstate(self._own)
        if self._numpy is not None:
            self._numpy.set_state(self._of_numpy)
        if self._torch is not None:
            self._torch.default_generator.set_state(self._of_torch)


class Kept:
    """Gives the generators back the state that they had when it was entered."""

    def __enter__(self) -> None:
        self._state = State()

    def __exit__(self, *_: Any) -> None:
        self._state.restore()
