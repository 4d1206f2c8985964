"""The messages of a pipeline's ops (proto/job.proto), as tools/protoc writes them.

MESSAGES has the fields of each message by their names: number and type. ENUMS has the
numbers of each enum's names.
"""

from typing import Dict, Tuple

MESSAGES: Dict[str, Dict[str, Tuple[int, str]]] = {
    "AmplitudeToDB": {
        "stype": (1, "AmplitudeToDB.Scale"),
        "top_db": (2, "optional double"),
    },
    "CenterCrop": {
        "height": (1, "uint32"),
        "width": (2, "uint32"),
    },
    "ColorJitter": {
        "brightness": (1, "Range"),
        "contrast": (2, "Range"),
        "saturation": (3, "Range"),
        "hue": (4, "Range"),
    },
    "Decode": {
        "scaled": (1, "bool"),
    },
    "ExifTranspose": {},
    "FrequencyMasking": {
        "freq_mask_param": (1, "uint32"),
    },
    "Grayscale": {
        "num_output_channels": (1, "uint32"),
    },
    "MelSpectrogram": {
        "spectrogram": (1, "Spectrogram"),
        "sample_rate": (2, "uint32"),
        "n_mels": (3, "uint32"),
        "f_min": (4, "double"),
        "f_max": (5, "optional double"),
        "mel_scale": (6, "MelSpectrogram.MelScale"),
        "norm": (7, "bool"),
    },
    "Mfcc": {
        "mel": (1, "MelSpectrogram"),
        "n_mfcc": (2, "uint32"),
        "ortho": (3, "optional bool"),
        "log_mels": (4, "bool"),
    },
    "Normalize": {
        "mean": (1, "repeated double"),
        "std": (2, "repeated double"),
        "axis": (3, "optional sint32"),
    },
    "Op": {
        "resize": (1, "Resize"),
        "center_crop": (2, "CenterCrop"),
        "random_crop": (3, "RandomCrop"),
        "random_resized_crop": (4, "RandomResizedCrop"),
        "random_horizontal_flip": (5, "RandomHorizontalFlip"),
        "random_vertical_flip": (6, "RandomVerticalFlip"),
        "color_jitter": (7, "ColorJitter"),
        "grayscale": (8, "Grayscale"),
        "pad": (9, "Pad"),
        "normalize": (10, "Normalize"),
        "to_dtype": (11, "ToDtype"),
        "to_image": (12, "ToImage"),
        "user_code": (13, "UserCode"),
        "slice": (14, "Slice"),
        "random_window": (15, "RandomWindow"),
        "transpose": (16, "Transpose"),
        "decode": (18, "Decode"),
        "exif_transpose": (17, "ExifTranspose"),
        "resample": (19, "Resample"),
        "to_mono": (20, "ToMono"),
        "vol": (21, "Vol"),
        "spectrogram": (22, "Spectrogram"),
        "mel_spectrogram": (23, "MelSpectrogram"),
        "amplitude_to_db": (24, "AmplitudeToDB"),
        "mfcc": (25, "Mfcc"),
        "time_masking": (26, "TimeMasking"),
        "frequency_masking": (27, "FrequencyMasking"),
    },
    "Pad": {
        "padding": (1, "Padding"),
    },
    "Padding": {
        "left": (1, "uint32"),
        "top": (2, "uint32"),
        "right": (3, "uint32"),
        "bottom": (4, "uint32"),
        "fill": (5, "repeated double"),
        "mode": (6, "PaddingMode"),
    },
    "RandomCrop": {
        "height": (1, "uint32"),
        "width": (2, "uint32"),
        "padding": (3, "Padding"),
        "pad_if_needed": (4, "bool"),
    },
    "RandomHorizontalFlip": {
        "p": (1, "double"),
    },
    "RandomResizedCrop": {
        "height": (1, "uint32"),
        "width": (2, "uint32"),
        "scale_min": (3, "double"),
        "scale_max": (4, "double"),
        "ratio_min": (5, "double"),
        "ratio_max": (6, "double"),
        "interpolation": (7, "Interpolation"),
    },
    "RandomVerticalFlip": {
        "p": (1, "double"),
    },
    "RandomWindow": {
        "length": (1, "uint64"),
        "axis": (2, "sint32"),
        "pad_if_needed": (3, "bool"),
    },
    "Range": {
        "min": (1, "double"),
        "max": (2, "double"),
    },
    "Resample": {
        "orig_freq": (1, "uint32"),
        "new_freq": (2, "uint32"),
        "method": (3, "Resample.Method"),
        "lowpass_filter_width": (4, "uint32"),
        "rolloff": (5, "double"),
        "beta": (6, "optional double"),
        "lowest_freq": (7, "uint32"),
    },
    "Resize": {
        "height": (1, "uint32"),
        "width": (2, "uint32"),
        "max_size": (3, "uint32"),
        "interpolation": (4, "Interpolation"),
    },
    "Slice": {
        "start": (1, "sint64"),
        "stop": (2, "optional sint64"),
        "axis": (3, "sint32"),
    },
    "Spectrogram": {
        "n_fft": (1, "uint32"),
        "win_length": (2, "uint32"),
        "hop_length": (3, "uint32"),
        "pad": (4, "uint32"),
        "window": (5, "Spectrogram.Window"),
        "power": (6, "uint32"),
        "normalized": (7, "Spectrogram.Normalized"),
        "center": (8, "optional bool"),
        "pad_mode": (9, "Spectrogram.PadMode"),
    },
    "TimeMasking": {
        "time_mask_param": (1, "uint32"),
        "p": (2, "optional double"),
    },
    "ToDtype": {
        "dtype": (1, "DataType"),
        "scale": (2, "bool"),
    },
    "ToImage": {
        "layout": (1, "ToImage.Layout"),
    },
    "ToMono": {},
    "Transpose": {
        "order": (1, "repeated uint32"),
    },
    "UserCode": {
        "identity": (1, "bytes"),
        "dtype": (2, "DataType"),
        "shape": (3, "repeated uint64"),
        "finished": (4, "bool"),
    },
    "Vol": {
        "gain": (1, "double"),
        "gain_type": (2, "Vol.GainType"),
    },
}

