"""DataPipes that are divided among ranks, resumed, or replaced."""

import os
import random
import signal
import subprocess
import sys

import pytest
from torch.utils.data import IterDataPipe
from torch.utils.data.datapipes.iter import IterableWrapper

import forebay
from own_processes import workers
from stage_test import leaves_nothing, reachable  # noqa: F401

RANK = """
import sys
import torch.distributed as dist
from torch.utils.data.datapipes.iter import IterableWrapper
import forebay

folder, rank, workers = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
dist.init_process_group("gloo", init_method=f"file://{folder}/{workers}", rank=rank,
                        world_size=2)
pipe = IterableWrapper(range(40)).shuffle().sharding_filter()
with forebay.DataLoader(pipe, 3, num_workers=workers) as loader:
    for _ in range(2):
        print(*(number for batch in loader for number in batch.tolist()))
dist.barrier()
"""


@pytest.mark.parametrize("count", [0, 2])
def test_ranks_shuffle_alike_and_get_a_part_each(tmp_path, count):
    ranks = [subprocess.Popen(
        [sys.executable, "-c", RANK, str(tmp_path), str(rank), str(count)],
        stdout=subprocess.PIPE, text=True) for rank in range(2)]
    said = [rank.communicate(timeout=120)[0].splitlines() for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0]
    epochs = [[line.split() for line in lines] for lines in zip(*said)]
    assert len(epochs) == 2
    for parts in epochs:
        assert [len(part) for part in parts] == [20, 20]
        assert {int(one) for part in parts for one in part} == set(range(40))
    assert epochs[0] != epochs[1]


class Own(IterDataPipe):
    """A DataPipe that is its own iterator, with a state."""

    def __init__(self, source):
        self.source = source
        self.place = 0

    def __iter__(self):
        self.place = 0
        return self

    def __next__(self):
        if self.place == len(self.source):
            raise StopIteration
        self.place += 1
        return self.source[self.place - 1]

    def state_dict(self):
        return {"place": self.place}

    def load_state_dict(self, state):
        self.place = state["place"]


def shuffled():
    return IterableWrapper(range(90)).shuffle().sharding_filter().map(drawing)


def stated():
    return Own(range(90)).map(drawing)


def drawing(number):
    return number, random.random()


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("pipe", [shuffled, stated])
def test_goes_on_with_the_same_bytes(pipe, count):
    with forebay.DataLoader(pipe(), 4, num_workers=count, seed=5) as loader:
        epochs = [list(map(repr, loader)) for _ in range(2)]
        loader.set_epoch(0)
        batches = iter(loader)
        for _ in range(7):
            next(batches)
        state = loader.state_dict()
    with forebay.DataLoader(pipe(), 4, num_workers=count, seed=5) as loader:
        loader.load_state_dict(state)
        assert list(map(repr, loader)) == epochs[0][7:]
        assert list(map(repr, loader)) == epochs[1]


def test_killed_workers_change_nothing():
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)

    def run(disturb):
        made = []
        with forebay.DataLoader(shuffled(), 2, num_workers=2, seed=5) as loader:
            for batch in loader:
                made.append(repr(batch))
                victims = workers(os.getpid())
                if disturb and victims and chance.random() < 0.2:
                    os.kill(chance.choice(victims), signal.SIGKILL)
        return made

    assert run(True) == run(False)
