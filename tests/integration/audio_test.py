"""Audio files as fields. A trainer gets what soundfile reads, or a window of it."""

import io
import subprocess
import tarfile
import zipfile

import numpy
import pytest
import soundfile
import torch
import torchaudio

import forebay
from forebay import transforms as T
from several_images_test import example
from tfrecord_test import write
from trouble import ctl

RATE = 16000
# The largest allowed difference from soundfile's numbers, by format.
FORMATS = {"wav": 0, "flac": 0, "ogg": 1e-5, "opus": 1e-5, "mp3": 1e-5}


def clip(number, frames=None, channels=1):
    """Returns tones whose length depends on `number`, or is `frames`."""
    frames = 3000 + 701 * (number % 7) if frames is None else frames
    time = numpy.arange(frames)[:, None] / RATE
    tones = numpy.sin(time * (2000 + 300 * number) + numpy.arange(channels))
    return (0.6 * tones * numpy.cos(time * 40)).astype("float32")


def save(path, numbers, rate=RATE):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".opus":
        soundfile.write(path, numbers, rate, format="OGG", subtype="OPUS")
    elif path.suffix == ".mp3":
        wav = path.with_suffix(".source")
        soundfile.write(wav, numbers, rate, format="WAV")
        subprocess.run(["lame", "--quiet", "-b", "64", wav, path], check=True)
        wav.unlink()
    else:
        soundfile.write(path, numbers, rate)
    return path


def read(path):
    return soundfile.read(path, dtype="float32", always_2d=True)[0]


def open_audio(dataset, **arguments):
    return forebay.DataLoader(dataset, **{
        "batch_size": 4, "framework": "numpy", "autostart": False, **arguments})


def contents(batches, field="audio"):
    """Returns the clips and the sample numbers of batches."""
    clips, ids = [], []
    for batch in batches:
        clips += [one.copy() for one in getattr(batch, field)]
        ids += batch.sample_ids.tolist()
    return clips, ids


def check(found, expected, most=0):
    assert len(found) == len(expected)
    for one, wanted in zip(found, expected):
        assert one.dtype == numpy.float32 and one.shape == wanted.shape
        if most:
            assert abs(one - wanted).max(initial=0) < most
        else:
            numpy.testing.assert_array_equal(one, wanted)


def fill(folder, suffix="flac", count=11):
    for number in range(count):
        save(folder / f"{number:02}.{suffix}", clip(number))
    return folder


def loaded(folder):
    return [read(path) for path in sorted(folder.iterdir())]


@pytest.fixture
def flat(tmp_path):
    return fill(tmp_path / "flat")


@pytest.mark.parametrize("suffix", FORMATS)
def test_files_right_in_a_folder(shared_daemon, tmp_path, suffix):
    folder = fill(tmp_path / suffix, suffix)
    with open_audio(folder) as loader:
        assert len(loader.dataset) == 11 and loader.dataset.classes == []
        clips, ids = contents(loader)
    check(clips, loaded(folder), FORMATS[suffix])
    assert ids == list(range(11))


def test_class_folders(shared_daemon, tmp_path):
    names = ("cat/1.wav", "dog/10.flac", "dog/9.ogg", "dog/sub/1.opus", "ant/x.mp3")
    for number, name in enumerate(names):
        save(tmp_path / name, clip(number, 4000))
    order = ["ant/x.mp3", "cat/1.wav", "dog/10.flac", "dog/9.ogg", "dog/sub/1.opus"]
    for dataset in (tmp_path, forebay.audio_folder(tmp_path)):
        with open_audio(dataset, batch_size=5) as loader:
            assert loader.dataset.classes == ["ant", "cat", "dog"]
            batch, = loader
            assert batch.label.tolist() == [0, 1, 2, 2, 2]
            check(list(batch.audio), [read(tmp_path / name) for name in order], 1e-5)


def test_torch_gets_ragged_batches(shared_daemon, flat):
    expected = loaded(flat)
    with open_audio(flat, framework="torch") as loader:
        audio, = next(iter(loader))
        assert isinstance(audio, forebay.Ragged)
        assert audio.values.dtype == torch.float32
        assert audio.values.shape == (sum(map(len, expected[:4])), 1)
    with open_audio(flat, framework="torch", ragged="pad") as loader:
        audio, = next(iter(loader))
        assert audio.lengths.tolist() == [len(one) for one in expected[:4]]


