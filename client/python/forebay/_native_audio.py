"""The C interface of client/forebay.h to ops of audio, one to one."""

from __future__ import annotations

import ctypes as c

CONSTANT, REFLECT = 1, 3  # padding modes


class Resampling(c.Structure):
    _fields_ = [
        ("orig_freq", c.c_uint32), ("new_freq", c.c_uint32),
        ("method", c.c_int), ("lowpass_filter_width", c.c_uint32),
        ("rolloff", c.c_double), ("beta", c.POINTER(c.c_double)),
        ("lowest_freq", c.c_uint32),
    ]


class Spectrogram(c.Structure):
    _fields_ = [
        ("n_fft", c.c_uint32), ("win_length", c.c_uint32),
        ("hop_length", c.c_uint32), ("pad", c.c_uint32),
        ("window", c.c_int), ("power", c.c_uint32),
        ("normalized", c.c_int), ("center", c.c_int), ("pad_mode", c.c_int),
    ]


class MelSpectrogram(c.Structure):
    _fields_ = [
        ("spectrogram", Spectrogram),
        ("sample_rate", c.c_uint32), ("n_mels", c.c_uint32),
        ("f_min", c.c_double), ("f_max", c.POINTER(c.c_double)),
        ("mel_scale", c.c_int), ("norm", c.c_int),
    ]


_U32, _F64, _INT, _PTR = c.c_uint32, c.c_double, c.c_int, c.c_void_p
_MEL = c.POINTER(MelSpectrogram)

# The result and arguments of each function, as in _native.
PROTOTYPES = {
    "forebay_pipeline_add_resample": (_INT, [_PTR, c.POINTER(Resampling)]),
    "forebay_pipeline_add_to_mono": (_INT, [_PTR]),
    "forebay_pipeline_add_vol": (_INT, [_PTR, _F64, _INT]),
    "forebay_pipeline_add_spectrogram": (_INT, [_PTR, c.POINTER(Spectrogram)]),
    "forebay_pipeline_add_mel_spectrogram": (_INT, [_PTR, _MEL]),
    "forebay_pipeline_add_amplitude_to_db": (_INT, [_PTR, _INT, c.POINTER(_F64)]),
    "forebay_pipeline_add_mfcc": (_INT, [_PTR, _MEL, _U32, _INT, _INT]),
    "forebay_pipeline_add_time_masking": (_INT, [_PTR, _U32, _F64]),
    "forebay_pipeline_add_frequency_masking": (_INT, [_PTR, _U32]),
}
