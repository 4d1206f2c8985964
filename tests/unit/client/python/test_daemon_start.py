"""How a trainer starts a daemon: which program, in which folder, with which
environment."""

import fcntl
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys

import pytest

import forebay
from forebay import _daemon, _file_lock, _native
from thread_forks import end, fork_in_a_thread

ROOT = pathlib.Path(__file__).resolve().parents[4]
OTHERS = 65534  # the id of another user than this one
ASK = """
from forebay import _daemon
try:
    print(_daemon._find_program())
except ConnectionError:
    print("none")
"""
ASK_LIBRARY = """
try:
    import forebay
    print("loaded")
except Exception as error:
    print(type(error).__name__)
"""


def program(path):
    """Writes an executable file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def package_in(folder):
    """Copies the package, and returns the folder in which Python should look for it."""
    shutil.copytree(ROOT / "client/python/forebay", folder / "forebay",
                    ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def asked(code, folder, **environment):
    """Runs `code` in a Python with the package of `folder`. Returns its
    output."""
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, stdout=subprocess.PIPE,
        env=dict(PATH="/nowhere", PYTHONPATH=str(folder),
                 PYTHONDONTWRITEBYTECODE="1", **environment))
    return done.stdout.decode().strip()


def found_from(folder):
    return asked(ASK, folder, FOREBAY_LIBRARY=str(_native.path))


def test_a_checkout_starts_nothing_that_lies_beside_it(tmp_path):
    package = package_in(tmp_path / "checkout/client/python")
    (tmp_path / "checkout/WORKSPACE").touch()
    program(tmp_path / "bin/forebayd")
    assert found_from(package) == "none"
    own = program(tmp_path / "checkout/bazel-bin/server/daemon/forebayd")
    assert found_from(package) == str(own)


@pytest.mark.parametrize("place, finds", [
    ("lib/python3/dist-packages", True),
    ("lib64/python3.11/site-packages", True),
    ("a/b/c", False),
    ("lib/python3/elsewhere", False),
])
def test_only_an_installed_package_has_programs(tmp_path, place, finds):
    package = package_in(tmp_path / place)
    installed = program(tmp_path / "bin/forebayd")
    assert found_from(package) == (str(installed) if finds else "none")


def test_a_folder_is_no_program(tmp_path):
    package = package_in(tmp_path / "lib/python3/dist-packages")
    (tmp_path / "bin/forebayd").mkdir(parents=True)
    assert found_from(package) == "none"


def test_no_library_is_loaded_from_outside_of_a_checkout(tmp_path):
    package = package_in(tmp_path / "a/b")
    library = tmp_path / "bazel-bin/client/libforebay.so"
    library.parent.mkdir(parents=True)
    shutil.copyfile(_native.path, library)
    assert asked(ASK_LIBRARY, package) == "ForebayError"


def test_the_daemon_keeps_what_finds_things_and_nothing_else():
    kept = {
        "HOME": "/home/me", "PATH": "/bin", "TMPDIR": "/scratch",
        "XDG_CACHE_HOME": "/cache", "FOREBAY_JOB": "j",
        "LD_LIBRARY_PATH": "/lib", "CUDA_MPS_PIPE_DIRECTORY": "/mps",
        "SSL_CERT_FILE": "/cert", "https_proxy": "p", "NO_PROXY": "n",
        "GOOGLE_APPLICATION_CREDENTIALS": "/key", "STORAGE_EMULATOR_HOST": "e",
        "GCE_METADATA_HOST": "m", "CLOUDSDK_CONFIG": "/gcloud",
        "AWS_SECRET_ACCESS_KEY": "s", "AWS_ENDPOINT_URL": "http://minio",
        "HADOOP_USER_NAME": "me"}
    dropped = {
        "LD_PRELOAD": "/evil.so", "CUDA_VISIBLE_DEVICES": "0",
        "AZURE_STORAGE_KEY": "s", "NOTIFY_SOCKET": "/run/n",
        "JOURNAL_STREAM": "8:1", "RUNTIME_DIRECTORY": "/run/other",
        "PYTHONPATH": "/mine", "SLURM_JOB_ID": "7", "MALLOC_ARENA_MAX": "1"}
    assert _daemon._environment({**kept, **dropped}) == kept


@pytest.fixture
def unheard(monkeypatch, tmp_path):
    """No daemon listens, and none is started by accident."""
    monkeypatch.delenv("FOREBAY_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(_native, "ping", lambda directory: False)
    monkeypatch.setattr(_daemon, "_find_program",
                        lambda: str(program(tmp_path / "never" / "forebayd")))
    return tmp_path / "run"


def test_nothing_is_written_through_a_link(unheard, tmp_path):
    target = tmp_path / "target"
    target.mkdir(mode=0o700)
    unheard.symlink_to(target)
    with pytest.raises(forebay.PermissionDenied, match="run"):
        _daemon.ensure_running(str(unheard))
    assert not list(target.iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders away")
def test_nothing_is_written_to_a_folder_of_others(unheard):
    unheard.mkdir(mode=0o700)
    os.chown(unheard, OTHERS, OTHERS)
    with pytest.raises(forebay.PermissionDenied, match="another user"):
        _daemon.ensure_running(str(unheard))
    assert not list(unheard.iterdir())


def test_nothing_is_written_to_a_folder_that_others_may_open(unheard):
    unheard.mkdir()
    unheard.chmod(0o755)
    with pytest.raises(forebay.PermissionDenied, match="open to others"):
        _daemon.ensure_running(str(unheard))
    assert not list(unheard.iterdir())


def test_a_folder_that_cannot_be_made_is_no_daemon(unheard):
    with pytest.raises(forebay.DaemonUnavailable, match="No such file"):
        _daemon.ensure_running(str(unheard / "below"))


class Ends:
    """A fake forebayd. Its starts end, one after another, with these statuses. The last
    one stays, and then listens."""

    def __init__(self, monkeypatch, tmp_path, *statuses):
        self.commands = tmp_path / "commands"
        left = tmp_path / "left"
        left.write_text("".join(f"{status}\n" for status in statuses))
        self.program = program(tmp_path / "bin/forebayd")
        self.program.write_text(
            "#!/bin/sh\n"
            f"echo \"$0 $*\" >>{self.commands}\n"
            f"read -r status <{left} || {{ touch {tmp_path}/listens; exit 0; }}\n"
            f"/bin/sed -i 1d {left}\n"
            "exit $status\n")
        monkeypatch.delenv("FOREBAY_RUNTIME_DIR", raising=False)
        monkeypatch.setattr(_native, "ping",
                            lambda directory: (tmp_path / "listens").exists())
        monkeypatch.setattr(_daemon, "_find_program",
                            lambda: str(self.program))

    def starts(self):
        return len(self.commands.read_text().splitlines())


def test_it_waits_for_a_daemon_that_leaves(monkeypatch, tmp_path):
    daemon = Ends(monkeypatch, tmp_path, 3, 3)
    _daemon.ensure_running(str(tmp_path / "run"))
    assert daemon.starts() == 3


def test_it_does_not_wait_for_ever(monkeypatch, tmp_path):
    monkeypatch.setattr(_daemon, "_START_SECONDS", 0.3)
    Ends(monkeypatch, tmp_path, *[3] * 100)
    with pytest.raises(forebay.DaemonUnavailable, match="forebayd.log"):
        _daemon.ensure_running(str(tmp_path / "run"))


def test_one_that_cannot_start_is_named_with_its_log(monkeypatch, tmp_path):
    daemon = Ends(monkeypatch, tmp_path, 1)
    with pytest.raises(forebay.DaemonUnavailable,
                       match="status 1.*forebayd.log"):
        _daemon.ensure_running(str(tmp_path / "run"))
    assert daemon.starts() == 1


def test_without_the_scope_where_it_cannot_be_made(monkeypatch, tmp_path):
    daemon = Ends(monkeypatch, tmp_path)
    refusing = program(tmp_path / "systemd-run")
    refusing.write_text("#!/bin/sh\nexit 1\n")
    monkeypatch.setattr(_daemon._scope, "launcher",
                        lambda *_: [str(refusing), "--"])
    _daemon.ensure_running(str(tmp_path / "run"))
    assert daemon.starts() == 1


def test_within_the_scope(monkeypatch, tmp_path):
    daemon = Ends(monkeypatch, tmp_path)
    launcher = program(tmp_path / "systemd-run")
    launcher.write_text(f"#!/bin/sh\ntouch {tmp_path}/scope\nshift\nexec \"$@\"\n")
    monkeypatch.setattr(_daemon._scope, "launcher",
                        lambda *_: [str(launcher), "--"])
    _daemon.ensure_running(str(tmp_path / "run"))
    assert (tmp_path / "scope").exists()
    assert daemon.starts() == 1


def is_free(path):
    """Returns whether no process holds the lock of this file."""
    with open(path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def test_a_fork_by_another_thread_keeps_no_start_locked(unheard, monkeypatch):
    children = []
    monkeypatch.setattr(_daemon._Start, "run",
                        lambda start: children.append(fork_in_a_thread()))
    _daemon.ensure_running(str(unheard))
    try:
        assert is_free(unheard / "autostart.lock")
    finally:
        end(children[0])


def test_a_child_keeps_no_lock_of_a_parent_that_is_killed(tmp_path):
    read, write = os.pipe()
    parent = os.fork()
    if parent == 0:
        try:
            folder = os.open(tmp_path, os.O_RDONLY)
            lock = _file_lock.FileLock(folder, "lock")
            assert lock.try_acquire()
            os.write(write, struct.pack("<q", fork_in_a_thread()))
            signal.pause()
        finally:
            os._exit(1)
    child, = struct.unpack("<q", os.read(read, 8))
    os.close(read)
    os.close(write)
    try:
        assert not is_free(tmp_path / "lock")
        end(parent)
        assert is_free(tmp_path / "lock")
    finally:
        os.kill(child, signal.SIGKILL)


@pytest.fixture
def occupied(unheard):
    """Another process holds the lock that serializes starts."""
    unheard.mkdir(mode=0o700)
    with open(unheard / "autostart.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield unheard


def test_one_that_is_never_through_with_its_start_is_not_awaited(
        occupied, monkeypatch):
    monkeypatch.setattr(_daemon, "_START_SECONDS", 0.2)
    with pytest.raises(forebay.DaemonUnavailable, match="autostart.lock"):
        _daemon.ensure_running(str(occupied))


def test_a_daemon_that_listens_is_enough(occupied, monkeypatch):
    answers = [False, False, True]
    monkeypatch.setattr(_native, "ping", lambda directory: answers.pop(0))
    _daemon.ensure_running(str(occupied))
    assert not answers
