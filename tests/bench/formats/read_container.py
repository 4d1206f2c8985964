"""Reads epochs of a container through Forebay."""

import json
import sys
import time

import numpy

import forebay
from forebay import transforms as T

PAGE = 4096


def measure(path, fields=None, function=None, images=True, batch_size=64, epochs=1):
    """Reads shuffled epochs.

    Args:
      path: the dataset's path.
      fields: the argument of DataLoader, or of the function.
      function: name of the function of forebay that makes a dataset of path and fields,
        or None.
      images: whether the first field is an image, to be augmented.
      batch_size: samples in a batch.
      epochs: how many are read; the last one is measured.

    Returns:
      A dict of samples and seconds (from iter() to the last batch).
    """
    transform = T.Compose([
        T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToImage(),
        T.ToDtype("float32", scale=True)]) if images else None
    if function is not None:
        path, fields = getattr(forebay, function)(path, fields=fields), None
    loader = forebay.DataLoader(path, fields=fields, batch_size=batch_size,
                                shuffle=True, transform=transform,
                                framework="numpy")
    for _ in range(epochs):
        samples = 0
        begin = time.monotonic()
        for batch in loader:
            samples += len(batch.sample_ids)
            if isinstance(batch[0], list):  # bytes, which were copied out of the batch
                continue
            batch[0].reshape(-1).view(numpy.uint8)[::PAGE].max()
        seconds = time.monotonic() - begin
    loader.close()
    return {"samples": samples, "seconds": seconds}


if __name__ == "__main__":
    print(json.dumps(measure(**json.loads(sys.argv[1]))))
