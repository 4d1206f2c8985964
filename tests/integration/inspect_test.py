"""forebay.inspect finds the right format and numbers, and prints code that runs, for
each format that tests can write."""

import io
import shutil
import tarfile

import numpy
import PIL.Image
import pytest

import forebay
from inspected_files import (CHANCE, FORMATS, arrays, environment_file, folder, hdf5,
                             members, raw_tokens, shards, speech)
from remote_shards_test import tar_of


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
    """Runs the printed code unchanged, and returns its first batch."""
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
    # Inspecting again finds a stored index. The warnings must be the same.
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
@pytest.mark.parametrize("make", [folder, shards, arrays, raw_tokens, environment_file,
                                  speech], ids=lambda make: make.__name__)
def test_contact_sheet(make, tmp_path, photos):
    found = forebay.inspect(make(tmp_path, photos)[0])
    sheet = found.contact_sheet(rows=2, columns=3)
    assert sheet.mode == "RGB" and min(sheet.size) > 350
    assert len(set(sheet.resize((60, 40)).getdata())) > 4  # the sheet is not empty
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
        assert "ftp://host/x" in self.refusal(forebay.Unsupported, "ftp://host/x")

    def test_a_tar_file_of_nothing(self, tmp_path):
        with tarfile.open(tmp_path / "a.tar", "w"):
            pass
        assert "extensions" in self.refusal(forebay.InvalidArgument,
                                            tmp_path / "a.tar")
        whole = io.BytesIO(tar_of([("a.jpg", bytes(2000))])).getvalue()
        (tmp_path / "b.tar").write_bytes(whole[:700])
        self.refusal(forebay.ForebayError, tmp_path / "b.tar")
