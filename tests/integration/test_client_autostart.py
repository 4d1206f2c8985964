"""The first loader that finds no daemon starts one for its user."""

import fcntl
import os
import signal
import subprocess
import sys

import pytest

from test_client_batches import SAMPLES
from daemons import FOREBAYD, ROOT
from trouble import PATIENCE, until

TRAIN = """
import sys, forebay
from forebay import transforms as T
with forebay.DataLoader(sys.argv[1], batch_size=8, framework="numpy",
                        transform=T.CenterCrop(64)) as loader:
    print(sum(len(b.label) for b in loader))
"""


def daemons_of(runtime_dir):
    """Returns the process ids of the daemons that serve a directory."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if os.fsencode(runtime_dir) in words and b"--runtime-dir" in words:
            found.append(int(pid))
    return found


@pytest.fixture
def train(photos, tmp_path):
    """Starts a trainer that finds no running daemon, but finds the program forebayd."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "forebayd").symlink_to(FOREBAYD)
    environment = {
        key: value for key, value in os.environ.items()
        if key not in ("FOREBAY_RUNTIME_DIR", "XDG_RUNTIME_DIR")}
    environment.update(
        CUDA_VISIBLE_DEVICES="0", A_SECRET="sesame",
        XDG_RUNTIME_DIR=str(tmp_path), XDG_CACHE_HOME=str(tmp_path),
        PATH=f"{programs}:{os.environ['PATH']}", PYTHONDONTWRITEBYTECODE="1",
        PYTHONPATH=str(ROOT / "client" / "python"))

    def start(script=TRAIN):
        return subprocess.Popen(
            [sys.executable, "-W", "always::ResourceWarning", "-c", script,
             str(photos)], env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    yield start
    for pid in daemons_of(tmp_path / "forebay"):
        os.kill(pid, signal.SIGTERM)
    until(lambda: not daemons_of(tmp_path / "forebay"), "the daemon leaves")


def test_trainers_share_the_daemon_that_one_of_them_starts(train, tmp_path):
    trainers = [train() for _ in range(3)]
    for trainer in trainers:
        said = trainer.communicate(timeout=PATIENCE)
        assert said == (b"%d\n" % SAMPLES, b"")
        assert trainer.returncode == 0
    directory = tmp_path / "forebay"
    started = daemons_of(directory)
    assert len(started) == 1
    assert os.getsid(started[0]) == started[0]
    with open(f"/proc/{started[0]}/environ", "rb") as file:
        environment = file.read()
    assert str(tmp_path).encode() in environment
    assert b"CUDA_VISIBLE_DEVICES" not in environment
    assert b"A_SECRET" not in environment
    assert (directory / "forebayd.log").exists()
    assert directory.stat().st_mode & 0o777 == 0o700


def test_who_opens_a_file_starts_a_daemon(train, tmp_path):
    opener = train("import forebay\n"
                   f"print(len(forebay.open({__file__!r}).read()))")
    said = opener.communicate(timeout=PATIENCE)
    assert said == (b"%d\n" % os.stat(__file__).st_size, b"")
    assert len(daemons_of(tmp_path / "forebay")) == 1


def test_a_trainer_waits_for_a_daemon_that_leaves(train, tmp_path):
    directory = tmp_path / "forebay"
    directory.mkdir(mode=0o700)
    # The test holds the lock, as a leaving daemon does after it has closed its sockets.
    with open(directory / "forebayd.lock", "w") as leaving:
        fcntl.flock(leaving, fcntl.LOCK_EX)
        trainer = train()
        log = directory / "forebayd.log"
        until(lambda: log.exists() and "already serves" in log.read_text(),
              "a daemon finds the directory occupied")
        assert trainer.poll() is None
    assert trainer.communicate(timeout=PATIENCE) == (b"%d\n" % SAMPLES, b"")
