"""Starts a forebayd for a test."""

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOREBAYD = os.environ.get(
    "FOREBAY_DAEMON", str(ROOT / "bazel-bin/server/daemon/forebayd"))
START_SECONDS = 120  # after which a start or an end counts as a hang


class Daemon:
    """A forebayd with a runtime directory of its own.

    Attributes:
      runtime_dir: pathlib.Path of the folder of its sockets.
      process: subprocess.Popen.
    """

    def __init__(self, folder, launcher=()):
        """`launcher` is the command that runs the daemon, such as ["setpriv", ...]."""
        self._launcher = launcher
        self.runtime_dir = folder / "run"
        self.runtime_dir.mkdir(mode=0o700)
        self._log_path = folder / "log"
        self._environment = dict(os.environ, XDG_CACHE_HOME=str(folder))
        self.process = None

    def launch(self, *arguments):
        """Starts the daemon without waiting."""
        with open(self._log_path, "ab") as log:
            self.process = subprocess.Popen(
                [*self._launcher, FOREBAYD, "--runtime-dir",
                 str(self.runtime_dir), *arguments],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=self._environment)

    def start(self, *arguments):
        """Starts the daemon. Returns when it serves clients."""
        self.launch(*arguments)
        end = time.monotonic() + START_SECONDS
        while not self._serves():
            assert self.process.poll() is None, self.log()
            assert time.monotonic() < end, self.log()
            time.sleep(0.01)

    def _serves(self):
        """Returns whether the daemon answers a client that hangs up at once. A
        connection alone proves nothing: the kernel accepts it as soon as the socket
        exists, which is early in the daemon's start."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as visitor:
            visitor.settimeout(START_SECONDS)
            try:
                visitor.connect(str(self.runtime_dir / "session.sock"))
                visitor.shutdown(socket.SHUT_WR)
                return visitor.recv(1) == b""
            except (FileNotFoundError, ConnectionError):
                return False

    def log(self):
        """Returns everything that the daemon has logged so far."""
        return self._log_path.read_text(errors="replace")

    def stop(self, how=signal.SIGTERM):
        """Ends the daemon, and returns its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(timeout=START_SECONDS)


@contextlib.contextmanager
def serving(folder, *arguments, launcher=()):
    """Runs a daemon that clients in this process and its children find."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONDONTWRITEBYTECODE", "1")
        patch.setenv("PYTHONPATH", str(ROOT / "client" / "python"))
        started = Daemon(folder, launcher)
        patch.setenv("FOREBAY_RUNTIME_DIR", str(started.runtime_dir))
        started.start(*arguments)
        try:
            yield started
        finally:
            alive = started.process.poll() is None
            started.stop()
        if alive:
            assert started.process.returncode == 0, started.log()
