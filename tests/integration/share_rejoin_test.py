"""Jobs of one iterable whose stream ends while they read: batches outgrow its memory,
or the process that iterates is killed. Each job gets each batch once, in order."""

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import textwrap
import threading

import numpy
import pytest

from share_test import keyed, own_daemon, iterator_processes  # noqa: F401
from trouble import pause

# None means that the test draws the seed: all processes of a test run must collect the
# same tests.
SEEDS = [int(seed) for seed in
         os.environ.get("FOREBAY_TEST_SEEDS", "").split()] or [None]


def sized(seed, batches):
    """Yields batches of random sizes, most of which are small."""
    sizes = random.Random(seed)
    for number in range(batches):
        size = int(1000 * 2.0 ** sizes.choice((0, 1, 2, 3, sizes.uniform(8, 13))))
        yield numpy.full(size, number % 251, numpy.uint8), number


JOB = """
    import json, random, sys
    import forebay
    sys.path.insert(0, {tests!r})
    from share_rejoin_test import sized
    from trouble import pause

    key, seed, batches, sharing, pace, iterations = json.loads(sys.argv[1])
    chance = random.Random(pace)
    with forebay.share(lambda: sized(seed, batches), key=key,
                       sharing=sharing) as shared:
        for iteration in range(iterations):
            for batch, number in shared:
                assert (batch == number % 251).all()
                print(json.dumps([iteration, number]), flush=True)
                pause(chance.uniform(0, 2 * pace))
        print(json.dumps(shared.stats()), flush=True)
"""


class Job:
    """A trainer in a process of its own. A thread reads what the trainer prints."""

    def __init__(self, *arguments):
        script = textwrap.dedent(JOB.format(
            tests=os.path.dirname(os.path.abspath(__file__))))
        self.process = subprocess.Popen(
            [sys.executable, "-B", "-c", script, json.dumps(arguments)],
            stdout=subprocess.PIPE)
        self.lines = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(json.loads(line))

    def ended(self):
        """Returns the numbers that the trainer got in each iteration, and its stats."""
        self._reader.join()
        assert self.process.wait() == 0
        found = {}
        for iteration, number in self.lines[:-1]:
            found.setdefault(iteration, []).append(number)
        return found, self.lines[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self._reader.join()
        self.process.stdout.close()


def check(job, batches, iterations, is_lossless):
    """Checks that the job got each batch once, in order, from where it joined."""
    found, stats = job.ended()
    assert len(found) <= iterations
    print(stats)
    for had in found.values():  # prints the runs of consecutive numbers
        cuts = [at for at in range(1, len(had)) if had[at] != had[at - 1] + 1]
        print([had[at] for begin, end in zip([0, *cuts], [*cuts, len(had)])
               for at in (begin, end - 1)])
    assert stats["batches_delivered"] == sum(map(len, found.values()))
    for had in found.values():
        assert had == sorted(set(had)), had
    gaps = sum(had[-1] - had[0] + 1 - len(had) for had in found.values())
    if is_lossless:
        assert stats["batches_missed"] == gaps == 0
        assert all(had[-1] == batches - 1 for had in found.values())
        assert all(found[later][0] == 0 for later in sorted(found)[1:])
    else:
        assert stats["batches_missed"] >= gaps


def kill_now_and_then(jobs, folder, chance):
    while any(job.process.poll() is None for job in jobs):
        pause(chance.uniform(0.2, 0.6))
        for pid in iterator_processes(folder):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("kills", [False, True], ids=["grow", "killed"])
@pytest.mark.parametrize("sharing", ["elastic", "lockstep"])
@pytest.mark.parametrize("given", SEEDS)
def test_each_has_each_batch_once_and_in_order(daemon, given, sharing, kills):
    seed = random.randrange(1 << 32) if given is None else given
    print("seed", seed)
    chance = random.Random(seed)
    batches, iterations = chance.randrange(60, 120), 2
    key = keyed()
    paces = [chance.choice((0, 0.001, 0.005, 0.015))
             for _ in range(chance.choice((2, 2, 3)))]
    jobs = []
    try:
        for pace in paces:
            jobs.append(Job(key, seed, batches, sharing, pace, iterations))
        if kills:
            kill_now_and_then(jobs, pathlib.Path(daemon.runtime_dir), chance)
        for job in jobs:
            # After a kill, the new process begins at the position of one job, so others
            # may lose batches.
            check(job, batches, iterations, sharing == "lockstep" and not kills)
    finally:
        for job in jobs:
            job.__exit__()
