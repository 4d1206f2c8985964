"""Reads epochs of windows of audio files without Forebay: by torch's DataLoader,
soundfile, which reads only the window, and torchaudio."""

import json
import pathlib
import sys
import time

import soundfile
import torch
import torchaudio


class Windows(torch.utils.data.Dataset):
    def __init__(self, path, frames, epochs, mel):
        self._mel = None if mel is None else torchaudio.transforms.MelSpectrogram(**mel)
        self._files = sorted(pathlib.Path(path).iterdir()) * epochs
        self._frames = frames

    def __len__(self):
        return len(self._files)

    def __getitem__(self, number):
        with soundfile.SoundFile(self._files[number]) as file:
            most = file.frames - self._frames
            file.seek(int(torch.randint(most + 1, ())))
            clip = torch.from_numpy(file.read(self._frames, dtype="float32"))
        return clip if self._mel is None else self._mel(clip.T)


def measure(path, frames, epochs, workers, mel=None, batch_size=8):
    """Reads shuffled epochs as one, so that workers start once.

    Args:
      mel: arguments of torchaudio's MelSpectrogram, or None.

    Returns:
      A dict of samples and seconds (from the first batch to the last).
    """
    loader = torch.utils.data.DataLoader(
        Windows(path, frames, epochs, mel), batch_size=batch_size, shuffle=True,
        num_workers=workers)
    batches = iter(loader)
    next(batches)
    samples, begin = 0, time.monotonic()
    for batch in batches:
        samples += len(batch)
    return {"samples": samples, "seconds": time.monotonic() - begin}


if __name__ == "__main__":
    print(json.dumps(measure(**json.loads(sys.argv[1]))))
