#!/usr/bin/python3
"""Makes small audio files, and says what soundfile reads in them.

Run it with Debian's own python3, python3-soundfile, lame and ffmpeg; it writes
beside itself.

golden.txt: FILE FRAMES CHANNELS SAMPLE_RATE CRC32 VALUE...
CRC32 is that of all numbers as little-endian float32, or "-" for formats that
lose some. The values are every 199th number, as hexadecimal float32.
"""

import pathlib
import subprocess
import sys
import tempfile
import zlib

import numpy as np
import soundfile

HERE = pathlib.Path(__file__).resolve().parent
SEED = 7
STEP = 199
RATE = 16000

# Name without its channels: format, subtype.
WRITTEN = {
    "u8.wav": ("WAV", "PCM_U8"),
    "s16.wav": ("WAV", "PCM_16"),
    "s24.wav": ("WAV", "PCM_24"),
    "s32.wav": ("WAV", "PCM_32"),
    "f32.wav": ("WAV", "FLOAT"),
    "f64.wav": ("WAV", "DOUBLE"),
    "ulaw.wav": ("WAV", "ULAW"),
    "ima.wav": ("WAV", "IMA_ADPCM"),
    "extensible.wav": ("WAVEX", "PCM_16"),
    "rf64.wav": ("RF64", "PCM_16"),
    "s8.flac": ("FLAC", "PCM_S8"),
    "s16.flac": ("FLAC", "PCM_16"),
    "s24.flac": ("FLAC", "PCM_24"),
    "vorbis.ogg": ("OGG", "VORBIS"),
    "opus.opus": ("OGG", "OPUS"),
}
# Files that lame writes, and its options.
LAME = {
    "cbr.mp3": ["-b", "64"],
    "vbr.mp3": ["-V", "4"],
    "abr.mp3": ["--abr", "48"],
    "low.mp3": ["-b", "16", "--resample", "16"],
    # Without a frame that says how long it is.
    "bare.mp3": ["-b", "64", "-t"],
    "bare_vbr.mp3": ["-V", "4", "-t"],
    "tag.mp3": ["-b", "64", "--tt", "a title", "--id3v2-only"],
}


def clip(seconds, channels, rate=RATE):
    """Tones that rise, and some noise; quiet in the middle."""
    draws = np.random.default_rng(SEED + channels)
    time = np.arange(int(seconds * rate)) / rate
    tones = [np.sin(2 * np.pi * (200 + 150 * c + 900 * time) * time)
             for c in range(channels)]
    noise = draws.uniform(-0.1, 0.1, (len(time), channels))
    loudness = np.where(abs(time - seconds / 2) < seconds / 10, 0.0, 0.6)
    return (np.stack(tones, axis=1) * loudness[:, None] + noise) * 0.9


def pauses(channels, rate=22050):
    """Bursts of noise. Between them, MP3 has many frames of a few bytes, where an
    encoder saves room for the next burst."""
    draws = np.random.default_rng(SEED)
    noise = draws.uniform(-0.9, 0.9, (rate, channels))
    return noise * (np.arange(rate) % (rate // 2) < rate // 12)[:, None]


def make_files():
    for channels in (1, 2):
        for name, (form, subtype) in WRITTEN.items():
            soundfile.write(HERE / f"{channels}_{name}", clip(0.04, channels),
                            RATE, format=form, subtype=subtype)
        with tempfile.NamedTemporaryFile(suffix=".wav") as source:
            soundfile.write(source.name, pauses(channels), 22050)
            subprocess.run(["lame", "--quiet", "-V", "9", source.name,
                            HERE / f"{channels}_pauses.mp3"], check=True)
            soundfile.write(source.name, clip(0.5, channels, 22050), 22050)
            for name, options in LAME.items():
                subprocess.run(["lame", "--quiet", *options, source.name,
                                HERE / f"{channels}_{name}"], check=True)
            subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", source.name,
                            "-b:a", "48k", "-bitexact",
                            HERE / f"{channels}_ffmpeg.opus"], check=True)
    odd = np.array([[np.nan], [np.inf], [-np.inf], [2.5], [-0.0]])
    soundfile.write(HERE / "1_odd.wav", odd, RATE, subtype="FLOAT")
    # libsndfile can seek in these only from their start.
    soundfile.write(HERE / "1_gsm.wav", clip(0.08, 1), RATE, subtype="GSM610")
    soundfile.write(HERE / "1_g721.wav", clip(0.08, 1), RATE, subtype="G721_32")
    soundfile.write(HERE / "2_rifx.wav", clip(0.04, 2), RATE, format="WAV",
                    subtype="PCM_16", endian="BIG")
    soundfile.write(HERE / "3_none.wav", np.zeros((0, 3)), RATE)
    soundfile.write(HERE / "4_long.ogg", clip(0.9, 4), RATE,
                    format="OGG", subtype="VORBIS")


def is_lossless(name):
    return name.endswith((".wav", ".flac"))


def main():
    make_files()
    files = sorted(path for path in HERE.iterdir() if path.suffix in
                   (".wav", ".flac", ".ogg", ".opus", ".mp3"))
    with open(HERE / "golden.txt", "w", encoding="ascii") as golden:
        for path in files:
            numbers, rate = soundfile.read(path, dtype="float32",
                                           always_2d=True)
            crc = (f"{zlib.crc32(numbers.astype('<f4').tobytes()):08x}"
                   if is_lossless(path.name) else "-")
            values = numbers.reshape(-1)[::STEP].view("<u4")
            print(path.name, *numbers.shape, rate, crc,
                  *(f"{value:08x}" for value in values), file=golden)
    total = sum(path.stat().st_size for path in files)
    print(f"{len(files)} files of {total} bytes, seed {SEED}", file=sys.stderr)


if __name__ == "__main__":
    main()
