"""A server process that makes a fault on demand, and ends when its owner does."""

import contextlib
import ctypes
import os
import pathlib
import signal
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
PATIENCE = 150.0  # seconds after which a wait counts as a hang
PR_SET_PDEATHSIG = 1


def end_with(parent, how=signal.SIGTERM):
    """Makes this process get a signal when its parent dies.

    Args:
      parent: the parent's process id, as the parent knows it.
      how: the signal.
    """
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, how)
    if os.getppid() != parent:
        sys.exit("the parent is dead")


class FaultProcess:
    """A process that obeys lines on its standard input, and answers each with one line.

    The first line that it prints is "serving" and its details. For one thread.

    Attributes:
      pid: the process id.
      details: the words of the first line after "serving", a list of str.
    """

    def __init__(self, script, *arguments):
        """
        Args:
          script: the name of the script's file in this folder. The script gets the
            arguments, and then the id of this process.

        Raises:
          OSError: the process does not serve; the message is the last line that it
            printed.
        """
        # In a session of its own, the process does not get the terminal's Ctrl-C. It
        # ends with its owner.
        self._process = subprocess.Popen(
            [sys.executable, "-B", str(FOLDER / script), *map(str, arguments),
             str(os.getpid())],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True, universal_newlines=True)
        self.pid = self._process.pid
        word, *self.details = self._process.stdout.readline().split() or [""]
        if word != "serving":
            _, complaint = self._process.communicate()
            raise OSError(f"{script}: {complaint.strip().splitlines()[-1:]}")

    def command(self, *words):
        """Sends a command to the process, and returns the answer.

        Raises:
          RuntimeError: the process has died.
        """
        with contextlib.suppress(BrokenPipeError):
            print(*words, file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"process {self.pid} of a fault has died: " +
                               self._process.stderr.read())
        return answer.strip()

    def held(self):
        """Returns how many requests the process makes wait."""
        return int(self.command("await", 0, 0))

    def await_held(self, count):
        """Returns once the process makes at least `count` requests wait.

        Raises:
          TimeoutError: there are fewer after PATIENCE seconds.
        """
        held = int(self.command("await", count, PATIENCE))
        if held < count:
            raise TimeoutError(f"{held} requests are held, not {count}")

    def close(self):
        """Ends the process."""
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._process.stderr.close()
