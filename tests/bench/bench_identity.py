"""The same seed gives the same bytes, whoever computes them."""

import photos
from daemon import daemon
from figures import CORES, row
from readers import call

COUNT = 600


def run():
    """Rows: distinct digests over runs, worker counts and epochs' order."""
    uri = str(photos.make(COUNT))
    digests, rows = set(), []
    for dtype in ("float32", "uint8"):
        for workers in sorted({1, 2, CORES, 4 * CORES}):
            with daemon(f"[cpu]\nworkers = {workers}\n") as server:
                for _ in range(2):
                    found = call("read_forebay.py", server.environment,
                                 uri=uri, dtype=dtype, mode="digest",
                                 epochs=2)
                    digests.add((dtype, found["digest"]))
        distinct = sum(kind == dtype for kind, _ in digests)
        rows.append(row("identity", f"{dtype}: distinct results / one",
                        distinct, 1, "digests"))
    return rows
