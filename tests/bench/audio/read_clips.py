"""Reads epochs of windows of audio files through Forebay."""

import json
import pathlib
import sys
import time

import numpy

import forebay
from forebay import transforms as T

PAGE = 4096


def measure(path, frames, epochs, mel=None, batch_size=8):
    """Reads several shuffled epochs as one, and measures the second time that it does.
    A single epoch of few files ends before it has filled the queue of prepared batches.

    Args:
      mel: arguments of MelSpectrogram, or None.

    Returns:
      A dict of samples and seconds (from iter() to the last batch).
    """
    ops = [T.RandomWindow(frames)] + ([] if mel is None else
                                      [T.MelSpectrogram(**mel)])
    files = len(list(pathlib.Path(path).iterdir()))
    order = numpy.random.default_rng(0).permutation(numpy.arange(files).repeat(epochs))
    loader = forebay.DataLoader(path, batch_size=batch_size, sampler=order.tolist(),
                                transform={"audio": T.Compose(ops)},
                                framework="numpy")
    for _ in range(2):
        samples, begin = 0, time.monotonic()
        for batch in loader:
            batch.audio.reshape(-1).view(numpy.uint8)[::PAGE].max()
            samples += len(batch.sample_ids)
        seconds = time.monotonic() - begin
    loader.close()
    return {"samples": samples, "seconds": seconds}


if __name__ == "__main__":
    print(json.dumps(measure(**json.loads(sys.argv[1]))))
