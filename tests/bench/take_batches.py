"""Takes batches until its standard input ends, and prints how long it waited for them.

Prints "reading" at its first batch. Ends with one line of JSON: the seconds that it
waited for each later batch.
"""

import json
import select
import sys
import time

import forebay
from trainer import training_transform


def take(uri, name, weight, batch_size, step, depth):
    """Reads epoch after epoch. The batches are made for this loader alone.

    Args:
      uri: the dataset.
      name: the name of the job's loader.
      weight: the job's weight.
      batch_size: images in a batch.
      step: seconds that it spends on each batch.
      depth: the number of batches made ahead.

    Returns:
      A list: seconds waited for each batch but the first.
    """
    waits = []
    with forebay.DataLoader(
            uri, batch_size=batch_size, shuffle=True, weight=weight,
            transform=training_transform("uint8"), name=name, depth=depth,
            framework="numpy", sharing="off") as loader:
        first = True
        while True:
            batches = iter(loader)
            while True:
                wanted = time.monotonic()
                batch = next(batches, None)
                if batch is None:
                    break
                if first:
                    print("reading", flush=True)
                else:
                    waits.append(time.monotonic() - wanted)
                first = False
                if select.select([sys.stdin], [], [], step)[0]:
                    return waits
                del batch


if __name__ == "__main__":
    print(json.dumps(take(**json.loads(sys.argv[1]))), flush=True)
