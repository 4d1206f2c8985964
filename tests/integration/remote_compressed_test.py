"""Compressed files in buckets and on the web give the same samples as local ones."""

import gzip
import json
import urllib.request

import pytest

import forebay
from compressed_test import SAMPLES, archive, as_bytes, expected, \
    open_tars  # noqa: F401
from packed_files import (many_members, noise, one_frame, one_member,
                          parallel_zstd)
from remote_shards_test import daemon, proxy  # noqa: F401
from tfrecord_test import epoch, frame, open_records

RECORDS = [noise(number, number * 3000) for number in range(60)]


@pytest.fixture(scope="module")
def places(fake_gcs, archive):  # noqa: F811
    fake_gcs.fill("packed", {
        "a/0.tar.gz": one_member(archive), "a/1.tgz": many_members(archive),
        "a/2.tar": archive, "a/3.tar.zst": one_frame(archive),
        "a/4.tzst": parallel_zstd(archive),
        "a/r.tfrecord.gz": one_member(b"".join(map(frame, RECORDS)))})
    return {"bucket": "gs://packed/a", "web": f"{fake_gcs.url}/packed/a"}


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize("shuffle", [True, "block"])
@pytest.mark.parametrize("place", ["bucket", "web"])
def test_shards(places, expected, place, shuffle):  # noqa: F811
    with open_tars(f"{places[place]}/{{0.tar.gz,1.tgz,2.tar,3.tar.zst,4.tzst}}",
                   shuffle=shuffle) as loader:
        found = as_bytes(epoch(loader))
    assert found == {number: expected[number % SAMPLES]
                     for number in range(5 * SAMPLES)}


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize("fields", ["bytes", None])
def test_records(places, fields):
    with open_records(f"{places['bucket']}/*.tfrecord.gz", fields=fields,
                      shuffle=True) as loader:
        found = as_bytes(epoch(loader))
    assert [found[number] for number in range(len(RECORDS))] == [
        [record] for record in RECORDS]


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize("name", ["0.tar.gz", "3.tar.zst"])
def test_shards_on_a_bad_network(places, proxy, expected, name):  # noqa: F811
    proxy.spoil(0.2)
    with open_tars(f"{places['bucket']}/{name}", shuffle=True) as loader:
        assert as_bytes(epoch(loader)) == expected
    assert sum(proxy.faults().values()) > 0


@pytest.mark.usefixtures("daemon")
def test_an_object_that_is_damaged_is_named(fake_gcs):
    whole = gzip.compress(b"".join(map(frame, RECORDS[:5])), mtime=0)
    fake_gcs.fill("damaged-packed", {"a.tfrecord": whole[:-9]})
    with pytest.raises(forebay.DataError) as caught:
        with open_records("gs://damaged-packed/a.tfrecord",
                          fields="bytes") as loader:
            list(loader)
    assert str(caught.value) == (
        f"gs://damaged-packed: a.tfrecord: at byte {len(whole) - 9}: is truncated "
        "in its compressed data")


@pytest.mark.usefixtures("daemon")
def test_an_object_that_is_replaced_is_noticed(fake_gcs, archive,  # noqa: F811
                                               expected):  # noqa: F811
    fake_gcs.fill("replaced-packed", {"a.tar.gz": one_member(archive)})
    with open_tars("gs://replaced-packed/a.tar.gz") as loader:
        assert as_bytes(epoch(loader)) == expected
    fake_gcs.fill("replaced-packed", {"a.tar.gz": many_members(archive)})
    with open_tars("gs://replaced-packed/a.tar.gz", shuffle=True) as loader:
        assert as_bytes(epoch(loader)) == expected


@pytest.mark.usefixtures("daemon")
def test_objects_with_an_encoding_are_read_as_they_are_stored(
        fake_gcs, archive, expected):  # noqa: F811
    """The objects have names without a suffix for compression, as `gsutil cp -Z` leaves
    them."""
    fake_gcs.fill("encoded", {"a.tar": one_member(archive)})
    request = urllib.request.Request(
        f"{fake_gcs.url}/storage/v1/b/encoded/o/a.tar", method="PATCH",
        data=json.dumps({"contentEncoding": "gzip"}).encode(),
        headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        assert json.load(answer)["contentEncoding"] == "gzip"
    with open_tars("gs://encoded/a.tar", shuffle=True) as loader:
        assert as_bytes(epoch(loader)) == expected
