"""Datasets of tar shards, from the files to a trainer's batches."""

import io
import json
import os
import pathlib
import subprocess
import tarfile

import numpy
import pytest
import torch

import forebay
from forebay import transforms as T
from trouble import CROP, ctl

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden" / "shards"
EACH = 12  # number of samples in a shard


@pytest.fixture(scope="module")
def pictures(photos):
    """The photographs in the folder's order, each with its label."""
    found = []
    for label, folder in enumerate(sorted(photos.iterdir())):
        for path in sorted(folder.iterdir()):
            found.append((path.read_bytes(), label))
    return found


def write_python_tar(path, members):
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))


def write_gnu_tar(path, members, form):
    folder = path.parent / (path.name + ".d")
    for name, content in members:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    subprocess.run(["tar", "-cf", path, f"--format={form}", "-C", folder,
                    *[name for name, _ in members]], check=True)


def members_of(number, picture, label):
    key = f"train/{'deep' * 30 if number % 5 == 0 else 'x'}/{number:06}"
    return [(f"{key}.jpg", picture), (f"{key}.cls", str(label).encode()),
            (f"{key}.txt", f"the {number}. \u00e9".encode() * (number % 3)),
            (f"{key}.json", json.dumps({"number": number}).encode())]


@pytest.fixture
def shards(tmp_path, pictures):
    """A folder of shards that several programs have written. A test may damage it."""
    folder = tmp_path / "shards"
    folder.mkdir()
    for shard in range(0, len(pictures), EACH):
        members = [
            member for number in range(shard, shard + EACH)
            for member in members_of(number, *pictures[number])]
        path = folder / f"train-{shard // EACH:03}.tar"
        form = ("gnu", "posix", None)[shard // EACH % 3]
        if form is None:
            write_python_tar(path, members)
        else:
            write_gnu_tar(path, members, form)
    return folder


def open_shards(dataset, fields=("jpg", "cls"), **arguments):
    arguments = {"batch_size": 7, "framework": "numpy",
                 "transform": T.CenterCrop(CROP), **arguments}
    return forebay.DataLoader(dataset, fields=fields, **arguments)


def refusal(error, dataset, *arguments, **more):
    with pytest.raises(error) as caught:
        with open_shards(dataset, *arguments, **more) as loader:
            for _ in loader:
                pass
    return str(caught.value)


def test_values_are_those_of_webdataset(shared_daemon):
    expected = json.loads((GOLDEN / "decoded.json").read_text())
    fields = ("png", "cls", "txt", "json", "npy", "bin", "left.index")
    with open_shards(GOLDEN / "decoded.tar", fields, batch_size=2,
                     transform=T.CenterCrop((6, 8))) as loader:
        assert len(loader) == 3
        samples = []
        for batch in loader:
            assert batch._fields == fields[:-1] + ("left_index",)
            assert batch.npy.dtype == numpy.float32
            assert batch.cls.dtype == batch.left_index.dtype == numpy.int64
            samples += zip(*batch)
    assert len(samples) == len(expected) == 5
    for number, (got, wanted) in enumerate(zip(samples, expected)):
        png, label, text, parsed, array, raw, index = got
        image = wanted["png"]
        assert png.transpose(1, 2, 0).ravel().tolist() == image["items"]
        assert label == wanted["cls"] and index == wanted["left.index"]
        assert text == wanted["txt"]
        # Compares text, because NaN is not equal to itself.
        assert json.dumps(parsed) == json.dumps(wanted["json"]), number
        assert array.ravel().tolist() == wanted["npy"]["items"]
        assert list(array.shape) == wanted["npy"]["shape"]
        assert raw.hex() == wanted["bin"]


@pytest.mark.parametrize("dataset", [
    "train-*.tar", "train-{000..003}.tar", "train-00[0-3].tar",
    "train-00{0,1,2,3}.tar"])
def test_batches_are_those_of_the_folder(shared_daemon, shards, photos,
                                         dataset, pictures):
    with open_shards(shards / dataset) as loader, forebay.DataLoader(
            photos, batch_size=7, framework="numpy",
            transform=T.CenterCrop(CROP)) as folder:
        assert len(loader.dataset) == len(pictures)
        assert loader.dataset.uri == str(shards / dataset)
        for mine, theirs in zip(loader, folder):
            assert mine._fields == ("jpg", "cls")
            assert (mine.jpg == theirs.image).all()
            assert (mine.cls == theirs.label).all()
            assert (mine.sample_ids == theirs.sample_ids).all()


def test_shuffled_epochs_have_each_sample_once(daemon, shards, pictures):
    orders = []
    with open_shards(shards / "*.tar", ("json", "txt", "cls"), shuffle=True,
                     seed=3, transform=None) as loader:
        for _ in range(2):
            order = []
            for batch in loader:
                for parsed, text, label, number in zip(*batch,
                                                       batch.sample_ids):
                    assert parsed == {"number": number}
                    assert text == f"the {number}. \u00e9" * (number % 3)
                    assert label == pictures[number][1]
                    order.append(int(number))
            assert sorted(order) == list(range(len(pictures)))
            orders.append(order)
        assert orders[0] != orders[1]
        stats = loader.stats()
        assert stats["samples_decoded"] == 2 * len(pictures)
    # The stored index is found, and gives the same order.
    daemon.stop()
    daemon.start()
    with open_shards(shards / "*.tar", ("json", "txt", "cls"), shuffle=True,
                     seed=3, transform=None) as loader:
        again = [int(i) for batch in loader for i in batch.sample_ids]
    assert again == orders[0]
    assert ctl(daemon, "status")["warnings"] == []


def test_blocks_are_shuffled_and_each_sample_comes_once(shared_daemon, shards,
                                                        pictures):
    orders = []
    for seed in (1, 1, 2):
        with open_shards(shards / "*.tar", ("cls",), shuffle="block", seed=seed,
                         transform=None) as loader:
            state = loader.state_dict()
            order = [int(i) for batch in loader for i in batch.sample_ids]
        assert sorted(order) == list(range(len(pictures)))
        orders.append(order)
    assert orders[0] == orders[1] != orders[2]
    with open_shards(shards / "*.tar", ("cls",), shuffle=True, seed=2,
                     transform=None) as loader:
        with pytest.raises(forebay.StateError):
            loader.load_state_dict(dict(state, seed=2))


def test_ranks_share_a_dataset(shared_daemon, shards, pictures):
    seen = []
    for rank in range(3):
        with open_shards(shards / "*.tar", ("cls",), shuffle=True, rank=rank,
                         world_size=3, pad="none", transform=None) as loader:
            seen += [int(i) for batch in loader for i in batch.sample_ids]
    assert sorted(seen) == list(range(len(pictures)))


def test_torch_gets_tensors_and_lists(shared_daemon):
    with open_shards(GOLDEN / "decoded.tar", ("npy", "cls", "txt"),
                     framework="torch", transform=None, batch_size=5) as loader:
        batch, = loader
    assert batch.npy.dtype == torch.float32 and batch.npy.shape == (5, 2, 3)
    assert batch.cls.tolist() == [3, 1, -1, -3, -5]
    assert isinstance(batch.txt, list) and batch.txt[0] == "text"


def test_names_become_identifiers(shared_daemon, tmp_path):
    names = ("class", "1.cls", "a-b.cls", "a.b.cls", "sample_ids.cls;cls2")
    path = tmp_path / "odd.tar"
    write_python_tar(path, [("1.class", b"1"), ("1.1.cls", b"2"),
                            ("1.a-b.cls", b"3"), ("1.a.b.cls", b"4"),
                            ("1.cls2", b"5")])
    with open_shards(path, names, transform=None) as loader:
        batch, = loader
    assert batch._fields == ("f_class", "f_1_cls", "a_b_cls", "f_a_b_cls",
                             "sample_ids_cls")
    assert [int(value[0]) for value in batch] == [1, 2, 3, 4, 5]


def test_alternatives(shared_daemon, tmp_path, pictures):
    path = tmp_path / "some.tar"
    write_python_tar(path, [("1.jpeg", pictures[0][0]), ("1.cls", b"0"),
                            ("2.jpg", pictures[1][0]), ("2.cls", b"1")])
    with open_shards(path, ("jpg;jpeg", "cls")) as loader:
        batch, = loader
    assert batch._fields == ("jpg", "cls")
    assert (batch.jpg[0] != batch.jpg[1]).any()


def test_extensions_may_have_blanks(daemon, tmp_path):
    field = "0 (clean version).txt"
    write_python_tar(tmp_path / "some.tar", [(f"{key} v1.{field}", key.encode())
                                             for key in "ab"])
    for _ in range(2):  # the second time with the stored index
        with open_shards(tmp_path / "some.tar", (field,), transform=None) as loader:
            batch, = loader
        assert batch[0] == ["a", "b"]
        daemon.stop()
        daemon.start()


def test_fields_must_be_named(shared_daemon, shards, photos):
    path = shards / "train-000.tar"
    text = refusal(forebay.InvalidArgument, path, None)
    assert text.startswith(f"{path}: fields must say ")
    assert "folder" in refusal(forebay.InvalidArgument, photos, ("jpg",))
    refusal(forebay.InvalidArgument, path, ())
    refusal(forebay.InvalidArgument, path, "jpg")
    assert refusal(forebay.InvalidArgument, path, ("jpg;cls",)) == (
        f'{shards}: "jpg;cls" is not a field: jpg and cls are not decoded alike')
    assert refusal(forebay.InvalidArgument, path, ("cls",)) == (
        f"{shards}: there is a transform, but no field that is an image")


def test_a_list_of_shards_is_refused_with_a_path_that_reads_them(shared_daemon, shards):
    paths = [str(path) for path in sorted(shards.glob("*.tar"))[:2]]
    text = refusal(forebay.InvalidArgument, paths)
    with open_shards(text.split('"')[1]) as loader:
        assert sum(map(len, (batch.cls for batch in loader))) == 2 * EACH


def test_missing_field(shared_daemon, shards):
    assert refusal(forebay.InvalidArgument, shards / "*.tar",
                   ("jpg", "wav")) == (
        f"{shards}: train-000.tar: sample train/{'deep' * 30}/000000 has no "
        "field wav; it has jpg, cls, txt, json")


def test_missing_shards(shared_daemon, shards):
    assert refusal(forebay.NotFound, shards / "x-*.tar") == (
        f"{shards}: x-*.tar: no file fits this pattern")
    text = refusal(forebay.NotFound, shards / "train-{000..004}.tar")
    assert text.startswith(f"{shards}: train-004.tar: ")


def test_broken_and_truncated_shards(shared_daemon, shards):
    path = shards / "train-001.tar"
    whole = path.read_bytes()
    with tarfile.open(path) as tar:
        image = tar.getmembers()[4 * 7]
    path.write_bytes(whole[:image.offset_data + image.size // 2])
    text = refusal(forebay.DataError, shards / "*.tar")
    assert text.startswith(f"{shards}: train-001.tar: at byte ")
    assert "truncated" in text
    path.write_bytes(b"\0\1" * 4096 + whole)
    text = refusal(forebay.DataError, shards / "*.tar")
    assert text.startswith(f"{shards}: train-001.tar: ")


def test_broken_samples_are_named(shared_daemon, tmp_path, pictures):
    path = tmp_path / "broken.tar"
    write_python_tar(path, [
        ("a/1.jpg", pictures[0][0]), ("a/1.cls", b"0"),
        ("a/2.jpg", b"no image"), ("a/2.cls", b"two"), ("a/2.txt", b"\xff"),
        ("a/2.json", b"{"), ("a/2.npy", b"no array")])
    write_python_tar(tmp_path / "first.tar", [
        ("a/1.txt", b""), ("a/1.json", b"1"), ("a/1.npy", npy((2,), "<i2"))])
    both = tmp_path / "{first,broken}.tar"
    start = f"sample 1 (a/2) of {tmp_path}: broken.tar: "
    assert refusal(forebay.DataError, path, ("jpg",)).startswith(
        start + "jpg: ")
    assert refusal(forebay.DataError, path, ("cls",), transform=None) == (
        start + "cls: is not an integer, which a label must be")
    write_python_tar(path, [("a/2.txt", b"\xff"), ("a/2.json", b"{"),
                            ("a/2.npy", b"no array")])
    assert refusal(forebay.DataError, both, ("txt",), transform=None) == (
        start + "txt: is not UTF-8, which a text must be, at byte 0")
    assert refusal(forebay.DataError, both, ("npy",), transform=None) == (
        start + "npy: is not a .npy file")
    assert refusal(forebay.DataError, both, ("json",),
                   transform=None).startswith("sample 1: json: is not JSON: ")


def npy(shape, dtype):
    file = io.BytesIO()
    numpy.save(file, numpy.ones(shape, dtype))
    return file.getvalue()


def test_arrays_of_other_types_are_refused(shared_daemon, tmp_path):
    path = tmp_path / "arrays.tar"
    write_python_tar(path, [("1.npy", npy((2, 3), "<f4")),
                            ("2.npy", npy((3, 2), "<f4"))])
    assert refusal(forebay.InvalidArgument, path, ("npy",), transform=None,
                   batch_size=1) == (
        f"sample 1 (2) of {tmp_path}: arrays.tar: npy: is an array of float32 "
        "(3, 2), but that of the first one is of float32 (2, 3), as all must be")
    write_python_tar(path, [("1.npy", npy((2,), ">f4"))])
    assert refusal(forebay.Unsupported, path, ("npy",), transform=None) == (
        f"sample 0 (1) of {tmp_path}: arrays.tar: npy: is a big-endian .npy file, "
        "of which only little-endian ones can be read")


def test_corrupt_samples_are_substituted(shared_daemon, tmp_path, pictures):
    path = tmp_path / "some.tar"
    write_python_tar(path, [("1.jpg", pictures[0][0]), ("1.txt", b"one"),
                            ("2.jpg", pictures[1][0][:200]), ("2.txt", b"2"),
                            ("3.jpg", pictures[2][0]), ("3.txt", b"three")])
    with open_shards(path, ("jpg", "txt"), on_error="substitute") as loader:
        for _ in range(4):
            batch, = loader
            assert batch.txt[0] == "one" and batch.txt[2] == "three"
            assert batch.txt[1] in ("one", "three")
            assert [batch.txt[i] for i in range(3)] == [
                {0: "one", 2: "three"}[int(i)] for i in batch.sample_ids]
        assert loader.stats()["samples_substituted"] >= 4


def test_shard_that_is_replaced_between_epochs(shared_daemon, shards, pictures):
    path = shards / "train-002.tar"
    with open_shards(shards / "*.tar") as loader:
        for _ in loader:
            pass
        other = path.with_suffix(".new")
        write_python_tar(other, members_of(0, *pictures[0]))
        os.replace(other, path)
        with pytest.raises(forebay.ForebayError) as caught:
            for _ in loader:
                pass
        text = str(caught.value)
        assert text.startswith(f"sample {2 * EACH} (train/x/{2 * EACH:06}) "
                               f"of {shards}: train-002.tar: ")
    with open_shards(shards / "*.tar") as loader:
        assert len(loader.dataset) == len(pictures) - EACH + 1
        assert sum(len(batch.cls) for batch in loader) == len(loader.dataset)


def test_people_see_the_pattern_and_a_batch(daemon, shards, tmp_path):
    fields = ("txt", "jpg", "json", "cls")
    with open_shards(shards / "*.tar", fields) as loader:
        batches = iter(loader)
        held = next(batches)
        job, = ctl(daemon, "jobs")["jobs"]
        assert str(shards / "*.tar") in json.dumps(job)
        ctl(daemon, "peek", job["key"], "-o", str(tmp_path / "batch.png"))
        assert (tmp_path / "batch.png").stat().st_size > 1000
        assert len(held.txt) == 7
