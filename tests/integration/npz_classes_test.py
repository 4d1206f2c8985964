"""Class folders of NumPy's .npz files. A trainer gets what numpy.load reads, with the
labels and the order of torchvision's DatasetFolder."""

import numpy
import pytest
import torchvision

import forebay
from npy_test import numbers, same
from npz_test import SAVE, contents, open_npz
from remote_shards_test import daemon as remote_daemon  # noqa: F401
from remote_shards_test import proxy  # noqa: F401

NAMES = ("cat/1.npz", "dog/10.npz", "dog/9.npz", "dog-2/x.npz", "Ant/x.npz")


def fill(folder, names=NAMES, how="stored"):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        SAVE[how](path, x=numbers(3, (2,)), y=numbers(1, (), "int64"))
    return folder


def expected_of(folder):
    return torchvision.datasets.DatasetFolder(
        str(folder), lambda path: dict(numpy.load(path)), extensions=(".npz",))


def check(loader, expected):
    assert loader.dataset.classes == expected.classes
    values, ids = contents(loader)
    assert list(values) == ["x", "y", "label"]
    assert sorted(ids) == list(range(len(expected)))
    for place, number in enumerate(ids):
        arrays, label = expected[number]
        assert values["label"][place] == label
        assert all(same(values[name][place], arrays[name]) for name in ("x", "y"))


@pytest.mark.parametrize("how", SAVE)
def test_classes_are_as_torchvision_has_them(shared_daemon, tmp_path, how):
    folder = fill(tmp_path / "data", how=how)
    (folder / "notes.txt").write_text("these are not arrays")
    for dataset in (folder, forebay.npz(folder), forebay.npz(folder, labels=True)):
        for shuffle in (False, True):
            with open_npz(dataset, shuffle=shuffle) as loader:
                check(loader, expected_of(folder))


def test_some_arrays_and_their_labels(shared_daemon, tmp_path):
    folder = fill(tmp_path / "data")
    with open_npz(folder, fields=("y",)) as loader:
        values, _ = contents(loader)
    assert list(values) == ["y", "label"]
    assert values["label"] == [label for _, label in expected_of(folder)]


def test_files_right_in_a_folder_have_no_labels(shared_daemon, tmp_path):
    folder = fill(tmp_path / "data", ("a.npz", "b.npz", "sub/c.npz"))
    with open_npz(folder) as loader:
        assert len(loader.dataset) == 2 and loader.dataset.classes == []
        assert list(contents(loader)[0]) == ["x", "y"]
    with open_npz(forebay.npz(folder, labels=True)) as loader:
        assert len(loader.dataset) == 1 and loader.dataset.classes == ["sub"]


def test_a_file_in_no_class_is_named(shared_daemon, tmp_path):
    folder = fill(tmp_path / "data", ("a.npz", "sub/c.npz"))
    with pytest.raises(forebay.InvalidArgument, match="a.npz: lies in no class folder"):
        open_npz(forebay.npz(folder / "*.npz", labels=True))
    with pytest.raises(forebay.InvalidArgument, match="rows are the samples"):
        forebay.npz(folder, rows=True, labels=True)


def test_an_array_with_the_name_of_the_labels(shared_daemon, tmp_path):
    (tmp_path / "a").mkdir()
    numpy.savez(tmp_path / "a" / "1.npz", x=numpy.zeros(3), label=numpy.zeros(1))
    with open_npz(tmp_path) as loader:
        assert list(contents(loader)[0]) == ["x", "label"]
    with pytest.raises(forebay.InvalidArgument, match="name of the classes' field"):
        open_npz(tmp_path, fields=("x", "label"))


def test_inspect_knows_classes(shared_daemon, tmp_path):
    folder = fill(tmp_path / "data", [*NAMES, "cat/2.npz", "dog-2/y.npz", "Ant/y.npz"])
    found = forebay.inspect(folder, autostart=False)
    assert found.format == "npz_files"
    assert found.classes == ["Ant", "cat", "dog", "dog-2"]
    given = forebay.inspect(forebay.npz(folder), autostart=False)
    assert given.classes == found.classes and "labels=True" in given.code


@pytest.mark.usefixtures("remote_daemon")
def test_classes_in_a_bucket(fake_gcs, tmp_path):
    folder = fill(tmp_path / "data")
    fake_gcs.fill("classes", {f"data/{name}": (folder / name).read_bytes()
                              for name in NAMES})
    with open_npz(forebay.npz("gs://classes/data/", labels=True)) as loader:
        check(loader, expected_of(folder))


def test_errors_of_rows_name_the_folder_once(shared_daemon, tmp_path):
    numpy.savez(tmp_path / "a.npz", x=numpy.zeros((0, 1 << 61), "uint8"))
    numpy.savez(tmp_path / "b.npz", x=numpy.zeros(3), y=numpy.zeros(4))
    for name in ("a.npz", "b.npz", "c.npz"):
        with pytest.raises(forebay.ForebayError) as caught:
            open_npz(tmp_path / name)
        assert str(caught.value).count(str(tmp_path)) == 1
