"""Opens a container through Forebay, and prints the time to the first batch."""

import json
import sys
import time

import forebay
from forebay import transforms as T


def measure(path, function=None, images=False):
    """Opens a dataset, and takes the first batch of a shuffled epoch.

    Args:
      path: the dataset's path.
      function: name of the function of forebay that makes a dataset of the path, or
        None.
      images: whether the dataset's samples are images.

    Returns:
      A dict of samples and seconds.
    """
    begin = time.monotonic()
    dataset = getattr(forebay, function)(path) if function else path
    with forebay.DataLoader(dataset, batch_size=1, shuffle=True,
                            transform=T.CenterCrop(1) if images else None,
                            framework="numpy") as loader:
        next(iter(loader))
        return {"samples": len(loader), "seconds": time.monotonic() - begin}


if __name__ == "__main__":
    print(json.dumps(measure(**json.loads(sys.argv[1]))))
