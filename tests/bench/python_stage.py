"""A dataset as users write them: with PIL, torchvision's transforms and NumPy."""

import os
import time
import warnings

import numpy
import PIL.Image
import torch
import torchvision
from read_torch import MEAN, STD


class Photos(torch.utils.data.Dataset):
    """The photographs of class folders, loaded by Python code.

    Each sample that is made adds a byte to the counter file.
    """

    def __init__(self, root, counter):
        self.samples = torchvision.datasets.ImageFolder(root).samples
        self.counter = counter
        ops = torchvision.transforms
        self.transform = ops.Compose([
            ops.RandomResizedCrop(224), ops.RandomHorizontalFlip(), ops.ToTensor(),
            ops.Normalize(MEAN, STD)])

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, number):
        path, label = self.samples[number]
        with PIL.Image.open(path) as picture:
            image = self.transform(picture.convert("RGB"))
        noise = numpy.random.standard_normal((3, 1, 1)).astype(numpy.float32)
        image += torch.from_numpy(noise * numpy.float32(0.1))
        file = os.open(self.counter, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, b".")
        os.close(file)
        return image, label


def mirrored(image):
    """Mirrors half of the images, by NumPy."""
    pixels = numpy.asarray(image)
    if numpy.random.random() < 0.5:
        pixels = pixels[:, ::-1]
    return PIL.Image.fromarray(pixels)


def folder(root, stage):
    """Returns the photographs as torchvision's ImageFolder with torchvision's ops.

    Args:
      stage: "mirrored": the function `mirrored` is among the ops; "none": it is not.
    """
    ops = torchvision.transforms
    return torchvision.datasets.ImageFolder(root, ops.Compose([
        ops.RandomResizedCrop(224), *([mirrored] if stage == "mirrored" else []),
        ops.ToTensor(), ops.Normalize(MEAN, STD)]))


class Ready(torch.utils.data.Dataset):
    """Images that cost nothing to make."""

    def __init__(self, size):
        self.size = size
        self.image = torch.zeros(3, 224, 224)

    def __len__(self):
        return self.size

    def __getitem__(self, number):
        return self.image, number


class Waiting(torch.utils.data.Dataset):
    """Images that cost nothing to make, but arrive after a delay, as from a remote
    host."""

    SIZE = 3200
    SECONDS = 0.01

    def __init__(self):
        self.image = torch.zeros(3, 224, 224)

    def __len__(self):
        return self.SIZE

    def __getitem__(self, number):
        time.sleep(self.SECONDS)
        return self.image, number


def loader(dataset, kind, batch_size, workers):
    """Returns a DataLoader of `kind`, which is "forebay" or "torch"."""
    if kind == "torch":
        warnings.filterwarnings("ignore", "This DataLoader will create")
        return torch.utils.data.DataLoader(dataset, batch_size, shuffle=True,
                                           num_workers=workers)
    import forebay
    return forebay.DataLoader(dataset, batch_size, shuffle=True, seed=0,
                              num_workers=workers, share_key="bench",
                              name=os.environ.get("FOREBAY_JOB"))
