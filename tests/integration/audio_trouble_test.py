"""Audio files that are damaged, hostile, or unlike the others. Each gives one clear
error, to the one job that reads the file."""

import pytest
import numpy
import soundfile

import forebay
from audio_test import RATE, check, clip, contents, fill, open_audio, save
from forebay import transforms as T
from trouble import refusing, run_until_error

refusal = refusing(open_audio)


@pytest.fixture
def good(tmp_path):
    return fill(tmp_path / "clips", count=6)


def test_an_empty_file(shared_daemon, good):
    (good / "03.flac").write_bytes(b"")
    text = refusal(forebay.DataError, good)
    assert "03.flac" in text and "sample 3" in text and "is an empty file" in text


def test_another_file(shared_daemon, good):
    (good / "03.flac").write_bytes(b"these are words, and no audio at all")
    text = refusal(forebay.DataError, good)
    assert "03.flac: is not a WAV, FLAC, Ogg or MP3 file" in text


def test_the_first_file_is_another(shared_daemon, good):
    (good / "00.flac").write_bytes(b"these are words, and no audio at all")
    text = refusal(forebay.DataError, good)
    assert text.startswith(f"sample 0 of {good}: 00.flac: is not a WAV")
    with open_audio(good, on_error="substitute", batch_size=6,
                    transform={"audio": T.RandomWindow(100)}) as loader:
        batch, = loader
        assert batch.audio.shape == (6, 100, 1)


def test_all_files_are_others(shared_daemon, good):
    for path in good.iterdir():
        path.write_bytes(b"these are words, and no audio at all")
    with pytest.raises(forebay.DataError,
                       match="sample 0 of .*: 00.flac: is not a WAV"):
        open_audio(good, on_error="substitute")


