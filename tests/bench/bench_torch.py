"""Epoch time against torch's DataLoader with torchvision, on the same files.

From iter() to the last batch, shuffled, files in the page cache. Every image is
decoded in each epoch; the last row shows what it is worth to keep them decoded.
"""

import photos
from daemon import ENCODED_ONLY, daemon
from figures import CORES, in_turns, row
from readers import call

ROUNDS = 3


def run():
    """Rows: one job; torch with as many workers as cores, and without."""
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
            forebay(server)  # the index is built, the cache filled
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
