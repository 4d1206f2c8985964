"""Tests of the mount that hangs on demand, which other tests use. Its callers wait, and
everything of the mount ends with it."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import threading

import pytest

import hung_disk
from hung_mount import HungMount, missing
from trouble import until

FAULTS = pathlib.Path(__file__).resolve().parents[1] / "faults"
OWNER = """
import sys
from hung_mount import HungMount
mount = HungMount(*sys.argv[1:])
mount.stop()
print("stopped", flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def mountable():
    if missing():
        pytest.skip(missing())


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "source"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "long").write_bytes(bytes(range(256)) * 4096)
    (folder / "short").write_text("content")
    (folder / "link").symlink_to("short")
    return folder


@contextlib.contextmanager
def mounted(source, **options):
    with HungMount(source, source.parent / "mounted", **options) as mount:
        yield mount


def reader(path):
    """A process that reads a file."""
    return subprocess.Popen(["cat", str(path)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def state_of(pid):
    """Returns the state of a process, such as "D"."""
    status = pathlib.Path(f"/proc/{pid}/stat").read_text()
    return status.rpartition(")")[2].split()[0]


def is_killed(process):
    """Returns whether a SIGKILL is pending for all threads of a process."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    pending = next(line for line in status.splitlines()
                   if line.startswith("ShdPnd"))
    return int(pending.split()[1], 16) >> (signal.SIGKILL - 1) & 1 == 1


def is_mounted(path):
    return f" {path} " in pathlib.Path("/proc/mounts").read_text()


def test_shows_the_directory(source):
    with mounted(source) as mount:
        assert is_mounted(mount.path)
        assert sorted(os.listdir(mount.path)) == ["inner", "link", "short"]
        assert (mount.path / "link").read_text() == "content"
        assert os.readlink(mount.path / "link") == "short"
        assert (mount.path / "inner" / "long").read_bytes() == (
            source / "inner" / "long").read_bytes()
        with pytest.raises(OSError):
            (mount.path / "new").write_text("")
        with pytest.raises(FileNotFoundError):
            (mount.path / "none").stat()


def test_callers_wait_until_it_goes_on(source):
    with mounted(source) as mount:
        mount.stop()
        reading = reader(mount.path / "short")
        mount.await_held()
        until(lambda: state_of(reading.pid) == "D", "an uninterruptible wait")
        mount.go()
        assert reading.communicate(timeout=60)[0] == b"content"


def test_a_kill_does_not_end_the_wait(source):
    with mounted(source) as mount:
        mount.stop()
        reading = reader(mount.path / "short")
        mount.await_held()
        reading.kill()
        until(lambda: is_killed(reading) and state_of(reading.pid) == "D",
              "a wait that goes on")
    assert reading.wait(timeout=60) == -signal.SIGKILL


@pytest.mark.parametrize("operation", ["lookup", "getattr", "open", "read",
                                       "flush"])
def test_one_kind_of_call_waits(source, operation):
    with mounted(source) as mount:
        mount.stop(operation)
        reading = reader(mount.path / "short")
        mount.await_held()
        assert mount.held() == 1
        mount.go()
        assert reading.communicate(timeout=60)[0] == b"content"


def test_one_process_waits(source):
    with mounted(source) as mount:
        reading = subprocess.Popen(
            ["sh", "-c", f"read go; exec cat {mount.path / 'short'}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        mount.stop(caller=reading.pid)
        reading.stdin.write(b"\n")
        reading.stdin.flush()
        mount.await_held()
        assert (mount.path / "short").read_text() == "content"
        assert state_of(reading.pid) in "DR"
        mount.go()
        assert reading.communicate(timeout=60)[0] == b"content"


def test_one_folder_waits(source):
    with mounted(source) as mount:
        mount.stop("open", folder="inner")
        reading = reader(mount.path / "inner" / "long")
        mount.await_held()
        assert (mount.path / "short").read_text() == "content"
        mount.go()
        assert len(reading.communicate(timeout=60)[0]) == 256 * 4096


def test_known_names_and_attributes_need_not_be_asked_for(source):
    with mounted(source, valid_seconds=3600) as mount:
        (mount.path / "short").stat()
        mount.stop()
        assert (mount.path / "short").stat().st_size == len("content")
        assert mount.held() == 0


def test_many_wait_at_once(source):
    with mounted(source) as mount:
        mount.stop("read")
        files = [os.open(mount.path / "inner" / "long", os.O_RDONLY)
                 for _ in range(100)]
        # Each thread reads different pages.
        reading = [threading.Thread(target=os.pread, args=(file, 1, number << 12))
                   for number, file in enumerate(files)]
        for thread in reading:
            thread.start()
        mount.await_held(2)
        mount.go()
        for thread in reading:
            thread.join()
        for file in files:
            os.close(file)


def test_the_end_frees_callers(source):
    with mounted(source) as mount:
        mount.stop()
        reading = reader(mount.path / "short")
        mount.await_held()
    assert reading.wait(timeout=60) != 0
    assert not is_mounted(mount.path)


def test_the_end_of_its_owner_frees_callers(source, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(FAULTS))
    path = source.parent / "mounted"
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(source), str(path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert owner.stdout.readline() == b"stopped\n"
    reading = reader(path / "short")
    owner.kill()
    owner.communicate()
    assert reading.wait(timeout=60) != 0
    until(lambda: not is_mounted(path), "the end of the mount")


def test_signals_at_its_end_leave_no_mount(source):
    with mounted(source) as mount:
        os.kill(mount.server_pid, signal.SIGTERM)
        while state_of(mount.server_pid) != "Z":
            os.kill(mount.server_pid, signal.SIGTERM)
        assert not is_mounted(mount.path)


def test_the_death_of_its_server_frees_callers(source):
    with mounted(source) as mount:
        mount.stop()
        reading = reader(mount.path / "short")
        mount.await_held()
        os.kill(mount.server_pid, signal.SIGKILL)
        assert reading.wait(timeout=60) != 0
    assert not is_mounted(mount.path)


def test_a_disk_hangs(source):
    if hung_disk.missing():
        pytest.skip(hung_disk.missing())
    with hung_disk.HungDisk(source, source.parent / "disk") as disk:
        file = disk.path / "inner" / "long"
        assert file.read_bytes() == (source / "inner" / "long").read_bytes()
        disk.stop()
        reading = [reader(file), reader(disk.path / "short")]
        disk.await_held()
        disk.go()
        assert reading[0].communicate(timeout=60)[0] == file.read_bytes()
        assert reading[1].communicate(timeout=60)[0] == b"content"
        disk.stop()
        waiting = reader(file)
        disk.await_held()
    assert waiting.wait(timeout=60) != 0
    assert not is_mounted(disk.path.parent)
