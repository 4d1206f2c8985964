"""Images that need more scratch memory than a worker has of its own."""

import numpy
import PIL.Image
import PIL.ImageEnhance
import pytest

import forebay
from daemons import serving
from forebay import transforms as T
from trouble import contents, open_loader

SIZE = 64
# Each worker has 4 MiB of scratch memory of its own. All workers share 256 MiB.
MANY_WORKERS = "[memory]\nlimit = '2GiB'\n[cpu]\nworkers = 32\n"
DARKER_FIRST = T.Compose([T.ColorJitter(brightness=(0.5, 0.5)),
                          T.Resize((SIZE, SIZE)), T.ToImage()])


GRAY_FIRST = T.Compose([T.Grayscale(3), T.Resize((SIZE, SIZE)), T.ToImage()])


def small(image):
    """Returns the image resized, as (3, SIZE, SIZE)."""
    resized = image.convert("RGB").resize((SIZE, SIZE), PIL.Image.BILINEAR)
    return numpy.asarray(resized).transpose(2, 0, 1)


def darker(path):
    with PIL.Image.open(path) as image:
        return small(PIL.ImageEnhance.Brightness(image).enhance(0.5))


def gray(path):
    with PIL.Image.open(path) as image:
        return small(image.convert("L"))


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A folder of images with 24 megapixels, baseline and progressive, among small
    ones."""
    folder = tmp_path_factory.mktemp("large") / "photographs"
    folder.mkdir()
    rng = numpy.random.default_rng(1)
    for number in range(4):
        noise = rng.integers(0, 256, (40, 60, 3), dtype=numpy.uint8)
        image = PIL.Image.fromarray(noise)
        if number % 2 == 1:
            image = image.resize((6000, 4000), PIL.Image.BILINEAR)
        image.save(folder / f"{number}.jpg", progressive=number % 4 == 3)
    return folder


def configured(folder, text):
    path = folder / "forebayd.toml"
    path.write_text(text)
    return ["--config", str(path)]


def test_photographs_with_many_workers(tmp_path, large):
    expected = [darker(large / f"{number}.jpg") for number in range(4)]
    with serving(tmp_path, *configured(tmp_path, MANY_WORKERS)):
        with open_loader(large.parent, batch_size=3,
                         transform=DARKER_FIRST) as loader:
            images, ids = contents(loader)
        assert ids == list(range(4))
        numpy.testing.assert_array_equal(images, expected)
        dataset = forebay.Dataset(large.parent, transform=GRAY_FIRST)
        for number in (3, 0, 1):
            numpy.testing.assert_array_equal(
                dataset[number][0], gray(large / f"{number}.jpg"))


def test_the_error_that_is_left_names_the_setting(tmp_path, large):
    config = configured(tmp_path, MANY_WORKERS
                        + "[image]\nscratch_limit = '64MiB'\n")
    with serving(tmp_path, *config):
        with open_loader(large.parent, transform=DARKER_FIRST) as loader:
            with pytest.raises(forebay.ForebayError) as caught:
                contents(loader)
    assert "1.jpg" in str(caught.value)
    assert "image.scratch_limit" in str(caught.value)
