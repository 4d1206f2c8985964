"""SPDL: threads in the trainer each make whole batches, as in SPDL's example of loading
images. FFmpeg decodes, crops and scales."""

import math
import random

import spdl.io
import torch
from photographs import AREA, PIXEL_MEAN, PIXEL_STD, RATIO, SIZE, listed
from spdl.pipeline import PipelineBuilder

_MEAN, _STD = (torch.tensor(values).view(3, 1, 1)
               for values in (PIXEL_MEAN, PIXEL_STD))
_BATCHES_AHEAD = 3


def _crop(width, height, rng):
    """Returns (left, top, width, height), drawn as RandomResizedCrop draws them."""
    for _ in range(10):
        area = width * height * rng.uniform(*AREA)
        ratio = math.exp(rng.uniform(*map(math.log, RATIO)))
        wide, high = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if wide <= width and high <= height:
            return (rng.randint(0, width - wide), rng.randint(0, height - high),
                    wide, high)
    wide = min(width, round(height * RATIO[1]))
    high = min(height, round(width / RATIO[0]))
    return (width - wide) // 2, (height - high) // 2, wide, high


def _frames(path, rng):
    packets = spdl.io.demux_image(path)
    left, top, wide, high = _crop(packets.width, packets.height, rng)
    return spdl.io.decode_packets(packets, filter_desc=(
        f"crop={wide}:{high}:{left}:{top},"
        f"scale={SIZE}:{SIZE}:flags=bilinear," +
        ("hflip," if rng.random() < 0.5 else "") + "format=pix_fmts=rgb24"))


def _batch(samples):
    rng = random.Random()
    pixels = spdl.io.to_torch(spdl.io.convert_frames(
        [_frames(path, rng) for path, _ in samples]))
    images = torch.empty((len(samples), 3, SIZE, SIZE))
    torch.sub(pixels.permute(0, 3, 1, 2), _MEAN, out=images)
    return images.div_(_STD), torch.tensor([label for _, label in samples])


class _Epochs:
    def __init__(self, samples, batch_size, threads):
        self._samples = samples
        self._batch_size = batch_size
        self._threads = threads

    def __iter__(self):
        order = random.sample(self._samples, len(self._samples))
        pipeline = (
            PipelineBuilder().add_source(order).aggregate(self._batch_size)
            .pipe(_batch, concurrency=self._threads)
            .add_sink(_BATCHES_AHEAD).build(num_threads=self._threads))
        with pipeline.auto_stop():
            yield from pipeline


def loader(uri, batch_size, threads, **_):
    """Returns an iterable of epochs of (images, labels)."""
    torch.set_num_threads(1)  # torch itself gets no threads besides the pipeline's
    return _Epochs(list(zip(*listed(uri))), batch_size, threads)
