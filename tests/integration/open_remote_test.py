"""forebay.open of objects in buckets and on web servers: a real daemon,
fake-gcs-server, and a proxy between them."""

import os
import random

import pandas
import pytest

import forebay
from daemons import serving
from fault_proxy import FaultProxy
from opened_files import MIB
from trouble import ctl

SIZES = {"empty": 0, "small ü%.bin": 999, "block": MIB, "large": 5 * MIB + 3}
BUCKET = "opened"


@pytest.fixture(scope="module")
def contents():
    chance = random.Random(8)
    made = {name: chance.randbytes(size) for name, size in SIZES.items()}
    made["t.csv"] = b"a,b\n" + b"1,2\n" * 5000
    return made


@pytest.fixture(scope="module")
def places(fake_gcs, contents):
    """The URIs of the folder with `contents`, by scheme."""
    fake_gcs.fill(BUCKET, {f"some/data/{name}": content
                           for name, content in contents.items()})
    return {"gs": f"gs://{BUCKET}/some/data",
            "web": f"{fake_gcs.url}/{BUCKET}/some/data"}


@pytest.fixture
def proxy(fake_gcs):
    with FaultProxy(fake_gcs.url, seed=5) as started:
        started.stall_seconds = 1.0
        started.slow_seconds = 0.1
        yield started


@pytest.fixture
def daemon(tmp_path, proxy, monkeypatch):
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", proxy.url)
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    folder = tmp_path / "daemon"
    folder.mkdir()
    with serving(folder) as started:
        yield started


def url(places, way, name):
    name = name.replace("%", "%25") if way == "web" else name
    return f"{places[way]}/{name}"


@pytest.mark.parametrize("way", ["gs", "web"])
def test_objects_have_their_bytes(daemon, places, contents, way):
    chance = random.Random(3)
    for name, content in contents.items():
        with forebay.open(url(places, way, name)) as file:
            assert file.size == len(content) and file.read() == content
            for _ in range(20):
                begin = chance.randint(0, len(content))
                file.seek(begin)
                assert file.read(70_000) == content[begin:begin + 70_000]
    with forebay.open(url(places, way, "t.csv"), "r") as file:
        assert len(pandas.read_csv(file)) == 5000


def test_is_asked_for_once(daemon, places, contents, proxy):
    uri = f"{places['gs']}/large"
    assert forebay.open(uri).read() == contents["large"]
    asked = sum(proxy.asked().values())
    for _ in range(3):
        with forebay.open(uri) as file:
            file.seek(3 * MIB)
            assert file.read() == contents["large"][3 * MIB:]
    # Each opening requests only the object's version.
    assert sum(proxy.asked().values()) == asked + 3
    total = ctl(daemon, "cache")["total"]
    assert int(total["source"]["bytes"]) == len(contents["large"])


def test_the_end_alone_is_read_for_the_end(daemon, places, contents):
    with forebay.open(f"{places['gs']}/large") as file:
        file.seek(-2, os.SEEK_END)
        assert file.read() == contents["large"][-2:]
    total = ctl(daemon, "cache")["total"]
    assert int(total["source"]["bytes"]) <= MIB


def test_faults_that_pass_are_not_seen(daemon, places, contents, proxy):
    proxy.spoil(0.3)
    for name in list(contents) * 2:
        with forebay.open(f"{places['gs']}/{name}", block_size=65536) as file:
            assert file.read() == contents[name]
    assert sum(proxy.faults().values()) > 0


def test_an_object_that_is_replaced_is_an_error(daemon, fake_gcs):
    content = bytes(range(256)) * 3 * 4096
    fake_gcs.fill("replaced", {"a": content})
    with forebay.open("gs://replaced/a") as file:
        assert file.read(10) == content[:10]
        fake_gcs.fill("replaced", {"a": content[::-1]})
        file.seek(2 * MIB)
        with pytest.raises(forebay.FileChanged,
                           match="gs://replaced: a: was changed, replaced"):
            file.read(10)
    assert forebay.open("gs://replaced/a").read() == content[::-1]


@pytest.mark.parametrize("uri, kind, message", [
    ("gs://no-such-bucket/a", forebay.NotFound, "gs://no-such-bucket"),
    (f"gs://{BUCKET}/some/other", forebay.NotFound, "other: "),
    (f"gs://{BUCKET}/some/data", forebay.NotFound, "data: "),
    (f"gs://{BUCKET}/some/", forebay.IsADirectory, "names no object"),
    (f"gs://{BUCKET}", forebay.IsADirectory, "names no object"),
    ("gs://Not_a_Bucket/x", forebay.InvalidArgument, "no bucket can have"),
    ("http://169.254.169.254/x/y", forebay.InvalidArgument, "link-local"),
    ("https://host/a?b=c", forebay.Unsupported, "a query or a fragment")])
def test_errors_of_places(daemon, places, uri, kind, message):
    with pytest.raises(kind, match=message):
        forebay.open(uri)


def test_a_folder_of_the_bucket_as_root(daemon, fake_gcs, photos):
    names = [str(path.relative_to(photos)) for path in
             sorted(photos.glob("*/*.jpg"))]
    fake_gcs.fill("pictures", {f"train/{name}": (photos / name).read_bytes()
                               for name in names})
    dataset = forebay.Dataset("gs://pictures/train", decode=False)
    samples = dataset.__getitems__(range(len(names)))
    read = int(ctl(daemon, "cache")["total"]["source"]["bytes"])
    for name, (image, _) in zip(names, samples):
        with forebay.open(f"gs://pictures/train/{name}",
                          root="gs://pictures/train/") as file:
            assert file.read() == image
    assert int(ctl(daemon, "cache")["total"]["source"]["bytes"]) == read
