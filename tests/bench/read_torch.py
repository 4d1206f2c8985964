"""Reads an epoch without Forebay: by torch's DataLoader and torchvision."""

import json
import sys
import time

import torch
import torchvision

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def measure(uri, workers=0, batch_size=64, stop_after=None):
    """Reads one epoch, or its beginning.

    Args:
      uri: a folder of class folders.
      workers: num_workers.
      batch_size: samples in a batch.
      stop_after: the number of batches to read; None: all.

    Returns:
      A dict of images, seconds (from iter() to the last batch) and
      first_batch_seconds (from scanning the folder on).
    """
    opened = time.monotonic()
    ops = torchvision.transforms
    dataset = torchvision.datasets.ImageFolder(uri, ops.Compose([
        ops.RandomResizedCrop(224), ops.RandomHorizontalFlip(),
        ops.ToTensor(), ops.Normalize(MEAN, STD)]))
    loader = torch.utils.data.DataLoader(
        dataset, batch_size=batch_size, shuffle=True, num_workers=workers)
    images, first = 0, None
    begin = time.monotonic()
    for number, (batch, labels) in enumerate(loader, 1):
        if first is None:
            first = time.monotonic() - opened
        images += len(labels)
        if number == stop_after:
            break
    return {"images": images, "seconds": time.monotonic() - begin,
            "first_batch_seconds": first}


if __name__ == "__main__":
    print(json.dumps(measure(**json.loads(sys.argv[1]))))
