"""Pipelines that say how images are decoded, on real photographs."""

import pathlib
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
# A little more than client/images.md says, in levels of 255: the difference of all
# values on average, of 999 of 1,000, and of each.
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
    """A folder of photographs, 400 x 300 to 640 x 480 pixels."""
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
    """The upright image in the middle of a black square."""
    image = PIL.ImageOps.exif_transpose(PIL.Image.open(path)).convert("RGB")
    square = numpy.zeros((size, size, 3), numpy.uint8)
    left, top = (size - image.width) // 2, (size - image.height) // 2
    square[top:top + image.height, left:left + image.width] = numpy.asarray(image)
    return square


@pytest.mark.usefixtures("shared_daemon")
def test_images_are_turned_as_pillow_turns_them(tmp_path):
    # Debian's Pillow turns a TIFF twice.
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
        # The first is stored upright.
        assert [(a == b).all() for a, b in zip(plain[0], upright[0])] == [
            True] + [False] * 7
