"""torch's DataLoader and torchvision, with a worker process for each core."""

import torch
import torchvision
from photographs import MEAN, SIZE, STD


def loader(uri, batch_size, threads, drop_last=False, **_):
    """Returns an iterable of epochs of (images, labels)."""
    ops = torchvision.transforms
    dataset = torchvision.datasets.ImageFolder(uri, ops.Compose([
        ops.RandomResizedCrop(SIZE), ops.RandomHorizontalFlip(), ops.ToTensor(),
        ops.Normalize(MEAN, STD)]))
    return torch.utils.data.DataLoader(
        dataset, batch_size, shuffle=True, num_workers=threads,
        persistent_workers=True, drop_last=drop_last)
