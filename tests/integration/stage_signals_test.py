"""Signals that the trainer handles, and workers that fork."""

import os
import signal
import subprocess
import sys
import textwrap

import numpy
import pytest
from torch.utils.data import Dataset

import forebay
from own_processes import hosts, workers
from stage_test import leaves_nothing, reachable  # noqa: F401
from trouble import until

TRAINER = """
    import os, signal, sys
    import numpy, torch, forebay

    def note(number, frame):
        with open(sys.argv[1], "a") as file:
            file.write(f"{os.getpid()}\\n")

    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP):
        signal.signal(number, note)

    class Data(torch.utils.data.Dataset):
        def __len__(self):
            return 64
        def __getitem__(self, number):
            return numpy.zeros(4, "f4")

    loader = forebay.DataLoader(Data(), batch_size=2, num_workers=2,
                                sharing=sys.argv[2])
    batches = iter(loader)
    next(batches)
    print("ready", flush=True)
    sys.stdin.readline()
    assert len(list(batches)) == 31
"""


@pytest.fixture(params=["elastic", "off"])
def trainer(tmp_path, request):
    """A trainer that handles signals, after its first batch."""
    (tmp_path / "script.py").write_text(textwrap.dedent(TRAINER))
    with subprocess.Popen(
            [sys.executable, str(tmp_path / "script.py"), str(tmp_path / "noted"),
             request.param],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def goes_on(process):
    process.stdin.write("\n")
    process.stdin.close()
    return process.wait(timeout=60) == 0


def test_a_trainer_that_handles_sigterm_ends(trainer, tmp_path):
    assert goes_on(trainer)
    assert not (tmp_path / "noted").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP])
def test_workers_leave_signals_to_the_trainer(trainer, tmp_path, number):
    assert hosts(trainer.pid)
    for pid in [*workers(trainer.pid), *hosts(trainer.pid)]:
        os.kill(pid, number)
    os.kill(trainer.pid, number)
    noted = tmp_path / "noted"
    until(lambda: noted.exists() and noted.read_text(), "the trainer has noted it")
    assert goes_on(trainer)
    assert noted.read_text() == f"{trainer.pid}\n"


class Forking(Dataset):
    """A dataset that forks children, which go on as if they were the worker."""

    def __len__(self):
        return 40

    def __getitem__(self, number):
        if number % 5 == 2:
            child = os.fork()
            if child:
                os.waitpid(child, 0)
        return numpy.full(3, number, "f4")


def test_children_of_workers_answer_for_none():
    with forebay.DataLoader(Forking(), batch_size=4, num_workers=1) as loader:
        for _ in range(2):
            assert [int(row[0]) for batch in loader for row in batch] == list(
                range(40))