ENUMS: Dict[str, Dict[str, int]] = {
    "AmplitudeToDB.Scale": {
        "SCALE_UNSPECIFIED": 0,
        "POWER": 1,
        "MAGNITUDE": 2,
    },
    "DataType": {
        "DATA_TYPE_UNSPECIFIED": 0,
        "UINT8": 1,
        "FLOAT16": 2,
        "BFLOAT16": 3,
        "FLOAT32": 4,
        "INT64": 5,
        "FLOAT64": 6,
        "INT32": 7,
        "INT16": 8,
        "INT8": 9,
        "BOOL": 10,
        "UINT16": 11,
        "UINT32": 12,
        "UINT64": 13,
    },
    "Interpolation": {
        "INTERPOLATION_UNSPECIFIED": 0,
        "NEAREST": 1,
        "BILINEAR": 2,
        "BICUBIC": 3,
        "BILINEAR_ALIASED": 4,
    },
    "MelSpectrogram.MelScale": {
        "MEL_SCALE_UNSPECIFIED": 0,
        "HTK": 1,
        "SLANEY": 2,
    },
    "PaddingMode": {
        "PADDING_MODE_UNSPECIFIED": 0,
        "CONSTANT": 1,
        "EDGE": 2,
        "REFLECT": 3,
        "SYMMETRIC": 4,
    },
    "Resample.Method": {
        "METHOD_UNSPECIFIED": 0,
        "SINC_HANN": 1,
        "SINC_KAISER": 2,
    },
    "Spectrogram.Normalized": {
        "NORMALIZED_UNSPECIFIED": 0,
        "NOT": 1,
        "BY_WINDOW": 2,
        "BY_FRAME_LENGTH": 3,
    },
    "Spectrogram.PadMode": {
        "PAD_MODE_UNSPECIFIED": 0,
        "CONSTANT": 1,
        "REFLECT": 3,
    },
    "Spectrogram.Window": {
        "WINDOW_UNSPECIFIED": 0,
        "HANN": 1,
        "HAMMING": 2,
        "BLACKMAN": 3,
        "BARTLETT": 4,
        "RECTANGULAR": 5,
    },
    "ToImage.Layout": {
        "LAYOUT_UNSPECIFIED": 0,
        "NCHW": 1,
        "NHWC": 2,
    },
    "Vol.GainType": {
        "GAIN_TYPE_UNSPECIFIED": 0,
        "AMPLITUDE": 1,
        "POWER": 2,
        "DB": 3,
    },
}
