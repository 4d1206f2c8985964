"""The host process as the trainer sees it."""

import gc
import multiprocessing
import sys

from forebay._stage.host_process import HostProcess


class Process:
    """One that has ended."""

    pid = sentinel = None

    def __init__(self, **_):
        pass

    def start(self):
        pass


class Context:
    """Starts nothing."""

    Pipe = staticmethod(multiprocessing.Pipe)
    Process = Process

    @staticmethod
    def get_start_method():
        return "spawn"


class Owner:
    """Ends its process when it is collected with all that it has."""

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
