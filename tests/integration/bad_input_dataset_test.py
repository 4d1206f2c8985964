"""Folders that are not datasets, and folders with links that lead outside."""

import os
import shutil

import pytest

import forebay
from trouble import contents, neighbour, open_loader, run_until_error


@pytest.fixture
def folder(tmp_path, photos):
    """A dataset that a test may spoil."""
    return shutil.copytree(photos, tmp_path / "data")


@pytest.fixture(autouse=True)
def undisturbed(shared_daemon, photos):
    with neighbour(photos):
        yield


def refusal(error, folder, **arguments):
    with pytest.raises(error) as caught:
        open_loader(folder, **arguments)
    return str(caught.value)


def test_missing_folder(tmp_path):
    path = tmp_path / "nowhere"
    assert refusal(forebay.NotFound, path) == (
        f"cannot open the dataset folder {path}: No such file or directory")


@pytest.mark.parametrize("path", ["", b"", "\0", "/data\0/train", "/da\ud800ta"])
def test_no_path(path):
    assert refusal(forebay.InvalidArgument, path) == (
        f"the dataset {path!r} is not a path")


def test_file_instead_of_a_folder(tmp_path):
    path = tmp_path / "file"
    path.write_text("")
    assert refusal(forebay.InvalidArgument, path) == (
        f"{path}: is a file whose name tells no format that is read: "
        "forebay.inspect(path) says how to read it, if it can be")


def test_a_table_instead_of_a_folder(tmp_path):
    path = tmp_path / "train.csv"
    assert refusal(forebay.InvalidArgument, path) == (
        f"{path}: is not a folder of images: a table is passed as "
        'forebay.manifest(path, image="its column", label=...), or with audio= '
        "instead of image=")


def test_a_folder_of_the_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert refusal(forebay.NotFound, "~/nowhere") == (
        f"cannot open the dataset folder {tmp_path}/nowhere: No such file or "
        "directory")


@pytest.mark.parametrize("argument, says", [
    ({"extra_roots": 5}, "extra_roots must be a sequence of folders, not 5"),
    ({"extra_roots": [5]}, "extra_roots must be a sequence of folders, not [5]"),
    ({"extra_roots": "/data"}, "extra_roots must be a sequence of folders such as "
     "['/data']"),
    ({"generator": 3}, "generator must be a torch.Generator, not 3")])
def test_arguments_of_other_types(folder, argument, says):
    assert refusal(forebay.InvalidArgument, folder, **argument) == says


def test_folder_without_classes(tmp_path):
    (tmp_path / "photo.jpg").write_bytes(b"")
    assert refusal(forebay.NotFound, tmp_path) == (
        f"{tmp_path}: found no class folder in it")


def test_empty_class(folder):
    (folder / "dunes").mkdir()
    (folder / "dunes" / "notes.txt").write_text("later")
    text = refusal(forebay.NotFound, folder)
    assert text.startswith(f"{folder}: found no valid file for the classes "
                           "dunes; supported extensions are .jpg, ")


def test_class_that_is_a_link_to_itself(folder):
    os.symlink("..", folder / "city" / "loop")
    text = refusal(forebay.InvalidArgument, folder)
    assert str(folder) in text and "city/loop" in text and "link" in text


def test_path_that_is_not_utf8(folder):
    renamed = os.fsencode(folder) + b"\xe9"
    os.rename(folder, renamed)
    os.rename(renamed + b"/city", renamed + b"/cit\xe9")
    with open_loader(os.fsdecode(renamed)) as loader:
        assert len(contents(loader)[1]) == 48
        assert os.fsdecode(b"cit\xe9") in loader.dataset.classes
    with open(renamed + b"/cit\xe9/001.jpg", "wb"):
        pass
    with open_loader(os.fsdecode(renamed)) as loader:
        text, _ = run_until_error(loader, forebay.ForebayError)
    assert "/001.jpg: " in text


@pytest.fixture
def linked(folder, tmp_path):
    """`folder` with a photograph that is a link to a file outside of the folder."""
    outside = tmp_path / "outside"
    outside.mkdir()
    os.rename(folder / "city" / "003.jpg", outside / "photo.jpg")
    os.symlink(outside / "photo.jpg", folder / "city" / "003.jpg")
    return folder


def test_link_that_leaves_the_root(linked):
    with open_loader(linked) as loader:
        text, before = run_until_error(loader, forebay.PermissionDenied)
    assert before == list(range(16))
    assert text.startswith(f"sample 19 of {linked}: city/003.jpg: ")
    assert "declare extra_roots=" in text


def test_link_that_leaves_the_root_to_an_extra_root(linked, photos, tmp_path):
    with open_loader(linked, extra_roots=[tmp_path / "outside"]) as loader, \
            open_loader(photos) as original:
        assert (contents(loader)[0] == contents(original)[0]).all()


def test_link_that_leaves_the_extra_root_too(linked, tmp_path):
    (tmp_path / "outside" / "photo.jpg").rename(tmp_path / "secret.jpg")
    os.symlink("../secret.jpg", tmp_path / "outside" / "photo.jpg")
    with open_loader(linked, extra_roots=[tmp_path / "outside"]) as loader:
        text, _ = run_until_error(loader, forebay.PermissionDenied)
    assert text.startswith(f"sample 19 of {linked}: city/003.jpg: ")


def test_link_to_nowhere(folder):
    path = folder / "city" / "003.jpg"
    path.unlink()
    os.symlink("missing.jpg", path)
    with open_loader(folder) as loader:
        text, _ = run_until_error(loader, forebay.NotFound)
    assert text == (f"sample 19 of {folder}: city/003.jpg: "
                    "there is no such file or directory")


def test_extra_root_that_is_missing(folder, tmp_path):
    path = tmp_path / "nowhere"
    assert refusal(forebay.NotFound, folder, extra_roots=[path]) == (
        f"cannot open the extra root {path}: No such file or directory")
