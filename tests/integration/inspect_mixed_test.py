"""Folders with files of two kinds. What forebay.inspect describes, its code and what
the loader reads agree. Each kind has a different number of samples."""

import io
import itertools
import zipfile

import h5py
import numpy
import PIL.Image
import pytest

import forebay
import tfrecord_test
from inspected_files import clip
from remote_shards_test import tar_of


def jpeg():
    file = io.BytesIO()
    PIL.Image.new("RGB", (20, 16), (200, 30, 90)).save(file, "jpeg")
    return file.getvalue()


def npy(*shape):
    file = io.BytesIO()
    numpy.save(file, numpy.ones(shape, "float32"))
    return file.getvalue()


def npz(rows):
    file = io.BytesIO()
    numpy.savez(file, x=numpy.ones((rows, 2), "float32"))
    return file.getvalue()


def put(folder, name, content):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def put_classes(folder, classes, count, ending, content):
    for name, number in itertools.product(classes, range(count)):
        put(folder, f"{name}/{number:02}{ending}", content)


def images(folder):
    put_classes(folder, ("cat", "dog"), 2, ".jpg", jpeg())


def deep_images(folder):
    put_classes(folder, ("east/a/b", "west/a/b"), 3, ".jpg", jpeg())


def gif_classes(folder):
    put_classes(folder, ("up", "down"), 4, ".gif", jpeg())


def images_in_few_classes(folder):
    for number in range(9):
        (folder / f"a{number}").mkdir()
    put_classes(folder, ("z",), 7, ".jpg", jpeg())


def audio_classes(folder):
    put_classes(folder, ("no", "yes"), 4, ".wav", clip(3))


def audio(folder):
    for number in range(9):
        put(folder, f"clip-{number}.wav", clip(3))


def npy_classes(folder):
    put_classes(folder, ("one", "two"), 5, ".npy", npy(3))


def npy_files(folder):
    for number in range(11):
        put(folder, f"array-{number:02}.npy", npy(13, 2))


def npz_classes(folder):
    put_classes(folder, ("left", "right"), 6, ".npz", npz(17))


def npz_files(folder):
    for number in range(13):
        put(folder, f"arrays-{number:02}.npz", npz(19))


def one_npz(folder):
    put(folder, "statistics.npz", npz(14))


def shards(folder):
    put(folder, "0.tar",
        tar_of([(f"{number:02}.txt", b"hello") for number in range(15)]))


def records(folder):
    tfrecord_test.write(folder / "0.tfrecord", [b"text %d" % n for n in range(16)])


def datasets(folder):
    with h5py.File(folder / "rows.h5", "w") as file:
        file["x"] = numpy.ones((18, 4), "float32")


def archive(folder):
    with zipfile.ZipFile(folder / "photos.zip", "w") as file:
        for name, number in itertools.product("ab", range(10)):
            file.writestr(f"{name}/{number:02}.jpg", jpeg())


def table(folder):
    names = [f"pictures/{number:02}.jpg" for number in range(22)]
    for name in names:
        put(folder, name, jpeg())
    put(folder, "train.csv", "\n".join(["file_name", *names, ""]).encode())


# The possible numbers of samples of each kind, by the format in which it is read. A
# second number is that of one class alone.
KINDS = {
    images: {"image_folder": {4}}, deep_images: {"image_folder": {6}},
    images_in_few_classes: {"image_folder": {7}}, gif_classes: {"image_folder": {0}},
    audio_classes: {"audio_folder": {8}}, audio: {"audio_folder": {9}},
    npy_classes: {"npy_folder": {10, 5}},
    npy_files: {"npy_folder": {11}, "npy": {143}},
    npz_classes: {"npz_files": {12, 6}, "npz": {102}},
    npz_files: {"npz_files": {13}, "npz": {247}},
    one_npz: {"npz_files": {1}, "npz": {14}},
    shards: {"webdataset": {15}}, records: {"tfrecord": {16}}, datasets: {"hdf5": {18}},
    archive: {"zip": {20}},
    table: {"manifest": {22}, "image_folder": {22}}}


def possible(pair, format):
    """Returns the possible numbers of samples of a folder of two kinds, read in a
    format."""
    one, other = (KINDS[kind].get(format, set()) for kind in pair)
    return one | other | {a + b for a in one for b in other}


def check(loader, pair, format, found=None):
    """Checks that the loader reads a possible number of samples, and those that were
    found."""
    with loader:
        assert len(loader.dataset) in possible(pair, format), (format, loader)
        if found is not None:
            assert len(loader.dataset) == found.samples
            assert list(next(iter(loader))._fields) == [
                field["name"].replace(".", "_") for field in found.fields]


@pytest.mark.usefixtures("shared_daemon")
@pytest.mark.parametrize("pair", itertools.combinations(KINDS, 2),
                         ids=lambda pair: "-".join(kind.__name__ for kind in pair))
def test_what_is_described_is_read(tmp_path, pair):
    for kind in pair:
        kind(tmp_path)
    try:
        found = forebay.inspect(tmp_path)
    except forebay.ForebayError:
        # For example about classes without images.
        with pytest.raises(forebay.ForebayError):
            forebay.DataLoader(tmp_path)
        return
    assert found.samples in possible(pair, found.format), found
    names = {}
    exec(found.code, names)
    check(names["loader"], pair, found.format, found)
    for other in found.alternatives:
        try:
            loader = eval(other["code"].replace(", ...", ""), {"forebay": forebay})
        except forebay.ForebayError:
            continue  # the daemon's error says why
        check(loader, pair, other["format"])
