"""Measures datasets of the user's Python code against torch's DataLoader, which runs
the same code.

Equal jobs have two workers each, and each sample that a worker makes is for all jobs.
Then the bench measures the hand-over from worker to trainer, with samples that cost
nothing to make.
"""

import os
import pathlib
import tempfile

import photos
from bench_sharing import aggregate, images_between, together
from daemon import ENCODED_ONLY, daemon
from figures import in_turns, row
from readers import call

ROUNDS = 3
WORKERS = 2  # for each job
MANY_WORKERS = 8  # for samples that only wait
SECONDS = 12.0
BATCHES = 150
PICTURES = 150  # of each class, where the samples made are counted
TOO_LONG = 300.0  # seconds


def run():
    """Returns the rows: four jobs; one job; samples made / delivered; hand-over."""
    uri = str(photos.make())
    with tempfile.TemporaryDirectory() as folder, daemon() as server:
        counter = pathlib.Path(folder) / "made"
        environment = server.environment

        def rate(kind, count):
            return aggregate(environment, count, seconds=SECONDS, uri=uri,
                             kind=kind, workers=WORKERS, counter=str(counter))

        four, torch_four, one, torch_one = in_turns(
            ROUNDS, lambda: rate("forebay", 4), lambda: rate("torch", 4),
            lambda: rate("forebay", 1), lambda: rate("torch", 1))
        rows = [
            row("pystage", f"4 jobs / 4 torch, {WORKERS} workers each", four,
                torch_four, "images/s"),
            row("pystage", f"one job / torch, {WORKERS} workers", one, torch_one,
                "images/s")]
        some = part_of(uri, pathlib.Path(folder) / "some")
        for count in (1, 2, 4, 8):
            rows.append(row(
                "pystage", f"samples made for each delivered, {count} jobs / "
                f"1 / {count}", made_part(environment, some, counter, count),
                1 / count, "samples"))

        def hand_over(kind):
            found = call("read_ready.py", environment, kind=kind,
                         batches=BATCHES)
            return found["cpu"] / BATCHES * 1e3

        def wait(kind):
            return aggregate(environment, 1, seconds=SECONDS, uri=uri, kind=kind,
                             workers=MANY_WORKERS, stage="waiting", batch_size=32)

        ours, theirs, waiting, torch_waiting = in_turns(
            ROUNDS, lambda: hand_over("forebay"), lambda: hand_over("torch"),
            lambda: wait("forebay"), lambda: wait("torch"))
    return rows + native_first(uri) + [
        row("pystage", "CPU of workers and trainer for 64 ready samples / torch",
            ours, theirs, "ms/batch"),
        row("pystage", "one job, samples that sleep for 10 ms / torch, "
            f"{MANY_WORKERS} workers", waiting, torch_waiting, "images/s")]


def native_first(uri):
    """Returns the rows of a pipeline in which one op is the user's code and the others
    are native. The references are torch, and the rate of both parts run one after the
    other. Every image is decoded."""
    with daemon(ENCODED_ONLY) as server:
        def rate(kind, stage):
            return aggregate(server.environment, 1, seconds=SECONDS, uri=uri,
                             kind=kind, workers=WORKERS, stage=stage)

        def python():
            return call("mirror_images.py", server.environment, workers=WORKERS,
                        seconds=SECONDS / 3)["rate"]

        ours, torch, native, bare = in_turns(
            ROUNDS, lambda: rate("forebay", "mirrored"),
            lambda: rate("torch", "mirrored"), lambda: rate("forebay", "none"),
            python)
    both = 1 / (1 / native + 1 / bare)
    return [row("pystage", f"one op of NumPy's among native ones / torch, {WORKERS} "
                "workers", ours, torch, "images/s"),
            row("pystage", "that / native part and Python part, one after the other",
                ours, both, "images/s")]


def part_of(uri, folder):
    """Makes a folder with some photographs of each class, and returns its path."""
    for pictures in pathlib.Path(uri).iterdir():
        if pictures.is_dir():
            (folder / pictures.name).mkdir(parents=True)
            for picture in sorted(pictures.iterdir())[:PICTURES]:
                (folder / pictures.name / picture.name).symlink_to(picture)
    return str(folder)


def made_part(environment, uri, counter, count):
    """Returns the samples made / taken by `count` equal jobs in two whole epochs."""
    counter.write_bytes(b"")
    results, begin = together(environment, count, TOO_LONG, uri=uri,
                              kind="forebay", workers=WORKERS, epochs=2,
                              counter=str(counter))
    return os.path.getsize(counter) / images_between(results, begin,
                                                     begin + TOO_LONG)
