"""ArrayRecord files in buckets and on the web give the same samples as local ones."""

import pytest

import forebay
from array_record_files import noise, write
from remote_shards_test import daemon, proxy  # noqa: F401
from remote_tfrecord_test import same
from tfrecord_test import epoch, open_records

PARTS = 6
OPTIONS = ["group_size:1,zstd", "group_size:5,brotli", "group_size:1,uncompressed",
           "group_size:5,snappy", "group_size:3,uncompressed", "group_size:1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("records")
    for part, options in enumerate(OPTIONS):
        write(place / f"part.array_record-{part:05}-of-00006",
              noise(30 * part, seed=part), options)
    return place


@pytest.fixture(scope="module")
def places(fake_gcs, folder):
    """The URIs of the same files in a bucket: as a bucket, and by HTTP."""
    fake_gcs.fill("array-records", {f"a/{path.name}": path.read_bytes()
                                    for path in folder.iterdir()})
    return {"bucket": "gs://array-records/a",
            "web": f"{fake_gcs.url}/array-records/a"}


def read(dataset, **arguments):
    with open_records(dataset, shuffle=True, seed=4, **arguments) as loader:
        return epoch(loader)


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize("place, pattern", [
    ("bucket", "part.array_record-{00000..00005}-of-00006"),
    ("bucket", "part.array_record-*"), ("bucket", "part.array_record-00003-of-00006"),
    ("web", "part.array_record-{00000..00005}-of-00006"),
    ("web", "part.array_record-00001-of-00006")])
def test_records(folder, places, place, pattern):
    found = read(forebay.array_record(f"{places[place]}/{pattern}", fields="bytes"))
    assert same(found, read(forebay.array_record(f"{folder}/{pattern}",
                                                 fields="bytes")))


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize("shuffle", [True, "block"])
def test_records_on_a_bad_network(folder, places, proxy, shuffle):  # noqa: F811
    proxy.spoil(0.2)
    with open_records(places["bucket"] + "/part.array_record-*", fields="bytes",
                      shuffle=shuffle, seed=1) as loader:
        found = epoch(loader)
    expected = [record for part in range(PARTS)
                for record in noise(30 * part, seed=part)]
    assert [found[number] for number in range(len(expected))] == [
        [record] for record in expected]
    assert sum(proxy.faults().values()) > 0


@pytest.mark.usefixtures("daemon")
def test_an_object_that_is_damaged_is_named(fake_gcs, folder):
    content = (folder / "part.array_record-00002-of-00006").read_bytes()
    fake_gcs.fill("damaged-array-records", {"a.array_record": content[:-1]})
    with pytest.raises(forebay.DataError) as caught:
        read("gs://damaged-array-records/a.array_record", fields="bytes")
    assert str(caught.value).startswith(
        "gs://damaged-array-records: a.array_record: is not an ArrayRecord file, or "
        "truncated")
