"""Measures the data time of a stock training script before and after one line is
changed.

Data time is what the script itself reports: how long it waits for each batch. The
script trains a small network on the same cores that load the data.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

import photos
from daemon import ROOT, daemon
from figures import CORES, in_turns, row

sys.path.append(str(ROOT / "tests" / "moving"))

import moved  # noqa: E402

ROUNDS, VALIDATED, BATCH = 3, 200, 64


def train(script, data, environment):
    """Runs one epoch.

    Returns:
      Images per second of the time in which the script waits for data, and of the
      epoch.
    """
    done = subprocess.run(
        ["/usr/bin/python3", "-W", "ignore", str(script), str(data), "--epochs",
         "1", "--batch-size", str(BATCH), "--workers", str(CORES),
         "--print-freq", "1000000"],
        env=dict(environment, PYTHONDONTWRITEBYTECODE="1"),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, universal_newlines=True)
    if done.returncode != 0:
        raise RuntimeError(f"{script} failed:\n{done.stderr[-2000:]}")
    line, = re.findall(r"Epoch: .*/(\d+)\].*Time .*\( *([\d.]+)\).*"
                       r"Data .*?\( *([\d.]+)\)", done.stdout)
    batches, seconds, waited = (float(value) for value in line)
    images = photos.DEFAULT_COUNT / batches
    return images / waited, images / seconds


def run():
    """Returns the rows: images per second of data time and of the epoch, Forebay /
    torch."""
    with tempfile.TemporaryDirectory() as temporary, daemon() as server:
        folder = pathlib.Path(temporary)
        for split, count in (("train", photos.DEFAULT_COUNT),
                             ("val", VALIDATED)):
            (folder / split).symlink_to(photos.make(count))
        script = moved.write(folder)
        # Brings the files into the page cache.
        train(script, folder, server.environment)
        kept = {"ours": [], "torch": []}

        def measure(name, path):
            of_data_time, of_all = train(path, folder, server.environment)
            kept[name].append(of_all)
            return of_data_time

        ours, peer = in_turns(ROUNDS, lambda: measure("ours", script),
                              lambda: measure("torch", moved.STOCK))
    ours_all, peer_all = (sorted(kept[name])[ROUNDS // 2] for name in kept)
    return [
        row("moving", "data time, one line changed / stock script", ours, peer,
            "images/s"),
        row("moving", "all of an epoch, one line changed / stock script",
            ours_all, peer_all, "images/s"),
    ]
