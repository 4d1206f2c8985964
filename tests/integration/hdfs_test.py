"""Datasets in HDFS: a real daemon, and the fake cluster of the tests, which fsspec's
client of WebHDFS fills."""

import base64
import contextlib
import json
import os
import subprocess
import tarfile

import numpy
import pytest

import forebay
from daemons import serving
from fake_gcs import PYPI
from fake_hdfs import FakeHdfs
from forebay import transforms as T
from trouble import CROP

ODD = ["a b", "\u00fc", "+", "%2B", "&=", "~-_.!*()", "...", "\u65e5\u672c"]
# Writes files by fsspec, and prints fsspec's view of them.
FILL = """
import base64, json, sys
import fsspec
task = json.load(sys.stdin)
host, _, port = task["authority"].partition(":")
fs = fsspec.filesystem("webhdfs", host=host, port=int(port), user="writer")
for path, content in task["files"].items():
    with fs.open(path, "wb") as file:
        file.write(base64.b64decode(content))
json.dump({path: [fs.info(path)["size"], fs.exists(path),
                  base64.b64encode(fs.open(path).read()).decode(),
                  fs.ls(path.rpartition("/")[0], detail=False)]
           for path in task["files"]}, sys.stdout)
"""


@pytest.fixture
def cluster():
    with FakeHdfs() as started:
        yield started


@pytest.fixture
def serve(tmp_path, monkeypatch):
    """A function that starts daemons with the given settings of HDFS."""
    monkeypatch.delenv("HADOOP_TOKEN", raising=False)
    monkeypatch.setenv("HADOOP_USER_NAME", "reader")

    @contextlib.contextmanager
    def start(settings=""):
        config = tmp_path / "forebayd.toml"
        config.write_text(f"[cache]\nmemory = \"0\"\n[hdfs]\n{settings}\n")
        folder = tmp_path / "daemon"
        folder.mkdir()
        with serving(folder, "--config", str(config)) as started:
            yield started
    return start


@pytest.fixture
def daemon(serve):
    with serve() as started:
        yield started


def fill(cluster, folder, contents):
    """Puts files below a folder of the cluster."""
    for name, content in contents.items():
        cluster.put(f"{folder}/{name}", content)


def open_loader(dataset, **arguments):
    arguments = dict({"batch_size": 8, "seed": 3, "autostart": False,
                      "framework": "numpy",
                      "transform": T.CenterCrop(CROP)}, **arguments)
    return forebay.DataLoader(dataset, **arguments)


def epoch(loader):
    """Returns sample ids, labels and images, in the order in which they came."""
    ids, labels, images = [], [], []
    for batch in loader:
        ids.extend(int(i) for i in batch.sample_ids)
        labels.extend(int(label) for label in batch.label)
        images.extend(numpy.array(image) for image in batch.image)
    return ids, labels, images


def same(one, other):
    return one[:2] == other[:2] and all(
        numpy.array_equal(a, b) for a, b in zip(one[2], other[2]))


def contents_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in folder.glob("*/*.jpg")}


def test_fsspec_takes_the_cluster_for_one(cluster):
    pytest.importorskip("fsspec")
    files = {f"/data/{odd}/file": odd.encode() * 1000 for odd in ODD}
    done = subprocess.run(
        ["/usr/bin/python3", "-B", "-c", FILL], stdout=subprocess.PIPE,
        check=True, env=dict(os.environ, PYTHONPATH=str(PYPI)),
        input=json.dumps({"authority": cluster.authority, "files": {
            path: base64.b64encode(content).decode()
            for path, content in files.items()}}).encode())
    for path, (size, exists, content, names) in json.loads(done.stdout).items():
        assert size == len(files[path]) and exists
        assert base64.b64decode(content) == files[path]
        assert names == [path]
    assert {path: file.content for path, file in cluster.files.items()} == files


def test_a_folder_is_as_the_local_one(daemon, cluster, photos):
    fill(cluster, "/data/train", contents_of(photos))
    with open_loader(photos, shuffle=True) as local:
        expected = epoch(local)
    for uri in (f"webhdfs://{cluster.authority}/data/train",
                f"webhdfs://{cluster.authority}/data/train/"):
        with open_loader(uri, shuffle=True) as remote:
            assert remote.dataset.classes == local.dataset.classes
            assert same(epoch(remote), expected)
    assert {query.get("user.name") for _, _, query in cluster.asked} == {"reader"}


