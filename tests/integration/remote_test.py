"""Datasets in buckets: a real daemon, fake-gcs-server, and a proxy between them
that injects faults."""

import contextlib
import io
import pathlib
import tarfile
import threading

import numpy
import pytest

import forebay
from forebay import transforms as T
from daemons import serving
from fault_proxy import FaultProxy
from metadata_server import MetadataServer
from raw_session import (INVALID_ARGUMENT, RawSession, loader_spec, messages,
                         text)
from trouble import CROP, ctl, memory_used

BUCKET = "photographs"
# The limit of the daemon's memory while it reads photographs of 96 x 72 pixels.
LIMIT = 192 << 20
# An allowance for the program itself, its libraries and its threads' stacks.
PROGRAM = 96 << 20


@pytest.fixture(scope="module")
def bucket(fake_gcs, photos):
    """The URI of a folder with the same files as `photos`."""
    fake_gcs.fill(BUCKET, {
        f"data/train/{path.relative_to(photos)}": path.read_bytes()
        for path in photos.glob("*/*.jpg")})
    return f"gs://{BUCKET}/data/train"


@pytest.fixture
def proxy(fake_gcs):
    with FaultProxy(fake_gcs.url, seed=5) as started:
        started.stall_seconds = 1.0
        started.slow_seconds = 0.1
        yield started


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "forebayd.toml"
    path.write_text("[memory]\nlimit = \"192MiB\"\n"
                    "[cache]\nmemory = \"0\"\n"
                    "[image]\nscratch_limit = \"8MiB\"\n")
    return path


@pytest.fixture
def serve(tmp_path, config, monkeypatch):
    """A function that starts a daemon which uses a proxy as Cloud Storage. The daemon
    also uses a stand-in as the metadata server, if one is given."""
    @contextlib.contextmanager
    def start(cloud, machine=None):
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", cloud.url)
        monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
        monkeypatch.delenv("GCE_METADATA_HOST", raising=False)
        if machine is not None:
            monkeypatch.setenv("GCE_METADATA_HOST", machine.host)
        folder = tmp_path / "daemon"
        folder.mkdir()
        with serving(folder, "--config", str(config)) as started:
            yield started
    return start


@pytest.fixture
def daemon(serve, proxy):
    """A daemon that uses the proxy as Cloud Storage."""
    with serve(proxy) as started:
        yield started


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


def test_a_bucket_is_as_the_folder_of_the_same_content(daemon, bucket, photos):
    with open_loader(photos, shuffle=True) as local, \
            open_loader(bucket, shuffle=True) as remote:
        assert remote.dataset.uri == bucket
        assert remote.dataset.classes == local.dataset.classes
        assert len(remote.dataset) == len(local.dataset)
        for _ in range(2):
            expected = epoch(local)
            assert sorted(expected[0]) == list(range(len(local.dataset)))
            assert same(epoch(remote), expected)


def test_shards_in_a_bucket_are_as_local_ones(daemon, fake_gcs, photos,
                                              tmp_path):
    paths = sorted(photos.glob("*/*.jpg"))
    content = {}
    for shard in range(2):
        path = tmp_path / f"train-{shard}.tar"
        with tarfile.open(path, "w") as tar:
            for number, photo in enumerate(paths[shard::2]):
                tar.add(photo, f"{number:03}.jpg")
                info = tarfile.TarInfo(f"{number:03}.cls")
                info.size = 1
                tar.addfile(info, io.BytesIO(b"%d" % shard))
        content[f"shards/{path.name}"] = path.read_bytes()
    fake_gcs.fill(BUCKET, content)
    for pattern in ("train-{0..1}.tar", "train-*.tar"):
        with open_loader(tmp_path / pattern, fields=("jpg", "cls"),
                         shuffle=True) as local, open_loader(
                f"gs://{BUCKET}/shards/{pattern}", fields=("jpg", "cls"),
                shuffle=True) as remote:
            assert len(local.dataset) == len(remote.dataset) == len(paths)
            for mine, theirs in zip(local, remote):
                assert (mine.jpg == theirs.jpg).all()
                assert (mine.cls == theirs.cls).all()


