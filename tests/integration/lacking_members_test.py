"""Samples of tar shards that lack a field, or have a link in place of a field."""

import os
import subprocess
import tarfile

import pytest

import forebay
from shards_test import npy, open_shards, refusal, write_python_tar


@pytest.fixture
def images(photos):
    return [path.read_bytes() for path in sorted(photos.glob("*/*"))]


def write_lacking(path, images):
    """Writes five samples. The second lacks its class, and the fourth lacks its
    image."""
    members = [member for number in range(5)
               for member in ((f"{number}.jpg", images[number]),
                              (f"{number}.cls", str(number).encode()))]
    del members[6], members[3]
    write_python_tar(path, members)


def test_samples_that_lack_a_field_are_damaged(daemon, tmp_path, images):
    path = tmp_path / "some.tar"
    write_lacking(path, images)
    with open_shards(path, batch_size=1) as loader:
        batches = iter(loader)
        assert next(batches).cls.tolist() == [0]
        with pytest.raises(forebay.DataError) as caught:
            next(batches)
    assert str(caught.value) == (f"sample 1 (1) of {tmp_path}: some.tar: has no field "
                                 "cls, which other samples have")
    with open_shards(path, on_error="substitute", batch_size=1) as loader:
        labels = [batch.cls.item() for batch in loader]
        assert loader.stats()["samples_substituted"] >= 2
    assert labels[::2] == [0, 2, 4] and set(labels) == {0, 2, 4}
    with open_shards(path, ("cls",), transform=None, on_error="substitute") as loader:
        assert set(next(iter(loader)).cls.tolist()) == {0, 2, 3, 4}
    dataset = forebay.Dataset(path, fields=("jpg", "cls"), autostart=False)
    assert [dataset[number][1] for number in (0, 2, 4)] == [0, 2, 4]
    with pytest.raises(forebay.DataError, match="has no field jpg"):
        dataset[3]
    assert (f"{tmp_path}: 2 of 5 samples lack a field and count as damaged; the first "
            "is sample 1 (1) of some.tar") in daemon.log()


def test_the_first_sample_may_lack_its_array(shared_daemon, tmp_path):
    path = tmp_path / "arrays.tar"
    write_python_tar(path, [("0.cls", b"0"), ("1.npy", npy((2, 3), "<f4")),
                            ("1.cls", b"1"), ("2.npy", npy((2, 3), "<f4")),
                            ("2.cls", b"2")])
    with open_shards(path, ("npy", "cls"), transform=None,
                     on_error="substitute") as loader:
        batch, = loader
    assert batch.npy.shape == (3, 2, 3) and set(batch.cls.tolist()) == {1, 2}


def test_links_are_named(shared_daemon, tmp_path, images):
    (tmp_path / "0.jpg").write_bytes(images[0])
    os.link(tmp_path / "0.jpg", tmp_path / "1.jpg")
    for number in range(2):
        (tmp_path / f"{number}.cls").write_text(str(number))
    names = ["0.cls", "0.jpg", "1.cls", "1.jpg"]
    why = ("is a link, which is not read: pack the file itself (tar --dereference "
           "--hard-dereference)")
    subprocess.run(["tar", "-C", tmp_path, "-cf", tmp_path / "a.tar", *names],
                   check=True)
    assert refusal(forebay.DataError, tmp_path / "a.tar") == (
        f"sample 1 (1) of {tmp_path}: a.tar: has no field jpg: what has that name "
        f"{why}")
    with open(tmp_path / "b.tar", "wb") as file:
        whole = (tmp_path / "a.tar").read_bytes()
        with tarfile.open(tmp_path / "a.tar") as tar:
            file.write(whole[tar.getmember("1.cls").offset:])
    assert refusal(forebay.InvalidArgument, tmp_path / "b.tar") == (
        f"{tmp_path}: b.tar: sample 1 has no field jpg: 1.jpg {why}")
