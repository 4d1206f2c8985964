"""A trainer of sharing_chaos_test, which reads epochs of its seed at its own pace until
it is told to end. The trainer compares each batch with the batch that a trainer without
others got."""

import faulthandler
import hashlib
import json
import pathlib
import random

import forebay
from forebay import transforms as T
from trouble import PATIENCE, open_loader, pause, until

EPOCHS = 3
SIDE = 192
AUGMENTED = T.Compose([T.RandomResizedCrop(SIDE), T.RandomHorizontalFlip(),
                       T.ToImage(), T.ToDtype("float32", scale=True)])


def open_chaotic(photos, seed, sharing):
    """Opens a loader. All loaders with this seed have the same batches."""
    return open_loader(photos, shuffle=True, seed=seed, batch_size=2,
                       transform=AUGMENTED, sharing=sharing)


def _try_to_open(photos, seed, sharing):
    """Like open_chaotic, but returns None while there is no daemon. A loader waits for
    a daemon only once it is open."""
    try:
        return open_chaotic(photos, seed, sharing)
    except forebay.DaemonUnavailable:
        return None


def digest(batch):
    """Returns a batch's sample numbers, and a digest of all its bytes."""
    seen = hashlib.sha256()
    for field in (batch.image, batch.label, batch.sample_ids):
        seen.update(field.tobytes())
    return [[int(i) for i in batch.sample_ids], seen.hexdigest()]


def epoch_digests(loader, epoch):
    """Returns the digests of all batches of an epoch, in order."""
    loader.set_epoch(epoch)
    return [digest(batch) for batch in loader]


class Trainer:
    """Attributes:
      batches: how many batches it has read.
    """

    def __init__(self, chance, expected):
        """`expected` has the epoch_digests of each epoch."""
        self._chance = chance
        self._expected = expected
        self.batches = 0

    def read(self, loader, epoch):
        """Reads an epoch, or a part of it. Returns whether it read the epoch to its
        end.

        Raises:
          AssertionError: a batch differs from the one that a trainer without others
            got.
        """
        expected = self._expected[epoch]
        chance = self._chance
        leaves = chance.random() < 0.25
        last = chance.randrange(len(expected)) if leaves else len(expected)
        pace = chance.choice([0, 0, 0.003, 0.02])  # seconds for each batch
        most_held = chance.randrange(3)
        held = []
        loader.set_epoch(epoch)
        number = 0
        for batch in loader:
            # This also ends a trainer that hangs, and prints where it hangs.
            faulthandler.dump_traceback_later(PATIENCE, exit=True)
            assert digest(batch) == expected[number], (epoch, number)
            held.append((number, batch))
            if len(held) > most_held:
                early, kept = held.pop(0)
                assert digest(kept) == expected[early], "it has changed since"
            number += 1
            self.batches += 1
            if number > last:
                return False
            pause(pace)
        assert number == len(expected), (epoch, number)
        return True


def train(photos, expected_path, end_path, seed, sharing, own_seed):
    """Reads until the file `end_path` exists, and then one whole epoch. Prints the
    numbers of batches and of whole epochs that were read."""
    chance = random.Random(int(own_seed))
    expected = json.loads(pathlib.Path(expected_path).read_text())[seed]
    trainer = Trainer(chance, expected)
    whole = 0
    with until(lambda: _try_to_open(photos, int(seed), sharing),
               "a daemon") as loader:
        epoch = 0
        while not pathlib.Path(end_path).exists():
            whole += trainer.read(loader, epoch)
            # Most often a trainer takes the next epoch, as all other trainers do.
            epoch = ((epoch + 1) % EPOCHS if chance.random() < 0.8
                     else chance.randrange(EPOCHS))
        assert epoch_digests(loader, epoch) == expected[epoch]
        trainer.batches += len(expected[epoch])
        whole += 1
    faulthandler.cancel_dump_traceback_later()
    print(trainer.batches, whole, flush=True)
