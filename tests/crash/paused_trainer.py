"""Trainers of paused_job_test, whose datasets are the user's code. Each takes a step
for each line of its standard input, and prints what it did."""

import os
import signal
import sys
import time

import numpy

import forebay
from forebay._stage import host
from forebay._stage.host_process import HostProcess
from trouble import pause

SAMPLES = 120
BATCH = 8
_started = 0  # number of hosts


class Noise:
    """Samples that take some time to make, and have random numbers."""

    def __init__(self, key):
        self.key = key

    def __len__(self):
        return SAMPLES

    def __getitem__(self, number):
        end = time.monotonic() + 0.001
        while time.monotonic() < end:
            pass
        return numpy.random.rand(40, 50).astype(numpy.float32), number


class Hanging(Noise):
    """A dataset whose first worker that makes sample 0 hangs for ever. That worker
    writes its process id into the file `key`."""

    def __getitem__(self, number):
        if number == 0:
            try:
                descriptor = os.open(self.key, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
            except FileExistsError:
                pass
            else:
                os.write(descriptor, b"%d" % os.getpid())
                while True:
                    pause(3600)
        return super().__getitem__(number)


def note_hosts():
    """Counts the hosts that this trainer starts, in `_started`."""
    begin = HostProcess.__init__

    def counted(self, *arguments):
        global _started
        _started += 1
        begin(self, *arguments)

    HostProcess.__init__ = counted


def stop_hosts_at_fork():
    """Makes each host stop itself when it is told to fork its first worker."""
    fork = host._Host._fork

    def stopping(self, *arguments):
        if not self._workers._workers:
            os.kill(os.getpid(), signal.SIGSTOP)
        return fork(self, *arguments)

    host._Host._fork = stopping


def loader_of(kind, key, workers=2, **arguments):
    """Returns a loader of the samples in order."""
    return forebay.DataLoader(kind(key), BATCH, seed=3, num_workers=workers,
                              framework="numpy", autostart=False, **arguments)


def list_of(samples):
    """Collates whole batches, so that no first sample has to be made to learn its
    layout."""
    return (numpy.stack([sample[0] for sample in samples]),
            [sample[1] for sample in samples])


def checked(batch, expected):
    """Checks a batch, and returns its number of samples."""
    numbers = [int(number) for number in batch[1]]
    assert numbers == expected[:len(numbers)], (numbers, expected[:BATCH])
    assert batch[0].shape == (len(numbers), 40, 50)
    return len(numbers)


def said(word):
    """Prints a word, and waits for the next line."""
    print(word, flush=True)
    return bool(sys.stdin.readline())


def train(loader, epochs=1, first_step=False):
    """Reads epochs. Takes a step for each batch if `first_step`, and for each epoch. At
    the end prints how many hosts it has started."""
    with loader:
        for _ in range(epochs):
            expected = list(range(SAMPLES))
            for batch in loader:
                expected = expected[checked(batch, expected):]
                del batch
                if first_step:
                    said("batch")
            assert not expected
            said("epoch")
    print(f"{_started} hosts", flush=True)
