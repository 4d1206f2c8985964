"""Other processes that take all of the CPU except the daemon's part.

The daemon and the other processes, the hogs, are in two sibling control groups. While
all of them want to run, the kernel divides the CPUs between the groups by the groups'
weights, however many processes each has. Without hogs the daemon may use every CPU.
"""

import contextlib
import os
import pathlib
import signal
import subprocess

from figures import CORES

from .process import MORTAL

MOUNTED = pathlib.Path("/sys/fs/cgroup")
HOGS = 2 * CORES


def _parent():
    """Returns a folder in which groups with CPU weights can be made, the name of the
    weight's file, and the unit of weights. Returns None if there is no such folder."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "cpu" in controllers.split(","):
            folder = MOUNTED / "cpu" / path.lstrip("/")
            if os.access(folder, os.W_OK):
                return folder, "cpu.shares", 1024
    controls = MOUNTED / "cgroup.subtree_control"
    if controls.exists() and "cpu" in controls.read_text().split() and \
            os.access(MOUNTED, os.W_OK):
        return MOUNTED, "cpu.weight", 100
    return None


def missing():
    """Returns why no groups can be made, or "" if they can be made."""
    return "" if _parent() else "no control group of the CPU may be made here"


class Hogs:
    """The two groups and the hogs. The hogs do not run before begin()."""

    def __init__(self, pid, part):
        """
        Args:
          pid: the daemon's process id.
          part: the part of the CPUs that the daemon keeps, for example 0.25.
        """
        self._stack = contextlib.ExitStack()
        self._hogs = []
        self._daemons = self._group("daemon", 1)
        self._others = self._group("hogs", 1 / part - 1)
        self._enter(self._daemons, pid)
        for _ in range(HOGS):
            hog = subprocess.Popen(
                [*MORTAL, "/usr/bin/python3", "-c", "while True: pass"],
                stdin=subprocess.DEVNULL)
            hog.send_signal(signal.SIGSTOP)
            self._hogs.append(hog)
            self._enter(self._others, hog.pid)

    def _group(self, name, weight):
        parent, file, unit = _parent()
        folder = parent / f"forebay-bench-{os.getpid()}-{name}"
        folder.mkdir()
        self._stack.callback(self._remove, folder)
        (folder / file).write_text(str(round(weight * unit)))
        return folder

    @staticmethod
    def _remove(folder):
        for pid in (folder / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):  # the process has just ended
                (folder.parent / "cgroup.procs").write_text(pid)
        folder.rmdir()

    @staticmethod
    def _enter(group, pid):
        (group / "cgroup.procs").write_text(str(pid))

    def begin(self):
        """Lets all hogs run."""
        for hog in self._hogs:
            hog.send_signal(signal.SIGCONT)

    def end(self):
        """Stops all hogs."""
        for hog in self._hogs:
            hog.send_signal(signal.SIGSTOP)

    def close(self):
        """Kills the hogs, and removes the groups."""
        for hog in self._hogs:
            hog.kill()
            hog.wait()
        self._stack.close()
