"""Measures windows of 5 s of audio files, and their mel spectrograms. The files are a
minute long, in stereo, at 44.1 kHz. The references are the bare decoder (and bare
kissfft) on all cores, and torch's DataLoader over soundfile and torchaudio.

Forebay starts from files in the page cache and hands batches to a trainer that touches
every page. The bare decoder has the files in memory. It decodes the same number of
windows, at random places. The first row is of spectrograms, in the format for which the
ratio is worse.
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
FFT, HOP, MELS = 1024, 512, 80
UNIT = "windows/s"
BARE = {"flac": "libsndfile", "mp3": "mpg123's decoder in C"}


def _floor_rate(folder, frames, mel):
    """Returns the windows per second of the bare decoder and transforms on all
    cores."""
    files = sorted(map(str, folder.iterdir()))
    transforms = [] if mel is None else ["--fft", str(FFT), "--hop", str(HOP)]
    done = subprocess.run(
        [program("clip_floor"), "--threads", str(CORES), "--frames", str(frames),
         "--windows", str(len(files) * EPOCHS), *transforms, *files],
        check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)["windows_per_s"]


def _rates(server, folder, frames, mel):
    """Returns the windows per second of Forebay, of the bare decoder and of torch."""
    def rate(script, **options):
        found = call(f"audio/{script}", server.environment, path=str(folder),
                     frames=frames, epochs=EPOCHS, mel=mel, **options)
        return found["samples"] / found["seconds"]

    rate("read_clips.py")  # builds the index and fills the cache
    return in_turns(
        ROUNDS, lambda: rate("read_clips.py"),
        lambda: _floor_rate(folder, frames, mel),
        lambda: rate("read_torch_clips.py", workers=CORES))


def run():
    """Returns the rows: the worse spectrograms / bare, then each case / bare, then /
    torch."""
    sys.path.insert(0, str(FOLDER))
    import clips
    frames = WINDOW_SECONDS * clips.RATE
    mels = {"sample_rate": clips.RATE, "n_fft": FFT, "hop_length": HOP, "n_mels": MELS}
    bare, torch, spectra = [], [], []
    with daemon(ENCODED_ONLY) as server:
        for suffix in ("flac", "mp3"):
            for mel in (None, mels):
                ours, floor, theirs = _rates(server, clips.make(suffix), frames, mel)
                of = f"{'windows' if mel is None else 'mels'} of {suffix.upper()}"
                limit = BARE[suffix] + ("" if mel is None else " and kissfft")
                bare.append(row("audio", f"{of} / bare {limit}, {CORES} cores",
                                ours, floor, UNIT))
                if mel is not None:
                    spectra.append(bare[-1])
                torch.append(row("audio", f"{of} / torch, num_workers={CORES}",
                                 ours, theirs, UNIT))
    worst = min(spectra, key=lambda one: one["ratio"])
    return [dict(worst, metric=f"worse: {worst['metric']}"), *bare, *torch]
