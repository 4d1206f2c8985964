"""NVIDIA DALI on the CPU: the pipeline of its ResNet-50 example, which decodes only the
crop.

The outputs are read in place, as arrays. DALI's iterator for PyTorch would copy them,
and needs torch 2.
"""

import math

import numpy
import nvidia.dali.fn as fn
import nvidia.dali.types as types
from nvidia.dali import pipeline_def
from photographs import AREA, PIXEL_MEAN, PIXEL_STD, RATIO, SIZE


@pipeline_def
def _photographs(uri):
    encoded, labels = fn.readers.file(
        file_root=uri, random_shuffle=True, name="reader")
    images = fn.decoders.image_random_crop(
        encoded, device="cpu", output_type=types.RGB, random_area=AREA,
        random_aspect_ratio=RATIO, num_attempts=10)
    images = fn.resize(images, resize_x=SIZE, resize_y=SIZE,
                       interp_type=types.INTERP_TRIANGULAR)
    return fn.crop_mirror_normalize(
        images, dtype=types.FLOAT, output_layout="CHW", crop=(SIZE, SIZE),
        mean=PIXEL_MEAN, std=PIXEL_STD, mirror=fn.random.coin_flip()), labels


class _Epochs:
    def __init__(self, pipeline, batch_size):
        pipeline.build()
        self._pipeline = pipeline
        self._batches = math.ceil(pipeline.epoch_size("reader") / batch_size)

    def __iter__(self):
        for _ in range(self._batches):
            yield tuple(numpy.asarray(output.as_tensor())
                        for output in self._pipeline.run())


def loader(uri, batch_size, threads, seed, **_):
    """Returns an iterable of epochs of (images, labels)."""
    pipeline = _photographs(uri, batch_size=batch_size, num_threads=threads,
                            device_id=None, seed=seed + 1, prefetch_queue_depth=2)
    return _Epochs(pipeline, batch_size)
