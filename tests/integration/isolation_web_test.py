"""A web server or bucket that hangs, stalls or is down stops the jobs that read from
it, and no others."""

import contextlib
import io
import tarfile

import pytest

from daemons import serving
from hung_host import HungHost
from isolated_jobs import Job, Victims, jobs
from trouble import ctl

COPIES = 40  # of each photograph, so that an epoch needs many requests
SHARDS = 2
HUNG, NEAR = "isolation-hung", "isolation-near"


@pytest.fixture(scope="module")
def store(fake_gcs, photos):
    """The server of objects, with equal shards in two buckets."""
    shards = {}
    for number in range(SHARDS):
        content = io.BytesIO()
        with tarfile.open(fileobj=content, mode="w") as tar:
            for path in sorted(photos.glob("*/*.jpg")):
                for copy in range(COPIES // SHARDS):
                    name = f"{copy:03}-{path.parent.name}-{path.stem}"
                    tar.add(path, f"{name}.jpg")
                    info = tarfile.TarInfo(f"{name}.cls")
                    info.size = 1
                    tar.addfile(info, io.BytesIO(b"%d" % number))
        shards[f"{number}.tar"] = content.getvalue()
    for bucket in (HUNG, NEAR):
        fake_gcs.fill(bucket, shards)
    return fake_gcs


@pytest.fixture
def host(store):
    with HungHost(store.url, "127.0.0.2") as relay:
        yield relay


@pytest.fixture
def serve(tmp_path, monkeypatch):
    """A function that starts a daemon without a cache, which uses a given URL as Cloud
    Storage."""
    @contextlib.contextmanager
    def start(url):
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", url)
        monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
        monkeypatch.delenv("GCE_METADATA_HOST", raising=False)
        config = tmp_path / "forebayd.toml"
        config.write_text('cache.memory = "0"\n')
        folder = tmp_path / "daemon"
        folder.mkdir()
        with serving(folder, "--config", str(config)) as started:
            yield started
    return start


def shards(place, bucket):
    """Returns the loader options for a bucket's shards."""
    return {"uri": f"{place}/{bucket}/{{0..{SHARDS - 1}}}.tar",
            "fields": ["jpg", "cls"]}


@contextlib.contextmanager
def hanging(host, how):
    """While the `with` block lasts, the host hangs, stalls or is dead, and a request
    waits for it."""
    getattr(host, how)()
    if how != "die":
        host.await_held()
    yield
    host.go()


@pytest.mark.parametrize("load", [(1, 256), (8, 32)],
                         ids=["a batch of 256", "eight jobs"])
@pytest.mark.parametrize("how", ["stop", "stall", "die"])
def test_jobs_of_other_hosts_and_disks_go_on(serve, store, host, photos, tmp_path,
                                             how, load, monkeypatch):
    # The jobs with the fault wait until it ends.
    monkeypatch.setenv("FOREBAY_REATTACH_SECONDS", "600")
    count, batch_size = load
    with serve(store.url) as daemon, contextlib.ExitStack() as stack:
        victims = Victims(stack, photos, tmp_path)
        running = stack.enter_context(
            Job("running-web", batch_size=16, **shards(store.url, NEAR)))
        with jobs(count, batch_size, **shards(host.url, HUNG)) as suffering:
            with hanging(host, how):
                victims.check()
                # A job reads from a healthy host already, and another job begins.
                running.await_batches(50)
                stack.enter_context(Job(
                    "started-web", batch_size=16, **shards(store.url, NEAR))
                ).await_batches(50)
                assert ctl(daemon, "status")["sessions"] > count
            for job in suffering:
                job.await_batches(3)


@pytest.mark.parametrize("how", ["stop", "stall", "die"])
def test_jobs_of_web_servers_go_on_beside_a_bucket(serve, store, host, photos,
                                                   tmp_path, how, monkeypatch):
    monkeypatch.setenv("FOREBAY_REATTACH_SECONDS", "600")
    with serve(host.url), contextlib.ExitStack() as stack:
        victims = Victims(stack, photos, tmp_path)
        running = stack.enter_context(
            Job("running-web", batch_size=16, **shards(store.url, NEAR)))
        running.await_batches(1)
        with jobs(4, 64, **shards("gs:/", HUNG)) as suffering:
            with hanging(host, how):
                running.await_batches(50)
                victims.check()
            for job in suffering:
                job.await_batches(3)


def test_a_host_that_is_slow_to_come_back_holds_nothing(serve, store, host, photos,
                                                        tmp_path, monkeypatch):
    """Several hosts are away at once, each in another way."""
    monkeypatch.setenv("FOREBAY_REATTACH_SECONDS", "600")
    with serve(store.url), contextlib.ExitStack() as stack:
        victims = Victims(stack, photos, tmp_path)
        running = stack.enter_context(
            Job("running-web", batch_size=16, **shards(store.url, NEAR)))
        hosts = [host] + [stack.enter_context(HungHost(store.url, f"127.0.0.{n}"))
                          for n in (3, 4)]
        for each, how in zip(hosts, ("stop", "stall", "die")):
            stack.enter_context(jobs(2, 64, **shards(each.url, HUNG)))
            getattr(each, how)()
        running.await_batches(50)
        victims.check()
        for each in hosts:
            each.go()
