"""Web servers that hang, stall or are down, and a bucket that hangs. Jobs that read
from other sources go on meanwhile. What is opened at the bad server fails with an error
that names the host."""

import concurrent.futures
import csv
import io
import threading

import pytest

import forebay
from daemons import serving
from fault_proxy import FaultProxy
from hung_host import HungHost
from trouble import PATIENCE, open_loader, until
from web_server import WebServer

# Enough copies that reads of all need more requests than the daemon makes at once.
COPIES = 16
SAMPLES = 48 * COPIES
# Number of concurrent requests before the daemon has found out how many are best.
FIRST_REQUESTS = 16


@pytest.fixture(scope="module")
def files(photos):
    """Returns photographs, each under several names, and a manifest of them: bytes by
    name."""
    table = io.StringIO()
    rows = csv.writer(table)
    rows.writerow(["path", "kind"])
    content = {}
    for path in sorted(photos.glob("*/*.jpg")):
        for copy in range(COPIES):
            name = f"{path.parent.name}/{copy}-{path.name}"
            rows.writerow([name, path.parent.name])
            content[f"train/{name}"] = path.read_bytes()
    return {**content, "train/t.csv": table.getvalue().encode()}


@pytest.fixture(scope="module")
def web(files):
    """A web server that serves `files`."""
    with WebServer(files) as server:
        yield server


@pytest.fixture(scope="module")
def buckets(fake_gcs, files):
    """Two buckets that contain `files`, "sick" and "well"."""
    for bucket in ("sick", "well"):
        fake_gcs.fill(bucket, files)


class Cloud(FaultProxy):
    """A server of Cloud Storage that has one hanging bucket: reads of "sick" wait for
    `go`."""

    def __init__(self, upstream):
        self.go = threading.Event()
        self._lock_of_held = threading.Lock()
        self.held = 0
        super().__init__(upstream)
        self.before_each(self._hold)

    def _hold(self, target):
        if "/b/sick/" in target and "alt=media" in target:
            with self._lock_of_held:
                self.held += 1
            self.go.wait(PATIENCE)

    def close(self):
        self.go.set()
        super().close()


@pytest.fixture
def cloud(fake_gcs):
    with Cloud(fake_gcs.url) as proxy:
        yield proxy


@pytest.fixture(autouse=True)
def daemon(tmp_path, cloud, monkeypatch):
    """A running daemon that caches nothing."""
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", cloud.url)
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    monkeypatch.delenv("GCE_METADATA_HOST", raising=False)
    config = tmp_path / "forebayd.toml"
    config.write_text("cache.memory = '0'\n")
    folder = tmp_path / "daemon"
    folder.mkdir()
    with serving(folder, "--config", str(config)) as started:
        yield started


@pytest.fixture
def sick(web):
    """A relay to the same server at another address, which hangs on demand."""
    with HungHost(web.url, "127.0.0.2") as host:
        yield host


class Job(threading.Thread):
    """A thread that reads an epoch as a job."""

    def __init__(self, name, dataset, monkeypatch):
        super().__init__()
        monkeypatch.setenv("FOREBAY_JOB", name)
        self._loader = open_loader(dataset, batch_size=SAMPLES // 2)
        self.ids = []

    def run(self):
        with self._loader as loader:
            for batch in loader:
                self.ids += [int(i) for i in batch.sample_ids]

    def finish(self):
        """Waits for the job's end, and checks that it got all samples."""
        self.join(PATIENCE)
        assert not self.is_alive()
        assert sorted(self.ids) == list(range(SAMPLES))


def on_web(url):
    return forebay.manifest(f"{url}/train/t.csv", image="path", label="kind")


@pytest.mark.parametrize("fault", ["stop", "stall", "die"])
def test_a_host_that_does_not_answer_holds_up_no_other(
        web, sick, monkeypatch, fault):
    monkeypatch.setenv("FOREBAY_REATTACH_SECONDS", str(PATIENCE))
    held = Job("held", on_web(sick.url), monkeypatch)
    getattr(sick, fault)()
    held.start()
    if fault != "die":
        sick.await_held(FIRST_REQUESTS)
    # This loader is opened while the first one hangs.
    other = Job("other", on_web(web.url), monkeypatch)
    other.start()
    other.finish()
    assert held.is_alive() and not held.ids
    sick.go()
    held.finish()


def test_a_bucket_that_hangs_holds_up_no_other_of_its_host(
        buckets, cloud, monkeypatch):
    held = Job("held", "gs://sick/train", monkeypatch)
    held.start()
    until(lambda: cloud.held >= FIRST_REQUESTS, "requests hang")
    other = Job("other", "gs://well/train", monkeypatch)
    other.start()
    other.finish()
    assert held.is_alive() and not held.ids
    cloud.go.set()
    held.finish()


@pytest.mark.parametrize("fault, reason", [
    ("stop", "it is connected, and sends nothing"),
    ("die", "Failed to connect to 127.0.0.2 ")])
def test_what_opens_gives_the_host_up(files, sick, fault, reason):
    getattr(sick, fault)()
    opens = [lambda: forebay.open(f"{sick.url}/{next(iter(files))}"),
             lambda: open_loader(on_web(sick.url))]
    with concurrent.futures.ThreadPoolExecutor(len(opens)) as threads:
        for opening in [threads.submit(one) for one in opens]:
            with pytest.raises(forebay.SourceUnavailable) as caught:
                opening.result(PATIENCE)
            said = str(caught.value)
            assert f"{sick.url} has not answered for 1" in said
            assert f" s: {reason}" in said
