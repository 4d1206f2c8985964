"""Audio files that a table lists. A trainer gets what soundfile reads, with the table's
columns."""

import csv
import json

import pytest

import forebay
from audio_test import RATE, check, clip, open_audio, read, save
from forebay import transforms as T

COUNT = 23
SUFFIXES = ("flac", "wav", "ogg", "opus", "mp3")


@pytest.fixture
def rows(tmp_path):
    """A folder of speech, and the rows that list its files, as NVIDIA's NeMo writes
    them."""
    found = []
    for number in range(COUNT):
        name = f"clips/{number % 3}/{number}.{SUFFIXES[number % 5]}"
        frames = 2000 + 1500 * (number * 7 % 11)
        save(tmp_path / name, clip(number, frames))
        found.append({"audio_filepath": name, "duration": frames / RATE,
                      "text": f"sentence {number}", "speaker": number % 3})
    return found


def write(folder, rows, name):
    path = folder / name
    if name.endswith(".jsonl"):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return path


def speech(path):
    return forebay.manifest(path, audio="audio_filepath", text="text",
                            speaker="speaker")


@pytest.mark.parametrize("name", ["train.jsonl", "train.csv"])
def test_clips_and_columns(shared_daemon, tmp_path, rows, name):
    path = write(tmp_path, rows, name)
    with open_audio(speech(path)) as loader:
        clips, texts, speakers = [], [], []
        for batch in loader:
            clips += [one.copy() for one in batch.audio]
            texts += list(batch.text)
            speakers += batch.speaker.tolist()
    check(clips, [read(tmp_path / row["audio_filepath"]) for row in rows], 1e-5)
    assert texts == [row["text"] for row in rows]
    assert speakers == [row["speaker"] for row in rows]


def test_absolute_paths_and_windows(shared_daemon, tmp_path, rows):
    path = write(tmp_path, [dict(row, audio_filepath=str(
        tmp_path / row["audio_filepath"])) for row in rows], "train.jsonl")
    window = T.Compose([T.Slice(0, 4000), T.Resample(RATE, RATE // 2)])
    with open_audio(forebay.manifest(path, audio="audio_filepath"), batch_size=COUNT,
                    transform={"audio": T.RandomWindow(2000)}) as loader:
        batch, = loader
        assert batch.audio.shape == (COUNT, 2000, 1)
    with open_audio(forebay.manifest(path, audio="audio_filepath"), batch_size=COUNT,
                    transform={"audio": window}) as loader:
        batch, = loader
        assert max(map(len, batch.audio)) == 2000


def test_batches_of_seconds(shared_daemon, tmp_path, rows):
    path = write(tmp_path, rows, "train.jsonl")
    with open_audio(speech(path), batch_size=1, shuffle=True, max_seconds=2.5,
                    bucket_by="length") as loader:
        batches = [(batch.sample_ids.tolist(), sum(map(len, batch.audio)))
                   for batch in loader]
    assert sorted(sum((ids for ids, _ in batches), [])) == list(range(COUNT))
    assert len(batches) < COUNT
    assert max(frames for _, frames in batches) <= 2.5 * RATE


def test_single_samples(shared_daemon, tmp_path, rows):
    dataset = forebay.Dataset(speech(write(tmp_path, rows, "train.csv")))
    assert len(dataset) == COUNT
    audio, text, speaker = dataset[3]
    assert abs(audio - read(tmp_path / rows[3]["audio_filepath"])).max() < 1e-5
    assert (text, speaker) == ("sentence 3", 0)


def test_what_is_no_audio_file(shared_daemon, tmp_path, rows):
    (tmp_path / "clips" / "notes.txt").write_text("no sound")
    rows[5]["audio_filepath"] = "clips/notes.txt"
    path = write(tmp_path, rows, "train.jsonl")
    with open_audio(speech(path)) as loader, pytest.raises(
            forebay.DataError, match="sample 5 of .*: clips/notes.txt: is not a WAV"):
        for _ in loader:
            pass
