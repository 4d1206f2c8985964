"""Folders of .npy files, each of which is a sample. A trainer gets what numpy.load
reads, with the labels and the order of torchvision's DatasetFolder."""

import numpy
import pytest
import torch
import torchvision

import forebay
from npy_test import numbers, same
from trouble import ctl, run_until_error


def open_folder(dataset, **arguments):
    return forebay.DataLoader(dataset, **{
        "batch_size": 4, "framework": "numpy", "autostart": False, **arguments})


def contents(loader):
    """Returns the arrays, the labels if there are any, and the sample numbers."""
    arrays, labels, ids = [], [], []
    for batch in loader:
        arrays += [array.copy() for array in batch.array]
        labels += batch.label.tolist() if hasattr(batch, "label") else []
        ids += batch.sample_ids.tolist()
    return arrays, labels, ids


def all_same(found, expected):
    assert len(found) == len(expected)
    assert all(map(same, found, expected))


def fill(folder, names, shapes=((3, 2),)):
    for number, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        numpy.save(path, numbers(*_split(shapes[number % len(shapes)])))
    return folder


def _split(shape):
    return shape[0], tuple(shape[1:])


@pytest.fixture
def flat(tmp_path):
    return fill(tmp_path / "flat", [f"{number}.npy" for number in range(11)])


@pytest.fixture
def classes(tmp_path):
    return fill(tmp_path / "classes", [
        "cat/1.npy", "dog/10.npy", "dog/9.npy", "dog/sub/1.npy", "ant/x.npy"])


def loaded(folder):
    return [numpy.load(path) for path in sorted(folder.glob("*.npy"))]


def test_files_right_in_a_folder(shared_daemon, flat):
    (flat / "notes.txt").write_text("these are not arrays")
    (flat / "empty").mkdir()
    with open_folder(flat) as loader:
        assert len(loader.dataset) == 11 and loader.dataset.classes == []
        assert loader.dataset.uri == str(flat)
        arrays, labels, ids = contents(loader)
    all_same(arrays, loaded(flat))
    assert labels == [] and ids == list(range(11))


def test_class_folders_are_as_torchvision_has_them(shared_daemon, classes):
    expected = torchvision.datasets.DatasetFolder(
        str(classes), numpy.load, extensions=(".npy",))
    with open_folder(classes) as loader:
        assert loader.dataset.classes == expected.classes
        arrays, labels, _ = contents(loader)
    all_same(arrays, [array for array, _ in expected])
    assert labels == [label for _, label in expected]
    with open_folder(classes, framework="torch") as loader:
        array, label = next(iter(loader))
    assert array.shape == (4, 3, 2) and label.dtype == torch.int64


def test_torchvisions_dataset_folder(shared_daemon, classes):
    dataset = torchvision.datasets.DatasetFolder(
        str(classes), numpy.load, extensions=(".npy",))
    part = torch.utils.data.Subset(dataset, [4, 0, 0])
    for given, numbers_ in ((dataset, range(5)), (part, [4, 0, 0])):
        with forebay.DataLoader(given, batch_size=5, autostart=False) as loader:
            (array, label), = loader
        expected = [dataset[number] for number in numbers_]
        assert label.tolist() == [label for _, label in expected]
        all_same(array.numpy(), [array for array, _ in expected])


def test_arrays_of_several_lengths(shared_daemon, tmp_path):
    folder = fill(tmp_path / "ragged", [f"{number}.npy" for number in range(9)],
                  ((4, 2), (1, 2), (17, 2)))
    with open_folder(folder) as loader:
        all_same(contents(loader)[0], loaded(folder))
    with open_folder(folder, framework="torch") as loader:
        batch = next(iter(loader))
        assert isinstance(batch.array, forebay.Ragged)
    with open_folder(folder, ragged="pad") as loader:
        assert next(iter(loader)).array.values.shape == (4, 17, 2)


def test_both_kinds_need_a_choice(shared_daemon, classes):
    numpy.save(classes / "mean.npy", numbers(2))
    with pytest.raises(forebay.InvalidArgument, match="by labels=True or labels=Fal"):
        open_folder(classes)
    with open_folder(forebay.npy_folder(classes, labels=True)) as loader:
        assert len(loader.dataset) == 5
    with open_folder(forebay.npy_folder(classes, labels=False)) as loader:
        all_same(contents(loader)[0], [numpy.load(classes / "mean.npy")])


def test_a_folder_with_images_stays_one_of_images(shared_daemon, classes):
    (classes / "cat" / "1.jpg").write_bytes(b"is looked at later")
    with pytest.raises(forebay.NotFound, match="supported extensions are .jpg"):
        open_folder(classes)
    with open_folder(forebay.npy_folder(classes)) as loader:
        assert len(loader.dataset) == 5


