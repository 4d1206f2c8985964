"""A daemon for this user, started when none listens."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pathlib
import shutil
import subprocess
import time

from . import _native, _programs, errors

IDLE_SECONDS = 60
_START_SECONDS = 20.0

# Process ids of daemons, to reap those that end before this process does.
_started: list[int] = []


def _has_ended(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:  # another process's, from before a fork
        return True


def _find_program() -> str:
    package = pathlib.Path(__file__).resolve().parent
    places = [_programs.FOLDER / "forebayd"]
    if len(package.parents) > 3:
        places.append(package.parents[3] / "bin" / "forebayd")
    on_path = shutil.which("forebayd")
    if on_path:
        places.append(pathlib.Path(on_path))
    places.append(_native.checkout() / "bazel-bin/server/daemon/forebayd")
    for place in places:
        if os.access(place, os.X_OK):
            return str(place)
    raise errors.DaemonUnavailable(
        "no Forebay daemon listens, and forebayd is not on the PATH to start "
        "one")


@contextlib.contextmanager
def _locked(directory):
    """One process at a time starts a daemon there."""
    path = os.path.join(directory, "autostart.lock")
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _start(directory) -> None:
    log_path = os.path.join(directory, "forebayd.log")
    program = _find_program()
    # A trainer may be confined to some of the GPUs: its daemon serves others, too.
    environment = {name: value for name, value in os.environ.items()
                   if name != "CUDA_VISIBLE_DEVICES"}
    with open(log_path, "ab") as log:
        process = subprocess.Popen(
            [program, "--runtime-dir", directory,
             "--exit-when-idle", str(IDLE_SECONDS)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
            env=environment, start_new_session=True)
    _started[:] = [pid for pid in _started if not _has_ended(pid)]
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end:
        if _native.ping(directory):
            _started.append(process.pid)
            # It outlives this process, which Popen would complain of.
            process.returncode = 0
            return
        if process.poll() is not None:
            raise errors.DaemonUnavailable(
                f"the Forebay daemon ended with status {process.returncode} "
                f"at its start: see {log_path}")
        time.sleep(0.01)
    raise errors.DaemonUnavailable(
        f"the Forebay daemon was not ready within {_START_SECONDS:g} s: see "
        f"{log_path}")


def ensure_running(directory: str) -> None:
    """Starts a daemon for this user if none listens in `directory`.

    Nothing is started where somebody else sees to it: in $FOREBAY_RUNTIME_DIR
    or for the whole machine. The daemon is detached, outlives this process, and
    leaves after a minute without clients.

    Raises:
      errors.DaemonUnavailable: it cannot be started; the message names its log.
    """
    if os.environ.get("FOREBAY_RUNTIME_DIR") or directory == "/run/forebay":
        return
    if _native.ping(directory):
        return
    with contextlib.suppress(FileExistsError):
        os.mkdir(directory, 0o700)
    with _locked(directory):
        if not _native.ping(directory):
            _start(directory)
