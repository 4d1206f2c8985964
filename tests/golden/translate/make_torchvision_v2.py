#!/usr/bin/python3
"""Writes torchvision_v2.{json,npz}: what torchvision's v2 makes of tensors.

Debian has no torchvision with v2. Its Python code runs with Debian's torch, but
for a few names that newer ones have; so unpack the wheel of torchvision 0.16.2:
    pip download --no-deps torchvision==0.16.2 && unzip torchvision-*.whl -d DIR
    tests/golden/translate/make_torchvision_v2.py DIR
"""

import importlib
import sys
import types

import torch

import draws
import golden_cases

SEED, EPOCH = 0, 0


def _module(name, **names):
    module = types.ModuleType(name)
    vars(module).update(names)
    sys.modules[name] = module
    parent, _, child = name.rpartition(".")
    if parent in sys.modules:
        setattr(sys.modules[parent], child, module)
    return module


def load_v2(folder):
    """torchvision.transforms.v2 of an unpacked wheel, without its C++ parts."""
    torch._C.DisableTorchFunctionSubclass = torch._C.DisableTorchFunction
    _module("torch._dynamo", allow_in_graph=lambda f: f,
            is_compiling=lambda: False)
    _module("torch.compiler", is_compiling=lambda: False)
    _module("torch.backends.cpu", get_cpu_capability=lambda: "DEFAULT")
    _module("torchvision", __path__=[f"{folder}/torchvision"])
    _module("torchvision.ops", masks_to_boxes=None)
    _module("torchvision.ops.boxes", box_iou=None)
    return importlib.import_module("torchvision.transforms.v2")


def cases(v2):
    """(name, ops that end in a tensor of one size)."""
    def jitter(*arguments):
        return [v2.ToImage(), v2.ColorJitter(*arguments), v2.CenterCrop(48)]

    fixed = v2.CenterCrop(48)
    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    return [
        ("recommended", [
            v2.ToImage(), v2.RandomResizedCrop(48, antialias=True),
            v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(mean, std)]),
        ("pil", [
            v2.Resize(60), fixed, v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True)]),
        ("resize", [v2.ToImage(), v2.Resize((48, 40), antialias=True)]),
        ("resize_up", [v2.ToImage(), v2.Resize((140, 150), antialias=True),
                       v2.CenterCrop(48)]),
        ("resize_aliased", [v2.ToImage(), v2.Resize((48, 40), antialias=False)]),
        ("resize_warn", [v2.ToImage(), v2.Resize(64), fixed]),
        ("resize_nearest", [v2.ToImage(), v2.Resize(
            (48, 40), interpolation=v2.InterpolationMode.NEAREST_EXACT)]),
        ("crop_aliased", [v2.ToImage(), v2.RandomResizedCrop(
            (40, 56), antialias=False)]),
        ("crop", [v2.PILToTensor(), v2.RandomCrop(64, padding=6, fill=9),
                  v2.RandomVerticalFlip(0.5)]),
        ("pad", [v2.ToImage(), v2.Pad((3, 5), padding_mode="reflect"), fixed]),
        ("grayscale", [v2.ToImage(), v2.Grayscale(3), fixed]),
        ("brightness", jitter(0.5)),
        ("contrast", jitter(0, 0.5)),
        ("saturation", jitter(0, 0, 0.5)),
        ("late", [v2.ToImage(), v2.ConvertImageDtype(torch.float32),
                  v2.Normalize([0.5], [0.25]), v2.RandomHorizontalFlip(), fixed,
                  v2.Identity()]),
        ("to_tensor", [v2.Compose([fixed, v2.ToTensor()])]),
    ]


def run(ops, image, sample):
    """Each op with the draws of the daemon's, which are as many up to the last
    that draws."""
    for number, op in enumerate(ops):
        with draws.drawn(SEED, EPOCH, sample, number):
            image = op(image)
    return image.as_subclass(torch.Tensor).numpy()


def main():
    v2 = load_v2(sys.argv[1])
    import PIL.Image
    images = [PIL.Image.fromarray(pixels) for pixels in golden_cases.inputs()]
    golden_cases.write("torchvision_v2", [
        (name, v2.Compose(ops), [run(ops, image, sample)
                                 for sample, image in enumerate(images)])
        for name, ops in cases(v2)])


if __name__ == "__main__":
    main()
