"""A scan that would take long ends when its client or the daemon leaves."""

import contextlib
import os
import pathlib

import pytest

from raw_session import RawSession, loader_spec, messages
from trouble import PATIENCE, ctl, expect_line, trainer, until

LEVELS = 22
# The paths of a whole scan would need several times as much memory.
FEW_BYTES = 250 << 20
OPEN = """
print("opening", flush=True)
try:
    open_loader(sys.argv[1])
except forebay.errors.DaemonUnavailable as error:
    print(error, flush=True)
"""


@pytest.fixture(scope="module")
def endless(tmp_path_factory):
    """A dataset of millions of paths, because each directory has two links to the
    next."""
    folder = tmp_path_factory.mktemp("endless")
    for level in range(LEVELS):
        (folder / str(level)).mkdir()
        for name in ("a", "b"):
            (folder / str(level) / name).symlink_to(f"../{level + 1}")
    return folder


def scanning(daemon):
    """Returns whether the daemon has begun to list directories."""
    for task in pathlib.Path(f"/proc/{daemon.process.pid}/task").iterdir():
        # In this test, only a scan uses so much CPU time on one thread.
        with contextlib.suppress(FileNotFoundError):
            if int((task / "schedstat").read_text().split()[0]) > 200e6:
                return True
    return False


def most_memory(daemon):
    """Returns the most memory that the daemon has ever used, in bytes."""
    status = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text()
    peak = next(line for line in status.splitlines() if "VmHWM" in line)
    return int(peak.split()[1]) * 1024


def expect_interrupted(daemon):
    """Waits until there is no session. Checks that the scan has found little."""
    until(lambda: ctl(daemon, "status")["sessions"] == 0, "the scan ends")
    assert most_memory(daemon) < FEW_BYTES


def test_a_terminated_daemon_does_not_finish_its_scan(daemon, endless):
    with trainer(OPEN, endless, FOREBAY_REATTACH_SECONDS="0") as process:
        expect_line(process, "opening")
        until(lambda: scanning(daemon), "a scan begins")
        daemon.process.terminate()
        expect_line(process, f"{endless}: was not scanned to the end: "
                             "the daemon is shutting down")
        assert daemon.process.wait(PATIENCE) == 0


def test_a_killed_trainers_scan_ends(daemon, endless):
    with trainer(OPEN, endless, FOREBAY_REATTACH_SECONDS="0") as process:
        expect_line(process, "opening")
        until(lambda: scanning(daemon), "a scan begins")
        process.kill()
        expect_interrupted(daemon)


def test_a_scan_ends_when_its_session_hangs_up(daemon, endless):
    with RawSession(daemon.runtime_dir / "session.sock").greet() as session:
        root = os.open(endless, os.O_RDONLY)
        session.send(session.encode(open_loader=messages()[1].OpenLoader(
            spec=loader_spec(str(endless)))), [root])
        os.close(root)
        until(lambda: scanning(daemon), "a scan begins")
    expect_interrupted(daemon)
