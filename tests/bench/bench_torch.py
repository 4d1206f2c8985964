"""Measures an epoch's time against torch's DataLoader with torchvision, on the same
files.

The time is from iter() to the last batch. The epoch is shuffled, and the files are in
the page cache. Every image is decoded in each epoch, except in the last row, where
decoded images are kept.
"""

import photos
from daemon import ENCODED_ONLY, daemon
from figures import CORES, in_turns, row
from readers import call

ROUNDS = 3


def run():
    """Returns the rows: one job / torch with a worker for each core, and one job /
    torch without workers."""
    uri = str(photos.make())
    with daemon(ENCODED_ONLY) as decoding, daemon() as keeping:
        def forebay(server):
            found = call("read_forebay.py", server.environment, uri=uri)
            return found["images"] / found["seconds"]

        def torch(workers):
            found = call("read_torch.py", decoding.environment, uri=uri,
                         workers=workers)
            return found["images"] / found["seconds"]

        for server in (decoding, keeping, keeping):
            forebay(server)  # builds the index and fills the cache
        ours, kept, workers, alone = in_turns(
            ROUNDS, lambda: forebay(decoding), lambda: forebay(keeping),
            lambda: torch(CORES), lambda: torch(0))
    return [
        row("torch", f"one job / torch, num_workers={CORES}", ours, workers,
            "images/s"),
        row("torch", "one job / torch, num_workers=0", ours, alone,
            "images/s"),
        row("torch", f"kept decoded / torch, num_workers={CORES}", kept,
            workers, "images/s"),
    ]
