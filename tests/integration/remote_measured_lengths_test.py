"""Clips in a bucket are measured by parts of their files, as local clips are."""

import numpy
import pytest
import soundfile

import forebay
from audio_test import open_audio, save
from measured_lengths_test import batches_of, check
from remote_shards_test import daemon, proxy  # noqa: F401
from trouble import ctl

FRAMES = [90_000 + 7_000 * (number * 13 % 29) for number in range(30)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of clips whose headers are a small part of the files."""
    place = tmp_path_factory.mktemp("clips")
    noise = numpy.random.RandomState(3).uniform(-0.5, 0.5, (max(FRAMES), 2))
    for number, frames in enumerate(FRAMES):
        ending = ("wav", "flac", "ogg")[number % 3]
        save(place / f"{number:02}.{ending}", noise[:frames].astype("float32"))
    return place


def test_a_bucket(daemon, fake_gcs, folder):  # noqa: F811
    fake_gcs.fill("measured", {f"a/{path.name}": path.read_bytes()
                               for path in folder.iterdir()})
    seconds = [soundfile.info(path).duration for path in sorted(folder.iterdir())]
    size = sum(path.stat().st_size for path in folder.iterdir())
    with open_audio(forebay.audio_folder("gs://measured/a", labels=False),
                    batch_size=1, max_seconds=60, shuffle=True,
                    bucket_by="length") as loader:
        read = int(ctl(daemon, "cache")["total"]["source"]["bytes"])
        assert read < size / 2
        check(batches_of(loader), seconds, 60)
