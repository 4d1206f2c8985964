"""Folders of .npy files, .npz files and tokens in buckets and on the web give the same
samples as local ones."""

import numpy
import pytest

import forebay
from npy_test import numbers, same
from remote_shards_test import daemon, proxy  # noqa: F401
from tokens_test import GOLDEN, ids_of

pytestmark = pytest.mark.usefixtures("daemon")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("arrays")
    for number in range(12):
        for kind in ("flat", f"classes/{'abc'[number % 3]}", "samples"):
            (place / kind).mkdir(parents=True, exist_ok=True)
        array = numbers(2 + number % 4, (3,))
        numpy.save(place / "flat" / f"{number}.npy", array)
        numpy.save(place / "classes" / "abc"[number % 3] / f"{number}.npy", array)
        numpy.savez_compressed(place / "samples" / f"{number}.npz", a=array,
                               b=numpy.int64(number))
    for number in range(3):
        numpy.savez(place / f"rows-{number}.npz", x=numbers(4, (2,)),
                    y=numbers(4, (), "int64"))
        ids_of(100).tofile(place / f"raw-{number}.bin")
    for ending in ("bin", "idx"):
        (place / f"plain.{ending}").write_bytes(
            (GOLDEN / f"plain.{ending}").read_bytes())
    return place


@pytest.fixture(scope="module")
def places(fake_gcs, folder):
    """The URIs of the same files in a bucket: as a bucket, and by HTTP."""
    fake_gcs.fill("arrays-of-numpy", {
        f"a/{path.relative_to(folder)}": path.read_bytes()
        for path in folder.rglob("*") if path.is_file()})
    return {"bucket": "gs://arrays-of-numpy/a",
            "web": f"{fake_gcs.url}/arrays-of-numpy/a"}


def epoch(dataset):
    """Returns all values of an epoch, by field, and the sample numbers."""
    values, ids = {}, []
    with forebay.DataLoader(dataset, batch_size=5, framework="numpy", seed=4,
                            shuffle=True, autostart=False) as loader:
        for batch in loader:
            for name in batch._fields:
                values.setdefault(name, []).extend(
                    numpy.array(value) for value in getattr(batch, name))
            ids += batch.sample_ids.tolist()
    return values, ids


def expect_same(one, other):
    assert one[1] == other[1] and list(one[0]) == list(other[0])
    for name, values in one[0].items():
        assert len(values) == len(other[0][name]) > 0
        assert all(map(same, values, other[0][name]))


CASES = {
    "flat": lambda place: forebay.npy_folder(f"{place}/flat"),
    "classes": lambda place: forebay.npy_folder(f"{place}/classes"),
    "samples": lambda place: forebay.npz(f"{place}/samples/*.npz", rows=False),
    "rows": lambda place: f"{place}/rows-*.npz",
    "raw": lambda place: forebay.tokens(f"{place}/raw-*.bin", dtype="uint16",
                                        length=7),
    "documents": lambda place: forebay.tokens(f"{place}/plain", length=None),
    "windows": lambda place: forebay.tokens(f"{place}/plain.bin", length=9, stride=4),
}


@pytest.mark.parametrize("name", CASES)
def test_a_bucket(folder, places, name):
    expect_same(epoch(CASES[name](places["bucket"])), epoch(CASES[name](folder)))


def test_a_web_server(folder, places):
    for name in ("documents", "windows"):
        expect_same(epoch(CASES[name](places["web"])), epoch(CASES[name](folder)))
    for pattern in ("rows-{0..2}.npz",):
        expect_same(epoch(f"{places['web']}/{pattern}"), epoch(folder / pattern))
    samples = "samples/{0..11}.npz"
    expect_same(epoch(forebay.npz(f"{places['web']}/{samples}", rows=False)),
                epoch(forebay.npz(folder / samples, rows=False)))


def test_a_folder_on_a_web_server_is_none(places):
    with pytest.raises(forebay.ForebayError):
        epoch(forebay.npy_folder(f"{places['web']}/flat"))
