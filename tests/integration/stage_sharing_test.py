"""Equal loaders of datasets of the user's code. What one job's workers make is for
all."""

import os
import random
import signal
import subprocess
import sys
import textwrap
import threading

import pytest
import torch
from torch.utils.data import BatchSampler, Dataset, WeightedRandomSampler

import forebay
from keyed_jobs import (CHECKED, checks_at_iter_alone,  # noqa: F401
                        first_loader)
from own_processes import hosts, workers
from stage_test import leaves_nothing, reachable  # noqa: F401
from trouble import until

SAMPLES = 120


class Counted(Dataset):
    """A dataset that counts in a file how often its samples are made."""

    def __init__(self, path, scale=1.0):
        self.path, self.scale = str(path), scale

    def __len__(self):
        return SAMPLES

    def __getitem__(self, number):
        with open(self.path, "ab") as file:
            file.write(b".")
        return torch.full((8,), number * self.scale), number, random.random()


def made(path):
    return os.path.getsize(path) if os.path.exists(path) else 0


def interleaved(loaders):
    """Returns the batches of each loader, taken in turns."""
    found = [[] for _ in loaders]
    iterators = list(map(iter, loaders))
    while True:
        for iterator, batches in zip(iterators, found):
            batch = next(iterator, None)
            if batch is None:
                return found
            batches.append([part.tolist() for part in batch])


def loaders_of(dataset, count, **arguments):
    arguments = {"batch_size": 8, "shuffle": True, "seed": 3, "num_workers": 2,
                 "share_key": "equal", **arguments}
    return [first_loader(dataset, **arguments) for _ in range(count)]


def collated(samples):
    """A function that does the same as default_collate, which the daemon cannot
    know."""
    return torch.utils.data.default_collate(samples)


@pytest.mark.parametrize("count, arguments", [
    (2, {}), (4, {}), (3, {"collate_fn": collated}),
    (2, {"collate_fn": collated, "batch_size": 7, "drop_last": True})])
def test_equal_loaders_have_each_sample_made_once(tmp_path, count, arguments):
    path = tmp_path / "made"
    loaders = loaders_of(Counted(path), count, **arguments)
    for epoch in range(3):
        found = interleaved(loaders)
        assert all(batches == found[0] for batches in found)
        numbers = [number for batch in found[0] for number in batch[1]]
        assert len(set(numbers)) == len(numbers) == (
            SAMPLES - SAMPLES % 7 if "drop_last" in arguments else SAMPLES)
    # To learn the layout of batches, each epoch first makes one sample.
    looks = 0 if "collate_fn" in arguments else count
    checked = arguments.get("batch_size", 8) if "collate_fn" in arguments else CHECKED
    assert made(path) == 3 * (len(numbers) + looks + (count - 1) * checked)
    for loader in loaders:
        loader.close()