def test_windows_are_those_of_arrays(shared_daemon, flat, tmp_path):
    arrays = tmp_path / "arrays"
    arrays.mkdir()
    for number, one in enumerate(loaded(flat)):
        numpy.save(arrays / f"{number:02}.npy", one)
    for transform in (
            T.RandomWindow(1000), T.RandomWindow(9000, pad_if_needed=True),
            T.Slice(200, 1200), T.Slice(-700, None),
            T.Compose([T.Slice(100, 2900), T.RandomWindow(512)]),
            T.Compose([T.RandomWindow(1000), T.Transpose((1, 0))]),
            T.Compose([T.RandomWindow(640), T.Normalize([0.1], [0.5])]),
            T.Compose([T.Slice(0, 2500), T.ToDtype("float16")])):
        both = []
        for folder, field in ((flat, "audio"), (arrays, "array")):
            with open_audio(folder, seed=4, shuffle=True,
                            transform={field: transform}) as loader:
                both.append([contents(loader, field) for _ in range(2)])
        for (clips, ids), (wanted, order) in zip(*both):
            assert ids == order
            for one, other in zip(clips, wanted):
                numpy.testing.assert_array_equal(one, other)


def test_clips_of_any_channels_become_mono(shared_daemon, tmp_path):
    for number in range(8):
        save(tmp_path / f"{number}.flac", clip(number, channels=1 + number % 3))
    with open_audio(tmp_path, transform={"audio": T.ToMono()}) as loader:
        clips, _ = contents(loader)
    for one, whole in zip(clips, loaded(tmp_path)):
        numpy.testing.assert_allclose(one, whole.mean(1), atol=1e-6)


def test_each_clip_is_resampled_from_its_own_rate(shared_daemon, tmp_path):
    rates = [22050, 16000, 8000, 44100]
    for number, rate in enumerate(rates):
        save(tmp_path / f"{number}.wav", clip(number), rate)
    ops = T.Resample(new_freq=12000, lowest_freq=8000)
    with open_audio(tmp_path, transform={"audio": ops}) as loader:
        clips, _ = contents(loader)
    for one, whole, rate in zip(clips, loaded(tmp_path), rates):
        resample = torchaudio.transforms.Resample(rate, 12000)
        wanted = resample(torch.from_numpy(whole.T)).numpy().T
        assert one.shape == wanted.shape
        assert abs(one - wanted).max() <= 1e-4 * abs(wanted).max()


def test_spectrograms_of_windows(shared_daemon, flat):
    mel = {"sample_rate": RATE, "n_fft": 256, "n_mels": 20}
    transform = T.Compose([T.Slice(300, 1900), T.ToMono(), T.MelSpectrogram(**mel)])
    with open_audio(flat, transform={"audio": transform}) as loader:
        clips, _ = contents(loader)
    torchaudios = torchaudio.transforms.MelSpectrogram(**mel)
    for one, whole in zip(clips, loaded(flat)):
        wanted = torchaudios(torch.from_numpy(whole[300:1900, 0])).numpy().T
        assert one.shape == wanted.shape
        assert abs(one - wanted).max() <= 1e-4 * abs(wanted).max()


def test_stereo_windows_of_lossy_files(shared_daemon, tmp_path):
    for number, suffix in enumerate(("mp3", "ogg", "opus") * 3):
        save(tmp_path / f"{number}.{suffix}", clip(number, 20000, 2))
    whole = loaded(tmp_path)
    with open_audio(tmp_path, transform={"audio": T.RandomWindow(4000)}) as loader:
        clips, ids = contents(loader)
    for one, number in zip(clips, ids):
        assert one.shape == (4000, 2)
        starts = abs(whole[number][:-3999, 0] - one[0, 0]) < 1e-5
        assert any(abs(whole[number][at:at + 4000] - one).max() < 1e-5
                   for at in numpy.flatnonzero(starts))


