"""The datasets that the cases read."""

import os
import threading

from torch.utils.data import Dataset, IterableDataset, get_worker_info


class Made(Dataset):
    """Samples that a function makes from their indices."""

    def __init__(self, make, size=4):
        self.make = make
        self.size = size

    def __getitem__(self, index):
        return self.make(index)

    def __len__(self):
        return self.size


class Numbers(Dataset):
    """Each sample is its index times a factor."""

    def __init__(self, size, factor=1):
        self.size = size
        self.factor = factor

    def __getitem__(self, index):
        return index * self.factor

    def __len__(self):
        return self.size


class Counting(Numbers):
    """Each sample tells how many samples this copy of the dataset made before."""

    made = 0

    def __getitem__(self, index):
        self.made += 1
        return self.made


class Counted(IterableDataset):
    """The numbers below a size, all of them in each worker."""

    def __init__(self, size):
        self.size = size

    def __iter__(self):
        return iter(range(self.size))


class Sharded(Counted):
    """The numbers below a size, each in one worker."""

    def __iter__(self):
        info = get_worker_info()
        if info is None:
            return iter(range(self.size))
        return iter(range(info.id, self.size, info.num_workers))


class Sized(Counted):
    """An iterable dataset that tells its length."""

    def __init__(self, size, says=None):
        super().__init__(size)
        self.says = size if says is None else says

    def __len__(self):
        return self.says


def worker_info(index):
    """Returns the worker's identity: (id, number of workers, seed, process)."""
    info = get_worker_info()
    return info.id, info.num_workers, info.seed, os.getpid()


def stall(seconds):
    """Blocks for a while."""
    threading.Event().wait(seconds)


def values(loader):
    """Returns the batches as lists."""
    return [batch.tolist() for batch in loader]


def flat(loader):
    """Returns the samples as one list."""
    return [value for batch in loader for value in batch.tolist()]
