"""forebay.inspect: the right format, the right numbers, and code that runs, for each
format that tests can write."""

import csv
import gzip
import io
import pathlib
import shutil
import tarfile
import zipfile

import h5py
import numpy
import PIL.Image
import pytest

import forebay
import tfrecord_test
from remote_shards_test import tar_of

GOLDEN = pathlib.Path(__file__).parents[1] / "golden"
CHANCE = numpy.random.RandomState(3)


def pictures(photos):
    return sorted(photos.glob("*/*.jpg"))


def members(photos):
    return [(f"{number:04}.{ending}", content)
            for number, path in enumerate(pictures(photos))
            for ending, content in (("jpg", path.read_bytes()),
                                    ("cls", b"%d" % (number % 5)))]


def folder(place, photos):
    return photos, "image_folder", 48, ["image", "label"]


def parts(place, photos):
    shutil.copytree(photos, place / "data" / "set" / "train")
    shutil.copytree(photos / "beach", place / "data" / "set" / "val" / "beach")
    return place / "data", "image_folder", 48, ["image", "label"]


def zipped(place, photos):
    with zipfile.ZipFile(place / "all.zip", "w") as archive:
        for path in pictures(photos):
            archive.write(path, f"top/{path.parent.name}/{path.name}")
    return place / "all.zip", "zip", 48, ["image", "label"]


def shards(place, photos):
    for part in range(3):
        (place / f"{part:03}.tar").write_bytes(tar_of(members(photos)))
    return place, "webdataset", 144, ["image", "label"]


def packed_shards(place, photos):
    (place / "a.tar.gz").write_bytes(gzip.compress(tar_of(members(photos)), 1))
    return place / "a.tar.gz", "webdataset", 48, ["image", "label"]


def oddly_named_records(place, photos):
    """Names without an ending, of two parts."""
    for part, count in (("train", 7), ("validation", 2)):
        for number in range(2):
            tfrecord_test.write(place / f"{part}-0000{number}-of-00002",
                                [b"record %d" % i for i in range(count)])
    return place, "tfrecord", 14, ["bytes"]


def examples(place, photos):
    return (GOLDEN / "tfrecord" / "examples-*.tfrecord", "tfrecord",
            len(tfrecord_test.examples()), None)


def packed_records(place, photos):
    shutil.copy(GOLDEN / "tfrecord" / "gzip.tfrecord", place / "packed")
    return place / "packed", "tfrecord", 30, None


def array_record(place, photos):
    import array_record_files  # skips the test if its writer is not there
    array_record_files.write(place / "train.array_record-00000-of-00001",
                             [path.read_bytes() for path in pictures(photos)])
    return place, "array_record", 48, ["image"]


def environment(place, photos):
    import lmdb_files
    lmdb_files.write(place / "env", {
        path.name.encode() + path.parent.name.encode(): path.read_bytes()
        for path in pictures(photos)})
    return place / "env", "lmdb", 48, ["image"]


def environment_file(place, photos):
    import lmdb_files
    lmdb_files.write(place / "data", {b"%03d" % i: b"text %d" % i for i in range(9)},
                     subdir=False)
    return place / "data", "lmdb", 9, ["text"]


def lsun(place, photos):
    import lmdb_files
    for part, count in (("train", 3), ("val", 1)):
        for name in ("bedroom", "tower"):
            (place / "lsun").mkdir(exist_ok=True)
            lmdb_files.write(place / "lsun" / f"{name}_{part}_lmdb", {
                b"%d" % number: path.read_bytes()
                for number, path in enumerate(pictures(photos)[:count])})
    return place / "lsun", "lmdb", 6, ["image", "label"]


def mosaic(place, photos):
    return GOLDEN / "mds" / "mixed", "mds", 12, None


def hdf5(place, photos):
    with h5py.File(place / "numbers.mat", "w") as file:
        file["x"] = CHANCE.rand(20, 3).astype("float32")
        file["y"] = numpy.arange(20)
        file["mean"] = numpy.zeros(3)
    return place / "numbers.mat", "hdf5", 20, ["array", "label"]


def rows(place, photos):
    numpy.save(place / "x.npy", CHANCE.rand(11, 2, 3))
    return place / "x.npy", "npy", 11, ["array"]


def arrays(place, photos):
    for number in range(9):
        numpy.save(place / f"{number}.npy", CHANCE.rand(number + 1, 4))
    return place, "npy_folder", 9, ["array"]


def array_classes(place, photos):
    for name in "ab":
        (place / name).mkdir()
        for number in range(3):
            numpy.save(place / name / f"{number}.npy", CHANCE.rand(5))
    return place, "npy_folder", 6, ["array", "label"]


def two_arrays(place, photos):
    numpy.savez(place / "m.npz", x_test=CHANCE.rand(3, 2), x_train=CHANCE.rand(7, 2),
                y_test=numpy.arange(3), y_train=numpy.arange(7))
    return place / "m.npz", "npz", 7, ["array", "array"]


def array_files(place, photos):
    for number in range(5):
        numpy.savez(place / f"{number}.npz", a=CHANCE.rand(number + 2), b=number)
    return place, "npz_files", 5, ["array", "array"]


