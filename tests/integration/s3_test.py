"""Datasets in S3: a real daemon, moto, and a proxy between them that injects faults.
moto checks each signature by Amazon's own code."""

import contextlib
import io
import tarfile

import numpy
import pytest

import forebay
from daemons import serving
from fault_proxy import S3, FaultProxy
from forebay import transforms as T
from tfrecord_test import epoch as records_epoch
from tfrecord_test import frame, open_records
from trouble import CROP, ctl

BUCKET = "photographs"
# Lists, URLs and signatures each escape these keys in a different way.
ODD = ["a b", "ü", "+", "%2B", "&=?#", "'\"<>", "~-_.!*()", "a//b", "tab\tline",
       "...", "@:$,;[]{}|^`\\", "\u65e5\u672c", "e\u0301"]
ACCOUNT = ("[default]\naws_access_key_id = {id}\naws_secret_access_key = {secret}\n")
ONLY_SIGNED = "\naws_session_token = {token}\n"


@pytest.fixture(scope="module")
def fake_s3():
    """A running server of S3's API, for the buckets of this module's tests."""
    from fake_s3 import FakeS3, missing
    if missing():
        pytest.skip(missing())
    with FakeS3() as server:
        yield server


@pytest.fixture(scope="module")
def bucket(fake_s3, photos):
    """The URI of a folder with the same files as `photos`."""
    fake_s3.fill(BUCKET, {
        f"data/train/{path.relative_to(photos)}": path.read_bytes()
        for path in photos.glob("*/*.jpg")})
    return f"s3://{BUCKET}/data/train"


@pytest.fixture
def proxy(fake_s3):
    with FaultProxy(fake_s3.url, seed=5, accepts=bool, speaks=S3) as started:
        started.stall_seconds = 1.0
        started.slow_seconds = 0.1
        yield started


@pytest.fixture
def account(tmp_path):
    """A function that writes the file of credentials that daemons read."""
    path = tmp_path / "credentials"

    def write(keys):
        text = ACCOUNT.format(**keys)
        if "token" in keys:
            text += ONLY_SIGNED.format(**keys)
        fresh = path.with_suffix(".new")
        fresh.write_text(text)
        fresh.rename(path)

    write.path = path
    return write


