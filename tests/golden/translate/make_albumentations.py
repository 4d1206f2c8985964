#!/usr/bin/env python3
"""Writes albumentations_VERSION.{json,npz}: what Albumentations makes.

Run it in a virtual environment of the version, such as 1.3.1 and 2.0.8:
    python -m venv env && env/bin/pip install albumentations==2.0.8
    env/bin/python tests/golden/translate/make_albumentations.py
Whatever is drawn is drawn from a range of one value.
"""

import os
import sys
import types
from unittest import mock

import golden_cases
import numpy

# ToTensorV2 needs no more of torch than this.
sys.modules["torch"] = types.SimpleNamespace(
    from_numpy=lambda array: array, Tensor=type(None))
sys.modules["torchvision.transforms"] = mock.Mock()
os.environ["NO_ALBUMENTATIONS_UPDATE"] = "1"

import albumentations as A  # noqa: E402
from albumentations.pytorch import ToTensorV2  # noqa: E402

MAJOR = int(A.__version__.split(".")[0])


def crop(height, width):
    """Returns a crop of the whole image, whose ratio is 4 to 3."""
    size = {"size": (height, width)} if MAJOR > 1 else {
        "height": height, "width": width}
    return A.RandomResizedCrop(**size, scale=(1, 1), ratio=(4 / 3, 4 / 3))


def jitter(**ranges):
    neutral = {"brightness": (1, 1), "contrast": (1, 1), "saturation": (1, 1),
               "hue": (0, 0)}
    return A.ColorJitter(**{**neutral, **ranges}, p=1)


def cases():
    to_tensor = ToTensorV2()
    return [
        ("usual", [crop(48, 48), A.HorizontalFlip(p=1), A.Normalize(),
                   to_tensor]),
        ("crop", [crop(40, 64)]),
        ("crop_up", [crop(130, 140), A.CenterCrop(48, 48), to_tensor]),
        ("resize", [A.Resize(50, 70), A.CenterCrop(40, 40),
                    A.VerticalFlip(p=1), A.ToFloat(255)]),
        ("random_crop", [A.Resize(48, 40), A.RandomCrop(48, 40)]),
        ("pad", [A.Resize(30, 31), A.PadIfNeeded(48, 48)]),
        ("normalize", [crop(48, 48), A.Normalize(
            mean=(100, 110, 120), std=(50, 60, 70), max_pixel_value=1.0)]),
        *((name, [crop(golden_cases.HEIGHT, golden_cases.WIDTH),
                  jitter(**{name: (factor, factor)}), A.CenterCrop(48, 48)])
          for name, factor in (("brightness", 1.3), ("contrast", 0.7),
                               ("saturation", 1.4))),
    ]


def main():
    images = golden_cases.inputs()
    golden_cases.write(f"albumentations_{A.__version__}", [
        (name, A.Compose(ops),
         [numpy.ascontiguousarray(A.Compose(ops)(image=image)["image"])
          for image in images])
        for name, ops in cases()])


if __name__ == "__main__":
    main()