@pytest.mark.parametrize("suffix", ["flac", "ogg", "opus", "mp3"])
def test_truncated_files(shared_daemon, tmp_path, suffix):
    folder = fill(tmp_path / "clips", suffix, count=4)
    whole = (folder / f"02.{suffix}").read_bytes()
    outcomes = set()
    for size in (1, 40, 300, len(whole) // 2, len(whole) - 20):
        (folder / f"02.{suffix}").write_bytes(whole[:size])
        try:
            with open_audio(folder) as loader:
                assert len(contents(loader)[0]) == 4
            outcomes.add("shorter")
        except forebay.DataError as error:
            assert f"02.{suffix}" in str(error) and "sample 2" in str(error)
            outcomes.add("refused")
    assert "refused" in outcomes


def test_others_do_not_notice(shared_daemon, good, tmp_path):
    other = fill(tmp_path / "other", "wav", count=40)
    (good / "03.flac").write_bytes((good / "03.flac").read_bytes()[:-50])
    with open_audio(other) as loader:
        batches = iter(loader)
        next(batches)
        text, _ = run_until_error(iter(open_audio(good, batch_size=1)),
                                  forebay.DataError)
        assert "03.flac" in text
        assert len(contents(batches)[0]) == 36


def test_broken_clips_may_be_substituted(shared_daemon, good):
    (good / "03.flac").write_bytes(b"fLaC")
    with open_audio(good, on_error="substitute", batch_size=6,
                    transform={"audio": T.RandomWindow(100)}) as loader:
        batch, = loader
        assert batch.audio.shape == (6, 100, 1)


def test_a_clip_with_more_channels(shared_daemon, good):
    save(good / "04.flac", clip(4, channels=2))
    text = refusal(forebay.InvalidArgument, good)
    assert "04.flac" in text
    assert "has 2 channels, but the first one has 1, as all must" in text
    assert "ToMono" in text


def test_a_clip_that_is_too_short(shared_daemon, good):
    save(good / "04.flac", clip(4, 50))
    text = refusal(forebay.InvalidArgument, good,
                   transform={"audio": T.RandomWindow(100)})
    assert "04.flac" in text and "has length 50" in text and "pad_if_needed" in text
    with open_audio(good, transform={
            "audio": T.RandomWindow(100, pad_if_needed=True)}) as loader:
        clips, ids = contents(loader)
    short = clips[ids.index(4)]
    assert short.shape == (100, 1) and not short[50:].any()


def test_clips_without_frames(shared_daemon, tmp_path):
    folder = fill(tmp_path / "clips", "wav", count=4)
    soundfile.write(folder / "02.wav", numpy.zeros((0, 1)), RATE)
    with open_audio(folder) as loader:
        clips, _ = contents(loader)
    assert clips[2].shape == (0, 1)


# Silence takes almost no bytes, so the file's size does not tell its length.
def test_a_clip_that_is_longer_than_files_of_its_size_are(shared_daemon, good):
    save(good / "04.flac", numpy.zeros((3_000_000, 1), "float32"))
    text = refusal(forebay.DataError, good)
    assert "04.flac" in text and "take a part of it by Slice or RandomWindow" in text
    with open_audio(good, transform={"audio": T.RandomWindow(1000)}) as loader:
        assert len(contents(loader)[0]) == 6
    with open_audio(good, transform={"audio": T.Slice(0, 9000)}) as loader:
        clips, _ = contents(loader)
        assert clips[4].shape == (9000, 1)
    with open_audio(good, transform={"audio": T.Slice(0, 10 ** 6)}) as loader:
        clips, _ = contents(loader)
        assert clips[4].shape == (10 ** 6, 1) and len(clips[3]) < 9000


def test_a_header_that_lies(shared_daemon, good):
    path = good / "03.flac"
    content = bytearray(path.read_bytes())
    content[21] |= 15
    content[22:26] = b"\xff" * 4  # 2^36 - 1 frames
    path.write_bytes(content)
    text = refusal(forebay.ForebayError, good)
    assert "03.flac" in text
    # Most windows would begin at a frame that does not exist.
    text = refusal(forebay.DataError, good, transform={"audio": T.RandomWindow(100)})
    assert "03.flac" in text


def test_a_window_of_channels_is_refused(shared_daemon, good):
    with pytest.raises(forebay.InvalidArgument, match="a part of the channels"):
        open_audio(good, transform={"audio": T.RandomWindow(1, axis=1)})


def test_a_folder_without_audio(shared_daemon, tmp_path):
    with pytest.raises(forebay.NotFound, match="found no audio file in it"):
        open_audio(forebay.audio_folder(tmp_path, labels=False))
    (tmp_path / "empty").mkdir()
    with pytest.raises(forebay.NotFound, match="extensions are .wav, .flac"):
        open_audio(forebay.audio_folder(tmp_path))
    with pytest.raises(forebay.InvalidArgument, match="labels must be True or False"):
        forebay.audio_folder(tmp_path, labels=None)


@pytest.mark.parametrize("ops", [
    [T.ToMono()], [T.Vol(0.5)], [T.ToMono(), T.Resample(new_freq=RATE // 2)],
    [T.Resample(new_freq=3 * RATE), T.ToMono(), T.Vol(2.0)]])
def test_damage_outside_a_window_behind_other_ops(shared_daemon, tmp_path, ops):
    folder = fill(tmp_path / "clips", "flac", count=2)
    path = folder / "01.flac"
    save(path, clip(1, frames=20 * RATE))
    window = {"audio": T.Compose([*ops, T.Slice(100, 1100)])}
    with open_audio(folder, batch_size=1, transform=window) as loader:
        whole, _ = contents(loader)
    content = bytearray(path.read_bytes())
    content[len(content) // 2:-1000] = bytes(len(content) - len(content) // 2 - 1000)
    path.write_bytes(content)
    with open_audio(folder, batch_size=1, transform=window) as loader:
        found, _ = contents(loader)
    check(found, whole)
    text = refusal(forebay.DataError, folder, transform={"audio": T.Compose(ops)})
    assert "01.flac" in text
