#!/usr/bin/python3
"""Makes clips, and says what torchaudio makes of them.

Run it with Debian's own python3 and python3-torchaudio (0.13); it writes beside itself.

mono.bin, stereo.bin: clips of float32, (frames) and (frames, 2)
golden.txt: CLIP TOLERANCE SHAPE: OPS, where SHAPE is of the result, as 21x201, and OPS
            are those of a proto.PipelineSpec. TOLERANCE is of the greatest magnitude,
            or absolute if it ends in dB.
golden.bin: the results as float32, one behind the other, the time first
masks.txt: LENGTH PARAM P FIRST SECOND BEGIN END: what is masked of an axis where
           torch.rand gives FIRST and SECOND
"""

import pathlib

import numpy
import torch
import torchaudio
import torchaudio.transforms as A

HERE = pathlib.Path(__file__).resolve().parent
RATE = 16000
TOLERANCE = "1e-4"


def clip(frames, channels):
    """Tones that rise, clicks and noise; loud ones are followed by faint ones."""
    random = numpy.random.default_rng(7)
    time = numpy.arange(frames)[:, None] / RATE
    channel = numpy.arange(channels)[None]
    tones = numpy.sin(2 * numpy.pi * (300 + 4000 * time + 90 * channel) * time)
    noise = random.normal(0, 0.02, (frames, channels))
    made = (0.6 * tones + noise) * numpy.where(time < 0.12, 1, 1e-3)
    made[::701] += 0.3
    return made.astype("f4")


CASES = [
    ("mono", "resample { orig_freq: 16000 new_freq: 8000 }", A.Resample(16000, 8000)),
    ("mono 800", "resample { orig_freq: 16000 new_freq: 44100 }",
     A.Resample(16000, 44100)),
    ("stereo", "resample { orig_freq: 44100 new_freq: 16000 }",
     A.Resample(44100, 16000)),
    ("mono 800", "resample { orig_freq: 16000 new_freq: 15937 }",
     A.Resample(16000, 15937)),
    ("mono", "resample { orig_freq: 48000 new_freq: 22050 method: SINC_KAISER "
     "lowpass_filter_width: 16 rolloff: 0.85 beta: 8.555504641634386 }",
     A.Resample(48000, 22050, "kaiser_window", 16, 0.85, 8.555504641634386)),
    ("mono 300", "resample { orig_freq: 3 new_freq: 4 method: SINC_KAISER }",
     A.Resample(3, 4, "kaiser_window")),
    ("stereo", "to_mono {}", lambda x: x.mean(0)),
    ("mono 300", "vol { gain: 2.5 }", A.Vol(2.5)),
    ("mono 300", "vol { gain: 0.3 gain_type: POWER }", A.Vol(0.3, "power")),
    ("stereo 300", "vol { gain: -7.5 gain_type: DB }", A.Vol(-7.5, "db")),
    ("mono 1600", "spectrogram {}", A.Spectrogram()),
    ("mono", "spectrogram { n_fft: 512 win_length: 400 hop_length: 800 window: HAMMING "
     "power: 1 normalized: BY_WINDOW center: false }",
     A.Spectrogram(512, 400, 800, 0, torch.hamming_window, 1, True, center=False)),
    ("stereo 500", "spectrogram { n_fft: 99 hop_length: 40 pad: 10 window: BLACKMAN "
     "normalized: BY_FRAME_LENGTH pad_mode: CONSTANT }",
     A.Spectrogram(99, None, 40, 10, torch.blackman_window, 2, "frame_length",
                   pad_mode="constant")),
    ("mono 500", "spectrogram { n_fft: 64 win_length: 33 hop_length: 50 pad: 7 "
     "window: BARTLETT }",
     A.Spectrogram(64, 33, 50, 7, torch.bartlett_window)),
    ("stereo 700", "spectrogram { n_fft: 46 hop_length: 46 window: RECTANGULAR }",
     A.Spectrogram(46, None, 46, 0, torch.ones)),
    ("mono", "mel_spectrogram { n_mels: 64 }", A.MelSpectrogram(n_mels=64)),
    ("stereo 2000", "mel_spectrogram { spectrogram { n_fft: 512 win_length: 400 "
     "hop_length: 160 } n_mels: 40 f_min: 50 f_max: 7600 mel_scale: SLANEY "
     "norm: true }",
     A.MelSpectrogram(RATE, 512, 400, 160, 50, 7600, n_mels=40, norm="slaney",
                      mel_scale="slaney")),
    ("mono", "mel_spectrogram { spectrogram { n_fft: 1024 hop_length: 256 power: 1 } "
     "sample_rate: 22050 n_mels: 80 f_max: 8000 norm: true }",
     A.MelSpectrogram(22050, 1024, None, 256, 0, 8000, n_mels=80, power=1,
                      norm="slaney")),
    ("mono", "mel_spectrogram { n_mels: 64 } amplitude_to_db { top_db: 80 }",
     torch.nn.Sequential(A.MelSpectrogram(n_mels=64), A.AmplitudeToDB(top_db=80))),
    ("stereo 1000", "spectrogram { power: 1 } amplitude_to_db { stype: MAGNITUDE }",
     torch.nn.Sequential(A.Spectrogram(power=1), A.AmplitudeToDB("magnitude"))),
    ("mono", "mfcc {}", A.MFCC()),
    ("stereo 2000", "mfcc { mel { spectrogram { n_fft: 512 hop_length: 256 } "
     "n_mels: 23 sample_rate: 8000 } n_mfcc: 13 ortho: false log_mels: true }",
     A.MFCC(8000, 13, 2, None, True, dict(n_fft=512, hop_length=256, n_mels=23))),
]


