"""forebay.transforms has torchvision's names, defaults and errors."""

import inspect

import numpy
import pytest
import torch
import torchvision.transforms

from forebay import transforms as T

# torchvision 0.14 has no v2, but the names and defaults of these transforms are the
# same in v1 and v2.
SAME = ["CenterCrop", "Grayscale", "Normalize", "Pad", "RandomCrop",
        "RandomHorizontalFlip", "RandomVerticalFlip"]


@pytest.mark.parametrize("name", SAME)
def test_arguments_and_defaults_are_torchvisions(name):
    # Leaves out the parameters that only arrays use.
    ours = {key: parameter for key, parameter in inspect.signature(
        getattr(T, name)).parameters.items()
            if parameter.kind is not parameter.KEYWORD_ONLY}
    theirs = inspect.signature(
        getattr(torchvision.transforms, name)).parameters
    assert list(ours) == list(theirs)
    for argument in ours:
        assert ours[argument].default == theirs[argument].default


def test_random_resized_crop_has_torchvisions_ranges():
    theirs = torchvision.transforms.RandomResizedCrop(224)
    ours = T.RandomResizedCrop(224)
    assert ours.size == theirs.size
    assert ours.scale == theirs.scale
    assert ours.ratio == theirs.ratio
    assert ours.interpolation.value == theirs.interpolation.value


@pytest.mark.parametrize("arguments", [
    {"brightness": 0.4}, {"contrast": 1.5}, {"saturation": (0.5, 2.0)},
    {"hue": 0.1}, {"hue": (-0.2, 0.3)}, {"brightness": 0},
])
def test_color_jitter_means_torchvisions_ranges(arguments):
    theirs = torchvision.transforms.ColorJitter(**arguments)
    ours = T.ColorJitter(**arguments)
    for name in ("brightness", "contrast", "saturation", "hue"):
        expected = getattr(theirs, name)
        assert getattr(ours, name) == (
            None if expected is None else tuple(expected))


@pytest.mark.parametrize("make", [
    lambda m: m.CenterCrop((1, 2, 3)),
    lambda m: m.ColorJitter(brightness=-1),
    lambda m: m.Pad((1, 2, 3)),
    lambda m: m.Pad(1, padding_mode="mirror"),
    lambda m: m.Resize((10, 20), max_size=30),
])
def test_refuses_what_torchvision_refuses(make):
    with pytest.raises((ValueError, TypeError)):
        make(torchvision.transforms)(torch.zeros(3, 40, 40))
    with pytest.raises((ValueError, TypeError)):
        make(T)


def test_refuses_what_v2_refuses():
    with pytest.raises(ValueError, match="interval"):
        T.RandomHorizontalFlip(1.5)
    with pytest.raises(ValueError, match="hue"):
        T.ColorJitter(hue=0.6)


@pytest.mark.parametrize("dtype", ["float32", "torch.float32", torch.float32,
                                   numpy.float32, numpy.dtype("float32")])
def test_dtypes_are_strings_or_numpys_or_torchs(dtype):
    assert T.ToDtype(dtype).dtype == "float32"


@pytest.mark.parametrize("dtype", ["bool", torch.complex64, "image", None])
def test_other_dtypes_are_refused(dtype):
    with pytest.raises(ValueError, match="dtype should be"):
        T.ToDtype(dtype)


def test_padding_sides():
    assert T.Pad(1).padding == (1, 1, 1, 1)
    assert T.Pad((1, 2)).padding == (1, 2, 1, 2)
    assert T.Pad((1, 2, 3, 4)).padding == (1, 2, 3, 4)


def test_compose_takes_only_transforms():
    with pytest.raises(TypeError, match="is not a transform"):
        T.Compose([lambda image: image])
    with pytest.raises(ValueError):
        T.Compose([])


def test_representation_shows_the_arguments():
    assert repr(T.Compose([T.CenterCrop(3), T.ToDtype("uint8")])) == (
        "Compose(\n      CenterCrop(size=(3, 3))"
        "\n      ToDtype(dtype='uint8', scale=False)\n)")


def test_how_images_are_decoded_is_shown():
    assert repr(T.Compose([T.Decode(scaled=True), T.ExifTranspose()])) == (
        "Compose(\n      Decode(scaled=True)\n      ExifTranspose()\n)")
    assert T.Decode().scaled is False
