"""A daemon whose threads hang in a file system makes room for the next one."""

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
    """No trainer gives up, however slow the machine is."""
    monkeypatch.setenv("FOREBAY_REATTACH_SECONDS", str(4 * PATIENCE))


@pytest.fixture
def daemon(tmp_path):
    """A daemon that keeps next to nothing of what it has read."""
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
    """How many threads of a process wait where no signal reaches them."""
    states = [(task / "stat").read_text().rpartition(")")[2].split()[0]
              for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir()]
    return states.count("D")


def starts(daemon):
    """Whether another daemon starts in the place of the old one."""
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
