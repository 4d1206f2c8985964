"""Computes seeds, one for each sample, of the random generators that the user's code
uses."""

from __future__ import annotations

import array
import random
import sys
from typing import Any, Dict, Tuple

# The numbers that the user's code has among the ops that draw. The first is for single
# samples; the daemon has it in server/stream/produced_samples.cc. The second is for
# code that works on whole batches. The third is for draws that are the same in all
# workers.
_SAMPLE_OP, _BATCH_OP, _EPOCH_OP = 0xFFFF, 0xFFFE, 0xFFFD
_MASK32, _MASK64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
_GOLDEN = 0x9E3779B97F4A7C15


def philox(key: int, counter: Tuple[int, int, int, int]) -> Tuple[int, ...]:
    """Returns four random words of 32 bits, computed by Philox4x32-10. Source: Salmon
    et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.

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
    """Returns a seed of 64 bits, which depends only on the arguments.

    Args:
      repeat: how often the epoch has had the sample before.
    """
    return _draw(seed, epoch, sample, repeat, _SAMPLE_OP)


def of_batch(seed: int, epoch: int, sample: int, repeat: int) -> int:
    """Returns a seed of 64 bits for code that works on the batch that begins with this
    sample."""
    return _draw(seed, epoch, sample, repeat, _BATCH_OP)


def of_epoch(seed: int, epoch: int) -> int:
    """Returns a seed of 63 bits, which is the same in all workers of an epoch on all
    ranks."""
    return _draw(seed, epoch, 0, 0, _EPOCH_OP) >> 1


def _numpy_random() -> Any:
    """Returns the module numpy.random; None if NumPy is not imported. NumPy 2 imports
    numpy.random at its first use, so it may be missing until then."""
    return getattr(sys.modules.get("numpy"), "random", None)


def seed_generators(seed: int) -> None:
    """Seeds Python's, NumPy's and torch's random generators.

    Args:
      seed: 64 bits.
    """
    random.seed(seed)
    numpy = _numpy_random()
    if numpy is not None:
        numpy.seed(seed & _MASK32)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.default_generator.manual_seed(seed)


class State:
    """The state that the random generators had when this object was made."""

    def __init__(self) -> None:
        self._own = random.getstate()
        self._numpy = _numpy_random()
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

    def plain(self) -> Dict[str, Any]:
        """Returns the state as plain values, for `set_generators`."""
        version, words, gauss = self._own
        values: Dict[str, Any] = {
            "python": (version, array.array("I", words).tobytes(), gauss)}
        if self._numpy is not None and isinstance(self._of_numpy, tuple):
            name, key, *rest = self._of_numpy
            values["numpy"] = (name, key.tobytes(), *rest)
        if self._torch is not None:
            values["torch"] = self._of_torch.numpy().tobytes()
        return values


def set_generators(values: Dict[str, Any]) -> None:
    """Gives the generators the state that State.plain returned as `values`.

    Raises:
      Exception: `values` are not such a state.
    """
    version, words, gauss = values["python"]
    random.setstate((version, tuple(array.array("I", words)), gauss))
    numpy = _numpy_random()
    if numpy is not None and "numpy" in values:
        name, key, *rest = values["numpy"]
        numpy.set_state((name, array.array("I", key), *rest))
    torch: Any = sys.modules.get("torch")
    if torch is not None and "torch" in values:
        torch.default_generator.set_state(torch.frombuffer(
            bytearray(values["torch"]), dtype=torch.uint8))


class Kept:
    """A context manager that restores the generators' state at its end."""

    def __enter__(self) -> None:
        self._state = State()

    def __exit__(self, *_: Any) -> None:
        self._state.restore()
