"""Tar shards and manifests in buckets and on the web give the same samples as local
ones."""

import contextlib
import csv
import functools
import http.server
import io
import tarfile
import threading

import numpy
import pytest

import forebay
from daemons import serving
from fault_proxy import FaultProxy
from forebay import transforms as T
from trouble import CROP

SHARDS = 3


def tar_of(members):
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return whole.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory, photos):
    """A folder of shards, and a manifest with its photographs."""
    place = tmp_path_factory.mktemp("data")
    pictures = sorted(photos.glob("*/*.jpg"))
    classes = sorted({path.parent.name for path in pictures})
    for shard in range(SHARDS):
        members = []
        for number in range(shard, len(pictures), SHARDS):
            label = classes.index(pictures[number].parent.name)
            members += [(f"{number:04}.cls", str(label).encode()),
                        (f"{number:04}.jpg", pictures[number].read_bytes())]
        (place / f"{shard:03}.tar").write_bytes(tar_of(members))
    with open(place / "train.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["path", "kind"])
        for path in pictures:
            kind = path.parent.name
            (place / kind).mkdir(exist_ok=True)
            (place / kind / path.name).write_bytes(path.read_bytes())
            rows.writerow([f"{kind}/{path.name}", kind])
    return place


@pytest.fixture(scope="module")
def places(fake_gcs, folder):
    """The URIs of the same files in a bucket: as a bucket, and by HTTP."""
    fake_gcs.fill("shards", {
        f"a/{path.relative_to(folder)}": path.read_bytes()
        for path in folder.rglob("*") if path.is_file()})
    return {"bucket": "gs://shards/a", "web": f"{fake_gcs.url}/shards/a"}


@pytest.fixture
def proxy(fake_gcs):
    with FaultProxy(fake_gcs.url, seed=3) as started:
        started.stall_seconds, started.slow_seconds = 1.0, 0.1
        yield started


@pytest.fixture
def daemon(tmp_path, proxy, monkeypatch):
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", proxy.url)
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    folder = tmp_path / "daemon"
    folder.mkdir()
    with serving(folder) as started:
        yield started


def epoch(dataset, **arguments):
    """Returns sample ids, labels and images of a shuffled epoch."""
    with forebay.DataLoader(dataset, batch_size=8, shuffle=True, seed=4,
                            framework="numpy", autostart=False,
                            transform=T.CenterCrop(CROP),
                            **arguments) as loader:
        found = [(int(i), int(label), numpy.array(image))
                 for batch in loader for i, label, image
                 in zip(batch.sample_ids, batch[1], batch[0])]
        return [list(column) for column in zip(*found)], loader.dataset.classes


def expect_same(one, other):
    assert one[1] == other[1]
    assert one[0][:2] == other[0][:2]
    assert all(map(numpy.array_equal, one[0][2], other[0][2]))


@pytest.mark.parametrize("place, pattern", [
    ("bucket", "{000..002}.tar"), ("bucket", "*.tar"),
    ("web", "{000..002}.tar"), ("web", "00{0,1,2}.tar")])
def test_shards(daemon, folder, places, place, pattern):
    fields = ("jpg", "cls")
    expect_same(epoch(f"{places[place]}/{pattern}", fields=fields),
                epoch(f"{folder}/{pattern}", fields=fields))


@pytest.mark.parametrize("place", ["bucket", "web"])
def test_manifests(daemon, folder, places, place):
    def table(where):
        return forebay.manifest(f"{where}/train.csv", image="path",
                                label="kind")
    expect_same(epoch(table(places[place])), epoch(table(folder)))


def test_shards_on_a_bad_network(daemon, folder, places, proxy):
    proxy.spoil(0.2)
    fields = ("jpg", "cls")
    expect_same(epoch(places["bucket"] + "/*.tar", fields=fields),
                epoch(f"{folder}/*.tar", fields=fields))
    assert sum(proxy.faults().values()) > 0


@pytest.mark.parametrize("place, pattern, message", [
    ("bucket", "{000..003}.tar", "003.tar: there is no such object"),
    ("bucket", "x*.tar", "x*.tar: no object fits this pattern"),
    ("web", "003.tar", "003.tar: there is no such object"),
    ("web", "*.tar", "a web server does not list its files: name them")])
def test_what_is_missing_is_named(daemon, places, place, pattern, message):
    with pytest.raises(forebay.ForebayError) as caught:
        epoch(f"{places[place]}/{pattern}", fields=("jpg",))
    assert str(caught.value) == f"{places[place]}: {message}"


def test_rows_may_have_whole_uris(daemon, fake_gcs, photos):
    picture = next(photos.glob("*/*.jpg")).read_bytes()
    fake_gcs.fill("uris", {"a/b.jpg": picture,
                           "t.csv": b"path\ngs://uris/a/b.jpg\na/b.jpg\n",
                           "bad.csv": b"path\ngs://other/a/b.jpg\n"})
    with forebay.DataLoader(forebay.manifest("gs://uris/t.csv", image="path"),
                            batch_size=2, framework="numpy", autostart=False,
                            transform=T.CenterCrop(CROP)) as loader:
        images = next(iter(loader)).image
    assert numpy.array_equal(images[0], images[1])
    with pytest.raises(forebay.ForebayError) as caught:
        epoch(forebay.manifest("gs://uris/bad.csv", image="path"))
    assert "is not in the manifest's folder" in str(caught.value)


def test_a_row_that_names_nothing_is_told(daemon, fake_gcs):
    fake_gcs.fill("rows", {"t.csv": b"path\na.jpg\n"})
    with pytest.raises(forebay.ForebayError) as caught:
        epoch(forebay.manifest("gs://rows/t.csv", image="path"))
    assert "gs://rows: t.csv" in str(caught.value)
    assert "a.jpg: there is no such object" in str(caught.value)


class WholeFiles(http.server.SimpleHTTPRequestHandler):
    """A server that does not support ranges, like Python's own file server."""

    encoding = None

    def end_headers(self):
        if self.encoding is not None and self.command == "GET":
            self.send_header("Content-Encoding", self.encoding)
        super().end_headers()

    def do_GET(self):
        with contextlib.suppress(ConnectionError):
            super().do_GET()

    def log_message(self, *_):
        pass


class CompressedFiles(WholeFiles):
    encoding = "gzip"


@pytest.mark.parametrize("handler,reason", [
    (WholeFiles, "does not send ranges"),
    (CompressedFiles, "Content-Encoding: gzip")])
def test_a_server_without_ranges_is_said_to_be_one(daemon, folder, handler,
                                                   reason):
    with http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(
                handler, directory=str(folder))) as server:
        serving_thread = threading.Thread(target=server.serve_forever)
        serving_thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}/000.tar"
            with pytest.raises(forebay.Unsupported, match=reason) as error:
                epoch(url, fields=("jpg", "cls"))
            assert "000.tar" in str(error.value)
        finally:
            server.shutdown()
            serving_thread.join()
