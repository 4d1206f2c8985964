"""Compares translated pipelines with the libraries from which they are translated, op
by op.

torchvision's v1 runs here, on 200 photographs, with the daemon's draws. The outputs of
torchvision's v2 and of Albumentations are stored in tests/golden/translate.
"""

import json
import pathlib
import sys
import warnings

import numpy
import PIL.Image
import pytest
import torch
import torchvision
from torchvision import transforms as V

import forebay
from forebay import _translate
from forebay import transforms as T

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "translate"
sys.path[:0] = [str(GOLDEN), str(ROOT / "tools" / "trial")]

PHOTOGRAPHS = 200
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
FIXED = [V.CenterCrop(224), V.ToTensor()]
MODES = V.InterpolationMode
PIPELINES = {
    "resize": [V.Resize(256), *FIXED],
    "resize_to_max": [V.Resize(256, max_size=300), *FIXED],
    "resize_both": [V.Resize((200, 260)), V.ToTensor()],
    "resize_up": [V.Resize((700, 690)), *FIXED],
    "resize_bicubic": [V.Resize(230, MODES.BICUBIC), *FIXED],
    "resize_nearest": [V.Resize(230, MODES.NEAREST), *FIXED],
    "center_crop": FIXED,
    "center_crop_pads": [V.CenterCrop((500, 702)), V.ToTensor()],
    "random_crop": [V.RandomCrop(200), V.ToTensor()],
    "random_crop_pads": [V.RandomCrop((330, 400), 40, fill=(1, 20, 255)),
                         V.ToTensor()],
    "random_crop_reflects": [V.RandomCrop((481, 641), pad_if_needed=True,
                                          padding_mode="reflect"), V.ToTensor()],
    "random_resized_crop": [V.RandomResizedCrop(224), V.ToTensor()],
    "random_resized_crop_small": [
        V.RandomResizedCrop((96, 128), (0.1, 0.4), (0.5, 2.0), MODES.BICUBIC),
        V.ToTensor()],
    "horizontal_flip": [V.RandomHorizontalFlip(), *FIXED],
    "vertical_flip": [V.RandomVerticalFlip(0.3), *FIXED],
    "late_flip": [*FIXED, V.RandomHorizontalFlip()],
    "brightness": [V.ColorJitter(0.4), *FIXED],
    "contrast": [V.ColorJitter(contrast=0.4), *FIXED],
    "saturation": [V.ColorJitter(saturation=(0.2, 1.8)), *FIXED],
    "hue": [V.ColorJitter(hue=0.5), *FIXED],
    "color_jitter": [V.ColorJitter(0.4, 0.4, 0.4, 0.1), *FIXED],
    "grayscale": [V.Grayscale(), *FIXED],
    "grayscale_3": [V.Grayscale(3), *FIXED],
    "pad": [V.Pad((3, 9), fill=7), V.CenterCrop((470, 640)), V.ToTensor()],
    "pad_symmetric": [V.Pad(30, padding_mode="symmetric"),
                      V.CenterCrop((480, 640)), V.ToTensor()],
    "normalize": [*FIXED, V.Normalize(MEAN, STD)],
    "pil_to_tensor": [V.CenterCrop(224), V.PILToTensor()],
    "convert_dtype": [V.CenterCrop(224), V.PILToTensor(),
                      V.ConvertImageDtype(torch.float32)],
    "late_crop": [V.Resize((230, 230)), V.ToTensor(), V.Normalize(MEAN, STD),
                  V.CenterCrop(240), V.RandomCrop(200)],
    "nested": [torch.nn.Sequential(V.RandomResizedCrop(160)),
               V.Compose([V.RandomHorizontalFlip(), V.ToTensor()]),
               V.Normalize(MEAN, STD)],
}


def one_level(transform):
    """Returns the size of one level of 255 in the output."""
    level = 1.0
    for op in transform.transforms:
        if isinstance(op, T.ToDtype) and op.dtype != "uint8" and op.scale:
            level /= 255
        if isinstance(op, T.Normalize):
            level /= min(op.std)
    return level * 1.0001


