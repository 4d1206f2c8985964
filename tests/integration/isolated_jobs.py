"""Jobs for tests of isolation: some may stand still, and others must not."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading

from trouble import until

# A program that is run by this command is killed when the test's process ends in any
# way.
MORTAL = ("setpriv", "--pdeathsig", "KILL")
SCRIPT = pathlib.Path(__file__).with_name("reading_job.py")
# The number of epochs after which a victim has shown that it gets what it needs.
EPOCHS = 3


class Job:
    """A trainer that reads without end, in a process of its own; a context manager.

    Attributes:
      batches: how many batches the job has taken so far.
    """

    def __init__(self, name, uri, batch_size=16, is_python=False, **options):
        self.name = name
        self.batches = 0
        self._is_shuffled = options.get("shuffle", False)
        self._is_open = False
        self._digests = {}  # by the number of a batch in its epoch
        self._complaint = None
        self._process = subprocess.Popen(
            [*MORTAL, sys.executable, str(SCRIPT), json.dumps(dict(
                options, uri=str(uri), batch_size=batch_size,
                is_python=is_python))],
            stdout=subprocess.PIPE, env=dict(os.environ, FOREBAY_JOB=name),
            universal_newlines=True)
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()

    def _listen(self):
        for line in self._process.stdout:
            if line == "open\n":
                self._is_open = True
                continue
            if not line.endswith("\n"):
                return  # the job was killed while it wrote the line
            number, digest = line.split()
            # A shuffled epoch has other batches than the epochs before.
            if self._digests.setdefault(number, digest) != digest and \
                    not self._is_shuffled:
                self._complaint = f"{self.name}: batch {number} has other bytes"
            self.batches += 1

    def await_batches(self, count):
        """Returns once the job has taken `count` more batches, all with the right
        bytes."""
        wanted = self.batches + count
        until(lambda: self.batches >= wanted or self._process.poll() is not None,
              f"{self.name} takes {count} more batches",
              lambda: f"(of which {wanted - self.batches} are left; open: "
              f"{self._is_open})")
        assert self.batches >= wanted, f"{self.name} has ended"
        assert self._complaint is None, self._complaint

    def await_epochs(self, count=EPOCHS):
        """Returns once the job has taken its first epoch, and then `count` more
        epochs."""
        self.await_batches(1)
        length = until(self._length, f"an epoch of {self.name}")
        self.await_batches(count * length)

    def _length(self):
        """Returns the number of batches in an epoch, or 0 during the first epoch."""
        return len(self._digests) if self.batches > len(self._digests) else 0

    def digests(self):
        """Returns the digest of each batch of an epoch, by its number."""
        return dict(self._digests)

    def close(self):
        """Ends the job. The job's source must not hang any longer."""
        self._process.kill()
        self._process.wait()
        self._listener.join()
        self._process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Victims:
    """Jobs on healthy disks: some run before the fault, and others begin during it."""

    def __init__(self, stack, photos, folder):
        """
        Args:
          stack: the test's contextlib.ExitStack.
          photos: a folder of class folders, which no test changes.
          folder: pathlib.Path of a folder for copies of the photographs.
        """
        self._stack, self._photos, self._folder = stack, photos, folder
        self._running = [self._start("running", photos),
                         self._start("running-python", photos, is_python=True)]
        for job in self._running:
            job.await_epochs(1)
        self._expected = [job.digests() for job in self._running]

    def _start(self, name, uri, **options):
        return self._stack.enter_context(Job(name, uri, **options))

    def check(self):
        """Checks that all victims get what they need, and also jobs that begin now on
        files that nobody has read."""
        copy = self._folder / "copy"
        shutil.copytree(self._photos, copy)
        started = [self._start("started", copy),
                   self._start("started-python", copy, is_python=True)]
        for job in self._running + started:
            job.await_epochs()
        assert [job.digests() for job in self._running] == self._expected
        assert [job.digests() for job in started] == self._expected


@contextlib.contextmanager
def jobs(count, batch_size, uri, **options):
    """Starts `count` jobs that read the same dataset, each for itself. Yields once all
    read."""
    with contextlib.ExitStack() as stack:
        started = [stack.enter_context(Job(
            f"suffering-{number}", uri, batch_size=batch_size, shuffle=True,
            seed=number, **options))
            for number in range(count)]
        for job in started:
            job.await_batches(1)
        yield started