@pytest.fixture
def serve(tmp_path, account, monkeypatch):
    """A function that starts a daemon which reads S3 at a URL, with the keys of
    `account`."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_REGION",
                 "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)

    @contextlib.contextmanager
    def start(url, settings=""):
        config = tmp_path / "forebayd.toml"
        config.write_text(f"[cache]\nmemory = \"0\"\n[s3]\n{settings}\n"
                          f"endpoint = \"{url}\"\n")
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(account.path))
        folder = tmp_path / "daemon"
        folder.mkdir(exist_ok=True)
        with serving(folder, "--config", str(config)) as started:
            yield started
    return start


@pytest.fixture
def daemon(serve, proxy, fake_s3, account):
    """A daemon that reads S3 through the proxy."""
    account(fake_s3.keys["reader"])
    with serve(proxy.url) as started:
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


def refusal(uri):
    """Returns the error of a dataset that cannot be opened."""
    with pytest.raises(forebay.ForebayError) as caught:
        open_loader(uri)
    return str(caught.value)


def test_a_bucket_is_as_the_folder_of_the_same_content(daemon, bucket, photos):
    with open_loader(photos, shuffle=True) as local, \
            open_loader(bucket, shuffle=True) as remote:
        assert remote.dataset.uri == bucket
        assert remote.dataset.classes == local.dataset.classes
        for _ in range(2):
            assert same(epoch(remote), epoch(local))
    status = ctl(daemon, "status")
    assert status["bucket_credentials"].startswith("the profile [default] of ")
    assert "s3" in [source["name"] for source in status["sources"]]


def test_shards_in_a_bucket_are_as_local_ones(daemon, fake_s3, photos, tmp_path):
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
    fake_s3.fill(BUCKET, content)
    for pattern in ("train-{0..1}.tar", "train-*.tar"):
        with open_loader(tmp_path / pattern, fields=("jpg", "cls"),
                         shuffle=True) as local, open_loader(
                f"s3://{BUCKET}/shards/{pattern}", fields=("jpg", "cls"),
                shuffle=True) as remote:
            assert len(local.dataset) == len(remote.dataset) == len(paths)
            for mine, theirs in zip(local, remote):
                assert (mine.jpg == theirs.jpg).all()
                assert (mine.cls == theirs.cls).all()


def test_records_in_a_bucket_are_as_local_ones(daemon, fake_s3, tmp_path):
    for part in range(3):
        (tmp_path / f"{part}.tfrecord").write_bytes(b"".join(
            frame(b"%d " % part * number) for number in range(4 * part)))
    fake_s3.fill(BUCKET, {f"records/{path.name}": path.read_bytes()
                          for path in tmp_path.glob("*.tfrecord")})

    def read(place):
        with open_records(f"{place}/*.tfrecord", fields="bytes", shuffle=True,
                          seed=4) as loader:
            return repr(records_epoch(loader))

    assert read(f"s3://{BUCKET}/records") == read(tmp_path)


def test_a_manifest_in_a_bucket(daemon, fake_s3, photos):
    paths = sorted(photos.glob("*/*.jpg"))
    rows = "".join(f"{path.relative_to(photos)},{path.parent.name}\n"
                   for path in paths)
    content = {f"table/{path.relative_to(photos)}": path.read_bytes()
               for path in paths}
    content["table/train.csv"] = b"path,kind\n" + rows.encode()
    fake_s3.fill(BUCKET, content)
    table = forebay.manifest(f"s3://{BUCKET}/table/train.csv", image="path",
                             label="kind")
    with open_loader(photos) as local, open_loader(table) as remote:
        assert remote.dataset.classes == local.dataset.classes
        assert same(epoch(remote), epoch(local))


def test_lists_go_on_beyond_a_page(daemon, fake_s3, photos, proxy):
    photo = sorted(photos.glob("*/*.jpg"))[0].read_bytes()
    fake_s3.fill("many", {f"{'ab'[number // 1010]}/{number:05}.jpg": photo
                          for number in range(1020)})
    with open_loader("s3://many", batch_size=100) as loader:
        assert len(loader.dataset) == 1020
        ids = [int(i) for batch in loader for i in batch.sample_ids]
    assert sorted(ids) == list(range(1020))
    # The four lists are one of the folders, two of the first folder, and one of the
    # other.
    assert proxy.asked()["list"] == 4


def test_keys_of_all_kinds_of_characters(daemon, fake_s3, photos, tmp_path):
    photo = sorted(photos.glob("*/*.jpg"))[0].read_bytes()
    names = [f"class/{odd}.jpg" for odd in ODD]
    fake_s3.fill("odd", {name: photo + str(number).encode()
                         for number, name in enumerate(names)})
    with open_loader("s3://odd") as loader:
        assert len(epoch(loader)[0]) == len(names)
    for number, name in enumerate(names):
        if "#" not in name:
            with forebay.open(f"s3://odd/{name}", autostart=False) as file:
                assert file.read() == photo + str(number).encode()


def test_files_and_fsspec(daemon, fake_s3):
    filesystem = pytest.importorskip("forebay.filesystem")
    fake_s3.fill("files", {"a/b.bin": bytes(range(256)) * 20_000, "empty": b""})
    with forebay.open("s3://files/a/b.bin", autostart=False,
                      block_size=1 << 16) as file:
        file.seek(1_000_003)
        assert file.read(5) == bytes((1_000_003 + i) % 256 for i in range(5))
        assert file.size == 256 * 20_000
    with forebay.open("s3://files/empty", autostart=False) as file:
        assert file.read() == b""
    with pytest.raises(forebay.NotFound):
        forebay.open("s3://files/missing", autostart=False)
    with pytest.raises(forebay.IsADirectory):
        forebay.open("s3://files", autostart=False)
    fs = filesystem.ForebayFileSystem(autostart=False, skip_instance_cache=True)
    assert fs.cat_file("forebay://s3/files/a/b.bin", 0, 3) == b"\0\1\2"
    assert fs.info("s3://files/a/b.bin")["size"] == 256 * 20_000


def test_inspect_looks_into_buckets(daemon, bucket, photos):
    found = forebay.inspect(bucket, autostart=False)
    assert found.format == forebay.inspect(photos, autostart=False).format
    assert found.samples == len(list(photos.glob("*/*.jpg")))
    with pytest.raises(forebay.ForebayError, match="missing.tar"):
        forebay.inspect(f"s3://{BUCKET}/missing.tar", autostart=False)


def test_an_object_that_is_replaced_is_an_error(daemon, fake_s3, photos):
    contents = {f"{name}/{number}.jpg": photo.read_bytes() + b"1"
                for name in ("a", "b")
                for number, photo in enumerate(sorted(photos.glob("*/*.jpg")))}
    fake_s3.fill("changing", contents)
    with open_loader("s3://changing") as loader:
        iterator = iter(loader)
        next(iterator)
        last = sorted(contents)[-1]
        # The new object has the same length.
        fake_s3.fill("changing", {last: contents[last][:-1] + b"2"})
        with pytest.raises(forebay.ForebayError) as caught:
            for _ in iterator:
                pass
        assert f"{last}: was replaced or " in str(caught.value)
    # After such an error, the daemon lists the bucket anew, although its list is
    # recent.
    with open_loader("s3://changing") as loader:
        assert len(epoch(loader)[0]) == len(contents)


@pytest.mark.parametrize("uri, error, message", [
    ("s3://no-such-bucket/train", forebay.NotFound,
     "s3://no-such-bucket/train: there is no bucket called no-such-bucket"),
    (f"s3://{BUCKET}/elsewhere", forebay.NotFound,
     f"s3://{BUCKET}/elsewhere: found no class folder in it"),
    ("s3://Not.A.Bucket/x", forebay.InvalidArgument,
     "s3://Not.A.Bucket/x: no bucket can have that name"),
])
def test_bad_places(daemon, bucket, uri, error, message):
    with pytest.raises(error) as caught:
        open_loader(uri)
    assert str(caught.value) == message


def test_who_may_not_read_is_told_so(serve, proxy, fake_s3, account, bucket):
    with serve(proxy.url):
        assert "no credentials: the daemon found none in" in refusal(bucket)
        account(fake_s3.keys["untrusted"])
        assert "AccessDenied" in refusal(bucket)
        wrong = dict(fake_s3.keys["reader"], secret="wrong")
        account(wrong)
        assert "SignatureDoesNotMatch" in refusal(bucket)
        account({"id": "AKIANOBODY", "secret": "x"})
        assert f"asked with the profile [default] of {account.path}" in refusal(
            bucket)
        # Each new loader looks for new keys.
        account(fake_s3.keys["reader"])
        with open_loader(bucket) as loader:
            assert epoch(loader)[0]


def test_sessions_may_read_until_they_end(serve, proxy, fake_s3, account, bucket,
                                          photos):
    account(fake_s3.keys["session"])
    with serve(proxy.url), open_loader(photos) as local, \
            open_loader(bucket) as remote:
        assert same(epoch(remote), epoch(local))
        # During an epoch, requests find the new keys by themselves.
        proxy.accepts = lambda line: fake_s3.keys["reader"]["id"] in (line or "")
        account(fake_s3.keys["reader"])
        assert same(epoch(remote), epoch(local))


def test_a_session_that_has_ended_is_an_error(serve, proxy, fake_s3, account,
                                              bucket):
    account(dict(fake_s3.keys["session"], token="another"))
    with serve(proxy.url):
        assert "InvalidToken" in refusal(bucket)
        proxy.accepts = lambda line: False
        assert "the daemon's credentials have expired" in refusal(
            f"s3://{BUCKET}/data")


def test_public_buckets_need_no_credentials(serve, photos):
    from fake_s3 import FakeS3
    with FakeS3(public=True) as server:
        server.fill("public", {f"{path.relative_to(photos)}": path.read_bytes()
                               for path in photos.glob("*/*.jpg")})
        with serve(server.url, 'credentials = "none"'):
            with open_loader(photos) as local, \
                    open_loader("s3://public") as remote:
                assert same(epoch(remote), epoch(local))


def test_a_server_that_is_away_is_an_error(serve, proxy, fake_s3, account, bucket):
    account(fake_s3.keys["reader"])
    with serve(proxy.url):
        proxy.away = True
        assert "closed" in refusal(bucket)
        proxy.away = False
        with open_loader(bucket) as loader:
            assert epoch(loader)[0]


def test_a_flaky_server_changes_nothing(daemon, bucket, photos, proxy):
    with open_loader(photos, shuffle=True) as local, \
            open_loader(bucket, shuffle=True) as remote:
        proxy.spoil(0.2)
        for _ in range(3):
            assert same(epoch(remote), epoch(local))
    assert sum(proxy.faults().values()) >= 10
