"""Runs a separate forebayd for as long as a `with` block lasts."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = ROOT / "bazel-bin" / "server" / "daemon" / "forebayd"
CTL = ROOT / "bazel-bin" / "tools" / "forebayctl" / "forebayctl"
PYTHON_PATH = ROOT / "client" / "python"
TRIAL = ROOT / "tools" / "trial"
LIBRARY = ROOT / "bazel-bin" / "client" / "libforebay.so"
START_SECONDS = 120  # the time after which a start counts as a hang
# With these settings, the cache keeps no decoded images: every delivered image is
# decoded anew.
ENCODED_ONLY = '[cache]\ndecoded = "off"\n'


class DaemonError(RuntimeError):
    """The daemon did not start, or exited too early."""


class Daemon:
    """A running forebayd in a folder of its own.

    Attributes:
      folder: pathlib.Path that holds the sockets, the index and the log.
      pid: of the process.
      environment: dict of variables that make clients find it.
    """

    def __init__(self, folder, process):
        self.folder = folder
        self.pid = process.pid
        self._process = process
        self.environment = dict(
            os.environ, FOREBAY_RUNTIME_DIR=str(folder / "run"),
            FOREBAY_LIBRARY=str(LIBRARY), PYTHONPATH=f"{PYTHON_PATH}:{TRIAL}",
            PYTHONDONTWRITEBYTECODE="1")

    def log(self):
        """Returns the daemon's log so far."""
        return (self.folder / "log").read_text(errors="replace")

    def ctl(self, *arguments):
        """Runs forebayctl against the daemon. Returns its output as text.

        Raises:
          subprocess.CalledProcessError: forebayctl failed; the exception has stderr.
        """
        return subprocess.run(
            [str(CTL), *arguments], env=self.environment, check=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL).stdout.decode()

    def running(self):
        """Returns whether the process is alive."""
        return self._process.poll() is None


def process_cpu_nanos(pid):
    """Returns the CPU time of a process so far, in nanoseconds. Threads that have ended
    are included.

    Raises:
      OSError: the process is gone.
    """
    # The number of the process's clock, as clock_getcpuclockid(3) returns it: the
    # inverted process id, and 2 (CPU time as the scheduler counts it) in the low bits.
    return time.clock_gettime_ns((~pid << 3) | 2)


def read_cpu_nanos():
    """Returns the CPU time that the environment's daemon spent on reading."""
    status = subprocess.run([str(CTL), "status", "--json"], check=True,
                            stdout=subprocess.PIPE)
    return int(json.loads(status.stdout)["read_cpu_nanos"])


def memory(pid):
    """Returns resident bytes of a process: {"anon", "file", "shmem"}."""
    found = {}
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("Rss"):
            name, kib = line.split()[:2]
            found[name[3:-1].lower()] = int(kib) * 1024
    return found


@contextlib.contextmanager
def daemon(config="", environment=None, index=None):
    """Starts forebayd, waits until it accepts clients, and stops it at the block's end.

    Args:
      config: text of its TOML file, without [index].
      environment: further variables of the daemon's environment.
      index: the folder of its indexes, which is kept. By default, the indexes are
        removed when the daemon ends.

    Yields:
      A Daemon.

    Raises:
      DaemonError: the daemon did not start; its log is in the message.
    """
    folder = pathlib.Path(tempfile.mkdtemp(prefix="forebay-"))
    (folder / "run").mkdir(mode=0o700)
    (folder / "forebayd.toml").write_text(
        f'[index]\ndirectory = "{index or folder / "index"}"\n{config}')
    with open(folder / "log", "wb") as log:
        # The daemon has a session of its own, so that Ctrl-C reaches only this process.
        # This process then stops the daemon.
        process = subprocess.Popen(
            [str(PROGRAM), "--runtime-dir", str(folder / "run"),
             "--config", str(folder / "forebayd.toml")],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            env=dict(os.environ, **(environment or {})),
            start_new_session=True)
    started = Daemon(folder, process)
    try:
        _await_ready(started)
        yield started
    finally:
        stop(process)
        shutil.rmtree(folder, ignore_errors=True)


def _await_ready(started):
    path = str(started.folder / "run" / "session.sock")
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if not started.running():
            raise DaemonError("forebayd left at once:\n" + started.log())
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
            with contextlib.suppress(OSError):
                probe.connect(path)
                return
        time.sleep(0.005)
    raise DaemonError(f"forebayd does not answer after {START_SECONDS} s:\n" +
                      started.log())


def stop(process, seconds=10):
    """Ends a process by SIGTERM; kills it if it still runs after `seconds`."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
