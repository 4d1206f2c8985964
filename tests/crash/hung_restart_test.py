"""A daemon whose threads hang in a file system makes way for the next daemon."""

import pathlib
import signal
import socket
import struct

import pytest

from daemons import serving
from isolated_jobs import Job, jobs
from trouble import PATIENCE, ctl, until


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Lets trainers wait for a daemon so long that none gives up on a slow machine."""
    monkeypatch.setenv("FOREBAY_REATTACH_SECONDS", str(4 * PATIENCE))


@pytest.fixture
def daemon(tmp_path):
    """A daemon that caches almost nothing."""
    config = tmp_path / "config.toml"
    config.write_text("[cache]\nmemory = '64KiB'\ndecoded = 'off'\n")
    folder = tmp_path / "daemon"
    folder.mkdir()
    with serving(folder, "--config", config) as started:
        yield started


def serving_process(daemon):
    """Returns the process that accepts sessions; 0 if there is none."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as visitor:
        try:
            visitor.connect(str(daemon.runtime_dir / "session.sock"))
        except (FileNotFoundError, ConnectionError):
            return 0
        credentials = visitor.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return struct.unpack("3i", credentials)[0]


def hung_threads(process):
    """Returns how many threads of a process are in an uninterruptible wait."""
    states = [(task / "stat").read_text().rpartition(")")[2].split()[0]
              for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir()]
    return states.count("D")


def starts(daemon):
    """Whether another daemon starts with the runtime directory of the old one."""
    try:
        daemon.start()
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize("operation", ["open", "read", "getattr"])
def test_another_daemon_can_start(daemon, hung_mount, photos, operation):
    mount = hung_mount(photos)
    with Job("running", photos) as victim:
        victim.await_epochs(1)
        with jobs(2, 16, uri=mount.path) as suffering:
            mount.stop(operation, caller=daemon.process.pid)
            mount.await_held()
            old = daemon.process
            until(lambda: hung_threads(old) > 0, "a thread hangs")
            old.send_signal(signal.SIGTERM)
            until(lambda: serving_process(daemon) != old.pid,
                  "the old daemon lets its sockets go")
            until(lambda: starts(daemon), "another daemon starts")
            assert serving_process(daemon) == daemon.process.pid != old.pid
            victim.await_epochs()
            assert ctl(daemon, "status")["sessions"] >= 1
            mount.go()
            old.wait(PATIENCE)
            for job in suffering:
                job.await_batches(3)