def test_a_manifest_in_a_bucket(daemon, fake_gcs, photos):
    paths = sorted(photos.glob("*/*.jpg"))
    rows = "".join(f"{path.relative_to(photos)},{path.parent.name}\n"
                   for path in paths)
    content = {f"table/{path.relative_to(photos)}": path.read_bytes()
               for path in paths}
    content["table/train.csv"] = b"path,kind\n" + rows.encode()
    fake_gcs.fill(BUCKET, content)
    table = forebay.manifest(f"gs://{BUCKET}/table/train.csv", image="path",
                             label="kind")
    with open_loader(photos) as local, open_loader(table) as remote:
        assert remote.dataset.classes == local.dataset.classes
        assert same(epoch(remote), epoch(local))


def test_two_jobs_share_a_list(daemon, bucket, proxy):
    with open_loader(bucket) as one:
        lists = proxy.asked()["list"]
        with open_loader(bucket + "/") as other:
            assert other.dataset.version == one.dataset.version
    assert proxy.asked()["list"] == lists


def test_a_restarted_daemon_has_the_index(daemon, bucket, proxy, config):
    with open_loader(bucket, shuffle=True) as loader:
        iterator = iter(loader)
        first = next(iterator)
        lists = proxy.asked()["list"]
        daemon.stop()
        daemon.start("--config", str(config))
        rest = [int(i) for batch in iterator for i in batch.sample_ids]
        ids = [int(i) for i in first.sample_ids] + rest
        assert sorted(ids) == list(range(len(loader.dataset)))
    assert proxy.asked()["list"] == lists


def test_an_object_that_is_replaced_is_an_error(daemon, fake_gcs, photos):
    contents = {f"{name}/{number}.jpg": photo.read_bytes()
                for name in ("a", "b")
                for number, photo in enumerate(sorted(photos.glob("*/*.jpg")))}
    fake_gcs.fill("changing", contents)
    with open_loader("gs://changing") as loader:
        iterator = iter(loader)
        next(iterator)
        last = sorted(contents)[-1]
        fake_gcs.fill("changing", {last: contents[last]})
        with pytest.raises(forebay.ForebayError) as caught:
            for _ in iterator:
                pass
        assert f"{last}: was replaced or " in str(caught.value)
    # After such an error, the daemon lists the bucket anew, although its list is
    # recent.
    with open_loader("gs://changing") as loader:
        assert len(epoch(loader)[0]) == len(contents)


@pytest.mark.parametrize("uri, error, message", [
    ("gs://no-such-bucket/train", forebay.NotFound,
     "gs://no-such-bucket/train: there is no bucket called no-such-bucket"),
    (f"gs://{BUCKET}/data", forebay.NotFound, None),
    (f"gs://{BUCKET}/elsewhere", forebay.NotFound,
     f"gs://{BUCKET}/elsewhere: found no class folder in it"),
    ("gs://Not_a_Bucket/x", forebay.InvalidArgument,
     "gs://Not_a_Bucket/x: no bucket can have that name"),
    ("http://169.254.169.254/x", forebay.InvalidArgument, None),
    ("http://user:secret@127.0.0.1/x", forebay.InvalidArgument, None),
    ("ftp://bucket/x", forebay.Unsupported, None),
])
def test_bad_places(daemon, bucket, uri, error, message):
    if uri.endswith("/data"):
        with open_loader(uri) as loader:  # its only class is "train"
            assert loader.dataset.classes == ["train"]
        return
    with pytest.raises(error) as caught:
        open_loader(uri)
    assert uri in str(caught.value)
    if message:
        assert str(caught.value) == message


def test_a_web_server_has_no_list(daemon, proxy):
    with pytest.raises(forebay.ForebayError) as caught:
        open_loader(proxy.url + "/photographs")
    assert "does not list its files" in str(caught.value)


def test_links_are_for_folders(daemon, bucket, tmp_path):
    with pytest.raises(forebay.InvalidArgument) as caught:
        open_loader(bucket, extra_roots=[tmp_path])
    assert "extra_roots are for links in folders" in str(caught.value)