def test_members_of_tar_shards(shared_daemon, tmp_path):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as tar:
        for number in range(9):
            flac = save(tmp_path / "one.flac", clip(number, channels=2))
            for suffix, content in (("flac", flac.read_bytes()),
                                    ("cls", str(number).encode())):
                info = tarfile.TarInfo(f"{number:04}.{suffix}")
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    with open_audio(path, fields=("flac", "cls"), shuffle=True) as loader:
        clips, ids = contents(loader, "flac")
    expected = [clip(number, channels=2) for number in ids]
    check(clips, expected, 1e-4)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_zip_archives(shared_daemon, tmp_path, method):
    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        for number in range(9):
            wav = save(tmp_path / "one.wav", clip(number))
            archive.write(wav, f"{'cat' if number < 5 else 'dog'}/{number}.wav")
    with open_audio(forebay.audio_folder(path), shuffle=True) as loader:
        assert loader.dataset.classes == ["cat", "dog"]
        clips, ids = contents(loader)
    check(clips, [clip(number) for number in ids], 1e-4)
    with open_audio(forebay.audio_folder(path), batch_size=9,
                    transform={"audio": T.Slice(10, 210)}) as loader:
        batch, = loader
        assert batch.label.tolist() == [0] * 5 + [1] * 4
    with pytest.raises(forebay.InvalidArgument, match="lie in class folders"):
        open_audio(forebay.audio_folder(path, labels=False))


def test_records(shared_daemon, tmp_path):
    files = [save(tmp_path / f"{number}.wav", clip(number)).read_bytes()
             for number in range(6)]
    expected = [read(tmp_path / f"{number}.wav") for number in range(6)]
    write(tmp_path / "raw.tfrecord", files)
    write(tmp_path / "ex.tfrecord", [example(sound=one) for one in files])
    for name, fields, field in (
            ("raw", None, "record"), ("raw", "audio", "record"),
            ("ex", None, "sound"), ("ex", {"sound": "wav"}, "sound")):
        with open_audio(tmp_path / f"{name}.tfrecord", fields=fields) as loader:
            check(contents(loader, field)[0], expected)


def test_single_samples(shared_daemon, flat):
    expected = loaded(flat)
    dataset = forebay.Dataset(str(flat), autostart=False)
    check([numpy.asarray(dataset[number][0]) for number in (3, 0)],
          [expected[number] for number in (3, 0)])


def test_bucketing_by_length(shared_daemon, flat):
    with open_audio(flat, bucket_by="length", shuffle=True) as loader:
        assert sorted(contents(loader)[1]) == list(range(11))
    expected = loaded(flat)
    with open_audio(flat, batch_size=1, max_tokens=20000, shuffle=True) as loader:
        for batch in loader:
            numbers = batch.sample_ids.tolist()
            assert sum(len(expected[number]) for number in numbers) <= 20000
            check(list(batch.audio), [expected[number] for number in numbers])


@pytest.mark.parametrize("options", [
    {"shuffle": True}, {"shuffle": "block"},
    {"shuffle": True, "order": "coordinated"}])
def test_each_file_comes_once_in_any_order(shared_daemon, flat, options):
    expected = loaded(flat)
    with open_audio(flat, seed=2, **options) as loader:
        clips, ids = contents(loader)
    assert sorted(ids) == list(range(11))
    check(clips, [expected[number] for number in ids])


def test_an_epoch_goes_on_where_it_was_left(daemon, flat):
    transform = {"audio": T.RandomWindow(777)}
    with open_audio(flat, shuffle=True, seed=5, transform=transform) as loader:
        clips, ids = contents(loader)
        loader.set_epoch(0)
        batches = iter(loader)
        next(batches)
        daemon.stop()
        daemon.start()
        rest, others = contents(batches)
    check(rest, clips[4:])
    assert others == ids[4:]


def test_two_jobs_read_each_file_once(daemon, tmp_path, monkeypatch):
    folder = fill(tmp_path / "many", count=120)
    size = sum(path.stat().st_size for path in folder.iterdir())
    read_bytes = []
    for seed in (1, 2):
        monkeypatch.setenv("FOREBAY_JOB", f"job {seed}")
        before = int(ctl(daemon, "cache")["total"]["source"]["bytes"])
        with open_audio(folder, batch_size=30, shuffle=True, seed=seed) as loader:
            assert sorted(contents(loader)[1]) == list(range(120))
        after = int(ctl(daemon, "cache")["total"]["source"]["bytes"])
        read_bytes.append(after - before)
    assert read_bytes[0] >= size and read_bytes[1] == 0
