"""Jobs with one share_key. The job whose workers make the samples ends: its memory and
locks are freed, and another job takes over."""

import contextlib
import fcntl
import os
import pathlib
import signal
import subprocess
import sys
import textwrap

import pytest

from own_processes import descendants, hosts, workers
from stage_test import leaves_nothing, reachable  # noqa: F401
from trouble import until

SAMPLES, BATCH = 160, 4
MAPPED = 2 << 30  # bytes

TRAINER = textwrap.dedent("""
    import fcntl, gc, mmap, os, signal, sys
    sys.path.insert(0, sys.argv[3])
    import forebay, torch
    from trouble import pause

    class Photos:
        def __init__(self, folder):
            self.lock = open(os.path.join(folder, "lock"), "wb")
            fcntl.flock(self.lock, fcntl.LOCK_EX)
            with open(os.path.join(folder, "memory"), "w+b") as file:
                file.truncate({mapped})
                self.memory = mmap.mmap(file.fileno(), {mapped})

        def __len__(self):
            return {samples}

        def __getitem__(self, number):
            pause(0.002)
            return torch.full((8,), number + self.memory[number]), number

    def collated(samples):
        return torch.utils.data.default_collate(samples)

    def said(*words):
        print(*words, flush=True)

    photos = Photos(sys.argv[1])
    loader = forebay.DataLoader(photos, {batch}, num_workers=2, autostart=False,
                                share_key="photos", **eval(sys.argv[2]))
    batches, epoch = iter(loader), 1
    for order in map(str.strip, sys.stdin):
        if order == "step":
            batch = next(batches, None)
            if batch is None:
                said("end")
            else:
                assert (batch[0] == batch[1][:, None]).all()
                said(*batch[1].tolist())
            del batch
        elif order == "epoch":
            batches = iter(loader)
            said("begun")
        elif order == "fork":
            child = os.fork()
            if not child:
                os.closerange(0, 3)
                signal.pause()
            said(child)
        elif order == "close":
            loader.close()
            del loader, batches, photos
            gc.collect()
            said("closed")
        elif order == "exit":
            break
""").format(samples=SAMPLES, batch=BATCH, mapped=MAPPED)


