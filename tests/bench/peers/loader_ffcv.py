"""FFCV: its own file, read through the page cache, and the pipeline of its ImageNet
example. Only the normalisation is moved to the CPU."""

import numpy
from ffcv.fields.decoders import IntDecoder, RandomResizedCropRGBImageDecoder
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import (NormalizeImage, RandomHorizontalFlip, Squeeze, ToTensor,
                             ToTorchImage)
from photographs import AREA, PIXEL_MEAN, PIXEL_STD, RATIO, SIZE


def loader(converted, batch_size, threads, seed, **_):
    """Returns an iterable of epochs of (images, labels)."""
    image = [
        RandomResizedCropRGBImageDecoder((SIZE, SIZE), scale=AREA, ratio=RATIO),
        RandomHorizontalFlip(),
        NormalizeImage(numpy.array(PIXEL_MEAN), numpy.array(PIXEL_STD),
                       numpy.float32),
        ToTensor(), ToTorchImage()]
    return Loader(
        converted, batch_size=batch_size, num_workers=threads,
        order=OrderOption.RANDOM, os_cache=True, drop_last=False, seed=seed,
        pipelines={"image": image, "label": [IntDecoder(), ToTensor(), Squeeze()]})
