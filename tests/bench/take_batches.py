"""Takes batches until its standard input ends; tells what it had to wait.

Says "reading" at its first batch, and ends with one line of JSON: the time that
it waited for each batch after that, in seconds.
"""

import json
import select
import sys
import time

import forebay
from trainer import training_transform


def take(uri, name, weight, batch_size, step, depth):
    """Reads epoch after epoch, batches that are made for it alone.

    Args:
      uri: the dataset.
      name: of the job's loader.
      weight: of the job.
      batch_size: images.
      step: seconds that it computes at each batch.
      depth: batches made ahead.

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