def test_a_folder_of_nothing(shared_daemon, tmp_path):
    with pytest.raises(forebay.NotFound, match="found no class folder"):
        open_folder(tmp_path)
    with pytest.raises(forebay.NotFound, match="found no .npy file in it"):
        open_folder(forebay.npy_folder(tmp_path))


@pytest.mark.parametrize("options", [
    {"shuffle": True}, {"shuffle": "block"},
    {"shuffle": True, "order": "coordinated"}])
def test_each_file_comes_once_in_any_order(shared_daemon, flat, options):
    expected = loaded(flat)
    with open_folder(flat, seed=2, **options) as loader:
        arrays, _, ids = contents(loader)
    assert sorted(ids) == list(range(11))
    all_same(arrays, [expected[number] for number in ids])


def test_an_epoch_goes_on_where_it_was_left(daemon, flat):
    with open_folder(flat, shuffle=True, seed=5) as loader:
        arrays, _, ids = contents(loader)
        loader.set_epoch(0)
        batches = iter(loader)
        next(batches)
        state = loader.state_dict()
        daemon.stop()
        daemon.start()
        rest = contents(batches)
        all_same(rest[0], arrays[4:])
        assert rest[2] == ids[4:]
    with open_folder(flat, shuffle=True, seed=5, batch_size=3) as loader:
        loader.load_state_dict(state)
        assert contents(loader)[2] == ids[4:]


def test_two_jobs_read_each_file_once(daemon, tmp_path, monkeypatch):
    folder = fill(tmp_path / "many", [f"{number}.npy" for number in range(200)],
                  ((64, 64),))

    def read_from_disk():
        return int(ctl(daemon, "cache")["total"]["source"]["bytes"])

    read = []
    for seed in (1, 2):
        monkeypatch.setenv("FOREBAY_JOB", f"job {seed}")
        before = read_from_disk()
        with open_folder(folder, batch_size=50, shuffle=True, seed=seed) as loader:
            assert sorted(contents(loader)[2]) == list(range(200))
        read.append(read_from_disk() - before)
    assert read[0] >= 200 * 64 * 64 * 4 and read[1] == 0


def test_new_files_are_noticed(shared_daemon, flat):
    with open_folder(flat) as loader:
        before = contents(loader)[0]
    numpy.save(flat / "0a.npy", numbers(3, (2,)))
    with open_folder(flat) as loader:
        assert len(loader.dataset) == len(before) + 1
        all_same(contents(loader)[0], loaded(flat))


def test_a_file_that_changes_in_mid_epoch_is_an_error(shared_daemon, tmp_path):
    folder = fill(tmp_path / "many", [f"{number:04}.npy" for number in range(2000)])
    with open_folder(folder) as loader:
        batches = iter(loader)
        next(batches)
        numpy.save(folder / "1999.npy", numbers(30, (2,)))
        text, _ = run_until_error(batches, forebay.StateError)
    assert "1999.npy" in text


@pytest.mark.parametrize("content, error, says", [
    (b"", forebay.DataError, "is not a .npy file"),
    (b"\x93NUMPY\1\0", forebay.DataError, "damaged .npy header"),
    (None, forebay.InvalidArgument, "is an array of int16")])
def test_a_file_that_is_no_such_array_is_named(shared_daemon, flat, content, error,
                                               says):
    if content is None:
        numpy.save(flat / "5.npy", numbers(3, (2,), "int16"))
    else:
        (flat / "5.npy").write_bytes(content)
    with open_folder(flat) as loader:
        with pytest.raises(error) as caught:
            contents(loader)
        assert "5.npy" in str(caught.value), caught.value
        assert says in str(caught.value), caught.value
    with open_folder(flat, on_error="substitute") as loader:
        if error is forebay.DataError:
            assert len(contents(loader)[2]) == 11
        else:  # the file is no worse than the others
            with pytest.raises(error):
                contents(loader)


def test_single_samples(shared_daemon, classes):
    dataset = forebay.Dataset(classes, autostart=False)
    array, label = dataset[1]
    assert same(array, numpy.load(classes / "cat" / "1.npy")) and label == 1
    assert len(dataset) == 5


def test_arguments():
    with pytest.raises(forebay.InvalidArgument, match="labels must be"):
        forebay.npy_folder("/data", labels="yes")
    assert repr(forebay.npy_folder("/data", labels=True)) == (
        "npy_folder('/data', labels=True)")
    with pytest.raises(forebay.InvalidArgument, match="forebay.npy_folder names"):
        open_folder(forebay.npy_folder("/data"), fields=("array",))
