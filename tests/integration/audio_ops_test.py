"""Ops of audio on waveforms in .npy files, compared with torchaudio's."""

import numpy
import pytest
import torch
import torchaudio.transforms as A

import forebay
from forebay import transforms as T
from ragged_test import write_tar

LENGTHS = [900 + (577 * i) % 1301 for i in range(23)]


def clips_of(lengths, channels=None, seed=4):
    random = numpy.random.default_rng(seed)
    made = []
    for number, length in enumerate(lengths):
        time = numpy.arange(length)
        tone = numpy.sin(time * (0.02 + 0.01 * number) * (1 + time / length))
        shape = (length,) if channels is None else (length, channels)
        noise = random.normal(0, 0.05, shape)
        wave = noise + (tone if channels is None else tone[:, None]) / 2
        made.append(wave.astype("f4"))
    return made


def open_tar(path, transform, **more):
    more.setdefault("framework", "numpy")
    return forebay.DataLoader(path, fields=("npy",), transform={"npy": transform},
                              **more)


def made(path, transform, **more):
    """Returns each sample's array, in the dataset's order."""
    with open_tar(path, transform, batch_size=8, **more) as loader:
        found = {}
        for batch in loader:
            found.update(zip(map(int, batch.sample_ids), batch[0]))
    return [found[number] for number in sorted(found)]


def refusal(error, path, transform, **more):
    with pytest.raises(error) as caught:
        made(path, transform, **more)
    return str(caught.value)


def torchaudios(transform, clip):
    """Returns torchaudio's result for a clip, with time as the first dimension."""
    found = transform(torch.from_numpy(numpy.ascontiguousarray(clip.T))).numpy()
    return numpy.moveaxis(found, -1, 0)


def assert_close(got, wanted, part=1e-4):
    assert got.dtype == numpy.float32 and got.shape == wanted.shape
    assert abs(got - wanted).max() <= part * abs(wanted).max()


SAME = [
    (T.Resample(16000, 11025), A.Resample(16000, 11025)),
    (T.Resample(8000, 16000, "kaiser_window", 16, 0.9, 12.0),
     A.Resample(8000, 16000, "kaiser_window", 16, 0.9, 12.0)),
    (T.ToMono(), lambda x: x.mean(0) if x.ndim > 1 else x),
    (T.Vol(1.7), A.Vol(1.7)),
    (T.Vol(0.2, "power"), A.Vol(0.2, "power")),
    (T.Vol(-3, "db"), A.Vol(-3, "db")),
    (T.Spectrogram(), A.Spectrogram()),
    (T.Spectrogram(512, 400, 160, 30, torch.hamming_window, 1, True, None, False),
     A.Spectrogram(512, 400, 160, 30, torch.hamming_window, 1, True, None, False)),
    (T.MelSpectrogram(n_mels=64), A.MelSpectrogram(n_mels=64)),
    (T.MelSpectrogram(22050, 512, None, 200, 30, 9000, n_mels=40, norm="slaney",
                      mel_scale="slaney"),
     A.MelSpectrogram(22050, 512, None, 200, 30, 9000, n_mels=40, norm="slaney",
                      mel_scale="slaney")),
    (T.MFCC(n_mfcc=20, melkwargs={"n_mels": 40}),
     A.MFCC(n_mfcc=20, melkwargs={"n_mels": 40})),
    (T.MFCC(norm=None, log_mels=True, melkwargs={"n_mels": 64}),
     A.MFCC(norm=None, log_mels=True, melkwargs={"n_mels": 64})),
]


@pytest.mark.parametrize("channels", [None, 2])
@pytest.mark.parametrize("ours, theirs", SAME, ids=lambda op: type(op).__name__)
def test_ops_are_torchaudios(shared_daemon, tmp_path, ours, theirs, channels):
    clips = clips_of(LENGTHS, channels)
    path = write_tar(tmp_path / "a.tar", clips)
    found = made(path, ours, shuffle=True)
    assert len(found) == len(clips)
    for got, clip in zip(found, clips):
        assert_close(got, torchaudios(theirs, clip))


