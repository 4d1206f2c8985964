"""Transforms of audio, with torchaudio.transforms' names, defaults and numerics.

Each transform takes float32 arrays whose first axis is the time. These are clips of
shape (frames) or (frames, channels), or the results of spectrograms.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Union

from . import _transform_values as _values
from ._op_classes import ToMono  # noqa: F401  Pickles of older clients name it here.
from ._transform import AudioTransform

_METHODS = {"sinc_interpolation": "SINC_HANN", "sinc_interp_hann": "SINC_HANN",
            "kaiser_window": "SINC_KAISER", "sinc_interp_kaiser": "SINC_KAISER"}
_GAIN_TYPES = ("amplitude", "power", "db")
_WINDOWS = {"hann": "HANN", "hamming": "HAMMING", "blackman": "BLACKMAN",
            "bartlett": "BARTLETT", "rectangular": "RECTANGULAR",
            "ones": "RECTANGULAR"}
_NORMALIZED = {False: "NOT", True: "BY_WINDOW", "window": "BY_WINDOW",
               "frame_length": "BY_FRAME_LENGTH"}
_PAD_MODES = ("constant", "reflect")
_MEL_SCALES = ("htk", "slaney")
_STYPES = ("power", "magnitude")


def _count(value: Any, name: str, smallest: int = 1) -> int:
    number = _values.index(value, name)
    if not smallest <= number < 1 << 32:
        raise ValueError(f"{name} should be at least {smallest}, and fit in 32 bits, "
                         f"not {value!r}")
    return number


def _or_none(value: Any, name: str) -> Optional[int]:
    return None if value is None else _count(value, name)


def _real(value: Any, name: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} should be a number, not {value!r}") from None


def _window(window_fn: Any) -> str:
    """Returns the name of a window: "hann" for "hann", torch.hann_window and the
    like."""
    name = getattr(window_fn, "__name__", window_fn)
    if isinstance(name, str) and name.endswith("_window"):
        name = name[:-len("_window")]
    return _values.choice(name, _WINDOWS, "window_fn")


class Resample(AudioTransform):
    """Changes the sample rate of clips, by windowed sinc interpolation.

    Without orig_freq, a clip's file tells the clip's rate. The daemon then plans memory
    by the first clip's rate. If other clips have lower rates, and no RandomWindow
    follows, set lowest_freq to the lowest rate.
    """

    def __init__(self, orig_freq: Optional[int] = None, new_freq: int = 16000,
                 resampling_method: str = "sinc_interpolation",
                 lowpass_filter_width: int = 6, rolloff: float = 0.99,
                 beta: Optional[float] = None, *,
                 lowest_freq: Optional[int] = None) -> None:
        self.orig_freq = _or_none(orig_freq, "orig_freq")
        self.new_freq = _count(new_freq, "new_freq")
        self.resampling_method = _values.choice(
            resampling_method, _METHODS, "resampling_method")
        self.lowpass_filter_width = _count(lowpass_filter_width,
                                           "lowpass_filter_width")
        self.rolloff = _real(rolloff, "rolloff")
        if not 0 < self.rolloff <= 1:
            raise ValueError("rolloff should be above 0 and at most 1, not "
                             f"{rolloff!r}")
        self.beta = None if beta is None else _real(beta, "beta")
        self.lowest_freq = _or_none(lowest_freq, "lowest_freq")

    def _op(self) -> Dict[str, Any]:
        return {"resample": {
            "orig_freq": self.orig_freq or 0, "new_freq": self.new_freq,
            "method": _METHODS[self.resampling_method],
            "lowpass_filter_width": self.lowpass_filter_width,
            "rolloff": self.rolloff, "beta": self.beta,
            "lowest_freq": self.lowest_freq or 0}}


class Vol(AudioTransform):
    """Multiplies by a gain, and clamps to -1 to 1."""

    def __init__(self, gain: float, gain_type: str = "amplitude") -> None:
        self.gain = _real(gain, "gain")
        self.gain_type = _values.choice(gain_type, _GAIN_TYPES, "gain_type")
        if gain_type != "db" and not self.gain >= 0:
            raise ValueError("If gain_type = amplitude or power, gain must be "
                             "positive.")

    def _op(self) -> Dict[str, Any]:
        return {"vol": {"gain": self.gain, "gain_type": self.gain_type.upper()}}


class Spectrogram(AudioTransform):
    """Computes the powers or magnitudes of clips' short-time Fourier transform.

    (frames) becomes (times, n_fft // 2 + 1), and (frames, channels) becomes
    (times, channels, n_fft // 2 + 1). window_fn is "hann", "hamming", "blackman",
    "bartlett", "rectangular", or torch's function of that name.
    """

    def __init__(self, n_fft: int = 400, win_length: Optional[int] = None,
                 hop_length: Optional[int] = None, pad: int = 0,
                 window_fn: Any = "hann", power: float = 2.0,
                 normalized: Union[bool, str] = False,
                 wkwargs: Optional[Mapping[str, Any]] = None, center: bool = True,
                 pad_mode: str = "reflect", onesided: Optional[bool] = None) -> None:
        self.n_fft = _count(n_fft, "n_fft")
        self.win_length = _or_none(win_length, "win_length")
        self.hop_length = _or_none(hop_length, "hop_length")
        self.pad = _count(pad, "pad", 0)
        self.window_fn = _window(window_fn)
        if power not in (1, 2):
            raise ValueError(f"power should be 1 or 2, not {power!r}")
        self.power = int(power)
        self.normalized = _values.choice(normalized, _NORMALIZED, "normalized")
        if wkwargs:
            raise ValueError(f"wkwargs should be empty, not {wkwargs!r}: windows have "
                             "torch's own defaults")
        self.center = bool(center)
        self.pad_mode = _values.choice(pad_mode, _PAD_MODES, "pad_mode")
        if onesided not in (None, True):
            raise ValueError("onesided should be True: of clips, which are real, the "
                             "other side is the same")

    def _message(self) -> Dict[str, Any]:
        return {
            "n_fft": self.n_fft, "win_length": self.win_length or 0,
            "hop_length": self.hop_length or 0, "pad": self.pad,
            "window": _WINDOWS[self.window_fn], "power": self.power,
            "normalized": _NORMALIZED[self.normalized], "center": self.center,
            "pad_mode": self.pad_mode.upper()}

    def _op(self) -> Dict[str, Any]:
        return {"spectrogram": self._message()}


class MelSpectrogram(AudioTransform):
    """Computes a Spectrogram in n_mels bands: (frames) becomes (times, n_mels), and
    (frames, channels) becomes (times, channels, n_mels).

    The other arguments are Spectrogram's. norm is None or "slaney".
    """

    def __init__(self, sample_rate: int = 16000, n_fft: int = 400,
                 win_length: Optional[int] = None, hop_length: Optional[int] = None,
                 f_min: float = 0.0, f_max: Optional[float] = None, pad: int = 0,
                 n_mels: int = 128, window_fn: Any = "hann", power: float = 2.0,
                 normalized: Union[bool, str] = False,
                 wkwargs: Optional[Mapping[str, Any]] = None, center: bool = True,
                 pad_mode: str = "reflect", onesided: Optional[bool] = None,
                 norm: Optional[str] = None, mel_scale: str = "htk") -> None:
        self.sample_rate = _count(sample_rate, "sample_rate")
        self.spectrogram = Spectrogram(
            n_fft, win_length, hop_length, pad, window_fn, power, normalized, wkwargs,
            center, pad_mode, onesided)
        self.n_mels = _count(n_mels, "n_mels")
        self.f_min = _real(f_min, "f_min")
        self.f_max = None if f_max is None else _real(f_max, "f_max")
        if norm not in (None, "slaney"):
            raise ValueError(f'norm must be one of None or "slaney", not {norm!r}')
        self.norm = norm
        self.mel_scale = _values.choice(mel_scale, _MEL_SCALES, "mel_scale")

    def _message(self) -> Dict[str, Any]:
        return {
            "spectrogram": self.spectrogram._message(),
            "sample_rate": self.sample_rate, "n_mels": self.n_mels,
            "f_min": self.f_min, "f_max": self.f_max,
            "mel_scale": self.mel_scale.upper(), "norm": self.norm is not None}

    def _op(self) -> Dict[str, Any]:
        return {"mel_spectrogram": self._message()}


class AmplitudeToDB(AudioTransform):
    """Converts powers or magnitudes to decibels. Values that are more than top_db below
    the sample's largest value are raised to that bound."""

    def __init__(self, stype: str = "power", top_db: Optional[float] = None) -> None:
        self.stype = _values.choice(stype, _STYPES, "stype")
        self.top_db = None if top_db is None else _real(top_db, "top_db")
        if self.top_db is not None and not self.top_db >= 0:
            raise ValueError("top_db must be positive value")

    def _op(self) -> Dict[str, Any]:
        return {"amplitude_to_db": {"stype": self.stype.upper(), "top_db": self.top_db}}


class MFCC(AudioTransform):
    """Computes mel-frequency cepstral coefficients: (frames) becomes (times, n_mfcc),
    and (frames, channels) becomes (times, channels, n_mfcc).

    melkwargs are arguments of MelSpectrogram. norm is "ortho" or None.
    """

    def __init__(self, sample_rate: int = 16000, n_mfcc: int = 40, dct_type: int = 2,
                 norm: Optional[str] = "ortho", log_mels: bool = False,
                 melkwargs: Optional[Mapping[str, Any]] = None) -> None:
        if dct_type != 2:
            raise ValueError(f"DCT type not supported: {dct_type!r}")
        if norm not in (None, "ortho"):
            raise ValueError(f'norm must be either "ortho" or None, not {norm!r}')
        self.mel = MelSpectrogram(sample_rate, **(melkwargs or {}))
        self.n_mfcc = _count(n_mfcc, "n_mfcc")
        if self.n_mfcc > self.mel.n_mels:
            raise ValueError("Cannot select more MFCC coefficients than # mel bins")
        self.norm = norm
        self.log_mels = bool(log_mels)

    def _op(self) -> Dict[str, Any]:
        return {"mfcc": {"mel": self.mel._message(), "n_mfcc": self.n_mfcc,
                         "ortho": self.norm is not None, "log_mels": self.log_mels}}


class TimeMasking(AudioTransform):
    """Sets a run of successive times to 0. The run is shorter than time_mask_param, and
    at most the share p of all times. Its place is random, and the same for all
    channels."""

    def __init__(self, time_mask_param: int, iid_masks: bool = False,
                 p: float = 1.0) -> None:
        del iid_masks  # each sample always has its own masks
        self.time_mask_param = _count(time_mask_param, "time_mask_param", 0)
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"The value of p must be between 0.0 and 1.0 ({p} given).")
        self.p = float(p)

    def _op(self) -> Dict[str, Any]:
        return {"time_masking": {
            "time_mask_param": self.time_mask_param, "p": self.p}}


class FrequencyMasking(AudioTransform):
    """Sets a run of successive elements of the last axis to 0. The run is shorter than
    freq_mask_param. Its place is random, and the same for all channels."""

    def __init__(self, freq_mask_param: int, iid_masks: bool = False) -> None:
        del iid_masks  # each sample always has its own masks
        self.freq_mask_param = _count(freq_mask_param, "freq_mask_param", 0)

    def _op(self) -> Dict[str, Any]:
        return {"frequency_masking": {"freq_mask_param": self.freq_mask_param}}