def test_shards_and_files_and_odd_names(daemon, cluster, photos, tmp_path):
    paths = sorted(photos.glob("*/*.jpg"))
    with tarfile.open(tmp_path / "train-0.tar", "w") as tar:
        for number, photo in enumerate(paths):
            tar.add(photo, f"{number:03}.jpg")
    fill(cluster, "/shards", {"train-0.tar": (tmp_path / "train-0.tar").read_bytes()})
    for pattern in ("train-0.tar", "train-*.tar"):
        with open_loader(tmp_path / pattern, fields=("jpg",)) as local, open_loader(
                f"webhdfs://{cluster.authority}/shards/{pattern}",
                fields=("jpg",)) as remote:
            for mine, theirs in zip(local, remote):
                assert (mine.jpg == theirs.jpg).all()
    for odd in ODD:
        cluster.put(f"/odd/{odd}", odd.encode() * 100_000)
        with forebay.open(f"webhdfs://{cluster.authority}/odd/{odd}",
                          autostart=False, block_size=1 << 16) as file:
            file.seek(70_000)
            assert file.read(1000) == (odd.encode() * 100_000)[70_000:71_000]
    with pytest.raises(forebay.NotFound):
        forebay.open(f"webhdfs://{cluster.authority}/odd/none", autostart=False)


def test_inspect_looks_into_folders(daemon, cluster, photos):
    fill(cluster, "/data/train", contents_of(photos))
    found = forebay.inspect(f"webhdfs://{cluster.authority}/data/train",
                            autostart=False)
    assert found.format == forebay.inspect(photos, autostart=False).format
    assert found.samples == len(contents_of(photos))


def test_old_servers_list_whole_folders(daemon, cluster, photos):
    fill(cluster, "/old", contents_of(photos))
    cluster.batches = 0
    with open_loader(photos) as local, open_loader(
            f"webhdfs://{cluster.authority}/old") as remote:
        assert same(epoch(remote), epoch(local))


def test_a_token_goes_to_the_endpoint_that_is_configured(
        serve, cluster, photos, tmp_path):
    fill(cluster, "/data", contents_of(photos))
    cluster.token = "to+ken/="
    token = tmp_path / "token"
    token.write_text(cluster.token + "\n")
    with serve(f'endpoint = "http://{cluster.authority}"\n'
               f'token_file = "{token}"'), FakeHdfs() as other:
        with open_loader(photos) as local, \
                open_loader("hdfs://cluster/data") as remote:
            assert same(epoch(remote), epoch(local))
        with pytest.raises(forebay.NotFound):
            open_loader(f"webhdfs://{other.authority}/data")
        assert other.asked
        assert not any("delegation" in query for _, _, query in other.asked)


@pytest.mark.parametrize("spoil, error, message", [
    (lambda cluster: setattr(cluster, "token", "x"), forebay.PermissionDenied,
     "the cluster wants a token of delegation"),
    (lambda cluster: cluster.forbidden.add("/data"), forebay.PermissionDenied,
     "AccessControlException: Permission denied: /data"),
    (lambda cluster: cluster.files.clear(), forebay.NotFound,
     "there is no such folder"),
])
def test_errors_are_the_clusters(daemon, cluster, spoil, error, message):
    cluster.put("/data/a/1.jpg", b"x")
    spoil(cluster)
    with pytest.raises(error, match=message):
        open_loader(f"webhdfs://{cluster.authority}/data")


def test_a_file_that_is_replaced_is_an_error(daemon, cluster, photos):
    contents = contents_of(photos)
    fill(cluster, "/changing", contents)
    uri = f"webhdfs://{cluster.authority}/changing"
    with open_loader(uri) as loader:
        iterator = iter(loader)
        next(iterator)
        last = sorted(contents)[-1]
        cluster.put(f"/changing/{last}", contents[last])  # the bytes are the same
        with pytest.raises(forebay.ForebayError, match="was replaced or "):
            for _ in iterator:
                pass
    # After such an error, the daemon lists the folder anew.
    with open_loader(uri) as loader:
        assert len(epoch(loader)[0]) == len(contents)


def test_without_numbers_checksums_tell_files_apart(daemon, cluster, photos):
    cluster.numbers = False  # and all files get the same modification time
    contents = contents_of(photos)
    fill(cluster, "/changing", contents)
    uri = f"webhdfs://{cluster.authority}/changing"
    with open_loader(photos) as local, open_loader(uri) as loader:
        assert same(epoch(loader), epoch(local))
        last = sorted(contents)[-1]
        cluster.put(f"/changing/{last}", contents[last][:-1] + b"x")
        with pytest.raises(forebay.ForebayError, match="was replaced or "):
            epoch(loader)
    assert {op for op, _, _ in cluster.asked} >= {"OPEN", "GETFILECHECKSUM"}


def test_a_file_is_no_folder(daemon, cluster, photos):
    cluster.put("/data/a.jpg", b"x")
    with pytest.raises(forebay.ForebayError, match="is a file, and no folder"):
        open_loader(f"webhdfs://{cluster.authority}/data/a.jpg/")


@pytest.mark.parametrize("uri", [
    "hdfs://169.254.169.254/x", "webhdfs://metadata.google.internal/x",
    "webhdfs://user:secret@127.0.0.1/x", "hdfs:///x"])
def test_bad_places(daemon, uri):
    with pytest.raises(forebay.InvalidArgument, match=uri.partition("@")[0]):
        open_loader(uri)
