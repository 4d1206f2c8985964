"""Forebay reads damaged audio files as soundfile reads them, or refuses them as
soundfile does.

By default 40 files of each format are compared. FOREBAY_MUTANTS=400 compares more, and
FOREBAY_MUTANT_SEED=7 compares others.
"""

import pathlib

import numpy
import pytest
import soundfile
from comparison import COUNT, SEED, Comparison
from mutations import mutants
from reference import TooLargeError, verdicts

import forebay

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "golden" / "audio"
MOST_NUMBERS = 1 << 22
UNKNOWN = 1 << 62  # frames
# The largest allowed difference from soundfile's numbers, by format.
FORMATS = {"wav": 0, "flac": 0, "ogg": 1e-5, "opus": 1e-5, "mp3": 1e-5}
JUSTIFIED = {
    "is truncated|is a truncated|lacks|has .* frames":
        "soundfile gives what there is of a clip that is cut off",
    "with a damaged header": "soundfile takes any sample rate",
    "is not a WAV, FLAC, Ogg or MP3": "mpg123 looks for frames behind other bytes",
}
TOLERATED = {
    "internal error": "libsndfile goes on reading behind the end of a stream",
}


def soundfile_clip(path):
    with soundfile.SoundFile(path) as file:
        if file.frames >= UNKNOWN:
            raise ValueError("a clip without an end")
        if file.frames * file.channels > MOST_NUMBERS:
            raise TooLargeError(f"{file.frames} x {file.channels}")
        # Some codecs cannot seek, but still tell a length.
        return file.read(file.frames, dtype="float32", always_2d=True)


def forebay_clip(folder):
    """Returns a clip and an error, one of which is empty. Each clip is a dataset of its
    own, because all clips of a dataset must have the same number of channels."""
    try:
        return forebay.Dataset(forebay.audio_folder(folder, labels=False),
                               autostart=False)[0][0], ""
    except (forebay.DataError, forebay.Unsupported,
            forebay.ResourceExhausted) as error:
        return None, str(error)


def is_near(clip, wanted, tolerance):
    """Returns whether a lossy format's clip is close enough to the wanted one. Damaged
    clips may be louder than 1."""
    if clip is None or wanted is None or clip.shape != wanted.shape:
        return False
    loudest = max(1.0, numpy.abs(wanted, where=numpy.isfinite(wanted),
                                 out=numpy.zeros_like(wanted)).max(initial=0))
    return numpy.allclose(clip, wanted, rtol=0, atol=tolerance * loudest,
                          equal_nan=True)


def _write(folder, suffix, files):
    """Writes files, each into a folder with its name, and returns their paths."""
    paths = []
    for name, content in files:
        paths.append(folder / name / f"a.{suffix}")
        paths[-1].parent.mkdir(parents=True)
        paths[-1].write_bytes(content)
    return paths


@pytest.mark.parametrize("suffix", FORMATS)
def test_mutants_are_read_as_soundfile_reads_them(shared_daemon, tmp_path, suffix):
    originals = {path.name: path.read_bytes() for path in GOLDEN.glob(f"*.{suffix}")
                 if path.stat().st_size < 100_000}
    mutated = _write(tmp_path, suffix, mutants(originals, COUNT, SEED))
    whole = _write(tmp_path / "intact", suffix, originals.items())
    wanted = verdicts(soundfile_clip, mutated + whole)
    intact = dict(zip(originals, (one.value for one in wanted[len(mutated):])))
    compared = Comparison(suffix, JUSTIFIED, TOLERATED)
    for path, verdict in zip(mutated, wanted):
        clip, error = forebay_clip(path.parent)
        original = intact[path.parent.name.split()[1]]
        for expected in (original, verdict.value):
            if is_near(clip, expected, FORMATS[suffix]):
                clip = expected
        compared.add(path.parent.name, verdict, clip, error, original)
    assert shared_daemon.process.poll() is None
    compared.check()
