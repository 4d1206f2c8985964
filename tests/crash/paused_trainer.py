"""Trainers of paused_job_test, whose datasets have code of their own. Each takes a
step for each line of its standard input, and says what it did."""

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
_started = 0  # hosts


class Noise:
    """Samples that take some time, and draw at random."""

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
    """The first worker that makes sample 0 hangs over it, for ever; it writes its
    number into the file `key`."""

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
    """Counts the hosts that this trainer starts."""
    begin = HostProcess.__init__

    def counted(self, *arguments):
        global _started
        _started += 1
        begin(self, *arguments)

    HostProcess.__init__ = counted


def stop_hosts_at_fork():
    """Lets hosts stop when they are to fork their first worker."""
    fork = host._Host._fork

    def stopping(self, *arguments):
        if not self._workers._workers:
            os.kill(os.getpid(), signal.SIGSTOP)
        return fork(self, *arguments)

    host._Host._fork = stopping


def loader_of(kind, key, workers=2, **arguments):
    """A loader of numbers in order, each with its noise."""
    return forebay.DataLoader(kind(key), BATCH, seed=3, num_workers=workers,
                              framework="numpy", autostart=False, **arguments)


def list_of(samples):
    """Makes batches whole: no sample is made first, to learn what it is like."""
    return (numpy.stack([sample[0] for sample in samples]),
            [sample[1] for sample in samples])


def checked(batch, expected):
    """Checks a batch; returns how many samples it has."""
    numbers = [int(number) for number in batch[1]]
    assert numbers == expected[:len(numbers)], (numbers, expected[:BATCH])
    assert batch[0].shape == (len(numbers), 40, 50)
    return len(numbers)


def said(word):
    """Prints a word, and waits for the next line."""
    print(word, flush=True)
    return bool(sys.stdin.readline())


def train(loader, epochs=1, first_step=False):
    """Reads epochs; takes a step for each batch if `first_step`, else one for
    each epoch. Says at the end how many hosts it has started."""
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
