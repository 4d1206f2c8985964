"""Reads an epoch by a torch DataLoader whose dataset is map-style: Forebay's or
torchvision's. Both datasets resize. Python code in the workers crops and flips."""

import json
import sys
import time

import numpy
import torch
import torchvision

import forebay

SIZE, CROP = 256, 224


class Augmented(torch.utils.data.Dataset):
    """Crops and flips the samples of another dataset, which are C x H x W."""

    def __init__(self, dataset):
        self._dataset = dataset

    def __len__(self):
        return len(self._dataset)

    def __getitem__(self, index):
        return self._augment(*self._dataset[index])

    def _augment(self, image, label):
        y, x = numpy.random.randint(0, SIZE - CROP + 1, 2)
        image = image[:, y:y + CROP, x:x + CROP]
        if numpy.random.rand() < 0.5:
            image = image[:, :, ::-1]
        return numpy.ascontiguousarray(image), label


class Batched(Augmented):
    """An Augmented that also fetches several samples at once: torch asks for this from
    2.0 on, and so do samplers that give lists."""

    def __getitem__(self, indices):
        made = [self._augment(*sample)
                for sample in self._dataset.__getitems__(indices)]
        return (numpy.stack([image for image, _ in made]),
                numpy.array([label for _, label in made]))


def _torchvision(uri):
    ops = torchvision.transforms
    return Augmented(torchvision.datasets.ImageFolder(uri, ops.Compose([
        ops.Resize((SIZE, SIZE)), ops.PILToTensor(),
        ops.Lambda(lambda image: image.numpy())])))


def measure(uri, how, workers=0, batch_size=64):
    """Reads one epoch.

    Args:
      uri: a folder of class folders.
      how: "torchvision", "single" (Forebay's dataset, a sample at a time) or "batched".
      workers: num_workers.
      batch_size: samples in a batch.

    Returns:
      A dict of images, and seconds from iter() to the last batch.
    """
    data = torch.utils.data
    if how == "torchvision":
        dataset = _torchvision(uri)
    else:
        kind = Batched if how == "batched" else Augmented
        dataset = kind(forebay.Dataset(
            uri, transform=forebay.transforms.Resize((SIZE, SIZE))))
    order = data.RandomSampler(dataset)
    batches = data.BatchSampler(order, batch_size, drop_last=False)
    loader = (data.DataLoader(dataset, sampler=batches, batch_size=None,
                              num_workers=workers) if how == "batched" else
              data.DataLoader(dataset, batch_sampler=batches,
                              num_workers=workers))
    images = 0
    begin = time.monotonic()
    for _, labels in loader:
        images += len(labels)
    return {"images": images, "seconds": time.monotonic() - begin}


if __name__ == "__main__":
    print(json.dumps(measure(**json.loads(sys.argv[1]))))
