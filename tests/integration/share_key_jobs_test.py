"""Two jobs under one key that have different code, each in a process of its own. The
second job gets an error or samples of its own, but never the first job's."""

import itertools
import json
import os
import resource
import signal
import subprocess
import sys
import textwrap

import pytest

from own_processes import children, hosts
from stage_test import leaves_nothing, reachable  # noqa: F401

JOB = """
import json, os, sys
import forebay
from dataset import Data

def flat(value):
    if isinstance(value, dict):
        return [[name, flat(part)] for name, part in value.items()]
    if isinstance(value, (tuple, list)):
        return [flat(part) for part in value]
    return value.tolist() if hasattr(value, "tolist") else value

def listed(samples):
    return list(samples)

def tell(value):
    print(json.dumps(value), flush=True)

if __name__ == "__main__":
    arguments = json.loads(sys.argv[1])
    if arguments.pop("lists"):
        arguments["collate_fn"] = listed
    tell("ready")
    sys.stdin.readline()
    with forebay.DataLoader(Data(), 8, shuffle=True, seed=3, num_workers=2,
                            **arguments) as loader:
        try:
            for batch in loader:
                tell(flat(batch))
                sys.stdin.readline()
            tell("complete")
        except (forebay.StateError, forebay.ResourceExhausted) as error:
            tell(str(error))
"""

DATASET = """
import os
import numpy
{top}
class Data:
    def __init__(self):
        {init}
    def __len__(self):
        return {length}
    {decorator}
    def __getitem__(self, number):
        return {made}
"""


