"""Ops of audio on audio files, compared with torchaudio's on what soundfile reads."""

import numpy
import pytest
import torch
import torchaudio.functional as F
import torchaudio.transforms as A

import forebay
from audio_test import clip, contents, open_audio, read, save
from forebay import transforms as T

RATES = (16000, 8000, 44100, 22050, 48000)


@pytest.fixture
def mixed(tmp_path):
    """Makes files of many rates and numbers of channels, and returns their contents in
    order."""
    folder = tmp_path / "mixed"
    clips = [clip(number, channels=1 + number % 3) for number in range(10)]
    for number, wave in enumerate(clips):
        save(folder / f"{number:02}.flac", wave, RATES[number % len(RATES)])
    return folder


def resampled(folder):
    """Returns each file's clip as one channel at 16 kHz."""
    made = []
    for number, path in enumerate(sorted(folder.iterdir())):
        wave = torch.from_numpy(read(path)).mean(1)
        made.append(F.resample(wave, RATES[number % len(RATES)], 16000))
    return made


def assert_close(got, wanted, part=1e-4):
    assert got.dtype == numpy.float32 and got.shape == wanted.shape
    assert abs(got - wanted).max() <= part * abs(wanted).max()


def test_each_clip_has_a_rate_of_its_own(shared_daemon, mixed):
    ops = [T.ToMono(), T.Resample(new_freq=16000, lowest_freq=8000)]
    with open_audio(mixed, transform={"audio": T.Compose(ops)}) as loader:
        clips, _ = contents(loader)
    for got, wanted in zip(clips, resampled(mixed)):
        assert_close(got, wanted.numpy())
    mel = A.MelSpectrogram(n_mels=32)
    features = T.Compose([*ops, T.MelSpectrogram(n_mels=32)])
    with open_audio(mixed, transform={"audio": features}) as loader:
        clips, _ = contents(loader)
    for got, wanted in zip(clips, resampled(mixed)):
        assert_close(got, mel(wanted).T.numpy())


def test_features_of_windows(shared_daemon, mixed):
    window = [T.RandomWindow(2500), T.ToMono()]
    mel = [T.MelSpectrogram(n_mels=32), T.Transpose((1, 0))]
    found = []
    for ops in (window, [*window, *mel]):
        with open_audio(mixed, batch_size=10, seed=3,
                        transform={"audio": T.Compose(ops)}) as loader:
            batch, = loader
        found.append(batch.audio)
    windows, features = found
    assert windows.shape == (10, 2500) and features.shape == (10, 32, 13)
    wanted = A.MelSpectrogram(n_mels=32)(torch.from_numpy(windows)).numpy()
    for got, one in zip(features, wanted):
        assert_close(got, one)
    for path, got in zip(sorted(mixed.iterdir()), windows):
        wave = read(path).mean(1)
        # The window may lie anywhere in the clip.
        starts = numpy.flatnonzero(abs(wave[:-2499] - got[0]) < 1e-6)
        assert any(abs(wave[at:at + 2500] - got).max() < 1e-6 for at in starts)


def test_windows_of_resampled_clips_have_one_shape(shared_daemon, mixed):
    ops = T.Compose([T.ToMono(), T.Resample(new_freq=16000),
                     T.RandomWindow(3000, pad_if_needed=True), T.MFCC(n_mfcc=13)])
    with open_audio(mixed, batch_size=10, transform={"audio": ops}) as loader:
        batch, = loader
    assert batch.audio.shape == (10, 16, 13)


def test_a_lower_rate_than_the_first_ones(shared_daemon, tmp_path):
    """The output's size is planned for clips at the rate of sample 0."""
    save(tmp_path / "a" / "0.wav", clip(0, 4000), 48000)
    save(tmp_path / "a" / "1.wav", clip(1, 4000), 8000)
    transform = T.Compose([T.ToMono(), T.Resample(new_freq=16000)])
    with pytest.raises(forebay.InvalidArgument) as caught:
        with open_audio(tmp_path / "a", transform={"audio": transform}) as loader:
            list(loader)
    assert str(caught.value).endswith(
        "1.wav: has a sample rate of 8000 Hz, less than the first one, and so "
        "becomes too long: give Resample the least rate as lowest_freq")


def test_channels_must_be_one_or_as_many(shared_daemon, mixed):
    with pytest.raises(forebay.InvalidArgument) as caught:
        with open_audio(mixed, transform={"audio": T.Vol(0.5)}) as loader:
            list(loader)
    assert "make them one by ToMono" in str(caught.value)
