"""TFRecord files in buckets and on the web give the same samples as local ones."""

import pytest

import forebay
from remote_shards_test import daemon, proxy  # noqa: F401
from tfrecord_test import FIELDS, GOLDEN, epoch, frame, open_records

PARTS = 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("records")
    for part in range(PARTS):
        (place / f"part-{part:03}.tfrecord").write_bytes(b"".join(
            frame(b"%d " % part * number) for number in range(part % 7)))
    return place


@pytest.fixture(scope="module")
def places(fake_gcs, folder):
    """The URIs of the same files in a bucket: as a bucket, and by HTTP."""
    fake_gcs.fill("records", {f"a/{path.name}": path.read_bytes()
                              for path in folder.glob("*.tfrecord")})
    return {"bucket": "gs://records/a", "web": f"{fake_gcs.url}/records/a"}


def read(dataset, **arguments):
    with open_records(dataset, shuffle=True, seed=4, **arguments) as loader:
        return epoch(loader)


def same(one, other):
    """Returns whether the samples and their order are equal, array by array."""
    return (list(one) == list(other) and
            all(repr(one[number]) == repr(other[number]) for number in one))


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize("place, pattern", [
    ("bucket", "part-{000..019}.tfrecord"), ("bucket", "*.tfrecord"),
    ("bucket", "part-006.tfrecord"), ("web", "part-{000..019}.tfrecord"),
    ("web", "part-006.tfrecord")])
def test_records(folder, places, place, pattern):
    assert same(read(f"{places[place]}/{pattern}", fields="bytes"),
                read(f"{folder}/{pattern}", fields="bytes"))


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize("fields", [None, FIELDS])
def test_examples(fake_gcs, fields):
    fake_gcs.fill("examples", {path.name: path.read_bytes()
                               for path in GOLDEN.glob("examples-*")})
    transform = None if fields else forebay.transforms.Compose([
        forebay.transforms.Resize(8), forebay.transforms.CenterCrop(8)])
    assert same(
        read("gs://examples/examples-*.tfrecord", fields=fields,
             transform=transform),
        read(GOLDEN / "examples-*.tfrecord", fields=fields, transform=transform))


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize("shuffle", [True, "block"])
def test_records_on_a_bad_network(folder, places, proxy, shuffle):  # noqa: F811
    proxy.spoil(0.2)
    with open_records(places["bucket"] + "/*.tfrecord", fields="bytes",
                      shuffle=shuffle, seed=1) as loader:
        found = epoch(loader)
    expected = [b"%d " % part * number for part in range(PARTS)
                for number in range(part % 7)]
    assert [found[number] for number in range(len(expected))] == [
        [record] for record in expected]
    assert sum(proxy.faults().values()) > 0


@pytest.mark.usefixtures("daemon")
def test_an_object_that_is_damaged_is_named(fake_gcs):
    fake_gcs.fill("damaged-records", {"a.tfrecord": frame(b"a") + b"xyz"})
    with pytest.raises(forebay.DataError) as caught:
        read("gs://damaged-records/a.tfrecord", fields="bytes")
    assert str(caught.value) == (
        "gs://damaged-records: a.tfrecord: at byte 17: is truncated: 3 bytes are "
        "left, which are not a record")
