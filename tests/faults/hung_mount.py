"""A mount that hangs on demand: a directory behind a real FUSE file system.

    with HungMount(source, mountpoint) as mount:
        mount.stop()          # from now on, requests to this file system wait
        ...
        mount.await_held()    # returns when a request waits
        mount.go()            # waiting requests are answered

Callers wait in state D, as at a dead NFS server: not even SIGKILL ends their wait.
End the mount before a daemon that uses it, because the daemon cannot end otherwise.
"""

import ctypes
import functools
import os
import pathlib
import tempfile

from fault_process import FaultProcess

MNT_DETACH = 2


class HungMount:
    """A running mount; a context manager. For one thread.

    The server is a process of its own, which ends at the latest when this process dies.
    Its end ends the mount, and all calls that wait for the mount fail.

    Attributes:
      path: pathlib.Path of the mountpoint, which is an empty directory without the
        mount.
      server_pid: the server's process id.
    """

    def __init__(self, source, mountpoint, valid_seconds=0.0):
        """
        Args:
          source: the directory whose files the mount shows, read-only.
          mountpoint: a directory; made if needed.
          valid_seconds: how long the kernel may use names and attributes without
            asking again. By default each `stat` asks.

        Raises:
          OSError: the mount cannot be made.
        """
        self.path = pathlib.Path(mountpoint)
        self.path.mkdir(parents=True, exist_ok=True)
        self._server = FaultProcess("fuse_server.py", source, mountpoint,
                                    valid_seconds)
        self.server_pid = self._server.pid
        self._above = []

    def stop(self, *operations, caller=0, folder="."):
        """From now on, requests are held, and their callers wait.

        Args:
          *operations: the kinds of requests to hold, such as "read": keys of
            fuse_protocol.OPERATIONS. By default all kinds.
          caller: the id of the process whose requests are held. By default all
            processes.
          folder: a path below the source, without blanks. Requests for files outside of
            this folder are answered.
        """
        self._server.command("stop", caller, folder, *operations)

    def go(self):
        """Answers the held requests, and holds no more."""
        self._server.command("go")

    def held(self):
        """Returns how many requests are held."""
        return self._server.held()

    def await_held(self, count=1):
        """Returns once at least `count` requests are held.

        Raises:
          TimeoutError: there are fewer after a long time.
        """
        self._server.await_held(count)

    def unmount_at_end(self, path):
        """Makes another mount, which lies above this one, end with this one."""
        self._server.command("unmount", path)
        self._above.append(path)

    def close(self):
        """Ends the mount. Processes that wait for it get an error."""
        self._server.close()
        # If the server was killed, the mount is dead, but still mounted.
        for path in (*self._above, self.path):
            ctypes.CDLL(None).umount2(os.fsencode(path), MNT_DETACH)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


@functools.lru_cache(maxsize=None)
def missing():
    """Returns why nothing can be mounted here, or "" if it can."""
    if not os.path.exists("/dev/fuse"):
        return "this machine has no /dev/fuse"
    with tempfile.TemporaryDirectory() as folder:
        try:
            HungMount(folder, os.path.join(folder, "mounted")).close()
        except OSError as error:
            return f"FUSE cannot be mounted: {error}"
    return ""
