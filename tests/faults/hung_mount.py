"""A mount that hangs on demand: a directory behind a real FUSE file system.

    with HungMount(source, mountpoint) as mount:
        mount.stop()          # whoever asks this file system waits from now on
        ...
        mount.await_held(1)   # somebody waits
        mount.go()            # those who wait get their answers

Callers wait as those of a dead NFS server do: in state D, where not even SIGKILL
reaches them. End the mount before a daemon that uses it, or the daemon cannot end.
"""

import contextlib
import ctypes
import functools
import os
import pathlib
import subprocess
import sys
import tempfile

SERVER = pathlib.Path(__file__).with_name("fuse_server.py")
PATIENCE = 150.0  # seconds until a wait counts as a hang
MNT_DETACH = 2


class HungMount:
    """A running mount; a context manager. Calls are for one thread.

    The server is a process of its own. Its end, also when this process dies, ends
    the mount and frees all who wait for it.

    Attributes:
      path: pathlib.Path where it is mounted; an empty directory otherwise.
      server_pid: of the server's process.
    """

    def __init__(self, source, mountpoint, valid_seconds=0.0):
        """
        Args:
          source: the directory whose files it shows, read-only.
          mountpoint: a directory; it is made if need be.
          valid_seconds: how long the kernel may use names and attributes without
            asking again. By default each `stat` asks.

        Raises:
          OSError: it cannot be mounted.
        """
        self.path = pathlib.Path(mountpoint)
        self.path.mkdir(parents=True, exist_ok=True)
        self._server = subprocess.Popen(
            [sys.executable, "-B", str(SERVER), str(source), str(mountpoint),
             str(valid_seconds), str(os.getpid())],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True, universal_newlines=True)
        self.server_pid = self._server.pid
        if self._server.stdout.readline() != "serving\n":
            _, complaint = self._server.communicate()
            raise OSError(f"{mountpoint}: {complaint.strip().splitlines()[-1:]}")

    def stop(self, *operations):
        """From now on, requests are held, and their callers wait.

        Args:
          *operations: of which kinds, such as "read": the keys of
            fuse_server.OPERATIONS. By default of all kinds.
        """
        self._command("stop", *operations)

    def go(self):
        """Nothing is held any longer; held requests are answered."""
        self._command("go")

    def held(self):
        """Returns how many requests are held."""
        return int(self._command("await", 0, 0))

    def await_held(self, count=1):
        """Returns once at least so many requests are held.

        Raises:
          TimeoutError: they are not, after PATIENCE.
        """
        held = int(self._command("await", count, PATIENCE))
        if held < count:
            raise TimeoutError(f"{held} requests are held, not {count}")

    def close(self):
        """Ends the mount. Whoever waits for it gets an error."""
        with contextlib.suppress(BrokenPipeError):
            self._server.stdin.close()
        try:
            self._server.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()
        self._server.stdout.close()
        self._server.stderr.close()
        # In case that the server was killed: the mount is dead, but still there.
        ctypes.CDLL(None).umount2(os.fsencode(self.path), MNT_DETACH)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _command(self, *words):
        print(*words, file=self._server.stdin, flush=True)
        answer = self._server.stdout.readline()
        if not answer:
            raise RuntimeError("the mount's server has died: " +
                               self._server.stderr.read())
        return answer


@functools.lru_cache(maxsize=None)
def missing():
    """Returns why nothing can be mounted here; "" if it can."""
    if not os.path.exists("/dev/fuse"):
        return "this machine has no /dev/fuse"
    with tempfile.TemporaryDirectory() as folder:
        try:
            HungMount(folder, os.path.join(folder, "mounted")).close()
        except OSError as error:
            return f"FUSE cannot be mounted: {error}"
    return ""
