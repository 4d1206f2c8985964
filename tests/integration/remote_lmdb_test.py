"""LMDB environments in buckets and on the web give the same entries as local ones."""

import pytest

import forebay
from daemons import serving
from lmdb_files import contents, entries_of, noise, open_entries, write
from remote_shards_test import daemon, proxy  # noqa: F401


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("environments")
    for part in range(3):
        write(place / f"part-{part}", noise(150 * part, seed=part, longest=5000))
    write(place / "one.lmdb", noise(9), subdir=False)
    return place


@pytest.fixture(scope="module")
def places(fake_gcs, folder):
    """The URIs of the same files in a bucket: as a bucket, and by HTTP."""
    objects = {f"a/{path.relative_to(folder)}": path.read_bytes()
               for path in folder.rglob("*") if path.is_file()}
    fake_gcs.fill("environments", objects)
    return {"bucket": "gs://environments/a", "web": f"{fake_gcs.url}/environments/a"}


def epoch(dataset, **arguments):
    with open_entries(dataset, shuffle=True, seed=4, **arguments) as loader:
        return contents(loader)


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize("place, pattern", [
    ("bucket", "part-{0..2}"), ("bucket", "part-*"), ("bucket", "one.lmdb"),
    ("bucket", "part-1/data.mdb"), ("web", "part-{0..2}"), ("web", "one.lmdb")])
def test_entries(folder, places, place, pattern):
    assert epoch(f"{places[place]}/{pattern}") == epoch(f"{folder}/{pattern}")


@pytest.mark.usefixtures("daemon")
def test_single_entries(folder, places):
    dataset = forebay.Dataset(forebay.lmdb(places["bucket"] + "/part-*",
                                           fields={"key": "bytes"}),
                              autostart=False)
    keys = [key for part in range(3) for key, _ in entries_of(folder / f"part-{part}")]
    assert len(dataset) == len(keys)
    for number in (0, 149, 150, -1):
        assert bytes(dataset[number][0]) == keys[number]


@pytest.mark.usefixtures("daemon")
def test_entries_on_a_bad_network(folder, places, proxy):  # noqa: F811
    proxy.spoil(0.2)
    expected = [value for part in range(3)
                for _, value in entries_of(folder / f"part-{part}")]
    with open_entries(places["bucket"] + "/part-*", shuffle=True, seed=1) as loader:
        values, ids = contents(loader)
    assert values == [expected[number] for number in ids]
    assert sorted(ids) == list(range(len(expected)))
    assert sum(proxy.faults().values()) > 0


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize("place, pattern, message", [
    ("bucket", "part-{2..3}", "part-3/data.mdb: there is no such object"),
    ("bucket", "x*", "x*: no object fits this pattern"),
    ("web", "part-3", "part-3: there is no such object")])
def test_what_is_missing_is_named(places, place, pattern, message):
    with pytest.raises(forebay.ForebayError) as caught:
        epoch(f"{places[place]}/{pattern}")
    assert str(caught.value) == f"{places[place]}: {message}"


@pytest.fixture
def cacheless(tmp_path, proxy, monkeypatch):  # noqa: F811
    """A daemon that reads each value only when it is wanted."""
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", proxy.url)
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    path = tmp_path / "forebayd.toml"
    path.write_text('[cache]\nmemory = "0"\n')
    with serving(tmp_path, "--config", str(path)) as started:
        yield started


@pytest.mark.usefixtures("cacheless")
def test_an_object_that_is_replaced_is_an_error(fake_gcs, folder):
    content = (folder / "part-2" / "data.mdb").read_bytes()
    fake_gcs.fill("replaced-environment", {"e/data.mdb": content})
    with open_entries("gs://replaced-environment/e", depth=1) as loader:
        batches = iter(loader)
        next(batches)
        fake_gcs.fill("replaced-environment", {"e/data.mdb": content})
        with pytest.raises(forebay.ForebayError, match="data.mdb: was replaced or "):
            contents(batches)
    with open_entries("gs://replaced-environment/e") as loader:
        assert len(contents(loader)[1]) == 300
