"""A mount that hangs on demand: a directory behind a real FUSE file system.

    with HungMount(source, mountpoint) as mount:
        mount.stop()          # whoever asks this file system waits from now on
        ...
        mount.await_held()    # somebody waits
        mount.go()            # those who wait get their answers

Callers wait as those of a dead NFS server do: in state D, where not even SIGKILL
reaches them. End the mount before a daemon that uses it, or the daemon cannot end.
"""

import ctypes
import functools
import os
import pathlib
import tempfile

from fault_process import FaultProcess

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
        self._server = FaultProcess("fuse_server.py", source, mountpoint,
                                    valid_seconds)
        self.server_pid = self._server.pid
        self._above = []

    def stop(self, *operations, caller=0, folder="."):
        """From now on, requests are held, and their callers wait.

        Args:
          *operations: of which kinds, such as "read": the keys of
            fuse_protocol.OPERATIONS. By default of all kinds.
          caller: the id of the process whose requests are held. By default those
            of all are.
          folder: a path below the source, without blanks. Requests for what lies
            outside of it are answered.
        """
        self._server.command("stop", caller, folder, *operations)

    def go(self):
        """Nothing is held any longer; held requests are answered."""
        self._server.command("go")

    def held(self):
        """Returns how many requests are held."""
        return self._server.held()

    def await_held(self, count=1):
        """Returns once at least so many requests are held.

        Raises:
          TimeoutError: they are not, after long.
        """
        self._server.await_held(count)

    def unmount_at_end(self, path):
        """Lets another mount, which lies above this one, end with it."""
        self._server.command("unmount", path)
        self._above.append(path)

    def close(self):
        """Ends the mount. Processes that wait for it get an error."""
        self._server.close()
        # If the server was killed, the mount is dead, but still there.
        for path in (*self._above, self.path):
            ctypes.CDLL(None).umount2(os.fsencode(path), MNT_DETACH)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


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
