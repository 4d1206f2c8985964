"""Workers whose code takes more memory than `producer.memory`."""

import contextlib
import os
import pathlib
import random
import re
import threading

import numpy
import pytest
import torch

import forebay
from daemons import serving
from own_processes import workers
from trouble import ctl

MIB = 1 << 20
LIMIT = 400 * MIB
SAMPLE = 100 * MIB
# Memory of a worker that does nothing. Its reference counts change, so pages of its
# parent are copied.
IDLE = 32 * MIB


@pytest.fixture(name="limited")
def limited_daemon(tmp_path):
    """A daemon that allows workers LIMIT bytes."""
    config = tmp_path / "forebayd.toml"
    config.write_text(f"[producer]\nmemory = '{LIMIT // MIB}MiB'\n")
    with serving(tmp_path, "--config", str(config)) as daemon:
        yield daemon


def ended(daemon):
    """Returns how many workers were ended because of their memory."""
    return int(ctl(daemon, "status")["producers"]["ended"])


def own_memory():
    """Returns the bytes that workers of this process do not share with others."""
    found = 0
    for worker in workers(os.getpid()):
        with contextlib.suppress(OSError):
            text = pathlib.Path(f"/proc/{worker}/smaps_rollup").read_text()
            found += 1024 * sum(map(int, re.findall(r"Private_Dirty:\s+(\d+) kB",
                                                    text)))
    return found


class Watch:
    """Records the most memory that workers have for themselves."""

    def __init__(self):
        self.largest = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()

    def _look(self):
        while not self._ended.wait(0.01):
            self.largest = max(self.largest, own_memory())


class Leaky(torch.utils.data.Dataset):
    """Samples whose memory is never freed."""

    def __init__(self, leak):
        self.leak = leak
        self.kept = []

    def __len__(self):
        return 24

    def __getitem__(self, number):
        self.kept.append(b"x" * self.leak)
        return number, random.random()


class Calm(torch.utils.data.Dataset):
    """Samples that tell which process made them."""

    def __len__(self):
        return 4000

    def __getitem__(self, number):
        return number, os.getpid()


def test_a_leak_costs_workers_and_no_sample(limited):
    def rows(leak):
        with forebay.DataLoader(Leaky(leak), 4, seed=3, shuffle=True,
                                num_workers=2) as loader:
            return [row for batch in loader for row in zip(*map(
                torch.Tensor.tolist, batch))]

    expected = rows(0)
    assert ended(limited) == 0
    with forebay.DataLoader(Calm(), 100, num_workers=1,
                            sharing="off") as calm:
        batches = iter(calm)
        first = next(batches)
        with Watch() as watch:
            assert rows(SAMPLE) == expected
        others = [first, *batches]
    print("most memory:", watch.largest // MIB, "MiB")
    # Both workers may allocate a sample's memory before the daemon looks again. There
    # are three workers, and one that replaces a worker which is still ending.
    assert LIMIT // 2 < watch.largest <= LIMIT + 2 * SAMPLE + 4 * IDLE
    assert ended(limited) >= 5
    assert [n for numbers, _ in others for n in numbers.tolist()] == list(
        range(4000))
    assert len({pid for _, pids in others for pid in pids.tolist()}) == 1
    assert re.search(r"Leaky.*: worker process \d+ had \d+ MiB of memory of its "
                     r"own, and was ended: all had \d+ MiB, of 400 MiB "
                     r"\(producer.memory\)", limited.log())


class Large(Leaky):
    """A dataset with one sample that takes all available memory."""

    def __len__(self):
        return 32

    def __getitem__(self, number):
        if number == 21:
            for _ in range(4 * LIMIT // (10 * MIB)):
                self.kept.append(b"x" * (10 * MIB))
        return number, 0.0


@pytest.mark.parametrize("collate_fn, name", [
    (None, "sample 21"), (numpy.array, r"the batch of samples \[20, 21, 22, 23\]")])
def test_a_sample_that_alone_takes_too_much_is_an_error(limited, collate_fn, name):
    with forebay.DataLoader(Large(0), 4, num_workers=2,
                            collate_fn=collate_fn) as loader:
        batches = iter(loader)
        for number in range(5):
            assert 4 * number in next(batches)[0].tolist()
        with pytest.raises(RuntimeError, match=(
                rf"3 worker processes ended while they made {name}: the last "
                r"had \d{3} MiB of memory of its own, and all may have 400 MiB "
                r"\(producer.memory\)")):
            next(batches)
        assert 24 in next(batches)[0].tolist()
    # The other worker is ended, too, if the memory of an ended worker is still counted.
    assert ended(limited) in (3, 4)


class Held(Leaky):
    """Samples that need more than half of the allowed memory while they are made."""

    def __getitem__(self, number):
        held = [b"x" * (10 * MIB) for _ in range(25)]
        return number, float(len(held))


def test_workers_that_cannot_be_all_in_memory_take_turns(limited):
    with forebay.DataLoader(Held(0), 4, num_workers=4) as loader:
        rows = [number for batch in loader for number in batch[0].tolist()]
    assert rows == list(range(24))
    assert ended(limited) >= 1


class Shared(torch.utils.data.Dataset):
    """Samples that refer to memory of the trainer."""

    def __init__(self):
        self.all = numpy.ones((5 * LIMIT // 4 // 8,))

    def __len__(self):
        return 200

    def __getitem__(self, number):
        return number, float(self.all[number * 1000:][:9].sum())


def test_the_trainers_own_memory_is_not_counted(limited):
    with forebay.DataLoader(Shared(), 10, num_workers=3,
                            sharing="off") as loader:
        batches = iter(loader)
        numbers = next(batches)[0].tolist()
        used = ctl(limited, "status")["producers"]
        assert int(used["count"]) >= 1
        assert int(used["memory_used"]) < LIMIT // 2
        numbers += [number for batch in batches for number in batch[0].tolist()]
        assert numbers == list(range(200))
    assert ended(limited) == 0