class Job:
    """A job in a process of its own."""

    def __init__(self, folder, code, files=None, settings=None, **arguments):
        """
        Args:
          folder: pathlib.Path of the folder for the job's files.
          code: dict of the parts of the dataset's code.
          files: dict of the texts of further files, by name.
          settings: dict of environment variables.
          arguments: arguments of the loader, and `lists`: whether a collate_fn makes
            batches.
        """
        parts = {"top": "", "init": "pass", "decorator": "", "length": "40", **code}
        texts = {"dataset.py": DATASET.format(**parts), "job.py": JOB, **(files or {})}
        for name, text in texts.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        self.process = subprocess.Popen(
            [sys.executable, "-B", str(folder / "job.py"), json.dumps(arguments)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONHASHSEED": "1", **(settings or {})})

    def read(self):
        """Returns the value that the job prints next."""
        return json.loads(self.process.stdout.readline())

    def step(self):
        """Lets the job go on, and returns the value that it prints then."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.read()

    def rest(self):
        """Returns all batches that are left. The last item tells how the epoch
        ended."""
        found = [self.step()]
        while isinstance(found[-1], list):
            found.append(self.step())
        return found

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def effects(text):
    """Returns the file of a package that has a version and the functions of `text`."""
    return {"effects/__init__.py": '__version__ = "1.0"\n' + textwrap.dedent(text)}


DECORATOR = """
    import functools

    def augmented(make):
        @functools.wraps(make)
        def call(*arguments):
            return make(*arguments) + {}
        return call
"""
GROUP = """
import torch
import torch.distributed as dist
dist.init_process_group("gloo", init_method=os.environ["GROUP"], world_size=2,
                        rank=int(os.environ["PLACE"]))
"""
STEERED = """
import torch
steering = torch.zeros(1).share_memory_()
steering[0] = float(os.environ["PLACE"])
"""
DROPPED = """
        self.offset = 5 * int(os.environ["OFFSET"])
    def __getstate__(self):
        return {"offset": 0}
"""

# For each case: the code that both jobs have, and the code of each.
PAIRS = {
    "settings in a module": (
        {"top": "import settings", "init": "self.settings = settings",
         "made": "numpy.full(4, number * self.settings.SCALE)"},
        {"files": {"settings.py": "SCALE = 1"}},
        {"files": {"settings.py": "SCALE = 2"}}),
    "lambdas of a package": (
        {"top": "import effects", "init": "self.op = effects.op",
         "made": "self.op(numpy.full(4, number))"},
        {"files": effects("op = lambda value: value * 2")},
        {"files": effects("op = lambda value: value * 3")}),
    "decorators of a package": (
        {"top": "import effects", "decorator": "@effects.augmented",
         "made": "numpy.full(4, number)"},
        {"files": effects(DECORATOR.format(1))},
        {"files": effects(DECORATOR.format(2))}),
    "a package without a version": (
        {"top": "from plain.tables import Table", "init": "self.table = Table()",
         "made": "self.table(number)"},
        *({"files": {"plain/__init__.py": "", "plain/tables.py": f"""
            class Table:
                def __call__(self, number):
                    return number {sign} 7
            """}} for sign in "+-")),
    "state that pickle drops": (
        {"init": DROPPED, "made": "number + self.offset"},
        {"settings": {"OFFSET": "0"}}, {"settings": {"OFFSET": "1"}}),
    "state that fork keeps and spawn drops": (
        {"init": DROPPED, "made": "number + self.offset"},
        {"settings": {"OFFSET": "1"}},
        {"settings": {"OFFSET": "1"}, "multiprocessing_context": "spawn"}),
    "labels by the order of a set": (
        {"init": "self.names = list(set('abcdefghijklmnop'))",
         "made": "numpy.zeros(4), self.names.index('abcdefghijklmnop'[number % 16])"},
        {}, {"settings": {"PYTHONHASHSEED": "2"}}),
    "the rank of a group": (
        {"top": GROUP, "made": "number + dist.get_rank()"},
        {"settings": {"PLACE": "0"}}, {"settings": {"PLACE": "1"}}),
    "shared memory that steers workers": (
        {"top": STEERED, "made": "number + steering.item()"},
        {"settings": {"PLACE": "0"}}, {"settings": {"PLACE": "1"}}),
    "two fields swapped": (
        {"top": "import settings",
         "made": "dict(zip(settings.NAMES, (number, -number)))"},
        {"files": {"settings.py": "NAMES = 'image', 'label'"}},
        {"files": {"settings.py": "NAMES = 'label', 'image'"}}),
    "fields in the order of a set": (
        {"made": "{name: len(name) * number for name in set("
                 "('a', 'bb', 'ccc', 'dddd', 'eeeee'))}"},
        {}, {"settings": {"PYTHONHASHSEED": "2"}}),
}


@pytest.mark.parametrize("lists", [False, True], ids=["rows", "batches"])
@pytest.mark.parametrize("pair", PAIRS)
def test_a_job_with_other_code_gets_no_sample_of_the_first_one(tmp_path, monkeypatch,
                                                               pair, lists):
    code, *owns = PAIRS[pair]

    def pair_of(kind, key):
        monkeypatch.setenv("GROUP", f"file://{tmp_path}/group of {kind}")
        return [Job(tmp_path / kind / str(place), code, lists=lists, share_key=key,
                    **own) for place, own in enumerate(owns)]

    first, second = pair_of("keyed", "pair")
    with first, second:
        assert first.read() == second.read() == "ready"
        assert isinstance(first.step(), list)
        found = second.rest()
    if "share_key 'pair'" in found[0]:
        assert "has another" in found[0]
        return
    first, second = pair_of("alone", None)
    with first, second:
        assert first.read() == second.read() == "ready"
        assert found == second.rest() and found[-1] == "complete"


@pytest.mark.parametrize("lists", [False, True], ids=["rows", "batches"])
def test_jobs_with_equal_code_share(tmp_path, lists):
    code = {"made": "numpy.full(4, number), os.getpid()"}
    jobs = [Job(tmp_path / str(place), code, lists=lists, share_key="pair")
            for place in range(2)]
    with jobs[0], jobs[1]:
        assert [job.read() for job in jobs] == ["ready"] * 2
        found = [[], []]
        for _ in range(6):
            for job, batches in zip(jobs, found):
                batches.append(job.step())
    assert found[0] == found[1] and found[0][-1] == "complete"


def test_what_one_jobs_pool_lacks_does_not_end_the_others(tmp_path, monkeypatch):
    monkeypatch.setenv("FOREBAY_SHARE_KEY", str(tmp_path))
    # When the host lacks a descriptor, most samples are not made yet.
    code = {"top": "from trouble import pause", "length": "800",
            "made": "pause(0.01) or numpy.full(3, number)"}
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(
        [os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")]))
    with Job(tmp_path, code, lists=False) as first, \
            Job(tmp_path, code, lists=False) as second:
        assert first.read() == second.read() == "ready"
        had = [first.step(), first.step()]
        others = [second.step()]
        assert others == had[:1]
        host = next(host for host in hosts(first.process.pid) if children(host))
        used = {int(name) for name in os.listdir(f"/proc/{host}/fd")}
        limit = next(number for number in itertools.count() if number not in used)
        resource.prlimit(host, resource.RLIMIT_NOFILE, (limit, limit))
        for worker in children(host):
            os.kill(worker, signal.SIGKILL)
        ends = first.rest()[-1]
        others += second.rest()
        assert others[-1] == "complete" and len(others) == 101
        assert "Too many open files" in ends
