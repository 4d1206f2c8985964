"""Datasets and files cannot be opened while their host or mount hangs. Others can be
opened meanwhile."""

import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tarfile
import threading

import pytest

from daemons import serving
from hung_host import HungHost
from isolated_jobs import Job
from trouble import pause, trainer, until

NEIGHBOUR = """
import hashlib
with forebay.open(sys.argv[1]) as file:
    found = [hashlib.sha256(file.read()).hexdigest()]
for folder in sys.argv[2:]:
    with open_loader(folder) as loader:
        images, ids = contents(loader)
        found.append(hashlib.sha256(images.tobytes() + bytes(ids)).hexdigest())
print(*found, flush=True)
"""
EACH = 64  # number of datasets and of files that are opened at once
SIZE = 300_000  # bytes of a file
# Opens places again and again, each in a process of its own. These processes die with
# the test.
OPENER = """
import json, os, signal, sys
import forebay
from fault_process import end_with
from trouble import open_loader
kind, places, options, owner = json.loads(sys.argv[1])
end_with(owner, signal.SIGKILL)
for place in places:
    parent = os.getpid()
    if os.fork() == 0:
        end_with(parent, signal.SIGKILL)
        while True:
            try:
                if kind == "datasets":
                    open_loader(place, **options).close()
                else:
                    forebay.open(place).read()
            except forebay.ForebayError:
                pass
print("opening", flush=True)
signal.pause()
"""


@contextlib.contextmanager
def opening(kind, places, **options):
    """Meanwhile others open places of a kind again and again; `options` are loader
    options."""
    process = subprocess.Popen(
        [sys.executable, "-c", OPENER,
         json.dumps([kind, places, options, os.getpid()], default=str)],
        stdout=subprocess.PIPE, start_new_session=True,
        env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)))
    try:
        assert process.stdout.readline() == b"opening\n"
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()


class Neighbour:
    """Opens files and datasets that have nothing to do with the hanging ones."""

    def __init__(self, photos, folder):
        self._photos = photos
        self._file = folder / "file"
        self._file.write_bytes(random.Random(4).randbytes(SIZE))
        self._opened = 0
        self.check()

    def check(self):
        """Opens a cached file, a dataset that was opened before, and a new one."""
        new = self._file.with_name(f"new-{self._opened}")
        self._opened += 1
        shutil.copytree(self._photos, new)
        with trainer(NEIGHBOUR, self._file, self._photos, new) as process:
            said = []
            listener = threading.Thread(
                target=lambda: said.append(process.stdout.readline()))
            listener.start()
            try:
                until(lambda: said, "a neighbour opens all")
            finally:
                process.kill()
                listener.join()
        file, known, unknown = said[0].decode().split()
        assert file == hashlib.sha256(self._file.read_bytes()).hexdigest()
        assert known == unknown


@pytest.fixture
def host(fake_gcs):
    with HungHost(fake_gcs.url, "127.0.0.2") as relay:
        yield relay


@pytest.mark.parametrize("kind", ["datasets", "files", "both"])
@pytest.mark.parametrize("how", ["stop", "stall", "die"])
def test_beside_a_host(daemon, host, photos, tmp_path, kind, how):
    neighbour = Neighbour(photos, tmp_path)
    getattr(host, how)()
    with contextlib.ExitStack() as stack:
        if kind != "files":
            stack.enter_context(opening("datasets", [
                f"{host.url}/away/{number}.zip" for number in range(EACH)]))
        if kind != "datasets":
            stack.enter_context(opening("files", [
                f"{host.url}/away/{number}" for number in range(EACH)]))
        if how == "stop":
            host.await_held()
        for _ in range(3):
            neighbour.check()


@pytest.mark.parametrize("kind", ["datasets", "files"])
def test_beside_a_mount(daemon, hung_mount, photos, tmp_path, kind):
    neighbour = Neighbour(photos, tmp_path)
    folders = tmp_path / "folders"
    for number in range(EACH):
        (folders / f"{number}" / "class").mkdir(parents=True)
        (folders / f"{number}" / "class" / "image.jpg").write_bytes(b"")
    mount = hung_mount(folders)
    # The mount answers the trainers' own calls, which come first, but not the daemon's.
    mount.stop(caller=daemon.process.pid)
    places = [mount.path / f"{number}" for number in range(EACH)]
    if kind == "files":
        places = [place / "class" / "image.jpg" for place in places]
    with opening(kind, places):
        mount.await_held()
        for _ in range(3):
            neighbour.check()


def test_beside_links_to_a_mount(daemon, hung_mount, photos, tmp_path):
    """The datasets are local, but one class folder is a link to the mount."""
    neighbour = Neighbour(photos, tmp_path)
    mount = hung_mount(photos)
    roots = [tmp_path / f"root-{number}" for number in range(EACH)]
    for root in roots:
        root.mkdir()
        (root / "far").symlink_to(mount.path / "beach")
    mount.stop(caller=daemon.process.pid)
    with opening("datasets", roots, extra_roots=[mount.path]):
        mount.await_held()
        for _ in range(3):
            neighbour.check()


def write_archives(folder, count, photos):
    """Writes tar files with a few photographs each."""
    folder.mkdir(parents=True)
    paths = sorted(photos.rglob("*.jpg"))[:6]
    for number in range(count):
        with tarfile.open(folder / f"{number:02}.tar", "w") as archive:
            for path in paths:
                archive.add(path, f"{number}-{path.name}")


@pytest.mark.parametrize("io_uring", ["auto", "off"])
def test_beside_a_scan_on_the_same_mount(hung_mount, photos, tmp_path, io_uring):
    """Reads of the headers of one job's archives hang, but those of another job's do
    not."""
    # There are more archives than a job may have hanging reads, in a ring or in
    # threads.
    write_archives(tmp_path / "archives" / "bad", 24, photos)
    write_archives(tmp_path / "archives" / "good", 3, photos)
    config = tmp_path / "forebayd.toml"
    config.write_text(f'storage.io_uring = "{io_uring}"\n')
    folder = tmp_path / "second"
    folder.mkdir()
    with serving(folder, "--config", str(config)), contextlib.ExitStack() as stack:
        mount = hung_mount(tmp_path / "archives")
        stack.callback(mount.close)  # ends the mount before the daemon
        mount.stop("read", folder="bad")
        bad = stack.enter_context(
            Job("scanning", mount.path / "bad" / "*.tar", fields=("jpg",)))
        mount.await_held()
        pause(2)  # until the reads count as hanging
        with Job("opening", mount.path / "good" / "*.tar", batch_size=4,
                 fields=("jpg",)) as good:
            good.await_epochs(1)
        assert mount.held() > 0
        assert bad.batches == 0
        mount.go()
        bad.await_batches(1)


def test_what_opens_is_opened_when_the_mount_goes_on(daemon, hung_mount, photos):
    mount = hung_mount(photos)
    mount.stop(caller=daemon.process.pid)
    with Job("waiting", mount.path) as job:
        mount.await_held()
        assert job.batches == 0
        mount.go()
        job.await_epochs(1)
    until(lambda: mount.held() == 0, "nobody waits for the mount")
