"""Measures a torch DataLoader over forebay.Dataset against one over torchvision's
ImageFolder. Both resize the same files; crop and flip are Python code in the workers.

The time is from iter() to the last batch, and the files are in the page cache. When two
jobs read the same files at once, their images are added up.
"""

import concurrent.futures

import photos
from daemon import daemon
from figures import CORES, in_turns, row
from readers import call

ROUNDS = 3


def run():
    """Returns the rows: one job that fetches batches at once, one that fetches single
    samples; two jobs."""
    uri = str(photos.make())
    with daemon() as server:
        def epoch(how):
            return call("read_map_style.py", server.environment, uri=uri,
                        how=how, workers=CORES)

        def one(how):
            found = epoch(how)
            return found["images"] / found["seconds"]

        def two(how):
            with concurrent.futures.ThreadPoolExecutor(2) as trainers:
                found = list(trainers.map(epoch, [how, how]))
            return (sum(one["images"] for one in found) /
                    max(one["seconds"] for one in found))

        one("batched")  # builds the index and fills the cache
        batched, single, theirs, both, both_theirs = in_turns(
            ROUNDS, lambda: one("batched"), lambda: one("single"),
            lambda: one("torchvision"), lambda: two("batched"),
            lambda: two("torchvision"))
    workers = f"num_workers={CORES}"
    return [
        row("mapstyle", f"one job, batches / ImageFolder, {workers}", batched,
            theirs, "images/s"),
        row("mapstyle", "one job, samples singly / ImageFolder", single,
            theirs, "images/s"),
        row("mapstyle", "two jobs, batches / ImageFolder", both, both_theirs,
            "images/s"),
    ]
