"""forebay.inspect of datasets in buckets, and on the web, where nothing can be
listed."""

import io

import numpy
import pytest

import forebay
import tfrecord_test
from inspect_test import first_batch
from inspected_files import GOLDEN, members, pictures
from remote_shards_test import daemon, proxy, tar_of  # noqa: F401

pytestmark = pytest.mark.usefixtures("daemon")


def array_of(number):
    file = io.BytesIO()
    numpy.save(file, numpy.zeros((number + 1, 2)))
    return file.getvalue()


@pytest.fixture(scope="module")
def bucket(fake_gcs, photos, tmp_path_factory):
    records = tfrecord_test.write(tmp_path_factory.mktemp("records") / "a",
                                  [b"record %d" % number for number in range(9)])
    shard = tar_of(members(photos))
    fake_gcs.fill("looked-at", {
        **{f"photos/{path.parent.name}/{path.name}": path.read_bytes()
           for path in photos.glob("*/*.jpg")},
        **{f"shards/{number:03}.tar": shard for number in range(2)},
        **{f"unlabelled/{number:03}.tar": tar_of([
            (f"{number}{at}.{ending}", b"text") for at in range(3)
            for ending in ("txt", "vtt")]) for number in range(2)},
        "captions/0.tar": tar_of([
            (f"{at}.{ending}", pictures(photos)[at].read_bytes() if ending == "jpg"
             else b"{}") for at in range(3) for ending in ("jpg", "json", "txt")]),
        **{f"mosaic/{path.name}": path.read_bytes()
           for path in (GOLDEN / "mds" / "mixed").iterdir()},
        **{f"arrays/{number}.npy": array_of(number) for number in range(3)},
        "records/a.tfrecord": records.read_bytes(),
        "unnamed/train-00000-of-00001": records.read_bytes(),
        "nothing/readme.md": b"# Nothing\n"})
    return f"{fake_gcs.url}/looked-at"


@pytest.mark.parametrize("path, format, samples, fields", [
    ("photos", "image_folder", 48, ["image", "label"]),
    ("photos/", "image_folder", 48, ["image", "label"]),
    ("shards", "webdataset", 96, ["jpg", "cls"]),
    ("shards/*.tar", "webdataset", 96, None),
    ("shards/{000..001}.tar", "webdataset", 96, ["jpg", "cls"]),
    ("shards/000.tar", "webdataset", 48, ["jpg", "cls"]),
    ("unlabelled", "webdataset", 6, ["txt", "vtt"]),
    ("captions", "webdataset", 3, ["jpg", "txt", "json"]),
    ("mosaic", "mds", 12, None), ("arrays", "npy_folder", 3, ["array"]),
    ("records", "tfrecord", 9, ["record"]),
    ("records/a.tfrecord", "tfrecord", 9, ["record"]),
    ("unnamed", "tfrecord", 9, ["record"]),
    ("unnamed/train-*", "tfrecord", 9, ["record"])])
def test_buckets(bucket, path, format, samples, fields):
    found = forebay.inspect(f"gs://looked-at/{path}", autostart=False)
    assert (found.format, found.samples) == (format, samples)
    assert fields is None or [field["name"] for field in found.fields] == fields
    assert len(first_batch(found)) == len(found.fields)
    if "*" not in path and "." in path:
        assert found.bytes > 0
    else:
        assert found.files is None and "about" in str(found)


@pytest.mark.parametrize("path, samples", [
    ("shards/000.tar", 48), ("shards/{000..001}.tar", 96), ("records/a.tfrecord", 9)])
def test_web_servers(bucket, path, samples):
    found = forebay.inspect(f"{bucket}/{path}", verify=True, progress=False,
                            autostart=False)
    assert found.samples == samples and found.bytes > 0
    assert found.verification.is_complete and not found.verification.broken


def test_what_is_not_there(bucket):
    for name in ("away", "nothing"):
        with pytest.raises(forebay.NotFound, match=f"{name}: has neither class"):
            forebay.inspect(f"gs://looked-at/{name}", autostart=False)
    with pytest.raises(forebay.NotFound, match="away.tar"):
        forebay.inspect(f"{bucket}/away.tar", autostart=False)
    with pytest.raises(forebay.Unsupported, match="list no folders"):
        forebay.inspect(f"{bucket}/shards/", autostart=False)
