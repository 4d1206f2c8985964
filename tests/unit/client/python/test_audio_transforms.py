"""forebay.transforms has torchaudio's names, defaults and errors."""

import inspect
import warnings

import pytest
import torch
import torchaudio.transforms

from forebay import _torchaudio, transforms as T
from forebay._counterpart import NoCounterpart

SAME = ["AmplitudeToDB", "FrequencyMasking", "MFCC", "MelSpectrogram", "Resample",
        "Spectrogram", "TimeMasking", "Vol"]


@pytest.mark.parametrize("name", SAME)
def test_arguments_and_defaults_are_torchaudios(name):
    ours = {key: parameter for key, parameter in inspect.signature(
        getattr(T, name)).parameters.items()
            if parameter.kind is not parameter.KEYWORD_ONLY}
    theirs = {key: parameter for key, parameter in inspect.signature(
        getattr(torchaudio.transforms, name)).parameters.items()
              if parameter.kind is not parameter.KEYWORD_ONLY and
              key != "return_complex"}  # this argument has no effect
    assert list(ours) == list(theirs)
    other = {"orig_freq", "onesided", "window_fn"}
    for argument in set(ours) - other:
        assert ours[argument].default == theirs[argument].default


@pytest.mark.parametrize("make", [
    lambda m: m.Vol(-1.0), lambda m: m.AmplitudeToDB(top_db=-1.0),
    lambda m: m.MFCC(n_mfcc=200), lambda m: m.MFCC(dct_type=3),
    lambda m: m.MFCC(norm="slaney"),
    lambda m: m.MelSpectrogram(norm="ortho"), lambda m: m.TimeMasking(3, p=1.5),
    lambda m: m.MelSpectrogram(mel_scale="bark"),
])
def test_refuses_what_torchaudio_refuses(make):
    with pytest.raises((ValueError, TypeError)):
        make(torchaudio.transforms)
    with pytest.raises((ValueError, TypeError)):
        make(T)


@pytest.mark.parametrize("make", [
    lambda: T.Resample(new_freq=0), lambda: T.Resample(2.5, 1),
    lambda: T.Resample(1, 2, rolloff=0), lambda: T.Resample(1, 2, rolloff=float("nan")),
    lambda: T.Resample(1, 2, "linear"), lambda: T.Resample(1, 2, lowest_freq=-1),
    lambda: T.Spectrogram(power=None), lambda: T.Spectrogram(n_fft=0),
    lambda: T.Spectrogram(n_fft=1 << 32), lambda: T.Spectrogram(pad=-1),
    lambda: T.Spectrogram(window_fn="kaiser"), lambda: T.Spectrogram(onesided=False),
    lambda: T.Spectrogram(wkwargs={"beta": 3}), lambda: T.Spectrogram(normalized=2),
    lambda: T.Spectrogram(pad_mode="edge"), lambda: T.MelSpectrogram(f_min="low"),
    lambda: T.Vol(float("nan")), lambda: T.AmplitudeToDB(top_db=float("nan")),
    lambda: T.AmplitudeToDB("volts"), lambda: T.TimeMasking(-1),
    lambda: T.FrequencyMasking(True),
])
def test_refuses_what_has_no_meaning(make):
    with pytest.raises((ValueError, TypeError)):
        make()


def test_windows_are_names_or_torchs_functions():
    for name, function in (
            ("hann", torch.hann_window), ("bartlett", torch.bartlett_window),
            ("hamming", torch.hamming_window), ("ones", torch.ones),
            ("blackman", torch.blackman_window)):
        assert T.Spectrogram(window_fn=function).window_fn == name
        assert T.Spectrogram(window_fn=name).window_fn == name


def test_torchaudios_transforms_are_translated():
    A = torchaudio.transforms
    with warnings.catch_warnings():
        # Torchaudio warns about mel bands without frequency bins.
        warnings.simplefilter("ignore")
        theirs = torch.nn.Sequential(
            A.Resample(44100, 16000, "kaiser_window", 16, 0.9, 8.5), A.Vol(-3, "db"),
            torch.nn.Sequential(A.MelSpectrogram(
                16000, 512, 400, 160, 20, 7600, 3, 80, torch.hamming_window, 1, True,
                center=False, norm="slaney", mel_scale="slaney")),
            A.AmplitudeToDB("magnitude", 80), A.TimeMasking(30, p=0.2),
            A.FrequencyMasking(12), A.MFCC(8000, 13, 2, None, True))
    assert _torchaudio.owns(theirs) and _torchaudio.owns(A.Vol(1))
    assert repr(_torchaudio.translate(theirs)) == repr(T.Compose([
        T.Resample(44100, 16000, "kaiser_window", 16, 0.9, 8.5), T.Vol(-3, "db"),
        T.MelSpectrogram(16000, 512, 400, 160, 20.0, 7600.0, 3, 80, "hamming", 1, True,
                         None, False, norm="slaney", mel_scale="slaney"),
        T.AmplitudeToDB("magnitude", 80), T.TimeMasking(30, p=0.2),
        T.FrequencyMasking(12),
        T.MFCC(8000, 13, 2, None, True, dict(
            win_length=400, hop_length=200, f_max=4000.0))]))


def test_whole_numbers_may_be_floats_as_in_torchaudio():
    A = torchaudio.transforms
    for theirs, ours in [
            (A.Resample(44100.0, 16000.0), T.Resample(44100, 16000)),
            (A.TimeMasking(30.0), T.TimeMasking(30)),
            (A.FrequencyMasking(9.0), T.FrequencyMasking(9))]:
        assert repr(_torchaudio.translate(theirs)) == repr(T.Compose([ours]))


@pytest.mark.parametrize("make, why", [
    (lambda m: m.Resample(8, 4, rolloff=1.5), "Resample: rolloff should be"),
    (lambda m: m.TimeMasking(30.5), "TimeMasking: time_mask_param should be"),
    (lambda m: m.Spectrogram(power=None), "power=None"),
    (lambda m: m.Spectrogram(power=3.0), "power=3.0"),
    (lambda m: m.Spectrogram(onesided=False), "onesided"),
    (lambda m: m.Spectrogram(pad_mode="replicate"), "pad_mode='replicate'"),
    (lambda m: m.Spectrogram(window_fn=torch.kaiser_window), "its window is none"),
    (lambda m: m.GriffinLim(), "GriffinLim"),
    (lambda m: torch.nn.Sequential(m.Vol(1), torch.nn.ReLU()), "ReLU"),
])
def test_others_have_no_counterpart(make, why):
    with pytest.raises(NoCounterpart, match=why):
        _torchaudio.translate(make(torchaudio.transforms))


def test_other_libraries_are_not_torchaudios():
    for other in (None, abs, torch.nn.ReLU(), torch.nn.Sequential(), T.Vol(1),
                  torch.nn.Sequential(torch.nn.ReLU())):
        assert not _torchaudio.owns(other)