def weighted(seed=7, samples=SAMPLES):
    """Returns a sampler that repeats some samples, and draws by a generator of its
    own."""
    return WeightedRandomSampler(torch.arange(SAMPLES) + 1., samples,
                                 generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("arguments", [
    {}, {"collate_fn": collated}, {"collate_fn": collated, "drop_last": True},
    {"by": lambda: BatchSampler(weighted(), 7, False)},
    {"by": lambda: [[1, 2], [], [3], [2, 1]], "collate_fn": len}])
def test_equal_samplers_have_each_sample_made_once(tmp_path, arguments):
    arguments = dict(arguments)
    path = tmp_path / "made"
    by = arguments.pop("by", None)
    loaders = [loader for _ in range(3) for loader in loaders_of(
        Counted(path), 1, shuffle=None, seed=7, **arguments,
        **({"batch_size": 1, "batch_sampler": by()} if by else
           {"sampler": weighted()}))]
    before = 0
    for epoch in range(2):
        if by and "collate_fn" in arguments:
            assert list(zip(*loaders)) == [(size,) * 3 for size in (2, 0, 1, 2)]
            delivered = 5
        else:
            found = interleaved(loaders)
            assert all(batches == found[0] for batches in found)
            # A repeated sample gets new random numbers.
            drawn = [drawn for batch in found[0] for drawn in batch[2]]
            assert len(set(drawn)) == len(drawn)
            delivered = len(drawn)
        # Each loader makes one sample in advance, and two loaders make a batch to
        # compare.
        assert made(path) - before <= delivered * 1.3 + 3 + 2 * 8
        before = made(path)
    for loader in loaders:
        loader.close()


def test_a_sampler_is_resumed_in_its_middle(tmp_path):
    def batches(loader):
        return [[part.tolist() for part in batch] for batch in loader]

    for arguments in ({}, {"collate_fn": collated}):
        dataset = Counted(tmp_path / "made")
        with forebay.DataLoader(dataset, 7, sampler=weighted(), seed=7,
                                num_workers=2, **arguments) as loader:
            expected = batches(loader)
        with forebay.DataLoader(dataset, 7, sampler=weighted(), seed=7,
                                num_workers=2, **arguments) as loader:
            iterator = iter(loader)
            for _ in range(4):
                next(iterator)
            state = loader.state_dict()
        with forebay.DataLoader(dataset, 7, sampler=weighted(), seed=7,
                                num_workers=0, **arguments) as loader:
            loader.load_state_dict(state)
            assert batches(loader) == expected[4:]
        with forebay.DataLoader(dataset, 7, sampler=weighted(), seed=7,
                                num_workers=3, **arguments) as loader:
            loader.load_state_dict(state)
            assert batches(loader) == expected[4:]


@pytest.mark.parametrize("other", [
    {"seed": 4}, {"batch_size": 4}, {"shuffle": False}, {"share_key": None},
    {"worker_init_fn": print}, {"collate_fn": collated},
    {"sampler": range(SAMPLES), "shuffle": False}])
def test_others_share_nothing(tmp_path, other):
    path = tmp_path / "made"
    loaders = (loaders_of(Counted(path), 1) +
               loaders_of(Counted(path), 1, **other))
    for loader in loaders:
        assert len(list(loader)) > 0
    assert 2 * SAMPLES <= made(path) <= 2 * (SAMPLES + 1)
    for loader in loaders:
        loader.close()


def test_a_dataset_that_changed_counts_anew(tmp_path):
    dataset = Counted(tmp_path / "made")
    one, other = loaders_of(dataset, 2)
    interleaved([one, other])
    dataset.scale = 2.0
    batch = next(iter(other))
    assert batch[0][0, 0].item() == batch[1][0].item() * 2
    one.close()
    other.close()


def test_without_a_key_nothing_is_shared(tmp_path, caplog):
    path = tmp_path / "made"
    with caplog.at_level("INFO", "forebay"):
        loaders = loaders_of(Counted(path), 2, share_key=None)
    assert "share them by share_key= or $FOREBAY_SHARE_KEY" in caplog.text
    found = interleaved(loaders)
    assert found[0] == found[1]
    assert 2 * SAMPLES <= made(path) <= 2 * (SAMPLES + 1)
    for loader in loaders:
        loader.close()


def test_nothing_of_a_dataset_is_looked_at(tmp_path):
    class Closed(Counted):
        def __getstate__(self):
            raise RuntimeError("it is pickled")

        def __reduce_ex__(self, protocol):
            raise RuntimeError("it is pickled")

    for key in (None, "closed"):
        with loaders_of(Closed(tmp_path / "made"), 1, share_key=key)[0] as loader:
            assert len(list(loader)) == SAMPLES // 8


TRAINER = textwrap.dedent("""
    import sys
    sys.path.insert(0, {folder!r})
    import forebay, torch
    from dataset import Photos
    with forebay.DataLoader(Photos({made!r}), 8, shuffle=True, seed=3,
                            num_workers=2, share_key="photos") as loader:
        for epoch in range(2):
            for batch in loader:
                print(*batch[1].tolist(), flush=True)
                sys.stdin.readline()
""")
DATASET = textwrap.dedent("""
    import helper_of_mine
    class Photos:
        def __init__(self, path): self.path = path
        def __len__(self): return 120
        def __getitem__(self, number):
            open(self.path, "ab").write(b".")
            return helper_of_mine.twice(number), number
""")


class Trainer:
    """A training process, which takes a batch each time that it is told to."""

    def __init__(self, folder, path):
        self.process = subprocess.Popen(
            [sys.executable, "-c",
             TRAINER.format(folder=str(folder), made=str(path))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.batches = []

    def step(self):
        line = self.process.stdout.readline()
        if line:
            self.batches.append(line.split())
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        return bool(line)

    def run(self):
        while self.step():
            pass
        self.process.communicate()
        return [int(number) for batch in self.batches for number in batch]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "dataset.py").write_text(DATASET)
    (tmp_path / "helper_of_mine.py").write_text("def twice(x): return x * 2\n")
    return tmp_path


def test_processes_that_run_the_same_script_share(folder):
    path = folder / "made"
    trainers = [Trainer(folder, path) for _ in range(3)]
    while all([trainer.step() for trainer in trainers]):
        pass
    found = [trainer.run() for trainer in trainers]
    assert found[0] == found[1] == found[2]
    assert sorted(found[0]) == sorted([*range(120)] * 2)
    # Some samples are made again by a trainer that starts late, or that takes over from
    # the owner of the workers.
    assert made(path) <= 2 * 120 * 1.3


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, None])
def test_another_goes_on_without_the_trainer_that_started_the_workers(folder, how):
    path = folder / "made"
    first = Trainer(folder, path)
    assert first.step()
    second = Trainer(folder, path)
    assert second.step()
    assert len(hosts(first.process.pid)) == 1
    until(lambda: not workers(second.process.pid), "its own samples are made")
    if how is not None:
        first.process.send_signal(how)
    # The output ends with the process: its host and workers do not hold the pipe open.
    first.process.communicate(timeout=20)
    until(lambda: not hosts(first.process.pid), "the host has ended")
    numbers = second.run()
    assert sorted(numbers) == sorted([*range(120)] * 2)


def test_killed_trainers_take_nothing_with_them(folder):
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)
    path = folder / "made"
    trainers = [Trainer(folder, path) for _ in range(4)]
    for _ in range(2):
        for _ in range(chance.randrange(1, 8)):
            assert all(trainer.step() for trainer in trainers)
        victim = trainers.pop(chance.randrange(len(trainers)))
        victim.process.kill()
        victim.process.communicate()
    found = [None] * 2

    def run(number):
        found[number] = trainers[number].run()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] == found[1]
    assert sorted(found[0]) == sorted([*range(120)] * 2)


def test_a_killed_host_is_replaced_by_anyones(tmp_path):
    path = tmp_path / "made"
    loaders = loaders_of(Counted(path), 2)
    iterators = list(map(iter, loaders))
    found = [[], []]
    for step in range(SAMPLES // 8):
        for iterator, numbers in zip(iterators, found):
            numbers += next(iterator)[1].tolist()
        if step in (3, 7):
            for host in hosts(os.getpid()):
                os.kill(host, signal.SIGKILL)
    assert found[0] == found[1] and sorted(found[0]) == list(range(SAMPLES))
    for loader in loaders:
        loader.close()