class Trainer:
    """A job that obeys orders. Its dataset holds a lock on a file, and has another file
    mapped.

    Attributes:
      pid: the process id.
      numbers: the numbers of all samples that it got.
    """

    def __init__(self, folder, arguments):
        folder.mkdir()
        self._lock = folder / "lock"
        self._memory = str(folder / "memory")
        self.process = subprocess.Popen(
            [sys.executable, "-c", TRAINER, str(folder), arguments,
             os.path.dirname(__file__)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        self.numbers = []

    def tell(self, order):
        self.process.stdin.write(f"{order}\n")
        self.process.stdin.flush()

    def do(self, order):
        """Gives the job an order, and returns the words that it answers."""
        self.tell(order)
        said = self.process.stdout.readline().split()
        assert said, f"it has ended: {order}"
        return said

    def step(self):
        """Takes a batch. Returns whether there was one."""
        said = self.do("step")
        if said == ["end"]:
            return False
        self.numbers += map(int, said)
        return True

    def run(self):
        """Takes the rest of the epoch."""
        while self.step():
            pass

    def holds(self):
        """Returns whether any process still has this job's lock or mapping."""
        with open(self._lock, "r+b") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        for maps in pathlib.Path("/proc").glob("[0-9]*/maps"):
            with contextlib.suppress(OSError):
                if self._memory in maps.read_text():
                    return True
        return False

    def end(self, how):
        """Ends the job, or closes its loader."""
        if how == "close":
            assert self.do("close") == ["closed"]
        elif how == "exit":
            self.tell("exit")
        else:
            self.process.send_signal(how)
        if how != "close":
            self.process.communicate(timeout=20)


@pytest.fixture
def jobs(tmp_path):
    """A function that makes trainers, which are killed after the test."""
    made = []

    def make(arguments="{}"):
        made.append(Trainer(tmp_path / f"job-{len(made)}", arguments))
        return made[-1]

    yield make
    for job in made:
        with contextlib.suppress(ProcessLookupError):
            job.process.send_signal(signal.SIGCONT)
        job.process.kill()
        job.process.communicate()
        until(lambda: not hosts(job.pid), "its host ends")


def joined(jobs, count, arguments="{}"):
    """Returns `count` jobs. The workers of the first one make the samples for all."""
    made = []
    for _ in range(count):
        made.append(jobs(arguments))
        for job in made:
            assert job.step()
    for job in made[1:]:
        until(lambda: not workers(job.pid), "its own samples are made")
    assert len(workers(made[0].pid)) > 0
    return made


WAYS = [signal.SIGKILL, signal.SIGTERM, "exit", "close"]
KINDS = ["{}", "{'collate_fn': collated}", "{'sampler': range(159, -1, -1)}",
         "{'persistent_workers': True}"]


@pytest.mark.parametrize("how,arguments", [
    *((how, "{}") for how in WAYS), *((signal.SIGKILL, kind) for kind in KINDS[1:])])
def test_nothing_of_a_job_that_ended_is_left(jobs, how, arguments):
    first, second = joined(jobs, 2, arguments)
    first.end(how)
    until(lambda: not first.holds() and not hosts(first.pid), "its dataset is gone")
    second.run()
    numbers = list(range(SAMPLES))
    assert second.numbers == (numbers[::-1] if "sampler" in arguments else numbers)


def test_the_other_job_has_one_process_fork_workers(jobs):
    first, second = joined(jobs, 2)
    before = hosts(second.pid)
    first.end(signal.SIGKILL)
    until(lambda: second.step() and workers(second.pid), "it has workers")
    # The host that compared samples has the dataset in its state at the iter().
    assert hosts(second.pid) == before
    second.run()
    assert second.numbers == list(range(SAMPLES))


@pytest.mark.parametrize("how", WAYS)
def test_one_of_several_takes_over(jobs, how):
    first, *others = joined(jobs, 4)
    first.end(how)
    for _ in range(8):
        for job in others:
            assert job.step()
    until(lambda: sum(bool(workers(job.pid)) for job in others) == 1, "one has workers")
    for job in others:
        job.run()
        assert job.numbers == list(range(SAMPLES))


def test_each_takes_over_from_the_one_before(jobs):
    left = joined(jobs, 4)
    while len(left) > 1:
        owner = max(left, key=lambda job: len(workers(job.pid)))
        left.remove(owner)
        owner.end(signal.SIGKILL)
        until(lambda: not owner.holds(), "its dataset is gone")
        for _ in range(4):
            for job in left:
                assert job.step()
    left[0].run()
    assert left[0].numbers == list(range(SAMPLES))


def test_nobody_waits_for_a_paused_job_to_take_over(jobs):
    first, paused, third = joined(jobs, 3)
    stopped = [paused.pid, *descendants(paused.pid)]
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    first.end(signal.SIGKILL)
    third.run()
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)
    paused.run()
    assert third.numbers == paused.numbers == list(range(SAMPLES))


def test_a_host_ends_though_others_keep_its_connection_open(jobs):
    first, second = joined(jobs, 2)
    child = int(first.do("fork")[0])
    try:
        first.end(signal.SIGKILL)
        until(lambda: not hosts(first.pid), "its host ends")
    finally:
        os.kill(child, signal.SIGKILL)
    second.run()
    assert second.numbers == list(range(SAMPLES))


@pytest.mark.parametrize("arguments", ["{}", "{'persistent_workers': True}"])
def test_later_epochs_are_shared_again(jobs, arguments):
    first, *others = joined(jobs, 3, arguments)
    first.end("exit")
    for job in others:
        job.run()
    for _ in range(2):
        for job in others:
            assert job.do("epoch") == ["begun"]
            assert job.step()
        until(lambda: sum(bool(workers(job.pid)) for job in others) == 1,
              "they share workers")
        for job in others:
            job.run()
    for job in others:
        assert job.numbers == 3 * list(range(SAMPLES))
