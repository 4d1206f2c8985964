"""Faults of processes: jobs that are paused, whose code hangs, or that use much CPU."""

import signal
import time

from figures import CORES

from . import cpu_groups
from .data import SMALL_CACHE
from .faults import PATIENCE, SPREAD_SECONDS, Fault
from .process import family
from .victims import KINDS

# Slots of a loader that has been idle for this long are taken back.
IDLE_SECONDS = 1.0


class Paused(Fault):
    """Jobs without code of their own, stopped as by `docker pause`."""

    COUNT = 4

    def start(self, server):
        for number in range(self.COUNT):
            self.add_job(server, "photographs", uri=str(self.data.photos),
                         batch_size=64, name=f"paused-{number}")

    def pause(self):
        """Stops all jobs and the processes that they have started."""
        for job in self.jobs:
            job.signal(signal.SIGSTOP)

    def begin(self):
        self.run_jobs()
        self.pause()
        time.sleep(SPREAD_SECONDS)

    def end(self):
        for job in self.jobs:
            job.signal(signal.SIGCONT)
        self.rest_jobs()

    def close(self):
        for job in self.jobs:
            job.signal(signal.SIGCONT)
        super().close()


class PausedResting(Paused):
    """Stopped jobs with code of their own, between two epochs. The hosts of their
    workers are about to be told to unmap slots."""

    COUNT = 9
    config = SMALL_CACHE + f"[session]\nidle_seconds = {IDLE_SECONDS}\n"

    def start(self, server):
        for number in range(self.COUNT):
            self.add_job(server, "python", uri=str(self.data.few), batch_size=32,
                         seed=100 + number)

    def begin(self):
        self.run_jobs()
        self.rest_jobs()
        self.pause()
        time.sleep(IDLE_SECONDS + SPREAD_SECONDS)

    def end(self):
        for job in self.jobs:
            job.signal(signal.SIGCONT)


class PausedBeforeForking(Paused):
    """Stopped jobs with code of their own, whose workers are not forked yet. Each host
    stops itself when it is told to fork them."""

    COUNT = 2

    def start(self, server):
        self._flag = self.data.folder / "stopped"
        for _ in range(self.COUNT):
            self.add_job(server, "python", stopped_while=str(self._flag),
                         uri=str(self.data.few), batch_size=32, sharing="off")

    def begin(self):
        self._flag.touch()
        self.run_jobs(is_awaited=False)
        end = time.monotonic() + PATIENCE
        while not any("T" in family(job.pid).values() for job in self.jobs):
            if time.monotonic() > end:
                raise TimeoutError("no host was told to fork")
            time.sleep(0.01)
        self.pause()
        time.sleep(SPREAD_SECONDS)

    def end(self):
        self._flag.unlink()
        super().end()


class PausedOwner(Paused):
    """A stopped job whose workers make the samples of the victim, an equal job."""

    victims = ("equal",)

    def start(self, server):
        self.add_job(server, "python", **KINDS["python"].options(self.data))


class HangingCode(Fault):
    """A job of which the workers hang in the user's code."""

    def start(self, server):
        self._flag = self.data.folder / "hanging"
        self.add_job(server, "hanging", uri=str(self.data.few), batch_size=32,
                     while_exists=str(self._flag))

    def begin(self):
        self._flag.touch()
        self.run_jobs(is_awaited=False)
        time.sleep(2 * SPREAD_SECONDS)

    def end(self):
        self._flag.unlink()
        self.rest_jobs()


class Burden(Fault):
    """Jobs that take as much CPU as they get. Each of them, and the victim, is due an
    equal share of the daemon's CPUs. The cache has room for all decoded images, so that
    the victim needs little CPU."""

    victims = ("light", "open")
    config = ""
    contends = True
    JOBS = 1
    PART = 1.0  # the part of the host's CPUs that the daemon has

    def due(self):
        """Returns the number of CPUs that one more job is due."""
        return self.PART * CORES / (self.JOBS + 1)

    def begin(self):
        self.run_jobs(is_awaited=False)
        time.sleep(2 * SPREAD_SECONDS)


class Heavy(Burden):
    """A job whose images take much CPU time."""

    def start(self, server):
        for _ in range(self.JOBS):
            self.add_job(server, "heavy", uri=str(self.data.some), batch_size=8)


class EightHeavy(Heavy):
    """Eight jobs whose images take much CPU time."""

    JOBS = 8


class HeavyAndHogs(Heavy):
    """A Heavy job, while other processes leave the daemon a quarter of the CPU."""

    PART = 0.25
    missing = staticmethod(cpu_groups.missing)

    def start(self, server):
        self._hogs = cpu_groups.Hogs(server.pid, self.PART)
        self.stack.callback(self._hogs.close)
        super().start(server)

    def begin(self):
        self._hogs.begin()
        super().begin()

    def end(self):
        self._hogs.end()
        super().end()


class Huge(Burden):
    """A job that decodes an image of 200 megapixels again and again."""

    config = "[image]\nmax_pixels = 300000000\nscratch_limit = \"1GiB\"\n"

    def start(self, server):
        self.add_job(server, "heavy", uri=self.data.huge(), batch_size=1)


class Large(Burden):
    """A job of samples of 64 MiB."""

    def start(self, server):
        self.add_job(server, "arrays", uri=self.data.large(), batch_size=1)
