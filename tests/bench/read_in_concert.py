"""Reads epochs beside other loaders; tells which orders they had.

Says "ready" when its loader is there, begins at a line on standard input, says
"mark" each time that it has had as many images as it was told, and ends with
one line of JSON.
"""

import json
import sys
import time

import numpy

import forebay
from forebay import transforms as T


def spearman(first, second):
    """Rank correlation of the samples' places in two epochs."""
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
      seed: of the loader.
      batch_size: samples.
      size: of the images, in pixels.
      epochs: how many.
      marks: images after which to say so, ascending.
      rate: samples a second at most; 0: as fast as it goes.

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
