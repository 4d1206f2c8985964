"""Reads epochs beside other loaders, and reports how their orders correlate.

Prints "ready" when its loader is open, and begins at a line on standard input. Prints
"mark" each time that it has taken one of the given numbers of images. Ends with one
line of JSON.
"""

import json
import sys
import time

import numpy

import forebay
from forebay import transforms as T


def spearman(first, second):
    """Returns the rank correlation of the samples' positions in two epochs."""
    place = numpy.empty(len(first))
    place[first] = numpy.arange(len(first))
    again = numpy.empty(len(second))
    again[second] = numpy.arange(len(second))
    return float(numpy.corrcoef(place, again)[0, 1])


def read(uri, order, seed, batch_size, size, epochs, marks=(), rate=0):
    """Reads epochs.

    Args:
      uri: the dataset.
      order: "exact" or "coordinated".
      seed: the loader's seed.
      batch_size: samples in a batch.
      size: width and height of the images, in pixels.
      epochs: how many.
      marks: numbers of images at which to print "mark", ascending.
      rate: the most samples per second; 0: no limit.

    Returns:
      A dict: images, decodes, begin and end (monotonic seconds), spearman (of
      successive epochs, the highest).
    """
    orders = []
    with forebay.DataLoader(
            uri, batch_size=batch_size, shuffle=True, seed=seed, order=order,
            transform=T.Compose([T.RandomResizedCrop(size),
                                 T.RandomHorizontalFlip(), T.ToImage()]),
            framework="numpy") as loader:
        print("ready", flush=True)
        sys.stdin.readline()
        begin = time.monotonic()
        waiting = list(marks)
        images = 0
        for _ in range(epochs):
            seen = []
            for batch in loader:
                seen.append(numpy.array(batch.sample_ids))
                images += len(seen[-1])
                del batch
                while waiting and images >= waiting[0]:
                    waiting.pop(0)
                    print("mark", flush=True)
                if rate:
                    time.sleep(max(0, begin + images / rate -
                                   time.monotonic()))
            orders.append(numpy.concatenate(seen))
        end = time.monotonic()
        decodes = loader.stats()["samples_decoded"]
    return {"images": images, "decodes": decodes, "begin": begin, "end": end,
            "spearman": max(map(spearman, orders, orders[1:]), default=0.0)}


if __name__ == "__main__":
    print(json.dumps(read(**json.loads(sys.argv[1]))), flush=True)