def flat(ops):
    for op in ops:
        if isinstance(op, (V.Compose, torch.nn.Sequential)):
            yield from flat(getattr(op, "transforms", op))
        else:
            yield op


def placed(ops):
    """Yields (op, the index of its first counterpart in the translation) for each
    op."""
    ops = list(flat(ops))
    for number, op in enumerate(ops):
        before = _translate.translate(V.Compose(ops[:number])).transform
        yield op, len(before.transforms) if before else 0


def theirs(ops, image, sample):
    """Runs each op with the draws of its counterpart. `ops` come from
    placed()."""
    from draws import drawn
    for op, place in ops:
        with drawn(0, 0, sample, place):
            image = op(image)
    return image


@pytest.fixture(scope="module")
def photographs(shared_daemon):
    """An ImageFolder of real photographs, 400 x 300 to 640 x 480 pixels."""
    import photos
    dataset = torchvision.datasets.ImageFolder(str(photos.make(PHOTOGRAPHS)))
    assert len(dataset) == PHOTOGRAPHS
    return dataset


@pytest.fixture(scope="module")
def pixels(photographs):
    return [image for image, _ in photographs]


@pytest.mark.parametrize("name", PIPELINES)
def test_within_one_level_of_torchvision(photographs, pixels, name):
    ops = PIPELINES[name]
    photographs.transform = V.Compose(ops)
    level = one_level(_translate.translate(photographs.transform).transform)
    worst, sample, ops = 0.0, 0, list(placed(ops))
    with forebay.DataLoader(photographs, 50) as loader:
        for images, _ in loader:
            for got in images:
                wanted = theirs(ops, pixels[sample], sample)
                assert got.shape == wanted.shape
                assert got.dtype == wanted.dtype
                worst = max(worst, (got.double() - wanted.double()).abs().max()
                            .item())
                sample += 1
    assert sample == PHOTOGRAPHS
    print(f"{name}: {worst / level:.3f} levels")
    assert worst <= level


def made(told):
    """Returns the pipeline that a golden file describes."""
    if isinstance(told, list):
        return [made(part) for part in told]
    if not isinstance(told, dict) or not told:
        return told
    if "class" not in told:
        kind, values = type("Enumeration", (), {}), told
    else:
        kind, values = type(told["class"], (), {}), told["attributes"]
        kind.__module__ = told["module"]
    thing = kind()
    for name, value in values.items():
        setattr(thing, name, made(value))
    return thing


def golden():
    for path in sorted(GOLDEN.glob("*.json")):
        for case in json.loads(path.read_text()):
            yield pytest.param(path.with_suffix(".npz"), case,
                               id=f"{path.stem}-{case['name']}")


@pytest.fixture(scope="module")
def parts_of_photographs(shared_daemon, tmp_path_factory):
    """A folder of class folders with the golden files' inputs."""
    from golden_cases import inputs
    folder = tmp_path_factory.mktemp("parts")
    (folder / "class").mkdir()
    for number, image in enumerate(inputs()):
        PIL.Image.fromarray(image).save(folder / "class" / f"{number}.png")
    return folder


@pytest.mark.parametrize("kept,case", golden())
def test_within_one_level_of_what_is_kept(parts_of_photographs, kept, case):
    pipeline = made(case["pipeline"])
    level = one_level(_translate.translate(pipeline).transform)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loader = forebay.DataLoader(parts_of_photographs, 4, transform=pipeline,
                                    framework="numpy")
    with loader, numpy.load(kept) as outputs:
        (images, _), = loader
        for number, got in enumerate(images):
            wanted = outputs[f"{case['name']}.{number}"]
            assert got.shape == wanted.shape
            assert got.dtype == wanted.dtype
            difference = numpy.abs(got.astype(float) - wanted.astype(float))
            assert difference.max() <= level, difference.max() / level
