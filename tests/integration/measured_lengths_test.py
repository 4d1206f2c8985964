"""Batches by lengths that no index has: the lengths of clips, also in seconds, and of
fields whose lengths only their records tell."""

import io
import random
import tarfile
import zipfile

import numpy
import pytest

import forebay
from audio_test import clip, open_audio, save
from forebay import transforms as T
from lmdb_files import write as write_lmdb
from several_images_test import part
from tfrecord_test import open_records, write
from trouble import ctl, refusing

ENDINGS = ("wav", "flac", "ogg", "opus", "mp3")
COUNT = 60
# An encoder may add so many frames at the ends, in formats that do not tell the number.
SLACK = 4000


def rate_of(number):
    return (16000, 48000, 8000)[number % 3]


def frames_of(number):
    return 800 + number * 97 % 23 * rate_of(number) // 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of clips in all formats, and at several rates."""
    place = tmp_path_factory.mktemp("clips")
    for number in range(COUNT):
        save(place / f"{number:03}.{ENDINGS[number % 5]}",
             clip(number, frames_of(number)), rate_of(number))
    return place


@pytest.fixture(scope="module")
def frames(folder, shared_daemon):
    """Returns the number of frames with which each clip is delivered."""
    with open_audio(folder, bucket_by="length") as loader:
        found = {number: len(one) for batch in loader
                 for number, one in zip(batch.sample_ids.tolist(), batch.audio)}
    return [found[number] for number in range(COUNT)]


def seconds(frames):
    return [count / rate_of(number) for number, count in enumerate(frames)]


def batches_of(loader):
    return [batch.sample_ids.tolist() for batch in loader]


def check(batches, lengths, most, padded=False):
    assert sorted(sum(batches, [])) == list(range(len(lengths)))
    for ids in batches:
        mine = [lengths[number] for number in ids]
        assert (max(mine) * len(mine) if padded else sum(mine)) <= most * (1 + 1e-9)


def source_bytes(daemon):
    return int(ctl(daemon, "cache")["total"]["source"]["bytes"])


def test_lengths_are_as_soundfile_says(frames):
    for number, found in enumerate(frames):
        assert abs(found - frames_of(number)) <= SLACK


@pytest.mark.parametrize("bucket_by", [None, "length"])
@pytest.mark.parametrize("ragged", ["list", "pad"])
@pytest.mark.parametrize("most", [2.5, 8, 60])
def test_batches_of_seconds(shared_daemon, folder, frames, bucket_by, ragged, most):
    with open_audio(folder, batch_size=1, shuffle=True, seed=3, bucket_by=bucket_by,
                    max_seconds=most, ragged=ragged) as loader:
        with pytest.raises(TypeError, match="max_seconds"):
            len(loader)
        batches = []
        for batch in loader:
            batches.append(batch.sample_ids.tolist())
            clips = batch.audio.values if ragged == "pad" else batch.audio
            longest = [frames[number] for number in batches[-1]]
            assert [len(one) for one in clips] == (
                len(clips) * [max(longest)] if ragged == "pad" else longest)
    check(batches, seconds(frames), most, ragged == "pad")
    filled = [sum(seconds(frames)[number] for number in ids) for ids in batches]
    if ragged == "list":  # all windows have this length, except one
        assert numpy.mean(sorted(filled)[1:]) > 0.5 * most


def test_batches_of_frames(shared_daemon, folder, frames):
    with open_audio(folder, batch_size=1, shuffle=True, max_tokens=200_000) as loader:
        check(batches_of(loader), frames, 200_000)


