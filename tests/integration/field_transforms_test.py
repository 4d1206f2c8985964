"""Transforms by the names of fields, for formats whose names do not tell which field is
the image: TFRecord, HDF5, npz and MDS. Those of LMDB are in lmdb_test.py."""

import io

import h5py
import numpy
import PIL.Image
import pytest

import forebay
from forebay import transforms as T
from mds_test import MIXED
from tfrecord_test import EXAMPLES, SMALL, frame, open_records
from torchvision import transforms as torchvision_transforms

FIELDS = {"image/encoded": "jpg", "embedding": "float32[8]"}
HALF = T.Slice(0, 4)
MDS_FIELDS = ("photo", "tokens")

pytestmark = pytest.mark.usefixtures("shared_daemon")


def first(dataset, **arguments):
    with open_records(dataset, **arguments) as loader:
        return next(iter(loader))


def refusal(dataset, **arguments):
    with pytest.raises(forebay.InvalidArgument) as caught:
        open_records(dataset, **arguments)
    return str(caught.value)


def photograph():
    file = io.BytesIO()
    numbers = numpy.random.RandomState(1).randint(0, 256, (20, 24, 3))
    PIL.Image.fromarray(numbers.astype("uint8")).save(file, "PNG")
    return file.getvalue()


@pytest.mark.parametrize("dataset, fields", [
    (EXAMPLES, FIELDS), (forebay.tfrecord(EXAMPLES, fields=FIELDS), None)])
def test_features(dataset, fields):
    batch = first(dataset, fields=fields, transform={
        "image/encoded": SMALL, "embedding": HALF})
    assert batch.image_encoded.shape == (4, 3, 8, 8)
    assert batch.embedding.shape == (4, 4)
    alone = first(dataset, fields=fields, transform=SMALL)
    numpy.testing.assert_array_equal(batch.image_encoded, alone.image_encoded)
    numpy.testing.assert_array_equal(batch.embedding, alone.embedding[:, :4])


def test_features_that_are_guessed():
    batch = first(EXAMPLES, transform={"image/encoded": SMALL, "embedding": HALF})
    assert batch.image_encoded.shape == (4, 3, 8, 8)
    assert batch.embedding.values.shape == (4 * 4,)


@pytest.mark.parametrize("fields", [MDS_FIELDS, None])
def test_columns(fields):
    batch = first(MIXED, fields=fields, transform={
        "photo": SMALL, "tokens": T.Slice(0, 1)})
    assert batch.photo.shape == (4, 3, 8, 8)
    assert batch.tokens.values.shape == (4,)


def test_pipelines_of_torchvision():
    crop = torchvision_transforms.Compose([
        torchvision_transforms.Resize(8), torchvision_transforms.CenterCrop(8)])
    for dataset, fields, name in ((EXAMPLES, FIELDS, "image/encoded"),
                                  (MIXED, MDS_FIELDS, "photo")):
        batch = first(dataset, fields=fields, transform={name: crop})
        assert batch[0].shape == (4, 3, 8, 8)


def test_whole_records(tmp_path):
    path = tmp_path / "a.tfrecord"
    path.write_bytes(frame(photograph()))
    for fields in ("png", None):
        assert first(path, fields=fields, transform={"record": SMALL}).record.shape == (
            1, 3, 8, 8)
    assert refusal(path, fields="png", transform={"image": SMALL}) == (
        "transform: there is no field image; there are: record")


@pytest.mark.parametrize("dataset, fields, transform, says", [
    (EXAMPLES, FIELDS, {"image": SMALL}, "there is no field image"),
    (EXAMPLES, FIELDS, {"image/encoded": HALF}, "is for arrays: give it to a field"),
    (EXAMPLES, FIELDS, {"image/encoded": SMALL, "embedding": SMALL},
     "embedding: transform 1 (Resize): is for images, not for arrays"),
    (forebay.tfrecord(EXAMPLES, fields=FIELDS), None, {"ids": HALF},
     "there is no field ids"),
    (MIXED, MDS_FIELDS, {"raw": SMALL}, "there is no field raw"),
    # The daemon checks the names before it needs the size of images.
    (MIXED, None, {"foto": SMALL},
     "transform: there is no field foto; there are: any, box, data, "),
    (MIXED, MDS_FIELDS, {"photo": SMALL, "tokens": SMALL},
     "tokens: transform 1 (Resize): is for images, not for arrays")])
def test_transforms_of_other_fields(dataset, fields, transform, says):
    assert says in refusal(dataset, fields=fields, transform=transform)


@pytest.mark.parametrize("field, names", [
    ("/y", ("y", "/y")), ("y", ("y",)), ("g/*/x", ("x", "g/*/x")),
    ("h/*", ("value", "h/*"))])
def test_datasets_of_hdf5_by_the_names_of_their_fields(tmp_path, field, names):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["y"] = numpy.zeros((4, 6, 2), "float32")
        for number in range(4):
            file[f"g/{number}/x"] = numpy.zeros((6, 2), "float32")
            file[f"h/{number}"] = numpy.zeros((6, 2), "float32")
    for name in names:
        batch = first(path, fields=(field,), transform={name: HALF}, ragged="pad")
        assert getattr(batch[0], "values", batch[0]).shape == (4, 4, 2)


@pytest.mark.parametrize("name", ["image", "png", "x.jpg"])
def test_arrays_with_names_of_images(tmp_path, name):
    for number in range(4):
        numpy.savez(tmp_path / f"{number}.npz", **{
            name: numpy.zeros((8, 6), "float32"), "mask": numpy.zeros(3, "uint8")})
    batch = first(forebay.npz(tmp_path), transform={name: HALF})
    assert getattr(batch, name.replace(".", "_")).shape == (4, 4, 6)
