"""Measures the indexes of ten million small samples: their bytes on disk, and the time
to open a dataset again. The first opening was by the same daemon, or by one that has
ended since."""

import mmap
import pathlib
import sys
import tempfile
import time

import numpy

from daemon import daemon
from figures import in_turns, row
from readers import call

FOLDER = pathlib.Path(__file__).resolve().parent / "formats"
COUNT = 10_000_000
MOST_BYTES = 24  # for each sample
MOST_SECONDS = 0.3
ROUNDS = 3
ROWS = 5  # rows for each container


def _touch(size):
    """Returns the seconds that one thread needs to touch `size` bytes of new memory. No
    index can be loaded faster."""
    begin = time.monotonic()
    with mmap.mmap(-1, size) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        pages = numpy.frombuffer(memory, "u1")[::mmap.PAGESIZE]
        pages[:] = 1
        del pages
    return time.monotonic() - begin


def _measure(name, path, key_bytes):
    options = {"lmdb": {"function": "lmdb"}, "zip": {"images": True}}.get(name, {})

    def open_with(server):
        environment = dict(server.environment, PYTHONPATH=(
            f"{server.environment['PYTHONPATH']}:{FOLDER}"))
        found = call("formats/open_container.py", environment, path=path, **options)
        assert found["samples"] == COUNT, found
        return found["seconds"]

    with tempfile.TemporaryDirectory() as folder:
        with daemon(index=folder) as server:
            cold = open_with(server)
            warm, = in_turns(ROUNDS, lambda: open_with(server))
        size = sum(file.stat().st_size for file in pathlib.Path(folder).rglob("*")
                   if file.is_file())

        def restarted():
            with daemon(index=folder) as server:
                return open_with(server)

        kept, touched = in_turns(ROUNDS, restarted, lambda: _touch(size))
    what = f"{name}, ten million samples"
    return [
        row("index", f"{what}: opened again / bar", warm, MOST_SECONDS, "s"),
        row("index", f"{what}: by another daemon / bar", kept, MOST_SECONDS, "s"),
        row("index", f"{what}: index / bar", size / COUNT,
            MOST_BYTES + key_bytes, "bytes a sample"),
        row("index", f"{what}: opened first / again", cold, warm, "s"),
        row("index", f"{what}: by another daemon / touching as much new memory",
            kept, touched, "s"),
    ]


def run():
    """Returns the rows: the slowest second opening, then each container."""
    sys.path.insert(0, str(FOLDER))
    import many_samples
    rows = []
    for name in many_samples.NAMES:
        path = many_samples.path(name, COUNT)
        if path is not None:
            key = len(many_samples.NAME % 0) if name == "zip" else 0
            rows += _measure(name, path, key)
    worst = max(rows[::ROWS], key=lambda one: one["ratio"])
    return [dict(worst, metric=f"the slowest: {worst['metric']}"), *rows]