def test_like_lengths_come_together(shared_daemon, folder, frames):
    with open_audio(folder, batch_size=6, bucket_by="length") as loader:
        batches = batches_of(loader)
    assert sorted(sum(batches, [])) == list(range(COUNT))
    found = [frames[number] for ids in batches for number in ids]
    assert found == sorted(found, reverse=True)
    with open_audio(folder, batch_size=1, bucket_by="length", max_seconds=6) as loader:
        order = sum(batches_of(loader), [])
    times = [round(seconds(frames)[number], 9) for number in order]
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize("seed", range(4))
def test_an_epoch_goes_on_anywhere(shared_daemon, folder, frames, seed):
    chance = random.Random(seed)
    options = {"batch_size": 1, "shuffle": True, "seed": seed, "max_seconds": 5.5,
               "bucket_by": chance.choice([None, "length"]),
               "transform": {"audio": T.Compose([
                   T.Slice(0, chance.randrange(9000, 90000)),
                   T.Resample(new_freq=chance.choice([8000, 11025]))])}}
    with open_audio(folder, **options) as loader:
        loader.set_epoch(2)
        whole = batches_of(loader)
    assert sorted(sum(whole, [])) == list(range(COUNT))
    taken = chance.randrange(1, len(whole))
    with open_audio(folder, **options) as loader:
        loader.set_epoch(2)
        iterator = iter(loader)
        got = [next(iterator).sample_ids.tolist() for _ in range(taken)]
        state = loader.state_dict()
    with open_audio(folder, **options) as loader:
        loader.load_state_dict(state)
        assert got + batches_of(loader) == whole
    with open_audio(folder, **{**options, "max_seconds": 5.0}) as loader:
        with pytest.raises(forebay.StateError, match="other batches"):
            loader.load_state_dict(state)


def test_what_comes_out_counts(shared_daemon, folder, frames):
    """A resampled clip keeps its length in seconds. Its number of frames is that of the
    result."""
    resample = {"audio": T.Resample(new_freq=8000, lowest_freq=8000)}
    with open_audio(folder, batch_size=1, transform=resample,
                    max_seconds=4) as loader:
        clips = {number: len(one) for batch in loader
                 for number, one in zip(batch.sample_ids.tolist(), batch.audio)}
    times = [clips[number] / 8000 for number in range(COUNT)]
    assert times == pytest.approx(seconds(frames), abs=1e-3)
    with open_audio(folder, batch_size=1, transform=resample,
                    max_seconds=4) as loader:
        check(batches_of(loader), times, 4)
    with open_audio(folder, batch_size=1, transform=resample,
                    max_tokens=30_000) as loader:
        check(batches_of(loader), [clips[number] for number in range(COUNT)], 30_000)


def test_equal_windows_need_no_look(daemon, tmp_path):
    place = tmp_path / "clips"
    for number in range(20):
        save(place / f"{number}.wav", clip(number, 40_000))
    window = {"audio": T.RandomWindow(16000)}
    with open_audio(place, batch_size=1, transform=window, max_seconds=5.5) as loader:
        first = (place / "0.wav").stat().st_size
        assert source_bytes(daemon) <= 2 * first
        assert [len(ids) for ids in batches_of(loader)] == [5, 5, 5, 5]
    with open_audio(place, batch_size=3, transform=window, max_tokens=10**6) as loader:
        assert [len(ids) for ids in batches_of(loader)] == [3] * 6 + [2]


def test_headers_are_enough_and_are_kept(daemon, tmp_path):
    place = tmp_path / "clips"
    for number in range(30):
        save(place / f"{number:02}.wav", clip(number, 200_000 + 1000 * number))
    options = {"batch_size": 1, "max_seconds": 60, "bucket_by": "length"}
    size = sum(path.stat().st_size for path in place.iterdir())
    with open_audio(place, **options) as loader:
        measured = source_bytes(daemon)
        assert measured < size / 2
        # Other loaders look up the lengths that the first one measured.
        with open_audio(place, **options) as other:
            assert source_bytes(daemon) < measured + size / 20
            assert batches_of(other) == batches_of(loader)
    daemon.stop()
    daemon.start()
    with open_audio(place, **options) as loader:
        assert source_bytes(daemon) < size / 20
    # A dataset with another file is measured anew.
    save(place / "30.wav", clip(0, 900_000))
    with open_audio(place, **options) as loader:
        assert batches_of(loader)[0][0] == 30


