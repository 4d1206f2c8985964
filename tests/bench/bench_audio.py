"""Windows of 5 s of audio files of a minute, at 44.1 kHz in stereo: against the bare
decoder on all cores, and against torch's DataLoader over soundfile.

Ours starts from files in the page cache and hands batches to a trainer that
touches every page. The bare decoder has the files in memory, and decodes equally
many windows, at random, too. The first row is the worst format.
"""

import json
import pathlib
import subprocess
import sys

from daemon import ENCODED_ONLY, daemon
from figures import CORES, in_turns, row
from readers import call, program

FOLDER = pathlib.Path(__file__).resolve().parent / "audio"
ROUNDS = 3
EPOCHS = 12
WINDOW_SECONDS = 5
UNIT = "windows/s"
BARE = {"flac": "libsndfile", "mp3": "mpg123's decoder in C"}


def _floor_rate(folder, frames):
    """Windows a second of the bare decoder on all cores."""
    files = sorted(map(str, folder.iterdir()))
    done = subprocess.run(
        [program("clip_floor"), "--threads", str(CORES), "--frames", str(frames),
         "--windows", str(len(files) * EPOCHS), *files],
        check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)["windows_per_s"]


def _rates(server, folder, frames):
    """Ours, the floor's and torch's."""
    def rate(script, **options):
        found = call(f"audio/{script}", server.environment, path=str(folder),
                     frames=frames, epochs=EPOCHS, **options)
        return found["samples"] / found["seconds"]

    rate("read_clips.py")  # the index is built, the cache filled
    return in_turns(
        ROUNDS, lambda: rate("read_clips.py"), lambda: _floor_rate(folder, frames),
        lambda: rate("read_torch_clips.py", workers=CORES))


def run():
    """Rows: the worst format against its bare decoder, each of them, and torch."""
    sys.path.insert(0, str(FOLDER))
    import clips
    frames = WINDOW_SECONDS * clips.RATE
    bare, torch = [], []
    with daemon(ENCODED_ONLY) as server:
        for suffix in ("flac", "mp3"):
            ours, floor, theirs = _rates(server, clips.make(suffix), frames)
            of = f"windows of {suffix.upper()}"
            bare.append(row("audio", f"{of} / bare {BARE[suffix]}, {CORES} cores",
                            ours, floor, UNIT))
            torch.append(row("audio", f"{of} / torch, num_workers={CORES}",
                             ours, theirs, UNIT))
    worst = min(bare, key=lambda one: one["ratio"])
    return [dict(worst, metric=f"worst format: {worst['metric']}"), *bare, *torch]
