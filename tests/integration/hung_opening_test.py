"""Openings and fetches that hang, at a file system or a web server, affect nobody else.
The daemon shows them, and they can be interrupted."""

import contextlib
import io
import os
import re
import signal
import socket
import subprocess
import tarfile

import pytest

import forebay
from opened_files import MIB
from raw_session import RawSession, loader_spec, messages, text
from trouble import (FOREBAYCTL, PATIENCE, contents, ctl, expect_line,
                     memory_used, open_loader, trainer, until)

# More than the daemon has threads for one source.
HUNG = 64
OPEN_LOADER = """
print("opening", flush=True)
try:
    open_loader(sys.argv[1], fields=("jpg",))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
OPEN_FILE = """
print("opening", flush=True)
try:
    forebay.open(sys.argv[1], autostart=False)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.fixture
def silent_server():
    """The URL of a web server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def mount(hung_mount, photos):
    """The photographs on a mount that hangs on demand."""
    return hung_mount(photos)


@pytest.fixture
def archive(photos, tmp_path):
    """A tar file with the photographs."""
    path = tmp_path / "archives" / "photos.tar"
    path.parent.mkdir()
    with tarfile.open(path, "w") as tar:
        for number, photo in enumerate(sorted(photos.rglob("*.jpg"))):
            content = photo.read_bytes()
            member = tarfile.TarInfo(f"{number:06d}.jpg")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def spec_of(url):
    """Returns the spec of a tar file on a web server."""
    spec = loader_spec(url)
    spec.dataset.webdataset.files.append(b"train.tar")
    spec.dataset.webdataset.fields.append(b"jpg")
    return spec


def pending(daemon):
    """Returns the requests that the daemon shows as not answered."""
    return ctl(daemon, "status").get("pending", [])


@contextlib.contextmanager
def raw_sessions(daemon, count):
    """Opens sessions that have sent their greetings."""
    with contextlib.ExitStack() as opened:
        yield [opened.enter_context(
            RawSession(daemon.runtime_dir / "session.sock")).greet()
               for _ in range(count)]


@contextlib.contextmanager
def asked(daemon, spec, folder=None, count=HUNG):
    """Opens `count` sessions, each of which has requested a loader whose opening
    hangs."""
    with raw_sessions(daemon, count) as sessions, contextlib.ExitStack() as files:
        for session in sessions:
            roots = []
            if folder is not None:
                roots = [os.open(folder, os.O_RDONLY)]
                files.callback(os.close, roots[0])
            session.send(session.encode(
                open_loader=messages()[1].OpenLoader(spec=spec)), roots)
        until(lambda: len(pending(daemon)) == count, "all openings are shown")
        yield sessions


def read_file(path):
    with forebay.open(path, autostart=False) as file:
        return file.read()


def check_others(photos, archive):
    """Checks that healthy sources are opened and read."""
    assert read_file(archive) == archive.read_bytes()
    with open_loader(photos) as loader:
        images, _ = contents(loader)
    with open_loader(archive, fields=("jpg",)) as loader:
        assert sum(len(batch.sample_ids) for batch in loader) == len(images)


def said(daemon, *arguments):
    """Returns what forebayctl prints for people."""
    return subprocess.run(
        [FOREBAYCTL, "--runtime-dir", str(daemon.runtime_dir), *arguments],
        stdout=subprocess.PIPE, timeout=PATIENCE).stdout.decode()


def test_openings_on_a_hung_mount_stop_no_other(daemon, mount, photos, archive):
    read_file(archive)
    mount.stop("readdir")
    with asked(daemon, loader_spec(str(mount.path)), mount.path):
        mount.await_held()
        check_others(photos, archive)
        mount.go()


def test_openings_on_a_hung_host_stop_no_other(daemon, silent_server, photos,
                                               archive):
    read_file(archive)
    with asked(daemon, spec_of(silent_server)):
        check_others(photos, archive)


def test_fetches_from_a_hung_mount_stop_no_other(daemon, mount, archive):
    content = read_file(archive)
    root = os.open(mount.path, os.O_RDONLY)
    _, session_pb2 = messages()
    opening = session_pb2.OpenReader(spec=loader_spec(str(mount.path)),
                                     decode=True)
    with raw_sessions(daemon, HUNG) as sessions:
        for session in sessions:
            answer, _ = session.call([root], open_reader=opening)
            assert answer.reader_id == 1, answer
        mount.stop("open", "read", "lookup")
        for number, session in enumerate(sessions):
            session.send(session.encode(fetch=session_pb2.Fetch(
                reader_id=1, samples=[number % 48])))
        mount.await_held()
        until(lambda: len(pending(daemon)) == HUNG, "all fetches are shown")
        assert read_file(archive) == content
        mount.go()
    os.close(root)


def test_what_hangs_is_shown(daemon, silent_server, mount, tmp_path):
    mount.stop("readdir")
    with asked(daemon, spec_of(silent_server), count=1), \
            asked_too(daemon, loader_spec(str(mount.path)), mount.path):
        until(lambda: all(request["seconds"] >= 5 for request in pending(daemon)),
              "time goes on")
        by_host = (rf"opening, waits for {re.escape(silent_server)} "
                   r"for \d+ s")
        by_path = rf"opening {re.escape(str(mount.path))} for \d+ s"
        for verb in (["jobs"], ["top", "--once"], ["status"], ["doctor"]):
            shown = said(daemon, *verb)
            assert re.search(by_host, shown), shown
            assert re.search(by_path, shown), shown
            assert "idle" not in shown
        job, = ctl(daemon, "jobs")["jobs"]
        assert {(request["kind"], request["host"], request["uri"])
                for request in job["pending"]} == {
            ("OPENING", silent_server, silent_server),
            ("OPENING", "", str(mount.path))}
        job, = ctl(daemon, "top")["jobs"]
        assert len(job["pending"]) == 2
        mount.go()


@contextlib.contextmanager
def asked_too(daemon, spec, folder):
    """Opens another session, and requests a loader in it."""
    with raw_sessions(daemon, 1) as (session,):
        before = len(pending(daemon))
        root = os.open(folder, os.O_RDONLY)
        session.send(session.encode(
            open_loader=messages()[1].OpenLoader(spec=spec)), [root])
        os.close(root)
        until(lambda: len(pending(daemon)) == before + 1, "it is shown")
        yield


@pytest.mark.parametrize("script", [OPEN_LOADER, OPEN_FILE],
                         ids=["DataLoader", "open"])
@pytest.mark.parametrize("what", ["host", "mount"])
def test_an_interrupt_ends_the_wait(daemon, silent_server, hung_mount, archive,
                                    script, what):
    mount = hung_mount(archive.parent)
    place = silent_server if what == "host" else mount.path
    # A client itself only looks up the folder.
    mount.stop("open", "read")
    with trainer(script, f"{place}/{archive.name}") as process:
        expect_line(process, "opening")
        until(lambda: pending(daemon), "it waits")
        if what == "mount":
            mount.await_held()
        process.send_signal(signal.SIGINT)
        expect_line(process, "interrupted")
        assert process.wait(PATIENCE) == 0
        # Nothing of the session stays, although the thread that waits still hangs.
        until(lambda: ctl(daemon, "status")["sessions"] == 0,
              "the session ends")
        assert ctl(daemon, "jobs").get("jobs", []) == []
        mount.go()


def test_a_hang_up_frees_what_the_client_had(daemon, mount, photos):
    before = memory_used(daemon)
    mount.stop("readdir")
    with raw_sessions(daemon, 1) as (session,):
        session.open_loader(loader_spec(str(photos)), photos)
        root = os.open(mount.path, os.O_RDONLY)
        session.send(session.encode(open_loader=messages()[1].OpenLoader(
            spec=loader_spec(str(mount.path)))), [root])
        os.close(root)
        mount.await_held()
        assert memory_used(daemon) > before + MIB
    until(lambda: ctl(daemon, "status")["sessions"] == 0, "the session ends")
    assert ctl(daemon, "jobs").get("jobs", []) == []
    # The hanging scan holds only what it has found.
    until(lambda: memory_used(daemon) < before + MIB, "memory is given back")
    assert mount.held() > 0
    mount.go()


def test_a_daemon_with_a_hung_request_makes_way(daemon, mount, photos):
    with open_loader(photos, shuffle=True) as loader:
        expected = contents(loader)
        loader.set_epoch(0)
        iterator = iter(loader)
        first = next(iterator)
        mount.stop("readdir")
        with asked(daemon, loader_spec(str(mount.path)), mount.path,
                   count=1) as (session,):
            mount.await_held()
            old = daemon.process
            old.terminate()
            answer, _ = session.receive()
            assert "the daemon is shutting down" in text(answer.error)
            assert session.hung_up()
            make_way(daemon, old)
            daemon.start()
            images, ids = contents([first, *iterator])
            assert ids == expected[1]
            assert (images == expected[0]).all()
            # All this time the thread hangs, and so the process stays.
            assert old.poll() is None
            assert "requests of trainers" in daemon.log()
        mount.go()
        assert old.wait(PATIENCE) == 0


def test_a_daemon_with_hung_reads_makes_way(daemon, mount, photos):
    with raw_sessions(daemon, 1) as (session,):
        opened, _ = session.open_loader(loader_spec(str(mount.path)), mount.path)
        mount.stop("read", "open")
        session.start_epoch(opened.loader_id)
        mount.await_held()
        old = daemon.process
        old.terminate()
        make_way(daemon, old)
        daemon.start()
        with open_loader(photos) as loader:
            assert len(contents(loader)[1]) == 48
        assert old.poll() is None
        mount.go()
        assert old.wait(PATIENCE) == 0


def make_way(daemon, old):
    """Waits until a daemon that cannot end makes way for the next one."""
    until(lambda: "leaves without waiting for" in daemon.log() or
          old.poll() is not None, "it leaves", daemon.log)
