"""The processes that a trainer's loaders have started."""

import os
import pathlib
import signal

# The number of batches between two deaths, if samples take some time. A sample that is
# being made when three workers die is an error. No sample takes as long as three deaths
# need.
_BATCHES_APART = 9


def children(pid):
    """Returns the child processes of a process."""
    found = []
    try:
        for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
            found += map(int, task.read_text().split())
    except OSError:
        pass  # the process has just ended
    return found


def hosts(pid):
    """Returns the hosts of workers that a trainer has started."""
    parents = {}
    for place in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (place / "stat").read_text().rpartition(")")[2].split()[:2]
            # Dead processes stay in /proc until somebody waits for them.
            if (place / "comm").read_text() == f"host-of-{pid}\n" and state != "Z":
                parents[int(place.name)] = int(parent)
        except OSError:
            pass
    # A worker has its host's name until it takes a name of its own.
    return [host for host, parent in parents.items() if parent not in parents]


def workers(pid):
    """Returns the workers of a trainer's hosts."""
    return [worker for host in hosts(pid) for worker in children(host)]


def descendants(pid):
    """Returns all processes of a trainer, except those that multiprocessing keeps for
    itself."""
    found = set()
    for child in {*children(pid), *hosts(pid)}:
        try:
            command = pathlib.Path(f"/proc/{child}/cmdline").read_bytes()
        except OSError:
            continue
        if b"resource_tracker" in command or b"forkserver" in command:
            continue
        found |= {child, *descendants(child)}
    return found


class WorkerKiller:
    """Kills workers of this process's loaders now and then."""

    def __init__(self, chance, apart=_BATCHES_APART):
        """`chance` is a random.Random. `apart` is the least number of batches between
        deaths."""
        self._chance = chance
        self._apart = apart
        self._since = 0  # batches since the last death

    def note_batch(self):
        """Counts a batch that the trainer got, and sometimes kills a worker."""
        self._since += 1
        if self._since >= self._apart and self._chance.random() < 0.3:
            victims = workers(os.getpid())
            if victims:
                os.kill(self._chance.choice(victims), signal.SIGKILL)
                self._since = 0
