"""Datasets that fork in their workers. The children do not act as workers, and delay
nothing."""

import os
import signal
import sys
import time

import numpy
import pytest
from torch.utils.data import Dataset

import forebay
from stage_test import leaves_nothing, reachable  # noqa: F401

SAMPLES = 40


class Forking(Dataset):
    """A dataset that forks when some of its samples are made."""

    def __init__(self, folder, child, parent=None):
        """
        Args:
          folder: the folder in which each process writes which samples it has made.
          child, parent: functions that the two processes call; None: they return the
            sample.
        """
        self.folder, self.child, self.parent = folder, child, parent

    def __len__(self):
        return SAMPLES

    def __getitem__(self, number):
        if number % 20 == 0:
            spent = time.process_time()
            act = self.parent
            if os.fork() == 0:
                while time.process_time() < spent + 0.05:
                    pass  # takes so long that the worker has answered before
                (self.folder / f"child-{os.getpid()}").touch()
                act = self.child
            if act is not None:
                act()
        with open(self.folder / str(os.getpid()), "a") as made:
            made.write(f"{number}\n")
        return numpy.full(1000, number)


def children(folder):
    """Returns the process ids of all children that there were."""
    return [path.name.partition("-")[2] for path in folder.glob("child-*")]


def fail():
    raise ValueError("the child's own")


@pytest.mark.parametrize("child", [None, fail, sys.exit, lambda: sys.exit("bye")])
@pytest.mark.parametrize("arguments", [{}, {"collate_fn": list}],
                         ids=["rows", "batches"])
def test_a_child_that_returns_is_no_worker(tmp_path, child, arguments):
    with forebay.DataLoader(Forking(tmp_path, child), 8, num_workers=2,
                            sharing="off", **arguments) as loader:
        for _ in range(2):
            made = [int(sample[0]) for batch in loader for sample in batch]
            assert made == list(range(SAMPLES))
    assert children(tmp_path)
    for pid in children(tmp_path):
        if (tmp_path / pid).exists():  # only the one sample that it returned
            assert int((tmp_path / pid).read_text()) % 20 == 0


@pytest.mark.parametrize("arguments", [{}, {"collate_fn": list}],
                         ids=["rows", "batches"])
def test_a_crash_is_seen_though_a_child_lives_on(tmp_path, arguments):
    def crash():
        if (tmp_path / "begun").exists():
            os.kill(os.getpid(), signal.SIGKILL)

    read, write = os.pipe()  # open until the test ends

    def stay():
        os.close(write)
        os.read(read, 1)
        os._exit(0)

    dataset = Forking(tmp_path, stay, crash)
    with forebay.DataLoader(dataset, 8, num_workers=2, sharing="off", timeout=60,
                            **arguments) as loader:
        batches = iter(loader)
        (tmp_path / "begun").touch()
        failed = 0
        for _ in range(5):
            try:
                next(batches)
            except RuntimeError as error:
                assert "SIGKILL" in str(error)
                failed += 1
        with pytest.raises(StopIteration):
            next(batches)
        # The first batch may have been made before "begun" existed.
        assert failed in (1, 2)
    os.close(read)
    os.close(write)
