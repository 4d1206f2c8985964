"""Pipelines that say how images are decoded, on real photographs."""

import io
import itertools
import pathlib
import random
import shutil
import sys
import tarfile

import numpy
import PIL.Image
import PIL.ImageOps
import pytest

import forebay
from forebay import transforms as T

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "trial"))

UPRIGHT = ROOT / "tests" / "golden" / "decode" / "upright"
PHOTOGRAPHS = 200
# The allowed differences, in levels of 255: the mean of all values, 999 of 1,000
# values, and the largest. They are a little larger than client/images.md says.
MEAN, MOST, LARGEST = 1.4, 18, 55
SHRINKING = {
    "half": [T.Resize((150, 200))],
    "quarter": [T.Resize((75, 100))],
    "eighth": [T.Resize((37, 50))],
    "bicubic": [T.Resize((70, 93), "bicubic")],
    "shorter_edge": [T.Resize(64), T.CenterCrop(64)],
    "cropped": [T.CenterCrop((301, 403)), T.Resize((61, 83))],
    "random": [T.RandomResizedCrop(48), T.RandomHorizontalFlip()],
}


@pytest.fixture(scope="module")
def photographs(shared_daemon):
    """A folder of photographs of 400 x 300 to 640 x 480 pixels."""
    import photos
    return photos.make(PHOTOGRAPHS)


def _images(folder, ops):
    with forebay.DataLoader(str(folder), 50, shuffle=False, seed=3,
                            framework="numpy", transform=T.Compose(ops)) as loader:
        return numpy.concatenate([numpy.array(images) for images, _ in loader])


@pytest.mark.parametrize("name", SHRINKING)
def test_scaled_photographs_differ_little(photographs, name):
    exact = _images(photographs, SHRINKING[name])
    scaled = _images(photographs, [T.Decode(scaled=True), *SHRINKING[name]])
    difference = numpy.abs(exact.astype(numpy.int16) - scaled)
    assert difference.any()
    mean, most = difference.mean(), numpy.quantile(difference, 0.999)
    print(f"{name}: mean {mean:.2f}, 99.9% {most:.0f}, max {difference.max()}")
    assert mean < MEAN
    assert most <= MOST
    assert difference.max() <= LARGEST


def _edge_images():
    """Returns JPEGs of every kind, whose sizes are near multiples of a block's. They
    are smooth, so that they differ little between scales."""
    chance = random.Random(2)
    sizes = (1, 2, 7, 8, 9, 16, 17, 31, 61, 131)
    for width, height in itertools.product(sizes, repeat=2):
        y, x = numpy.mgrid[0:height, 0:width]
        pixels = numpy.stack([128 + 100 * numpy.sin(x / 40 + 1) * numpy.cos(y / 37),
                              128 + 90 * numpy.cos(x / 51),
                              100 + 80 * numpy.sin((x + y) / 60)], -1)
        image = PIL.Image.fromarray(pixels.astype(numpy.uint8))
        for mode in ("RGB", "L", "CMYK"):
            exif = PIL.Image.Exif()
            exif[274] = chance.randint(1, 8)
            file = io.BytesIO()
            image.convert(mode).save(
                file, "JPEG", quality=92, subsampling=chance.randint(0, 2),
                progressive=chance.random() < 0.5, exif=exif)
            yield file.getvalue()


@pytest.mark.parametrize("turn", [[], [T.ExifTranspose()]], ids=["stored", "upright"])
def test_scaled_images_of_edge_sizes_differ_little(shared_daemon, tmp_path, turn):
    folder = tmp_path / "edges" / "a"
    folder.mkdir(parents=True)
    for number, content in enumerate(_edge_images()):
        (folder / f"{number:04}.jpg").write_bytes(content)
    for ops in ([T.RandomResizedCrop((3, 2), scale=(0.01, 1.0))], [T.Resize((1, 1))],
                [T.CenterCrop(40), T.Resize((4, 4))],
                [T.RandomVerticalFlip(), T.RandomResizedCrop((5, 4))]):
        exact = _images(folder.parent, [*turn, *ops]).astype(numpy.int16)
        scaled = _images(folder.parent, [T.Decode(scaled=True), *turn, *ops])
        assert numpy.abs(exact - scaled).max() <= 8


def test_nothing_differs_where_nothing_shrinks_by_two(photographs):
    ops = [T.RandomResizedCrop(480, scale=(0.5, 1.0)), T.RandomVerticalFlip()]
    exact = _images(photographs, ops)
    assert (_images(photographs, [T.Decode(scaled=True), *ops]) == exact).all()
    assert (_images(photographs, [T.Decode(), *ops]) == exact).all()


def test_what_says_how_to_decode_comes_first(photographs):
    for late in (T.Decode(scaled=True), T.ExifTranspose()):
        with pytest.raises(forebay.InvalidArgument, match="must come first"):
            _images(photographs, [T.Resize((8, 8)), late])


def _pillows(path, size):
    """Returns the upright image in the middle of a black square, made by Pillow."""
    image = PIL.ImageOps.exif_transpose(PIL.Image.open(path)).convert("RGB")
    square = numpy.zeros((size, size, 3), numpy.uint8)
    left, top = (size - image.width) // 2, (size - image.height) // 2
    square[top:top + image.height, left:left + image.width] = numpy.asarray(image)
    return square


@pytest.mark.usefixtures("shared_daemon")
def test_images_are_turned_as_pillow_turns_them(tmp_path):
    # Debian's Pillow rotates a TIFF twice.
    suffixes, size = ("jpg", "png", "webp"), 40
    paths = [UPRIGHT / f"{number}.{suffix}" for suffix in suffixes
             for number in range(1, 9)]
    with tarfile.open(tmp_path / "all.tar", "w") as tar:
        for number, path in enumerate(paths):
            tar.add(path, f"{number:04}{path.suffix}")
    with forebay.DataLoader(
            str(tmp_path / "all.tar"), len(paths), shuffle=False,
            fields=(";".join(suffixes),), framework="numpy",
            transform=T.Compose([T.ExifTranspose(), T.CenterCrop(size),
                                 T.ToImage("NHWC")])) as loader:
        (images,), = loader
        for path, image in zip(paths, images):
            assert (image == _pillows(path, size)).all(), path.name


@pytest.mark.usefixtures("shared_daemon")
def test_turned_images_share_no_cache_with_others(tmp_path):
    (tmp_path / "all").mkdir()
    for number in range(1, 9):
        shutil.copy(UPRIGHT / f"{number}.jpg", tmp_path / "all")
    for last in ([T.Resize((8, 8))], [T.CenterCrop(12)]):
        plain, upright = [], []
        for _ in range(3):
            plain.append(_images(tmp_path, last))
            upright.append(_images(tmp_path, [T.ExifTranspose(), *last]))
        for each in (plain, upright):
            assert (each[0] == each[1]).all()
            assert (each[0] == each[2]).all()
        # The first image is stored upright.
        assert [(a == b).all() for a, b in zip(plain[0], upright[0])] == [
            True] + [False] * 7
