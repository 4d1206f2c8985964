"""Images of every supported format have Pillow's pixels, from folders, tar shards and
manifests."""

import pathlib
import shutil
import tarfile
import warnings

import numpy
import PIL.Image
import pytest

import forebay

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden" / "decode"
IN_FOLDERS = (".jpg", ".png", ".webp", ".tif", ".bmp", ".ppm", ".pgm")
EVERY = (*IN_FOLDERS, ".gif", ".pbm")


def golden(suffixes):
    return sorted(path for path in GOLDEN.iterdir() if path.suffix in suffixes)


def pixels(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return numpy.asarray(PIL.Image.open(path).convert("RGB"))


def expect_pillows_pixels(dataset, paths):
    assert len(dataset) == len(paths)
    for number, path in enumerate(paths):
        assert (dataset[number][0] == pixels(path)).all(), path.name


@pytest.mark.usefixtures("shared_daemon")
def test_in_a_folder(tmp_path):
    (tmp_path / "data" / "all").mkdir(parents=True)
    for path in golden(EVERY):
        shutil.copy(path, tmp_path / "data" / "all")
    dataset = forebay.Dataset(tmp_path / "data", autostart=False)
    # In a folder, GIFs are not images, as in ImageFolder.
    expect_pillows_pixels(dataset, golden(IN_FOLDERS))


@pytest.mark.usefixtures("shared_daemon")
def test_in_tar_shards(tmp_path):
    with tarfile.open(tmp_path / "all.tar", "w") as tar:
        for number, path in enumerate(golden(EVERY)):
            tar.add(path, f"{number:04}{path.suffix}")
    dataset = forebay.Dataset(tmp_path / "all.tar", autostart=False,
                              fields=("jpg;png;webp;gif;tif;bmp;ppm;pgm;pbm",))
    expect_pillows_pixels(dataset, golden(EVERY))


@pytest.mark.usefixtures("shared_daemon")
def test_in_a_manifest(tmp_path):
    for path in golden(EVERY):
        shutil.copy(path, tmp_path)
    table = "".join(f"{path.name},0\n" for path in golden(EVERY))
    (tmp_path / "list.csv").write_text("image,label\n" + table)
    dataset = forebay.Dataset(forebay.manifest(tmp_path / "list.csv", label="label"),
                              autostart=False)
    expect_pillows_pixels(dataset, golden(EVERY))


@pytest.mark.usefixtures("shared_daemon")
def test_what_is_not_read_is_named(tmp_path):
    (tmp_path / "data" / "all").mkdir(parents=True)
    shutil.copy(GOLDEN / "unread" / "float.tif", tmp_path / "data" / "all")
    dataset = forebay.Dataset(tmp_path / "data", autostart=False)
    with pytest.raises(forebay.DataError) as caught:
        dataset[0]
    assert str(caught.value).endswith(
        "all/float.tif: is a TIFF image with floating-point samples, which are "
        "not read")


@pytest.mark.usefixtures("shared_daemon")
def test_avif_is_as_pillow_has_it(tmp_path):
    # Debian's Pillow cannot read AVIF. PNGs hold what another Pillow has read.
    listed = (GOLDEN / "avif.txt").read_text().split()
    with tarfile.open(tmp_path / "all.tar", "w") as tar:
        for number, name in enumerate(listed):
            tar.add(GOLDEN / "avif" / f"{name}.avif", f"{number:04}.avif")
            shutil.copy(GOLDEN / "avif" / f"{name}.avif", tmp_path)
    (tmp_path / "list.csv").write_text("image,label\n" + "".join(
        f"{name}.avif,0\n" for name in listed))
    for dataset in (
            forebay.Dataset(tmp_path / "all.tar", autostart=False, fields=("avif",)),
            forebay.Dataset(forebay.manifest(tmp_path / "list.csv", label="label"),
                            autostart=False)):
        assert len(dataset) == len(listed)
        for number, name in enumerate(listed):
            wanted = pixels(GOLDEN / "avif" / f"{name}.png")
            assert (dataset[number][0] == wanted).all(), name
