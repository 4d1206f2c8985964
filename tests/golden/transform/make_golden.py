#!/usr/bin/python3
"""Writes the golden files of the transforms: what Pillow and torchvision make.

Run with Debian's python3-pil, python3-torch and python3-torchvision:
    tests/golden/transform/make_golden.py
All numbers in the binary files are little-endian; images are interleaved RGB.
Inputs are made by `scene`, which tests/unit/server/pipeline/transform/scene.h
repeats.
"""

import pathlib
import struct

import numpy as np
import torch
from PIL import Image
from torchvision.transforms import functional as F
from torchvision.transforms import transforms as T

HERE = pathlib.Path(__file__).parent
FILTERS = [Image.NEAREST, Image.BILINEAR, Image.BICUBIC]  # ops.h: Filter


def scene(width, height):
    """uint8 [height, width, 3]: noise on the left, slopes on the right."""
    y, x, c = np.meshgrid(np.arange(height, dtype=np.uint64),
                          np.arange(width, dtype=np.uint64),
                          np.arange(3, dtype=np.uint64), indexing="ij")
    noise = (x * 73856093) ^ (y * 19349663) ^ (c * 83492791)
    noise = ((noise * 2654435761) % 2**32) >> 24
    slope = (x * 3 + y * 5 + c * 40) % 256
    return np.where(x < width // 2, noise, slope).astype(np.uint8)


def image(width, height):
    return Image.fromarray(scene(width, height), "RGB")


def write_resize():
    sizes = [(40, 30, 20, 15), (40, 30, 33, 29), (40, 30, 57, 64),
             (41, 29, 7, 5), (7, 5, 41, 29), (64, 3, 10, 3), (64, 9, 64, 4),
             (1, 1, 5, 4), (300, 2, 3, 2), (2, 300, 2, 3), (100, 75, 17, 13),
             (9, 9, 9, 9), (33, 21, 34, 20), (120, 90, 64, 48),
             (13, 200, 20, 31)]
    with open(HERE / "resize.bin", "wb") as out:
        for in_w, in_h, out_w, out_h in sizes:
            for number, pil_filter in enumerate(FILTERS):
                result = image(in_w, in_h).resize((out_w, out_h), pil_filter)
                out.write(struct.pack("<5i", in_w, in_h, out_w, out_h, number))
                out.write(result.tobytes())


def write_aliased_resize():
    """Writes the results of torch without antialias, rounded."""
    sizes = [(40, 30, 20, 15), (40, 30, 33, 29), (40, 30, 57, 64),
             (41, 29, 7, 5), (7, 5, 41, 29), (64, 9, 64, 4), (1, 1, 5, 4),
             (300, 2, 3, 2), (2, 300, 2, 3), (100, 75, 17, 13), (9, 9, 9, 9)]
    with open(HERE / "resize_aliased.bin", "wb") as out:
        for in_w, in_h, out_w, out_h in sizes:
            pixels = torch.from_numpy(scene(in_w, in_h)).permute(2, 0, 1)
            result = torch.nn.functional.interpolate(
                pixels[None].double(), (out_h, out_w), mode="bilinear",
                align_corners=False, antialias=False)[0].round()
            out.write(struct.pack("<5i", in_w, in_h, out_w, out_h, 3))
            out.write(result.byte().permute(1, 2, 0).numpy().tobytes())


def write_color():
    picture = image(48, 36)
    cases = [(0, f) for f in (0.0, 0.3, 0.77, 1.0, 1.4, 3.0)]
    cases += [(1, f) for f in (0.0, 0.3, 0.77, 1.0, 1.4, 3.0)]
    cases += [(2, f) for f in (0.0, 0.3, 0.77, 1.0, 1.4, 3.0)]
    cases += [(3, f) for f in (-0.5, -0.31, -0.1, 0.0, 0.1, 0.25, 0.5)]
    cases += [(4, 0.0)]
    adjust = [F.adjust_brightness, F.adjust_contrast, F.adjust_saturation,
              F.adjust_hue, lambda im, _: F.rgb_to_grayscale(im, 3)]
    with open(HERE / "color.bin", "wb") as out:
        for number, factor in cases:
            factor = float(np.float32(factor))
            out.write(struct.pack("<id", number, factor))
            out.write(adjust[number](picture, factor).tobytes())


def write_pad():
    modes = ["constant", "edge", "reflect", "symmetric"]  # ops.h: PadMode
    with open(HERE / "pad.bin", "wb") as out:
        for left, top, right, bottom in [(2, 3, 4, 5), (0, 1, 0, 0),
                                         (10, 8, 9, 8)]:
            for number, mode in enumerate(modes):
                result = F.pad(image(11, 9), [left, top, right, bottom],
                               fill=(10, 20, 30) if number == 0 else 0,
                               padding_mode=mode)
                out.write(struct.pack("<5i", left, top, right, bottom, number))
                out.write(result.tobytes())


class FedDraws:
    """Feeds torch's random functions from one list of numbers in [0, 1)."""

    def __init__(self, numbers):
        self.numbers = list(numbers)

    def next(self):
        return self.numbers.pop(0)

    def uniform(self, tensor, low, high):
        low, high = np.float32(low), np.float32(high)
        value = np.float32(self.next()) * (high - low) + low
        return tensor.fill_(float(value))

    def randint(self, low, high, size):
        del size
        return torch.tensor([low + int(self.next() * (high - low))])


def write_random_resized_crop():
    rng = np.random.default_rng(1)
    sizes = [(500, 375), (375, 500), (640, 480), (32, 32), (1, 1), (2000, 20),
             (20, 2000), (301, 299), (3, 7)]
    ranges = [((0.08, 1.0), (3 / 4, 4 / 3)), ((0.5, 0.9), (0.5, 2.0)),
              ((1.0, 1.0), (1.0, 1.0)), ((0.9, 1.0), (1.5, 1.6))]
    uniform, randint = torch.Tensor.uniform_, torch.randint
    with open(HERE / "random_resized_crop.txt", "w") as out:
        for width, height in sizes:
            for scale, ratio in ranges:
                for _ in range(6):
                    numbers = [float(np.float32(int(n) * 2.0**-24))
                               for n in rng.integers(0, 2**24, 22)]
                    fed = FedDraws(numbers)
                    torch.Tensor.uniform_ = (
                        lambda t, low, high, fed=fed: fed.uniform(t, low, high))
                    torch.randint = fed.randint
                    top, left, h, w = T.RandomResizedCrop.get_params(
                        Image.new("RGB", (width, height)), list(scale),
                        list(ratio))
                    torch.Tensor.uniform_, torch.randint = uniform, randint
                    fields = [width, height, *scale, *ratio, left, top, w, h]
                    fields += numbers
                    out.write(" ".join(repr(f) for f in fields) + "\n")


def write_extents():
    """Lines: width height size max_size -> new width, new height."""
    sizes = [(500, 375), (375, 500), (1, 9), (333, 333), (640, 427), (31, 997)]
    with open(HERE / "resized_extent.txt", "w") as out:
        for width, height in sizes:
            for size, limit in [(256, 0), (224, 300), (7, 8), (1000, 1001)]:
                new_h, new_w = F._compute_resized_output_size(
                    (height, width), [size], limit or None)
                out.write(f"{width} {height} {size} {limit} "
                          f"{max(new_w, 1)} {max(new_h, 1)}\n")


def write_center_crop():
    """Lines: width height, crop's width height -> left top (may be < 0)."""
    with open(HERE / "center_crop.txt", "w") as out:
        for width, height in [(9, 12), (10, 13), (11, 14), (12, 12)]:
            for crop_w, crop_h in [(4, 5), (9, 12), (13, 3), (20, 21), (7, 15)]:
                place = np.zeros((height, width, 3), np.uint8)
                place[..., 0] = np.arange(1, width + 1)
                place[..., 1] = np.arange(1, height + 1)[:, None]
                result = np.array(F.center_crop(Image.fromarray(place),
                                                [crop_h, crop_w])).astype(int)
                y, x = np.argwhere(result[..., 0] > 0)[0]
                left = result[y, x, 0] - 1 - x
                top = result[y, x, 1] - 1 - y
                out.write(f"{width} {height} {crop_w} {crop_h} {left} {top}\n")


def bits(tensor):
    if tensor.dtype == torch.float32:
        return tensor.numpy().view(np.uint32)
    if tensor.dtype == torch.uint8:
        return tensor.numpy().astype(np.uint32)
    return tensor.view(torch.int16).numpy().view(np.uint16).astype(np.uint32)


MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def normalize(tensor, mean, std):
    mean = torch.tensor(mean, dtype=tensor.dtype).view(-1, 1)
    std = torch.tensor(std, dtype=tensor.dtype).view(-1, 1)
    return tensor.sub(mean).div(std)


def write_values():
    """Each case: uint32 bits [3][256], in the order of value_table_test.cc."""
    v = torch.arange(256, dtype=torch.uint8).repeat(3, 1)
    half, brain = torch.float16, torch.bfloat16
    unit = v.to(torch.float32).div(255)
    cases = [
        v,
        unit,
        normalize(unit, MEAN, STD),
        normalize(unit, [0.5], [0.5]),
        normalize(v.to(torch.float32), [123.675, 116.28, 103.53],
                  [58.395, 57.12, 57.375]),
        normalize(unit, MEAN, STD).to(half),
        normalize(unit, MEAN, STD).to(brain),
        v.to(half).div(255),
        v.to(brain).div(255),
        normalize(v.to(half).div(255), MEAN, STD),
        normalize(v.to(brain).div(255), MEAN, STD),
        unit.mul(255 + 1.0 - 1e-3).to(torch.uint8),
    ]
    with open(HERE / "values.bin", "wb") as out:
        for case in cases:
            out.write(bits(case.contiguous()).astype("<u4").tobytes())


def smooth(width, height):
    y, x = np.mgrid[0:height, 0:width]
    channels = [127 + 120 * np.sin(x / 9 + y / 17), 2 * x, 255 - 3 * y]
    return Image.fromarray(
        np.stack([np.clip(c, 0, 255) for c in channels], -1).astype(np.uint8))


def write_pipelines():
    """Whole pipelines on scene.png, in the order of pipeline_golden_test.cc."""
    picture = smooth(90, 70)
    picture.save(HERE / "scene.png", optimize=True)

    def to_float(pil):
        tensor = torch.from_numpy(np.array(pil)).permute(2, 0, 1)
        tensor = tensor.to(torch.float32).div(255).reshape(3, -1)
        return normalize(tensor, MEAN, STD).reshape(3, pil.height, pil.width)

    def chw(pil):
        return np.array(pil).transpose(2, 0, 1).tobytes()

    bilinear, bicubic = T.InterpolationMode.BILINEAR, T.InterpolationMode.BICUBIC
    resized = F.center_crop(F.resize(picture, [32], bilinear), [24, 24])
    mirrored = F.hflip(F.resize(picture, [30, 20], bicubic))
    turned = F.resize(F.vflip(F.hflip(picture)), [33, 47], bilinear)
    padded = F.center_crop(F.pad(picture, [5, 6, 7, 8],
                                 padding_mode="reflect"), [100, 110])
    gray = F.rgb_to_grayscale(F.resize(picture, [20, 31],
                                       T.InterpolationMode.NEAREST), 1)
    twice = F.resize(F.resize(picture, [50, 50], bilinear), [31, 44], bicubic)
    framed = F.resize(F.pad(picture, 3, fill=(9, 8, 7)), [40, 40], bilinear)
    late = F.center_crop(to_float(resized), [30, 28])
    for number, data in enumerate([
            chw(resized), to_float(mirrored).permute(1, 2, 0).contiguous(),
            chw(turned), chw(padded), np.array(gray).tobytes(), chw(twice),
            chw(framed), late.contiguous()]):
        if isinstance(data, torch.Tensor):
            data = data.numpy().astype("<f4").tobytes()
        (HERE / f"pipeline_{number}.raw").write_bytes(data)


def main():
    write_resize()
    write_aliased_resize()
    write_color()
    write_pad()
    write_random_resized_crop()
    write_extents()
    write_center_crop()
    write_values()
    write_pipelines()


if __name__ == "__main__":
    main()