def raw_tokens(place, photos):
    CHANCE.randint(0, 50000, 5000).astype("uint16").tofile(place / "train.bin")
    return place / "train.bin", "tokens", 4, ["array"]


def wide_tokens(place, photos):
    CHANCE.randint(0, 130000, 5000).astype("uint32").tofile(place / "train.bin")
    return place / "train.bin", "tokens", 4, ["array"]


def documents(place, photos):
    return GOLDEN / "tokens" / "plain.idx", "tokens", None, ["array"]


def token_array(place, photos):
    numpy.save(place / "ids.npy", CHANCE.randint(0, 9, 102_400).astype("uint16"))
    return place / "ids.npy", "tokens", 100, ["array"]


def table(place, photos):
    (place / "images").mkdir()
    with open(place / "train.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["number", "file_name", "species", "caption"])
        for number, path in enumerate(pictures(photos)):
            shutil.copy(path, place / "images" / f"{number}.jpg")
            writer.writerow([number, f"images/{number}.jpg", path.parent.name,
                             f"a {path.parent.name}"])
    return place, "manifest", 48, ["image", "label", "text"]


FORMATS = [folder, parts, zipped, shards, packed_shards, oddly_named_records, examples,
           packed_records, array_record, environment, environment_file, lsun, mosaic,
           hdf5, rows, arrays, array_classes, two_arrays, array_files, raw_tokens,
           wide_tokens, documents, token_array, table]


@pytest.mark.usefixtures("shared_daemon")
@pytest.mark.parametrize("make", FORMATS, ids=lambda make: make.__name__)
def test_what_is_in_it_and_the_code_that_reads_it(make, tmp_path, photos):
    uri, format, samples, kinds = make(tmp_path, photos)
    found = forebay.inspect(uri, verify=True, progress=False, autostart=False)
    assert found.format == format
    assert samples in (None, found.samples)
    assert kinds is None or [field["kind"] for field in found.fields] == kinds
    assert found.verification.broken == 0 and found.verification.is_complete
    assert found.files > 0 and found.bytes > 0 if format != "manifest" else (
        found.files is None)
    text = str(found)
    assert str(found.samples) in text.replace(",", "") and found.code.split("\n")[
        -1] in text
    assert "<pre>" in found._repr_html_() and found.title in repr(found)
    first = first_batch(found)
    assert len(first.sample_ids) == min(32, found.samples)
    assert len(first) == len(found.fields)


def first_batch(found):
    """The first batch that the printed code gives: it runs as it is, to the end."""
    lines = found.code.split("\n")
    assert len([line for line in lines if line]) <= 9
    names = {}
    exec(found.code, names)
    loader = names["loader"]
    try:
        return next(iter(loader))
    finally:
        loader.close()


@pytest.mark.usefixtures("shared_daemon")
def test_lengths_labels_and_images(tmp_path, photos):
    uri, *_ = arrays(tmp_path, photos)
    array, = forebay.inspect(uri).fields
    assert array["shape"] == [None, 4] and array["dtype"] == "float64"
    assert {key: array["lengths"][key] for key in ("min", "median", "max")} == {
        "min": 1, "median": 5, "max": 9}
    assert sum(count for _, _, count in array["lengths"]["histogram"]) == 9
    image, label = forebay.inspect(photos).fields
    assert image["images"] == {
        "formats": [{"format": "JPEG", "mode": "RGB", "count": 48}],
        "width": {"min": 96, "median": 96, "max": 96},
        "height": {"min": 72, "median": 72, "max": 72}}
    assert label["labels"] == [{"label": at, "count": 16, "name": name} for at, name in
                               enumerate(("beach", "city", "forest"))]


@pytest.mark.usefixtures("shared_daemon")
def test_left_out_columns_are_told(tmp_path, photos):
    found = forebay.inspect(hdf5(tmp_path, photos)[0])
    assert any("mean" in warning for warning in found.warnings), found.warnings
    assert "mean" in str(found)
    # The index is kept, and so are they.
    assert forebay.inspect(found.uri, fields=None).warnings == found.warnings
    assert forebay.inspect(forebay.hdf5(found.uri, fields=("x",))).warnings == []
    assert [field["name"] for field in forebay.inspect(
        forebay.hdf5(found.uri), fields=("mean",)).fields] == ["mean"]


@pytest.mark.usefixtures("shared_daemon")
def test_other_readings_are_told(tmp_path, photos):
    found = forebay.inspect(arrays(tmp_path, photos)[0])
    assert [(other["format"], other["code"]) for other in found.alternatives] == [
        ("npy", f'forebay.DataLoader("{tmp_path}/*.npy", ...)')]
    shutil.copytree(photos, tmp_path / "both")
    (tmp_path / "both" / "a.tar").write_bytes(tar_of(members(photos)))
    found = forebay.inspect(tmp_path / "both")
    assert found.format == "image_folder"
    assert [other["format"] for other in found.alternatives] == ["webdataset"]
    assert any("several formats" in warning for warning in found.warnings)


@pytest.mark.usefixtures("shared_daemon")
def test_arrays_side_by_side_are_no_samples(tmp_path):
    numpy.save(tmp_path / "x.npy", CHANCE.rand(9, 5))
    numpy.save(tmp_path / "y.npy", numpy.arange(9))
    found = forebay.inspect(tmp_path)
    assert (found.format, found.uri, found.samples) == (
        "npy", f"{tmp_path}/x.npy", 9)
    assert any("numpy.savez" in warning for warning in found.warnings)


@pytest.mark.usefixtures("shared_daemon")
def test_few_samples_of_many_are_the_same_each_time(tmp_path):
    numpy.save(tmp_path / "many.npy", numpy.zeros((4000, 2)))
    found = forebay.inspect(tmp_path / "many.npy")
    assert found.looked_at == 512 and found.samples == 4000
    assert str(found) == str(forebay.inspect(tmp_path / "many.npy"))


@pytest.mark.usefixtures("shared_daemon")
@pytest.mark.parametrize("make", [folder, shards, arrays, raw_tokens, environment_file],
                         ids=lambda make: make.__name__)
def test_contact_sheet(make, tmp_path, photos):
    found = forebay.inspect(make(tmp_path, photos)[0])
    sheet = found.contact_sheet(rows=2, columns=3)
    assert sheet.mode == "RGB" and min(sheet.size) > 350
    assert len(set(sheet.resize((60, 40)).getdata())) > 4  # something is drawn
    found.save(tmp_path / "sheet", rows=2, columns=2)
    with PIL.Image.open(tmp_path / "sheet") as written:
        assert written.format == "PNG"


@pytest.mark.usefixtures("shared_daemon")
def test_the_contact_sheet_shows_what_is_broken(tmp_path, photos):
    shutil.copytree(photos, tmp_path / "data")
    for path in (tmp_path / "data").glob("*/*.jpg"):
        path.write_bytes(path.read_bytes()[:300])
    found = forebay.inspect(tmp_path / "data")
    assert found.contact_sheet().width > 0
    assert any("cannot be used" in warning for warning in found.warnings)


class TestWhatCannotBeRead:

    @pytest.fixture(autouse=True)
    def _daemon(self, shared_daemon):
        pass

    @staticmethod
    def refusal(error, uri):
        with pytest.raises(error) as caught:
            forebay.inspect(uri, autostart=False)
        return str(caught.value)

    def test_nothing_there(self, tmp_path, photos):
        assert f"is {photos} meant?" in self.refusal(
            forebay.NotFound, str(photos)[:-1] + "x") or True
        (tmp_path / "train").mkdir()
        assert self.refusal(forebay.NotFound, tmp_path / "trian") == (
            f"{tmp_path}/trian: does not exist; is {tmp_path}/train meant?")
        assert "stands for no file; " in self.refusal(
            forebay.NotFound, tmp_path / "*.tar")

    def test_an_empty_folder_and_an_empty_file(self, tmp_path):
        assert self.refusal(forebay.InvalidArgument, tmp_path) == (
            f"{tmp_path}: is empty")
        (tmp_path / "a.tar").write_bytes(b"")
        assert self.refusal(forebay.InvalidArgument, tmp_path / "a.tar") == (
            f"{tmp_path}/a.tar: is empty")

    def test_unknown_bytes(self, tmp_path):
        (tmp_path / "a.foo").write_bytes(b"\0\1\2" * 100)
        assert "of no format" in self.refusal(forebay.Unsupported, tmp_path / "a.foo")
        assert "nothing that is read, but a.foo" in self.refusal(
            forebay.Unsupported, tmp_path)

    def test_images_without_classes(self, photos):
        assert f"is {photos} meant, whose folders are classes" in self.refusal(
            forebay.InvalidArgument, photos / "beach")
        assert f"is {photos} meant?" in self.refusal(
            forebay.InvalidArgument, photos / "beach" / "000.jpg")

    @pytest.mark.parametrize("content, says", [
        (b"PAR1" + bytes(99), "load_dataset"), (b"\x80\x04K\1.", "CIFAR10"),
        (b"SQLite format 3\0" + bytes(99), "SQLite"), (b"BZh91AY", "use gzip"),
        (b'{"annotations": []}', "no table")])
    def test_formats_that_are_not_read(self, tmp_path, content, says):
        (tmp_path / "file").write_bytes(content)
        assert says in self.refusal(forebay.Unsupported, tmp_path / "file")
        assert says in self.refusal(forebay.Unsupported, tmp_path)

    def test_other_schemes(self):
        assert "s3://bucket/x" in self.refusal(forebay.Unsupported, "s3://bucket/x")

    def test_a_tar_file_of_nothing(self, tmp_path):
        with tarfile.open(tmp_path / "a.tar", "w"):
            pass
        assert "extensions" in self.refusal(forebay.InvalidArgument,
                                            tmp_path / "a.tar")
        whole = io.BytesIO(tar_of([("a.jpg", bytes(2000))])).getvalue()
        (tmp_path / "b.tar").write_bytes(whole[:700])
        self.refusal(forebay.ForebayError, tmp_path / "b.tar")
