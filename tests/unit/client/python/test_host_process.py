"""The host process as the trainer sees it."""

import gc
import multiprocessing
import os
import signal
import sys

from forebay._stage.host_process import HostProcess
from forebay._stage.making import Stage


class Process:
    """A process that has ended."""

    pid = sentinel = None

    def __init__(self, **_):
        pass

    def start(self):
        pass


class Context:
    """A context that starts no process."""

    Pipe = staticmethod(multiprocessing.Pipe)
    Process = Process

    @staticmethod
    def get_start_method():
        return "spawn"


class Owner:
    """Ends its process when it is garbage-collected with everything that it owns."""

    def __init__(self, process):
        self.process = process
        self.itself = self

    def __del__(self):
        self.process.end()


def test_a_collected_connection_is_closed_once(monkeypatch):
    found = []
    monkeypatch.setattr(sys, "unraisablehook", found.append)
    monkeypatch.setattr(HostProcess, "_has_ended", lambda *_: True)
    gc.collect()
    Owner(HostProcess("photos", Context, None, None, False, 0))
    gc.collect()
    assert not found


def test_a_host_ends_though_a_child_keeps_the_trainers_end_open():
    host = HostProcess("photos", multiprocessing.get_context("fork"),
                       Stage([0.0], None, 1, 0, list, True), None, True, 0)
    assert host.probe(0, 0) is not None  # the host then works
    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(0)
    try:
        host.end()
        assert host._process.exitcode == 0  # if it were killed, the code would differ
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
