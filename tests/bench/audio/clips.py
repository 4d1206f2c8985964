"""Makes music-like clips of one minute, as FLAC and MP3 at 44.1 kHz."""

import os
import pathlib
import subprocess

import numpy
import soundfile

RATE, SECONDS, COUNT = 44100, 60, 24
SEED = 3
# Each chord has TONES tones, and each tone has OVERTONES overtones.
TONES, OVERTONES = 4, 5


def _clip(number):
    """Returns a stereo clip: chords of half a second with some noise."""
    draws = numpy.random.default_rng([SEED, number])
    half = RATE // 2
    time = numpy.arange(half) / RATE
    pieces = []
    for _ in range(2 * SECONDS):
        piece = draws.normal(0, 0.01, (half, 2))
        for pitch in draws.uniform(80, 900, TONES):
            for overtone in range(1, OVERTONES + 1):
                wave = numpy.sin(2 * numpy.pi * pitch * overtone * time)
                loudness = numpy.exp(-3 * time) / (TONES * overtone)
                piece += 0.5 * (wave * loudness)[:, None] * draws.uniform(0, 1, 2)
        pieces.append(piece)
    return numpy.concatenate(pieces).clip(-1, 1)


def make(suffix):
    """Returns a folder of such files, and makes it if needed; `suffix` is "flac" or
    "mp3"."""
    cache = os.environ.get("XDG_CACHE_HOME")
    base = pathlib.Path(cache) if cache else pathlib.Path.home() / ".cache"
    place = base / "forebay" / f"clips-{suffix}"
    if place.is_dir():
        return place
    fresh = place.with_name(f".{place.name}.{os.getpid()}")
    fresh.mkdir(parents=True)
    for number in range(COUNT):
        path = fresh / f"{number:02}.{suffix}"
        if suffix == "flac":
            soundfile.write(path, _clip(number), RATE, subtype="PCM_16")
            continue
        source = fresh / "source.wav"
        soundfile.write(source, _clip(number), RATE, subtype="PCM_16")
        subprocess.run(["lame", "--quiet", "-b", "128", source, path], check=True)
        source.unlink()
    fresh.rename(place)
    return place
