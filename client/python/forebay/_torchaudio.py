"""Reads torchaudio's transforms by class names and attributes.

This module does not import torchaudio: a transform's attributes tell its arguments.
torchaudio's shape (channel, time) is (time, channel) here. Its (channel, frequency,
time) is (time, channel, frequency).
"""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, List

from . import transforms as T
from ._counterpart import NoCounterpart, comes_from

_PACKAGE = "torchaudio.transforms"


def _hann(part: float) -> float:
    return 0.5 - 0.5 * math.cos(2 * math.pi * part)


def _hamming(part: float) -> float:
    return 0.54 - 0.46 * math.cos(2 * math.pi * part)


def _blackman(part: float) -> float:
    return (0.42 - 0.5 * math.cos(2 * math.pi * part) +
            0.08 * math.cos(4 * math.pi * part))


def _bartlett(part: float) -> float:
    return 1 - abs(2 * part - 1)


_WINDOWS: Dict[str, Callable[[float], float]] = {
    "hann": _hann, "hamming": _hamming, "blackman": _blackman, "bartlett": _bartlett,
    "rectangular": lambda part: 1.0}


def _window_of(op: Any) -> str:
    """Returns the name of the function that made a spectrogram's window. The op keeps
    only the window's values."""
    values = op.window.tolist()
    size = len(values)
    for name, value_at in _WINDOWS.items():
        if size == 1 or all(abs(value - value_at(i / size)) < 1e-4
                            for i, value in enumerate(values)):
            return name
    raise NoCounterpart("its window is none of torch's, or has arguments")


def _arguments(op: Any) -> Dict[str, Any]:
    """Returns the arguments that Spectrogram and MelSpectrogram share."""
    if op.power not in (1, 2):
        raise NoCounterpart(f"power={op.power!r}, not 1 or 2")
    if op.onesided is False:
        raise NoCounterpart("onesided=False")
    if op.pad_mode not in ("constant", "reflect"):
        raise NoCounterpart(f"pad_mode={op.pad_mode!r}")
    return {"n_fft": op.n_fft, "win_length": op.win_length,
            "hop_length": op.hop_length, "pad": op.pad, "window_fn": _window_of(op),
            "power": op.power, "normalized": op.normalized, "center": op.center,
            "pad_mode": op.pad_mode}


def _spectrogram(op: Any) -> T.Transform:
    return T.Spectrogram(**_arguments(op))


def _mel_arguments(op: Any) -> Dict[str, Any]:
    scale = op.mel_scale
    return {**_arguments(op.spectrogram), "n_mels": scale.n_mels,
            "f_min": scale.f_min, "f_max": scale.f_max, "norm": scale.norm,
            "mel_scale": scale.mel_scale}


def _mel_spectrogram(op: Any) -> T.Transform:
    return T.MelSpectrogram(_whole(op.mel_scale.sample_rate), **_mel_arguments(op))


def _mfcc(op: Any) -> T.Transform:
    mel = op.MelSpectrogram
    return T.MFCC(_whole(mel.mel_scale.sample_rate), op.n_mfcc, op.dct_type, op.norm,
                  op.log_mels, _mel_arguments(mel))


def _whole(number: Any) -> Any:
    """Converts a float with an integer value to an integer, because torchaudio also
    takes such floats."""
    return int(number) if isinstance(number, float) and (
        number.is_integer()) else number


def _resample(op: Any) -> T.Transform:
    return T.Resample(_whole(op.orig_freq), _whole(op.new_freq), op.resampling_method,
                      op.lowpass_filter_width, op.rolloff, op.beta)


_COUNTERPARTS: Dict[str, Callable[[Any], T.Transform]] = {
    "AmplitudeToDB": lambda op: T.AmplitudeToDB(op.stype, op.top_db),
    "FrequencyMasking": lambda op: T.FrequencyMasking(_whole(op.mask_param)),
    "MFCC": _mfcc,
    "MelSpectrogram": _mel_spectrogram,
    "Resample": _resample,
    "Spectrogram": _spectrogram,
    "TimeMasking": lambda op: T.TimeMasking(_whole(op.mask_param), p=op.p),
    "Vol": lambda op: T.Vol(op.gain, op.gain_type),
}


def _is_sequence(transform: Any) -> bool:
    return (comes_from(transform, "torch.nn") and
            type(transform).__name__ == "Sequential")


def owns(transform: Any) -> bool:
    """Whether a transform is torchaudio's, or a Sequential that begins with one."""
    if _is_sequence(transform):
        return any(owns(op) for op in list(transform)[:1])
    return comes_from(transform, _PACKAGE)


def _flatten(transform: Any) -> List[Any]:
    if not _is_sequence(transform):
        return [transform]
    return [op for part in transform for op in _flatten(part)]


def translate(transform: Any) -> T.Transform:
    """Returns the counterpart of a transform that torchaudio owns.

    Raises:
      NoCounterpart: an op has no counterpart; the message names it and says why.
    """
    done: List[T.Transform] = []
    for op in _flatten(transform):
        name = type(op).__name__
        if not comes_from(op, _PACKAGE) or name not in _COUNTERPARTS:
            raise NoCounterpart(name)
        try:
            done.append(_COUNTERPARTS[name](op))
        except NoCounterpart as why:
            raise NoCounterpart(f"{name}: {why.args[0]}") from None
        except (TypeError, ValueError) as why:  # torchaudio allows more values
            raise NoCounterpart(f"{name}: {why}") from None
    return T.Compose(done)
