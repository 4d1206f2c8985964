"""Measures the time from DataLoader(...) to the first batch, with 100,000 files."""

import os
import pathlib
import shutil

import photos
from daemon import daemon
from figures import CORES, in_turns, row
from readers import call

FILES, ROUNDS, LIMIT = 100_000, 5, 0.3


def many_files():
    """Returns a folder of 100,000 images, which are hard links to the photographs."""
    source = photos.make()
    target = source.with_name(f"{source.name}-links-{FILES}")
    marker = target / ".complete"
    if marker.exists():
        return target
    shutil.rmtree(target, ignore_errors=True)
    originals = sorted(source.glob("*/*.jpg"))
    for number in range(FILES):
        original = originals[number % len(originals)]
        folder = target / original.parent.name
        if number < len(originals):
            folder.mkdir(parents=True, exist_ok=True)
        os.link(original, folder / f"{number:06d}.jpg")
    marker.touch()
    return pathlib.Path(target)


def run():
    """Returns the rows: against the required time, then against torch."""
    uri = str(many_files())
    with daemon() as server:
        def forebay():
            found = call("read_forebay.py", server.environment, uri=uri,
                         first_batch_only=True)
            return found["first_batch_seconds"]

        def torch():
            found = call("read_torch.py", server.environment, uri=uri,
                         workers=CORES, stop_after=1)
            return found["first_batch_seconds"]

        cold = forebay()
        ours, peer = in_turns(ROUNDS, forebay, torch)
    unit = "s"
    return [
        row("firstbatch", "warm index, 100,000 files / promise", ours, LIMIT,
            unit),
        row("firstbatch", "warm index, 100,000 files / torch", ours, peer,
            unit),
        row("firstbatch", "index built first / torch", cold, peer, unit),
    ]
