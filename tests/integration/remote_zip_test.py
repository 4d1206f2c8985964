"""Zip archives in buckets and on the web give the same images as local ones."""

import pytest

import forebay
from remote_shards_test import daemon, epoch, expect_same, proxy  # noqa: F401
from zip_test import members_of, pack

PARTS = 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory, photos):
    place = tmp_path_factory.mktemp("zips")
    members = members_of(photos, "train/")
    for part in range(PARTS):
        pack(place / f"{part}.zip", members[part::PARTS])
    pack(place / "all.zip", members)
    return place


@pytest.fixture(scope="module")
def places(fake_gcs, folder):
    """The URIs of the same files in a bucket: as a bucket, and by HTTP."""
    fake_gcs.fill("zips", {f"a/{path.name}": path.read_bytes()
                           for path in folder.glob("*.zip")})
    return {"bucket": "gs://zips/a", "web": f"{fake_gcs.url}/zips/a"}


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize("place, pattern", [
    ("bucket", "all.zip"), ("bucket", "{0..2}.zip"), ("bucket", "[0-2].zip"),
    ("web", "all.zip"), ("web", "{0..2}.zip")])
def test_images(folder, photos, places, place, pattern):
    far = epoch(f"{places[place]}/{pattern}/train")
    expect_same(far, epoch(f"{folder}/{pattern}/train"))
    expect_same(far, epoch(photos))


@pytest.mark.usefixtures("daemon")
def test_images_on_a_bad_network(photos, places, proxy):  # noqa: F811
    proxy.spoil(0.2)
    expect_same(epoch(places["bucket"] + "/{0..2}.zip/train"), epoch(photos))
    assert sum(proxy.faults().values()) > 0


@pytest.mark.usefixtures("daemon")
def test_single_images(folder, places):
    far = forebay.Dataset(places["web"] + "/all.zip/train", decode=False,
                          autostart=False)
    near = forebay.Dataset(folder / "all.zip" / "train", decode=False,
                           autostart=False)
    assert len(far) == len(near) and far.classes == near.classes
    for number in (0, 7, -1):
        assert bytes(far[number][0]) == bytes(near[number][0])


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize("place, pattern, message", [
    ("bucket", "x.zip", "x.zip: there is no such object"),
    ("bucket", "x*.zip", "x*.zip: no object fits this pattern"),
    ("web", "x.zip/train", "x.zip: there is no such object")])
def test_what_is_missing_is_named(places, place, pattern, message):
    with pytest.raises(forebay.ForebayError) as caught:
        epoch(f"{places[place]}/{pattern}")
    assert str(caught.value) == f"{places[place]}: {message}"
    with pytest.raises(forebay.NotFound) as caught:
        epoch(f"{places[place]}/all.zip/test")
    assert str(caught.value) == (
        f"{places[place]}/all.zip/test: there is no such folder in the archive, or "
        "nothing in it")


@pytest.mark.usefixtures("daemon")
def test_a_replaced_archive_gives_the_new_images(fake_gcs, photos, tmp_path):
    for name, content, method in members_of(photos)[:2]:
        path = pack(tmp_path / "a.zip", [(name, content, method)])
        fake_gcs.fill("changing", {"a.zip": path.read_bytes()})
        expect_same(epoch("gs://changing/a.zip"), epoch(path))