def test_a_long_silence_has_room(shared_daemon, tmp_path):
    """A silent clip has more frames than is expected of files of its size."""
    for number in range(8):
        save(tmp_path / "a" / f"{number}.flac",
             numpy.zeros((200_000 if number == 5 else 4000, 1), "float32"))
    with open_audio(tmp_path / "a", batch_size=1, max_seconds=20,
                    bucket_by="length") as loader:
        clips = {number: one.shape for batch in loader
                 for number, one in zip(batch.sample_ids.tolist(), batch.audio)}
    assert clips[5] == (200_000, 1) and clips[0] == (4000, 1)


refusal = refusing(open_audio)


def test_a_broken_file_is_named(shared_daemon, tmp_path):
    place = tmp_path / "clips"
    for number in range(12):
        save(place / f"{number:02}.wav", clip(number))
    (place / "07.wav").write_bytes(b"RIFF no clip at all")
    text = refusal(forebay.DataError, place, max_seconds=5)
    assert text.startswith(f"sample 7 of {place}: 07.wav: ")


@pytest.mark.parametrize("more, message", [
    ({"max_seconds": 0}, "max_seconds must be a number"),
    ({"max_seconds": -1.5}, "max_seconds must be a number"),
    ({"max_seconds": "5"}, "max_seconds must be a number"),
    ({"max_seconds": True}, "max_seconds must be a number"),
    ({"max_seconds": float("nan")}, "max_seconds must be a number"),
    ({"max_seconds": 1e6}, "max_seconds must be a number"),
    ({"max_seconds": 5, "max_tokens": 5}, "not by both"),
    ({"max_seconds": 0.5}, r"longest sample has a length of .* s \(audio of sample"),
    ({"max_seconds": 5, "drop_last": True}, "drop_last"),
    ({"max_seconds": 5, "bucket_by": "label"}, "no"),
])
def test_what_does_not_go_is_refused(shared_daemon, folder, more, message):
    with pytest.raises(forebay.ForebayError, match=message):
        open_audio(folder, **more)


def test_only_audio_has_seconds(shared_daemon, tmp_path):
    for number in range(3):
        numpy.save(tmp_path / f"{number}.npy", numpy.zeros(number + 1, "float32"))
    with pytest.raises(forebay.InvalidArgument, match="no field is audio"):
        forebay.DataLoader(forebay.npy_folder(tmp_path), max_seconds=5)


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def token_example(tokens, text):
    """Returns a tf.train.Example of integers, and of a text whose length is
    unrelated."""
    features = (("tokens", part(3, part(1, b"".join(map(varint, tokens))))),
                ("text", part(1, part(1, text))))
    return part(1, b"".join(part(1, part(1, name.encode()) + part(2, feature))
                            for name, feature in features))


def token_lengths(count, seed=2):
    chance = random.Random(seed)
    return [1 + int(chance.paretovariate(1.3) * 5) % 300 for _ in range(count)]


@pytest.fixture(scope="module")
def lengths():
    return token_lengths(2000)


@pytest.fixture(scope="module")
def records(tmp_path_factory, lengths):
    place = tmp_path_factory.mktemp("records")
    for shard in range(2):
        write(place / f"{shard}.tfrecord", [
            token_example(range(length), b"x" * (number * 37 % 500))
            for number, length in enumerate(lengths)][shard * 1000:][:1000])
    return place / "*.tfrecord"


def token_batches(loader, field="tokens"):
    batches, found = [], {}
    for batch in loader:
        batches.append(batch.sample_ids.tolist())
        splits = numpy.diff(getattr(batch, field).offsets)
        found.update(zip(batches[-1], splits.tolist()))
    return batches, found


@pytest.mark.parametrize("bucket_by", [None, "length", "tokens"])
def test_tokens_of_records(shared_daemon, records, lengths, bucket_by):
    with open_records(records, fields={"tokens": "int64[n]", "text": "text"},
                      batch_size=1, shuffle=True, max_tokens=1000,
                      bucket_by=bucket_by) as loader:
        batches, found = token_batches(loader)
    check(batches, lengths, 1000)
    assert [found[number] for number in range(len(lengths))] == lengths
    assert numpy.mean([sum(lengths[i] for i in ids) for ids in batches]) > 700


