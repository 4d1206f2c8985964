"""A trainer of stage_kill_test, whose dataset is the user's code. It reads epochs until
it is told to end, and compares each with that of an undisturbed trainer."""

import faulthandler
import hashlib
import json
import pathlib
import random
import time

import numpy
import torch
from torch.utils.data import WeightedRandomSampler

import forebay
from trouble import PATIENCE, pause, until

SAMPLES = 150
EPOCHS = 2


class Noise:
    """Samples that take some time to make, and have random numbers."""

    def __len__(self):
        return SAMPLES

    def __getitem__(self, number):
        end = time.monotonic() + 0.001
        while time.monotonic() < end:
            pass
        return (numpy.random.rand(40, 50).astype(numpy.float32), number,
                random.random())


def listed(samples):
    """Collates whole batches, which are nested and have texts."""
    return {"numbers": [sample[1] for sample in samples],
            "images": torch.stack([torch.from_numpy(s[0]) for s in samples]),
            "texts": [f"{sample[2]:.6f}" for sample in samples]}


def _weighted():
    return WeightedRandomSampler(torch.ones(SAMPLES), SAMPLES, replacement=False,
                                 generator=torch.Generator().manual_seed(5))


# Trainers of one kind share their workers, except those of the kind "alone".
KINDS = {
    "rows": lambda: {"shuffle": True, "seed": 1, "share_key": "rows"},
    "batches": lambda: {"shuffle": True, "seed": 2, "collate_fn": listed,
                        "share_key": "batches"},
    "sampler": lambda: {"sampler": _weighted(), "share_key": "sampler"},
    "alone": lambda: {"shuffle": True, "seed": 3},
}


def open_staged(kind):
    """Opens a loader of a kind."""
    return forebay.DataLoader(Noise(), 4, num_workers=2, autostart=False,
                              framework="torch", **KINDS[kind]())


def _try_to_open(kind):
    try:
        return open_staged(kind)
    except forebay.DaemonUnavailable:
        return None


def digests(batches):
    """Returns a text of each batch: its sample numbers, and a digest of its
    bytes."""
    for batch in batches:
        if isinstance(batch, dict):
            images, numbers, rest = batch["images"], batch["numbers"], batch["texts"]
        else:
            images, numbers, rest = batch[0], batch[1].tolist(), batch[2].tolist()
        seen = hashlib.sha256(images.numpy().tobytes() + repr(rest).encode())
        yield f"{numbers} {seen.hexdigest()}"


def undisturbed(kind):
    """Returns the digests of each epoch. Checks that each sample is in the epoch
    once."""
    with open_staged(kind) as loader:
        epochs = [list(digests(loader)) for _ in range(EPOCHS)]
    for epoch in epochs:
        numbers = [number for text in epoch
                   for number in json.loads(text.rpartition(" ")[0])]
        assert sorted(numbers) == list(range(SAMPLES))
    return epochs


def train(expected_path, end_path, kind, seed):
    """Reads until the file `end_path` exists, and then finishes the epoch. Prints the
    number of whole epochs."""
    chance = random.Random(int(seed))
    expected = json.loads(pathlib.Path(expected_path).read_text())[kind]
    whole = 0
    while whole == 0 or not pathlib.Path(end_path).exists():
        # A sampler's order depends on its generator's state, so each loader starts
        # anew.
        with until(lambda: _try_to_open(kind), "a daemon") as loader:
            for epoch in range(EPOCHS):
                pace = chance.choice([0, 0, 0.01])  # seconds for each batch
                number = 0
                for text in digests(loader):
                    # This also ends a trainer that hangs, and prints where it hangs.
                    faulthandler.dump_traceback_later(PATIENCE, exit=True)
                    assert text == expected[epoch][number], (epoch, number)
                    number += 1
                    pause(pace)
                assert number == len(expected[epoch]), (epoch, number)
                whole += 1
    faulthandler.cancel_dump_traceback_later()
    print(whole, flush=True)
