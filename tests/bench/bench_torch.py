"""Epoch time against torch's DataLoader with torchvision, on the same files.

From iter() to the last batch, shuffled, files in the page cache.
"""

import photos
from daemon import daemon
from figures import CORES, in_turns, row
from readers import call

ROUNDS = 3


def run():
    """Rows: one job; torch with as many workers as cores, and without."""
    uri = str(photos.make())
    with daemon() as server:
        def forebay():
            found = call("read_forebay.py", server.environment, uri=uri)
            return found["images"] / found["seconds"]

        def torch(workers):
            found = call("read_torch.py", server.environment, uri=uri,
                         workers=workers)
            return found["images"] / found["seconds"]

        forebay()  # the index is built, the files are cached
        ours, workers, alone = in_turns(
            ROUNDS, forebay, lambda: torch(CORES), lambda: torch(0))
    return [
        row("torch", f"one job / torch, num_workers={CORES}", ours, workers,
            "images/s"),
        row("torch", "one job / torch, num_workers=0", ours, alone,
            "images/s"),
    ]
