"""Tasks of workers that share their core with other processes."""

import os
import resource
import time

import pytest
from torch.utils.data import Dataset

import forebay
from stage_test import leaves_nothing, reachable  # noqa: F401

SAMPLES = 1200
OTHERS = 4  # processes that use CPU time all the time


class Computed(Dataset):
    """Samples that take half a millisecond of CPU time, and tell how often their worker
    has slept so far."""

    def __len__(self):
        return SAMPLES

    def __getitem__(self, number):
        end = time.thread_time() + 0.0005
        while time.thread_time() < end:
            pass
        return number, resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw


@pytest.fixture
def busy_core():
    """The number of a CPU on which other processes use CPU time."""
    core = min(os.sched_getaffinity(0))
    others = []
    for _ in range(OTHERS):
        pid = os.fork()
        if pid == 0:
            os.sched_setaffinity(0, {core})
            end = time.monotonic() + 60
            while time.monotonic() < end:
                pass
            os._exit(0)
        others.append(pid)
    yield core
    for pid in others:
        os.kill(pid, 9)
        os.waitpid(pid, 0)


def test_a_worker_that_waits_for_a_core_gets_many_samples_a_task(busy_core):
    def move(_):
        os.sched_setaffinity(0, {busy_core})

    with forebay.DataLoader(Computed(), 60, num_workers=1,
                            worker_init_fn=move) as loader:
        slept = [times for _, batch in loader for times in batch.tolist()]
    # The worker sleeps between tasks. A task should take eight milliseconds of CPU
    # time, and so it has 16 samples.
    behind_the_first = slept[SAMPLES // 4:]
    assert behind_the_first[-1] - behind_the_first[0] < len(behind_the_first) / 8
