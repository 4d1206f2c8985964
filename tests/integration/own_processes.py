"""The processes that a trainer's loaders have started."""

import os
import pathlib
import signal

# Between deaths, as long as samples take some time. None is in the making for as long
# as three of them take: one that three workers died of is an error.
_BATCHES_APART = 9


def children(pid):
    """The child processes of a process."""
    found = []
    try:
        for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
            found += map(int, task.read_text().split())
    except OSError:
        pass  # it has just ended
    return found


def hosts(pid):
    """The hosts of workers that a trainer has started."""
    parents = {}
    for place in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (place / "stat").read_text().rpartition(")")[2].split()[:2]
            # Dead processes stay until somebody waits for them.
            if (place / "comm").read_text() == f"host-of-{pid}\n" and state != "Z":
                parents[int(place.name)] = int(parent)
        except OSError:
            pass
    # A worker has its host's name until it takes its own.
    return [host for host, parent in parents.items() if parent not in parents]


def workers(pid):
    """The workers of a trainer's hosts."""
    return [worker for host in hosts(pid) for worker in children(host)]


def descendants(pid):
    """All processes of a trainer's but those that multiprocessing keeps for
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
        """`chance` is a random.Random, `apart` the batches between deaths at least."""
        self._chance = chance
        self._apart = apart
        self._since = 0  # the last death, in batches

    def note_batch(self):
        """Counts a batch that the trainer got; perhaps kills a worker."""
        self._since += 1
        if self._since >= self._apart and self._chance.random() < 0.3:
            victims = workers(os.getpid())
            if victims:
                os.kill(self._chance.choice(victims), signal.SIGKILL)
                self._since = 0
