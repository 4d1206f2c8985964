"""Forebay, with the daemon that the environment names."""

import os

import forebay
from forebay import transforms as T
from photographs import MEAN, SIZE, STD


def loader(uri, batch_size, seed=0, **_):
    """Returns an iterable of epochs of (images, labels)."""
    return forebay.DataLoader(
        uri, batch_size=batch_size, shuffle=True, seed=seed,
        transform=T.Compose([
            T.RandomResizedCrop(SIZE), T.RandomHorizontalFlip(), T.ToImage(),
            T.ToDtype("float32", scale=True), T.Normalize(MEAN, STD)]),
        framework="numpy", name=os.environ["FOREBAY_JOB"])
