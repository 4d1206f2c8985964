"""The same seed gives the same bytes, whatever instructions the CPU has."""

import hashlib
import pathlib
import platform
import shutil

import numpy
import PIL.Image
import pytest

import forebay
from daemons import serving
from forebay import transforms as T
from trouble import ctl

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden" / "decode"
# The values of cpu.simd, widest first.
WIDTHS = (["sve2_128", "sve_256", "sve2", "sve", "neon", "none"]
          if platform.machine() == "aarch64" else
          ["avx3_dl", "avx3", "avx2", "sse4", "ssse3", "none"])
# Variables that make libjpeg-turbo and the C library treat the CPU as an older one.
OLDER = [("JSIMD_FORCEAVX2", "1"), ("JSIMD_FORCESSE2", "1"),
         ("JSIMD_FORCENONE", "1"),
         ("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX512F,-AVX2,-FMA,-ERMS")]
EPOCHS = 2


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """A dataset of small images of every kind, and of larger photographs."""
    folder = tmp_path_factory.mktemp("images")
    for kind in ("jpg", "png"):
        (folder / kind).mkdir()
        for path in GOLDEN.glob(f"*.{kind}"):
            # Leaves out damaged images, which cannot be decoded.
            if path.stem not in ("420_damaged", "rgb8_without_end"):
                shutil.copy(path, folder / kind)
    (folder / "large").mkdir()
    with PIL.Image.open(GOLDEN / "444.jpg") as image:
        for number, (size, sampling) in enumerate([
                ((640, 480), "4:2:0"), ((501, 377), "4:2:2"),
                ((1200, 900), "4:4:4"), ((777, 1111), "4:2:0")]):
            image.resize(size).save(
                folder / "large" / f"{number}.jpg", subsampling=sampling,
                progressive=number % 2 == 1)
    return folder


def _pipelines():
    random_crop = [T.RandomResizedCrop((72, 104)), T.RandomHorizontalFlip(),
                   T.ToImage()]
    for dtype in ("float32", "float16", "bfloat16"):
        yield random_crop + [
            T.ToDtype(dtype, scale=True),
            T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]
    yield random_crop
    yield [T.Decode(scaled=True), T.ExifTranspose(), T.RandomResizedCrop((40, 50)),
           T.ToImage()]
    yield [T.ColorJitter(0.4, 0.4, 0.4, 0.1),
           T.Resize((61, 83), interpolation="bicubic"),
           T.RandomVerticalFlip(), T.ToImage("NHWC")]
    yield [T.Resize(40, interpolation="nearest"), T.RandomCrop(32, padding=4),
           T.Grayscale(3), T.ToDtype("float16", scale=True),
           T.ToImage("NHWC")]


def _digests(images):
    """Returns a digest of all batches for each pipeline, from the running
    daemon."""
    found = []
    for ops in _pipelines():
        digest = hashlib.sha256()
        with forebay.DataLoader(
                images, batch_size=8, shuffle=True, seed=7,
                transform=T.Compose(ops), framework="numpy",
                autostart=False) as loader:
            for _ in range(EPOCHS):
                for batch in loader:
                    digest.update(numpy.ascontiguousarray(batch.image))
                    digest.update(numpy.ascontiguousarray(batch.label))
        found.append(digest.hexdigest())
    assert len(set(found)) == len(found)
    return found


def _through(folder, images, cpu):
    """Runs a daemon with the table [cpu] of `cpu`. Returns (the SIMD target, the
    digests)."""
    config = folder / "forebayd.toml"
    config.write_text("[cpu]\n" + cpu)
    with serving(folder, "--config", str(config)) as daemon:
        used = ctl(daemon, "status")["simd_target"].lower()
        return used, _digests(images)


@pytest.fixture(scope="module")
def usual(tmp_path_factory, images):
    """The SIMD target and the digests of a daemon that picks its own width."""
    return _through(tmp_path_factory.mktemp("usual"), images, "workers = 1\n")


@pytest.mark.parametrize("width", WIDTHS)
def test_vector_width_does_not_show(width, usual, images, tmp_path):
    widest, expected = usual
    if WIDTHS.index(width) < WIDTHS.index(widest):
        pytest.skip(f"this CPU has no {width}")
    used, found = _through(tmp_path, images,
                           f"workers = 2\nsimd = '{width}'\n")
    assert used in ([width] if width != "none" else ["scalar", "emu128"])
    assert found == expected


@pytest.mark.parametrize("name,value", OLDER)
def test_libraries_code_paths_do_not_show(name, value, usual, images, tmp_path,
                                          monkeypatch):
    monkeypatch.setenv(name, value)
    assert _through(tmp_path, images, "workers = 8\n")[1] == usual[1]
