"""Starts a daemon for this user when none listens."""

from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
import time
from typing import BinaryIO, Iterator, Mapping, Optional

from . import _file_lock, _native, _programs, _scope, _system_error, errors

IDLE_SECONDS = 60
_START_SECONDS = 20.0
# forebayd's exit status if another daemon uses the directory. That daemon may be about
# to exit, or may have been started just now by another process.
_OCCUPIED = 3
_FIRST_PAUSE, _LAST_PAUSE = 0.05, 0.5
_LOG = "forebayd.log"
_LOCK = "autostart.lock"  # the process that starts a daemon holds this lock

# The variables that a daemon inherits from the trainer that starts it. All other
# variables concern only the trainer: its GPUs, its preloaded libraries or its batch
# job.
_KEPT = frozenset((
    "HOME", "PATH", "TMPDIR", "LD_LIBRARY_PATH",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "http_proxy", "https_proxy", "all_proxy",
    "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
    "GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG",
    "STORAGE_EMULATOR_HOST", "GCE_METADATA_HOST",
    "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3",
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
    "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "AWS_PROFILE",
    "HADOOP_USER_NAME", "HADOOP_TOKEN"))
_KEPT_PREFIXES = ("XDG_", "FOREBAY_", "CUDA_MPS_")

# The process ids of daemons that this process started. Those that exit before this
# process does are reaped.
_started: list[int] = []


def _has_ended(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:  # not a child of this process, but of its parent
        return True


def _installed_programs() -> Optional[pathlib.Path]:
    """Returns PREFIX/bin, if this package lies in PREFIX/lib/pythonX/site-packages."""
    package = pathlib.Path(__file__).resolve().parent
    lib, python, packages = ("", "", "", *package.parts)[-4:-1]
    if (lib in ("lib", "lib64") and python.startswith(("python", "pypy")) and
            packages in ("site-packages", "dist-packages")):
        return package.parents[3] / "bin"
    return None


def _find_program() -> str:
    places = [_programs.FOLDER]
    installed = _installed_programs()
    if installed is not None:
        places.append(installed)
    places += [pathlib.Path(folder) for folder in os.get_exec_path()
               if os.path.isabs(folder)]
    checkout = _native.checkout()
    if checkout is not None:
        places.append(checkout / "bazel-bin/server/daemon")
    for place in places:
        program = place / "forebayd"
        if program.is_file() and os.access(program, os.X_OK):
            return str(program)
    raise errors.DaemonUnavailable(
        "no Forebay daemon listens, and forebayd is not on the PATH to start "
        "one")


def _environment(of_trainer: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in of_trainer.items()
            if name in _KEPT or name.startswith(_KEPT_PREFIXES)}


@contextlib.contextmanager
def private_folder(directory: str, what: str) -> Iterator[int]:
    """Opens the folder, which is created if it does not exist.

    Args:
      what: a clause, for messages, that says what cannot be done without the folder.

    Raises:
      errors.PermissionDenied: other users own the folder or may write to it.
    """
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(directory, 0o700)
        # Under /tmp, another user may have created a link with that name.
        folder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY |
                         os.O_NOFOLLOW | os.O_CLOEXEC)
    except (NotADirectoryError, PermissionError) as error:
        raise errors.PermissionDenied(
            f"{what} in {directory}: {_system_error.reason(error)}") from None
    try:
        found = os.fstat(folder)
        if found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise errors.PermissionDenied(
                f"{what} in {directory}: it belongs to another "
                f"user, or is open to others")
        yield folder
    finally:
        os.close(folder)


def _is_to_start(lock: _file_lock.FileLock, directory: str) -> bool:
    """Waits for the lock, or for a daemon that listens. Returns whether this process
    has the lock and should start a daemon.

    Raises:
      errors.DaemonUnavailable: another process kept the lock for too long.
    """
    end = time.monotonic() + _START_SECONDS
    while not lock.try_acquire():
        if _native.ping(directory):
            return False
        if time.monotonic() >= end:
            raise errors.DaemonUnavailable(
                f"another process has been about to start the Forebay daemon for "
                f"{_START_SECONDS:g} s: it holds {os.path.join(directory, _LOCK)}; end "
                "it if it hangs")
        time.sleep(_FIRST_PAUSE)
    return not _native.ping(directory)


def _open_log(folder: int) -> BinaryIO:
    return open(_LOG, "ab", opener=lambda path, flags: os.open(
        path, flags, 0o600, dir_fd=folder))


class _Start:
    """The start of a daemon, which may take several tries.

    Attributes:
      log: str, the path of the daemon's log, for messages.
    """

    def __init__(self, directory: str, folder: int):
        self._directory = directory
        self._folder = folder
        self.log = os.path.join(directory, _LOG)
        self._end = time.monotonic() + _START_SECONDS

    def run(self) -> None:
        """Starts a daemon, and returns when one listens."""
        command = [_find_program(), "--runtime-dir", self._directory,
                   "--exit-when-idle", str(IDLE_SECONDS)]
        scope = _scope.launcher(os.environ, os.getuid())
        pause = _FIRST_PAUSE
        while True:
            status = self._try([*scope, *command])
            if status is None:
                return
            if status == _OCCUPIED:
                self._sleep(pause)
                pause = min(2 * pause, _LAST_PAUSE)
                if _native.ping(self._directory):
                    return
            elif scope:
                scope = []  # the scope may be the problem: try without it
            else:
                raise errors.DaemonUnavailable(
                    f"the Forebay daemon ended with status {status} at its "
                    f"start: see {self.log}")

    def _try(self, command: list[str]) -> Optional[int]:
        """Starts a daemon. Returns None once a daemon listens. If the started daemon
        ends first, returns its exit status."""
        with _open_log(self._folder) as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                cwd="/", env=_environment(os.environ), start_new_session=True)
        while not _native.ping(self._directory):
            if process.poll() is not None:
                return process.returncode
            self._sleep(0.01)
        _started[:] = [pid for pid in _started if not _has_ended(pid)]
        _started.append(process.pid)
        # The daemon outlives this process. Without this, Popen would warn that a child
        # still runs.
        process.returncode = 0
        return None

    def _sleep(self, seconds: float) -> None:
        if time.monotonic() >= self._end:
            raise errors.DaemonUnavailable(
                f"the Forebay daemon was not ready within {_START_SECONDS:g} "
                f"s: see {self.log}")
        time.sleep(seconds)


def ensure_running(directory: str) -> None:
    """Starts a daemon for this user if none listens in `directory`.

    Starts nothing if `directory` is $FOREBAY_RUNTIME_DIR or the machine's own
    directory: others manage the daemon there. The daemon is detached, outlives this
    process, and exits after a minute without clients. It inherits the part of this
    process's environment that locates files, certificates, proxies and credentials. In
    a login session, the daemon gets a new cgroup scope, with the limits of this
    process's cgroup. In a container or a batch job, it stays in this process's cgroup.

    Raises:
      errors.DaemonUnavailable: the daemon cannot be started; the message names its log.
      errors.PermissionDenied: other users own the directory or may write to it.
    """
    if os.environ.get("FOREBAY_RUNTIME_DIR") or directory == "/run/forebay":
        return
    if _native.ping(directory):
        return
    try:
        with private_folder(directory, "no daemon is started") as folder, \
                contextlib.closing(_file_lock.FileLock(folder, _LOCK)) as lock:
            if _is_to_start(lock, directory):
                _Start(directory, folder).run()
    except errors.ForebayError:
        raise
    except OSError as error:
        raise errors.DaemonUnavailable(
            f"no daemon can be started in {directory}: {_system_error.reason(error)}"
        ) from None
