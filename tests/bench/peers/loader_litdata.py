"""litdata reads its own optimized chunks, streamed from the local disk."""

import litdata
import torchvision
from photographs import MEAN, SIZE, STD

_OPS = torchvision.transforms


class _Photographs(litdata.StreamingDataset):
    """Makes images in workers, as litdata's ImageNet example does."""

    def __init__(self, folder, seed):
        super().__init__(folder, shuffle=True, seed=seed)
        self.of_pixels = _OPS.Compose([
            _OPS.RandomResizedCrop(SIZE), _OPS.RandomHorizontalFlip(),
            _OPS.ConvertImageDtype(__import__("torch").float32),
            _OPS.Normalize(MEAN, STD)])

    def __getitem__(self, index):
        sample = super().__getitem__(index)
        return self.of_pixels(sample["image"]), sample["label"]


def loader(converted, batch_size, threads, seed, **_):
    """Returns an iterable of epochs of (images, labels)."""
    return litdata.StreamingDataLoader(
        _Photographs(converted, seed), batch_size=batch_size, num_workers=threads,
        persistent_workers=True)
