"""Files of .npy in buckets and on the web give the same rows as local ones."""

import io

import numpy
import pytest

import forebay
from daemons import serving
from npy_test import contents, numbers, open_rows, same
from remote_shards_test import daemon, proxy  # noqa: F401

PARTS = 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("rows")
    for part in range(PARTS):
        numpy.save(place / f"part-{part:03}.npy", numbers(part % 7, (5,)))
    return place


@pytest.fixture(scope="module")
def places(fake_gcs, folder):
    """The URIs of the same files in a bucket: as a bucket, and by HTTP."""
    fake_gcs.fill("rows-of-numpy", {f"a/{path.name}": path.read_bytes()
                                    for path in folder.glob("*.npy")})
    return {"bucket": "gs://rows-of-numpy/a",
            "web": f"{fake_gcs.url}/rows-of-numpy/a"}


def epoch(dataset, **arguments):
    with open_rows(dataset, shuffle=True, seed=4, **arguments) as loader:
        return contents(loader)


def expect_same(one, other):
    assert one[1] == other[1]
    assert same(one[0], other[0])


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize("place, pattern", [
    ("bucket", "part-{000..019}.npy"), ("bucket", "*.npy"),
    ("bucket", "part-006.npy"), ("web", "part-{000..019}.npy"),
    ("web", "part-006.npy")])
def test_rows(folder, places, place, pattern):
    expect_same(epoch(f"{places[place]}/{pattern}"),
                epoch(f"{folder}/{pattern}"))


@pytest.mark.usefixtures("daemon")
def test_single_rows(folder, places):
    far = forebay.Dataset(places["bucket"] + "/*.npy", autostart=False)
    near = forebay.Dataset(folder / "*.npy", autostart=False)
    assert len(far) == len(near)
    assert all(same(far[number][0], near[number][0]) for number in (0, 9, -1))


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize("shuffle", [True, "block"])
def test_rows_on_a_bad_network(folder, places, proxy, shuffle):  # noqa: F811
    proxy.spoil(0.2)
    with open_rows(places["bucket"] + "/*.npy", shuffle=shuffle,
                   seed=1) as loader:
        rows, ids = contents(loader)
    whole = numpy.concatenate([numpy.load(path)
                               for path in sorted(folder.glob("*.npy"))])
    assert sorted(ids) == list(range(len(whole)))
    assert same(rows, whole[ids])
    assert sum(proxy.faults().values()) > 0


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize("place, pattern, message", [
    ("bucket", "part-{019..020}.npy", "part-020.npy: there is no such object"),
    ("bucket", "x*.npy", "x*.npy: no object fits this pattern"),
    ("web", "part-020.npy", "part-020.npy: there is no such object"),
    ("web", "*.npy", "a web server does not list its files: name them")])
def test_what_is_missing_is_named(places, place, pattern, message):
    with pytest.raises(forebay.ForebayError) as caught:
        epoch(f"{places[place]}/{pattern}")
    assert str(caught.value) == f"{places[place]}: {message}"


@pytest.mark.usefixtures("daemon")
def test_objects_with_other_rows_are_named(fake_gcs, folder):
    file = io.BytesIO()
    numpy.save(file, numbers(2, (6,)))
    fake_gcs.fill("other-rows", {
        "a.npy": (folder / "part-001.npy").read_bytes(),
        "b.npy": file.getvalue()})
    with pytest.raises(forebay.InvalidArgument) as caught:
        epoch("gs://other-rows/{a,b}.npy")
    assert str(caught.value) == (
        "gs://other-rows: b.npy: has rows of float32 (6,), but those of a.npy "
        "are float32 (5,)")


@pytest.fixture
def cacheless(tmp_path, proxy, monkeypatch):  # noqa: F811
    """A daemon that reads each row only when it is wanted."""
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", proxy.url)
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    path = tmp_path / "forebayd.toml"
    path.write_text('[cache]\nmemory = "0"\n')
    with serving(tmp_path, "--config", str(path)) as started:
        yield started


@pytest.mark.usefixtures("cacheless")
def test_an_object_that_is_replaced_is_an_error(fake_gcs):
    file = io.BytesIO()
    numpy.save(file, numbers(400, (5,)))
    fake_gcs.fill("replaced-rows", {"a.npy": file.getvalue()})
    with open_rows("gs://replaced-rows/a.npy") as loader:
        batches = iter(loader)
        next(batches)
        fake_gcs.fill("replaced-rows", {"a.npy": file.getvalue()})
        with pytest.raises(forebay.ForebayError, match="a.npy: was replaced or "):
            contents(batches)
    with open_rows("gs://replaced-rows/a.npy") as loader:
        assert len(contents(loader)[1]) == 400
