"""Measures containers against torch's DataLoader over the containers' own readers, on
the same files.

The time is from iter() to the last batch. The epoch is shuffled, and the files are in
the page cache. Every photograph is decoded in each epoch. The first row is the
container of photographs with the worst ratio.
"""

import pathlib
import sys

from daemon import ENCODED_ONLY, daemon
from figures import CORES, in_turns, row
from readers import call

FOLDER = pathlib.Path(__file__).resolve().parent / "formats"
ROUNDS = 3


def _rates(server, container, path, **ours):
    """Returns the samples per second of Forebay and of torch."""
    search = {"PYTHONPATH": f"{server.environment['PYTHONPATH']}:{FOLDER}"}
    environment = dict(server.environment, **search)

    def forebay():
        found = call("formats/read_container.py", environment, path=path, **ours)
        return found["samples"] / found["seconds"]

    def torch():
        found = call("formats/read_reference.py", environment, container=container,
                     path=path, workers=CORES)
        return found["samples"] / found["seconds"]

    forebay()  # builds the index and fills the cache
    return in_turns(ROUNDS, forebay, torch)


def run():
    """Returns the rows: the worst container of photographs, each of them, and
    arrays."""
    sys.path.insert(0, str(FOLDER))
    import containers
    against = f"torch, num_workers={CORES}"
    with daemon(ENCODED_ONLY) as server:
        rows = [row("formats", f"photographs in {name} / {against}",
                    *_rates(server, name, path, **ours), "samples/s")
                for name, path, ours in (
                    ("tfrecord", containers.tfrecords(),
                     {"fields": {"image": "jpg", "label": "int64"}}),
                    ("mds", containers.mds(), {"fields": ("image", "label")}),
                    ("zip", containers.zips(), {}),
                    ("lmdb", containers.environment(),
                     {"function": "lmdb",
                      "fields": {"value": "jpg", "key": "int64"}}),
                    ("array_record", containers.array_records(),
                     {"fields": {"image": "jpg", "label": "int64"}}),
                    ("hdf5", containers.hdf5(), {"fields": ("image", "label")}),
                ) if path is not None]
        arrays = [row("formats", f"rows of 100 KB in {name} / {against}",
                      *_rates(server, name, path, images=False), "samples/s")
                  for name, path in (("npy", containers.rows()),
                                     ("hdf5_rows", containers.hdf5_rows()))]
    worst = min(rows, key=lambda one: one["ratio"])
    return [dict(worst, metric=f"worst container: {worst['metric']}"), *rows,
            *arrays]
