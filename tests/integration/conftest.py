"""What every integration test may ask for: a daemon of its own, photographs.

Run with Debian's Python, after building //server/daemon:forebayd and
//client:libforebay.so.
"""

import contextlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import PIL.Image
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "client" / "python"))
sys.dont_write_bytecode = True
FOREBAYD = os.environ.get(
    "FOREBAY_DAEMON", str(ROOT / "bazel-bin/server/daemon/forebayd"))
WALLPAPERS = ["lomiri-wallpapers-16.04", "lomiri-wallpapers-20.04",
              "mate-backgrounds"]
CLASSES = ("beach", "city", "forest")
PER_CLASS = 16
WIDTH, HEIGHT = 96, 72
START_SECONDS = 20


class Daemon:
    """A forebayd in a runtime directory of its own.

    Attributes:
      runtime_dir: pathlib.Path, of its sockets.
      process: subprocess.Popen.
    """

    def __init__(self, folder, launcher=()):
        """`launcher` is the command that runs it, such as ["setpriv", ...]."""
        self._launcher = launcher
        self.runtime_dir = folder / "run"
        self.runtime_dir.mkdir(mode=0o700)
        self._log_path = folder / "log"
        self._environment = dict(os.environ, XDG_CACHE_HOME=str(folder))
        self.process = None

    def start(self, *arguments):
        """Starts it; returns when it accepts clients."""
        from forebay import _native
        with open(self._log_path, "ab") as log:
            self.process = subprocess.Popen(
                [*self._launcher, FOREBAYD, "--runtime-dir",
                 str(self.runtime_dir), *arguments],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=self._environment)
        end = time.monotonic() + START_SECONDS
        while not _native.ping(str(self.runtime_dir)):
            assert self.process.poll() is None, self.log()
            assert time.monotonic() < end, self.log()
            time.sleep(0.01)

    def log(self):
        """All that it has said so far."""
        return self._log_path.read_text(errors="replace")

    def stop(self, how=signal.SIGTERM):
        """Ends it, and returns its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(timeout=START_SECONDS)


@contextlib.contextmanager
def serving(folder, *arguments, launcher=()):
    """A running daemon that clients in this process and its children find."""
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


@pytest.fixture
def daemon(tmp_path):
    """A daemon of the test's own."""
    folder = tmp_path / "daemon"
    folder.mkdir()
    with serving(folder) as started:
        yield started


@pytest.fixture(scope="module")
def shared_daemon(tmp_path_factory):
    """A daemon for a module whose tests leave it as they found it."""
    with serving(tmp_path_factory.mktemp("daemon")) as started:
        yield started


def _sources():
    listed = subprocess.run(["dpkg-query", "-L", *WALLPAPERS], check=True,
                            stdout=subprocess.PIPE).stdout.decode()
    return sorted(path for path in set(listed.splitlines())
                  if path.lower().endswith((".jpg", ".jpeg"))
                  and not os.path.islink(path))


@pytest.fixture(scope="session")
def photos(tmp_path_factory):
    """A folder of class folders: CLASSES x PER_CLASS photographs of
    WIDTH x HEIGHT pixels, as JPEG. Not to be changed by tests."""
    folder = tmp_path_factory.mktemp("photos")
    chance = random.Random(1)
    sources = chance.sample(_sources(), len(CLASSES))
    for name, source in zip(CLASSES, sources):
        (folder / name).mkdir()
        with PIL.Image.open(source) as opened:
            image = opened.convert("RGB").reduce(3)
        for number in range(PER_CLASS):
            x = chance.randrange(image.width - WIDTH)
            y = chance.randrange(image.height - HEIGHT)
            image.crop((x, y, x + WIDTH, y + HEIGHT)).save(
                folder / name / f"{number:03d}.jpg", quality=90)
    return folder