def ops_of(text):
    """Each op in the text as one of a pipeline."""
    parts, depth, begin = [], 0, 0
    for at, character in enumerate(text):
        depth += (character == "{") - (character == "}")
        if character == "}" and depth == 0:
            parts.append(f"ops {{ {text[begin:at + 1].strip()} }}")
            begin = at + 1
    return parts


def make_results(clips):
    lines, results = [], []
    for name, text, transform in CASES:
        name, _, frames = name.partition(" ")
        ops = ops_of(text)
        wave = clips[name]
        if frames:
            wave = wave[:int(frames)]
            ops.insert(0, f"ops {{ slice {{ stop: {frames} }} }}")
        made = transform(torch.from_numpy(wave.T.copy() if wave.ndim > 1 else wave))
        if made.ndim > 1:  # the time is last, behind channels and frequencies
            made = made.permute(-1, *range(made.ndim - 1))
        results.append(made.numpy().astype("f4"))
        tolerance = "0.02dB" if "amplitude_to_db" in text else TOLERANCE
        shape = "x".join(map(str, made.shape))
        lines.append(f"{name} {tolerance} {shape}: {' '.join(ops)}\n")
    (HERE / "golden.txt").write_text("".join(lines))
    (HERE / "golden.bin").write_bytes(b"".join(r.tobytes() for r in results))


def make_masks():
    random = numpy.random.default_rng(8)
    drawn, lines = [], []
    torch_rand = torch.rand
    torch.rand = lambda count: torch.tensor([drawn.pop(0)])
    for length in (1, 5, 40, 1000):
        for param in (0, 1, 3, 27, 4000):
            for p in (1.0, 0.5, 0.05):
                draws = [numpy.float32(int(random.integers(1 << 24)) / (1 << 24))
                         for _ in range(2)]
                drawn[:] = draws
                ones = torch.ones(1, 2, length)
                made = torchaudio.functional.mask_along_axis(ones, param, 0.0, 2, p)
                masked = (made[0, 0] == 0).nonzero().flatten().tolist()
                part = (masked[0], masked[-1] + 1) if masked else (0, 0)
                assert masked == list(range(*part))
                lines.append(f"{length} {param} {p} {draws[0]!r} {draws[1]!r} "
                             f"{part[0]} {part[1]}\n")
    torch.rand = torch_rand
    (HERE / "masks.txt").write_text("".join(lines))


def main():
    clips = {"mono": clip(4000, 1)[:, 0], "stereo": clip(3000, 2)}
    for name, wave in clips.items():
        (HERE / f"{name}.bin").write_bytes(wave.tobytes())
    make_results(clips)
    make_masks()


if __name__ == "__main__":
    main()