@pytest.mark.parametrize("uri, extra_roots, word", [
    ("gs://photographs", 1, "extra roots are for links in folders"),
    ("gs://" + "b" * 4096, 0, "at most 4096 bytes"),
    ("gs://a/b", 0, "no bucket can have that name"),
    ("gs://photographs\0/x", 0, "no bucket can have that name"),
    ("ftp://host/x", 0, "datasets are folders"),
    ("http://[fe80::1]/x", 0, "link-local"),
    ("http://metadata.google.internal/x", 0, "link-local"),
    ("/data", 0, "comes with its root's descriptor"),
    ("", 0, "comes with its root's descriptor"),
])
def test_places_that_no_client_asks_for(daemon, uri, extra_roots, word):
    spec = loader_spec(uri)
    spec.dataset.extra_roots = extra_roots
    with RawSession(daemon.runtime_dir / "session.sock") as session:
        error, _ = session.greet().call(
            open_loader=messages()[1].OpenLoader(spec=spec))
        assert error.code == INVALID_ARGUMENT
        assert word in text(error)


def test_who_may_not_read_is_told_as_whom(serve, fake_gcs, bucket):
    with FaultProxy(fake_gcs.url, accepts=lambda header: False) as closed, \
            serve(closed), pytest.raises(forebay.PermissionDenied) as caught:
        open_loader(bucket)
    assert str(caught.value).startswith(f"{bucket}: reading it is denied")
    assert "asked with no credentials" in str(caught.value)


def test_a_daemon_that_reads_leaves_when_told_to(daemon, bucket, proxy):
    held, go = threading.Event(), threading.Event()

    def hold(target):
        if "alt=media" in target:
            held.set()
            go.wait()

    with open_loader(bucket) as loader:
        proxy.before_each(hold)
        iterator = iter(loader)
        assert held.wait(120)
        assert daemon.stop() == 0, daemon.log()
        go.set()
        proxy.before_each(None)
        del iterator


def test_a_daemon_that_lists_leaves_when_told_to(daemon, bucket, proxy, monkeypatch):
    # The trainer waits for the next daemon if its socket is already closed.
    monkeypatch.setenv("FOREBAY_REATTACH_SECONDS", "0")
    held, go = threading.Event(), threading.Event()

    def hold(target):
        held.set()
        go.wait()

    proxy.before_each(hold)
    failed = []

    def attach():
        try:
            open_loader(bucket).close()
        except forebay.ForebayError as error:
            failed.append(error)

    trainer = threading.Thread(target=attach)
    trainer.start()
    assert held.wait(120)
    assert daemon.stop() == 0, daemon.log()
    trainer.join()
    go.set()
    assert failed and "shutting down" in str(failed[0])


def peak(pid):
    """Returns the most memory that a process has had, in bytes."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    line = next(x for x in status.splitlines() if x.startswith("VmHWM:"))
    return int(line.split()[1]) << 10


def test_ten_epochs_on_a_bad_network(serve, fake_gcs, bucket, photos):
    """Every sample comes once in each epoch, with the right pixels, while 5 % of all
    requests fail in various ways. Memory stays below its limit."""
    with MetadataServer() as machine, \
            FaultProxy(fake_gcs.url, 11, accepts=machine.accepts) as proxy:
        proxy.stall_seconds, proxy.slow_seconds = 1.0, 0.2
        with serve(proxy, machine) as daemon:
            with open_loader(photos) as local:
                _, labels, images = epoch(local)
            proxy.spoil(0.05)
            used = []
            with open_loader(bucket, shuffle=True) as loader:
                for _ in range(10):
                    ids, got_labels, got_images = epoch(loader)
                    assert sorted(ids) == list(range(len(images)))
                    assert got_labels == [labels[i] for i in ids]
                    for i, image in zip(ids, got_images):
                        assert numpy.array_equal(image, images[i])
                    used.append(memory_used(daemon))
                asked = ctl(daemon, "jobs")["jobs"][0]["remote_requests"]
            assert max(used) <= LIMIT
            assert int(asked["reads"]) >= 10 * len(images)
            assert int(asked["retries"]) > 0
            assert peak(daemon.process.pid) <= LIMIT + PROGRAM
        faults = proxy.faults()
        print(faults, proxy.asked())
        assert sum(faults.values()) >= 10
