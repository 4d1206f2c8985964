"""The daemon's random draws, for torch's random functions to give out.

The files server/base/philox.h and server/pipeline/transform/{draws.h,color.cc}
specify these draws.
"""

import contextlib

import numpy
import torch

_MASK = 0xFFFFFFFF


def _philox(key, counter):
    key, counter = list(key), list(counter)
    for _ in range(10):
        one, two = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [(two >> 32) ^ counter[1] ^ key[0], two & _MASK,
                   (one >> 32) ^ counter[3] ^ key[1], one & _MASK]
        key = [(key[0] + 0x9E3779B9) & _MASK, (key[1] + 0xBB67AE85) & _MASK]
    return counter


class Draws:
    """The random draws of one op for one sample of an epoch below 2^32."""

    def __init__(self, seed, epoch, sample, op):
        """
        Args:
          seed, epoch, sample: ints.
          op: its place in the pipeline, an int.
        """
        self._words = self._endless(seed, epoch, sample, op)

    @staticmethod
    def _endless(seed, epoch, sample, op):
        block = 0
        while True:
            yield from _philox((seed & _MASK, seed >> 32),
                               (epoch, sample & _MASK, sample >> 32,
                                (op << 16) | block))
            block += 1

    def unit(self):
        return numpy.float32((next(self._words) >> 8) * 2.0**-24)

    def below(self, n):
        word = next(self._words) | next(self._words) << 32
        # For as small an n as here, chance rejects one word in 2^50.
        assert (word * n) & (2**64 - 1) >= n
        return (word * n) >> 64

    def rand(self, *size):
        del size
        return torch.tensor([float(self.unit())])

    def uniform(self, tensor, low=0, high=1):
        low, high = numpy.float32(low), numpy.float32(high)
        return tensor.fill_(float(self.unit() * (high - low) + low))

    def randint(self, low, high, size, **options):
        del size, options
        return torch.tensor([low + self.below(high - low)])

    def randperm(self, n):
        order = list(range(n))
        for last in range(n - 1, 0, -1):
            other = self.below(last + 1)
            order[last], order[other] = order[other], order[last]
        return torch.tensor(order)


@contextlib.contextmanager
def drawn(seed, epoch, sample, op):
    """torch draws what the daemon does."""
    draws = Draws(seed, epoch, sample, op)
    kept = torch.rand, torch.randint, torch.randperm, torch.Tensor.uniform_
    torch.rand, torch.randint = draws.rand, draws.randint
    torch.randperm = draws.randperm
    torch.Tensor.uniform_ = lambda tensor, *range_: draws.uniform(tensor, *range_)
    try:
        yield
    finally:
        torch.rand, torch.randint, torch.randperm, torch.Tensor.uniform_ = kept