@pytest.mark.parametrize("channels", [None, 2])
def test_decibels_are_torchaudios(shared_daemon, tmp_path, channels):
    clips = clips_of(LENGTHS, channels)
    path = write_tar(tmp_path / "a.tar", clips)
    ours = T.Compose([T.MelSpectrogram(n_mels=64), T.AmplitudeToDB(top_db=80)])
    theirs = torch.nn.Sequential(A.MelSpectrogram(n_mels=64),
                                 A.AmplitudeToDB(top_db=80))
    for got, clip in zip(made(path, ours), clips):
        assert abs(got - torchaudios(theirs, clip)).max() <= 0.02


def test_torchaudios_own_transforms_are_taken(shared_daemon, tmp_path):
    clips = clips_of(LENGTHS, 2)
    path = write_tar(tmp_path / "a.tar", clips)
    theirs = torch.nn.Sequential(
        A.Resample(16000, 8000), A.Vol(0.5), A.MelSpectrogram(
            8000, 256, n_mels=32, window_fn=torch.blackman_window, norm="slaney"))
    for got, clip in zip(made(path, theirs), clips):
        assert_close(got, torchaudios(theirs, clip))
    for op, why in ((A.Spectrogram(power=None), "Spectrogram: power=None, not 1 or 2"),
                    (A.MelScale(), "MelScale"), (A.LFCC(), "LFCC")):
        both = torch.nn.Sequential(A.Vol(1), op)
        assert refusal(forebay.Unsupported, path, both) == (
            f"transform: that of npy has no counterpart in forebay.transforms ({why})")


def test_a_whole_pipeline(shared_daemon, tmp_path):
    """Windows of clips, their features in torchaudio's layout, and batches as torch
    makes them."""
    clips = clips_of(LENGTHS, 2)
    path = write_tar(tmp_path / "a.tar", clips)
    transform = T.Compose([
        T.RandomWindow(800), T.Resample(16000, 8000), T.MelSpectrogram(
            8000, 128, n_mels=20), T.AmplitudeToDB(top_db=80), T.Transpose((1, 2, 0)),
        T.Normalize([-30], [20])])
    with open_tar(path, transform, batch_size=23, framework="torch", seed=3,
                  shuffle=True) as loader:
        batch, = loader
    assert batch.npy.shape == (23, 2, 20, 7) and batch.npy.dtype == torch.float32
    with open_tar(path, T.RandomWindow(800), batch_size=23, framework="torch", seed=3,
                  shuffle=True) as loader:
        windows, = loader
    theirs = torch.nn.Sequential(
        A.Resample(16000, 8000), A.MelSpectrogram(8000, 128, n_mels=20))
    for got, window in zip(batch.npy, windows.npy):
        wanted = A.AmplitudeToDB(top_db=80)(theirs(window.T))
        assert ((got * 20 - 30) - wanted).abs().max() <= 0.02


def test_other_types_are_cast(shared_daemon, tmp_path):
    clips = [(clip * 32767).astype("i2") for clip in clips_of(LENGTHS)]
    path = write_tar(tmp_path / "a.tar", clips)
    transform = T.Compose([T.ToDtype("float32", scale=True), T.Spectrogram(128)])
    for got, clip in zip(made(path, transform), clips):
        assert_close(got, torchaudios(A.Spectrogram(128),
                                      clip.astype("f4") / numpy.float32(32767)))
    assert refusal(forebay.InvalidArgument, path, T.Spectrogram()) == (
        f"{tmp_path}: npy: transform 1 (Spectrogram): takes float32, not int16 (n,): "
        'put ToDtype("float32") before it')


