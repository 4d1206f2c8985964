"""A process that answers lines of JSON, and that may hang."""

import contextlib
import json
import os
import pathlib
import select
import signal
import subprocess
import time

# A program that is run by this command is killed when this process ends in any way.
MORTAL = ("setpriv", "--pdeathsig", "KILL")
FOLDER = pathlib.Path(__file__).resolve().parent
FAULTS = FOLDER.parents[1] / "faults"


def _processes():
    """Yields the id, name, state, parent and session of each process."""
    for place in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # the process has just ended
            number, _, rest = (place / "stat").read_text().partition(" (")
            name, _, fields = rest.rpartition(") ")
            state, parent, _, session = fields.split()[:4]
            yield int(number), name, state, int(parent), int(session)


def family(pid):
    """Returns a dict of process states by id. It has the process `pid`, all processes
    of its session, and the hosts and workers of its loaders in any session."""
    listed = list(_processes())
    found = {number for number, name, _, _, session in listed
             if session == pid or number == pid or name == f"host-of-{pid}"}
    while True:
        more = {number for number, _, _, parent, _ in listed
                if parent in found} - found
        if not more:
            return {number: state for number, _, state, _, _ in listed
                    if number in found}
        found |= more


class Process:
    """A script of this folder that runs in a session of its own, with a job of its own.

    Attributes:
      pid: the process id.
    """

    def __init__(self, script, environment, job, **options):
        """
        Args:
          script: the file's name.
          environment: dict of variables, such as Daemon.environment.
          job: the job's name.
          **options: the script's argument, as JSON.
        """
        self._job = job
        self._process = subprocess.Popen(
            [*MORTAL, "/usr/bin/python3", "-B", str(FOLDER / script),
             json.dumps(options)],
            env=dict(environment, FOREBAY_JOB=job, OMP_NUM_THREADS="1",
                     PYTHONPATH=f"{environment['PYTHONPATH']}:{FAULTS}"),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        self.pid = self._process.pid
        self._text = b""

    def say(self, line):
        """Sends the process a line of JSON."""
        self._process.stdin.write(json.dumps(line).encode() + b"\n")
        self._process.stdin.flush()

    def answer(self, seconds):
        """Returns the next line that the process prints, parsed. Returns None if no
        line came in `seconds`.

        Raises:
          RuntimeError: the process has ended.
        """
        end = time.monotonic() + seconds
        out = self._process.stdout
        while b"\n" not in self._text:
            if not select.select([out], [], [],
                                 max(0.0, end - time.monotonic()))[0]:
                return None
            chunk = os.read(out.fileno(), 1 << 20)
            if not chunk:
                raise RuntimeError(f"process {self._job} failed (above)")
            self._text += chunk
        line, _, self._text = self._text.partition(b"\n")
        return json.loads(line)

    def signal(self, number):
        """Sends a signal to the process and to all processes that it has started."""
        for pid in family(self.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self):
        """Kills the process and all that it started. No mount may hang any longer."""
        self.signal(signal.SIGKILL)
        self._process.wait()
        self.signal(signal.SIGKILL)  # kills what the process had started meanwhile
        self._process.stdin.close()
        self._process.stdout.close()