def test_tokens_of_records_go_on_anywhere(shared_daemon, records):
    options = {"fields": {"tokens": "int64[n]", "text": "text"}, "batch_size": 1,
               "shuffle": True, "max_tokens": 1500, "bucket_by": "length"}
    with open_records(records, **options) as loader:
        whole = token_batches(loader)[0]
    for taken in (1, 17, len(whole) - 1):
        with open_records(records, **options) as loader:
            iterator = iter(loader)
            got = [next(iterator).sample_ids.tolist() for _ in range(taken)]
            state = loader.state_dict()
        with open_records(records, **options) as loader:
            loader.load_state_dict(state)
            assert got + token_batches(loader)[0] == whole


def test_texts_of_records(shared_daemon, records):
    with open_records(records, fields={"tokens": "int64[n]", "text": "text"},
                      batch_size=1, max_tokens=2000, bucket_by="text") as loader:
        batches = [batch.sample_ids.tolist() for batch in loader]
    check(batches, [number * 37 % 500 for number in range(2000)], 2000)


def test_tokens_in_lmdb(shared_daemon, tmp_path, lengths):
    path = write_lmdb(tmp_path / "env", {
        b"%06d" % number: numpy.arange(length, dtype="float32").tobytes()
        for number, length in enumerate(lengths[:500])})
    with open_records(forebay.lmdb(path, fields="float32[n]"), batch_size=1,
                      shuffle=True, max_tokens=800) as loader:
        batches, found = token_batches(loader, "value")
    check(batches, lengths[:500], 800)
    assert [found[number] for number in range(500)] == lengths[:500]


def test_a_broken_record_is_named(shared_daemon, tmp_path, lengths):
    path = write(tmp_path / "a.tfrecord", [
        token_example(range(length), b"x") for length in lengths[:40]] + [b"\x0a\xff"])
    with pytest.raises(forebay.ForebayError, match="sample 40 .*a.tfrecord: "):
        open_records(path, fields={"tokens": "int64[n]"}, max_tokens=1000)


def test_clips_in_archives(shared_daemon, tmp_path, folder, frames):
    names = sorted(folder.iterdir())
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in names:
            archive.write(path, f"c/{path.name}")
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for number, path in enumerate(names):
            for ending, content in (("wav", path.read_bytes()), ("txt", b"x" * 900)):
                info = tarfile.TarInfo(f"{number:03}.{ending}")
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    for dataset, more in ((forebay.audio_folder(tmp_path / "a.zip"), {}),
                          (tmp_path / "a.tar", {"fields": ("wav", "txt")})):
        with open_audio(dataset, batch_size=1, max_seconds=7, shuffle=True,
                        bucket_by="length", **more) as loader:
            check(batches_of(loader), seconds(frames), 7)


def test_texts_in_hdf5(shared_daemon, tmp_path, lengths):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("text", data=["x" * length for length in lengths[:300]],
                            dtype=h5py.string_dtype())
    with open_records(tmp_path / "a.h5", batch_size=1, max_tokens=700,
                      bucket_by="length") as loader:
        check(batches_of(loader), lengths[:300], 700)


def test_some_entries_are_measured_alone(shared_daemon, tmp_path, lengths):
    path = write_lmdb(tmp_path / "env", {
        b"%06d" % number: numpy.arange(length, dtype="float32").tobytes()
        for number, length in enumerate(lengths[:300])})
    numbers = list(range(299, -1, -2)) + [4]
    some = forebay.lmdb(path, fields="float32[n]",
                        keys=[b"%06d" % number for number in numbers])
    with open_records(some, batch_size=1, shuffle=True, max_tokens=500) as loader:
        check(batches_of(loader), [lengths[number] for number in numbers], 500)