def test_masks_are_drawn_once_a_sample(shared_daemon, tmp_path):
    ones = [numpy.ones((length // 10, 2, 40), "f4") for length in LENGTHS]
    path = write_tar(tmp_path / "a.tar", ones)
    transform = T.Compose([T.TimeMasking(30), T.FrequencyMasking(12)])
    found = made(path, transform, seed=5)
    for other in (made(path, transform, seed=5, shuffle=True),
                  made(path, transform, seed=5, sharing="off")):
        for one, two in zip(found, other):
            numpy.testing.assert_array_equal(one, two)
    assert any(not numpy.array_equal(*pair)
               for pair in zip(found, made(path, transform, seed=6)))
    for array in found:
        numpy.testing.assert_array_equal(array[:, 0], array[:, 1])
        times = (array[:, 0] == 0).all(1).sum()
        bins = (array[:, 0] == 0).all(0).sum()
        assert times < 30 and bins < 12


def test_rows_of_npy_files(shared_daemon, tmp_path):
    rows = numpy.stack(clips_of([1000] * 9))
    numpy.save(tmp_path / "rows.npy", rows)
    transform = T.Compose([T.MFCC(n_mfcc=13, melkwargs={"n_mels": 23}),
                           T.Transpose((1, 0))])
    with forebay.DataLoader(tmp_path / "rows.npy", batch_size=9, framework="numpy",
                            transform={"array": transform}) as loader:
        batch, = loader
    theirs = A.MFCC(n_mfcc=13, melkwargs={"n_mels": 23})(torch.from_numpy(rows))
    assert_close(batch.array, theirs.numpy())


def test_features_decide_which_come_together(shared_daemon, tmp_path):
    """The length by which samples are batched is that of the ops' result."""
    clips = clips_of(LENGTHS)
    path = write_tar(tmp_path / "a.tar", clips)
    times = [1 + length // 64 for length in LENGTHS]
    with open_tar(path, T.MelSpectrogram(n_fft=128, n_mels=16),
                  max_tokens=100) as loader:
        batches = [list(map(int, batch.sample_ids)) for batch in loader]
    assert sorted(number for batch in batches for number in batch) == list(range(23))
    for batch in batches:
        assert sum(times[number] for number in batch) <= 100


def test_short_clips(shared_daemon, tmp_path):
    path = write_tar(tmp_path / "a.tar", clips_of([900, 150, 800]))
    assert refusal(forebay.InvalidArgument, path, T.Spectrogram()) == (
        f"sample 1 (0001) of {tmp_path}: a.tar: npy: has 150 frames, too few to "
        'reflect 200 at each end: pad it, or take pad_mode "constant"')
    found = made(path, T.Compose([T.RandomWindow(600, pad_if_needed=True),
                                  T.Spectrogram()]))
    assert {array.shape for array in found} == {(4, 201)}
    found = made(path, T.Spectrogram(pad_mode="constant"))
    assert [len(array) for array in found] == [5, 1, 5]


def test_refusals(shared_daemon, tmp_path):
    path = write_tar(tmp_path / "a.tar", clips_of([900, 1000]))
    where = f"{tmp_path}: npy: transform "
    for transform, said in (
            (T.Resample(), "1 (Resample): the array does not tell its sample rate: "
             "give orig_freq"),
            (T.Resample(96000, 95999), "1 (Resample): from 96000 to 95999 Hz needs too "
             "large a table: take rates with a greater common divisor, a smaller "
             "lowpass_filter_width or a greater rolloff"),
            (T.Vol(1e9), "1 (Vol): gain is 1e+09, not 0 to 1e+06"),
            (T.Spectrogram(65521), "1 (Spectrogram): n_fft is 65521, whose prime "
             "factor 65521 makes it slow: take a number of smaller factors"),
            (T.Spectrogram(400, 500), "1 (Spectrogram): win_length is 500, not 1 to "
             "400"),
            (T.MelSpectrogram(f_max=-1.0), "1 (MelSpectrogram): f_max is -1, not 1 to "
             "1.67772e+07"),
            (T.AmplitudeToDB(top_db=float("inf")), "1 (AmplitudeToDB): top_db is inf, "
             "not 0 to 1e+06"),
            (T.TimeMasking(3), "1 (TimeMasking): takes spectrograms, not arrays of one "
             "axis"),
            (T.Compose([T.ToMono(), T.Grayscale()]), "2 (Grayscale): is for images, "
             "not for arrays")):
        assert refusal(forebay.InvalidArgument, path, transform) == where + said
    with pytest.raises(forebay.InvalidArgument) as caught:
        with forebay.DataLoader(path, fields=("npy",), transform=T.ToMono()) as loader:
            list(loader)
    assert "ToMono" in str(caught.value)
