"""Reads epochs of windows of audio files through Forebay."""

import json
import sys
import time

import numpy

import forebay
from forebay import transforms as T

PAGE = 4096


def measure(path, frames, epochs, mel=None, batch_size=8):
    """Reads shuffled epochs, of which the first is not measured.

    Args:
      mel: arguments of MelSpectrogram, or None.

    Returns:
      A dict of samples and seconds (from iter() to the last batch).
    """
    ops = [T.RandomWindow(frames)] + ([] if mel is None else
                                      [T.MelSpectrogram(**mel)])
    loader = forebay.DataLoader(path, batch_size=batch_size, shuffle=True,
                                transform={"audio": T.Compose(ops)},
                                framework="numpy")
    for epoch in range(epochs + 1):
        if epoch == 1:
            samples, begin = 0, time.monotonic()
        for batch in loader:
            batch.audio.reshape(-1).view(numpy.uint8)[::PAGE].max()
            samples = samples + len(batch.sample_ids) if epoch else 0
    seconds = time.monotonic() - begin
    loader.close()
    return {"samples": samples, "seconds": seconds}


if __name__ == "__main__":
    print(json.dumps(measure(**json.loads(sys.argv[1]))))
