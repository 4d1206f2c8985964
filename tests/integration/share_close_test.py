"""Shared iterables that another thread closes."""

import contextlib
import os
import threading

import forebay
from share_test import (counting, keyed, numbers_of, own_daemon,  # noqa: F401
                        iterator_processes)
from trouble import pause, until


def test_close_by_another_thread_ends_what_joins():
    for seconds in (0.0, 0.001, 0.003, 0.01, 0.03):
        shared = forebay.share(lambda: counting(30), key=keyed())
        closes = threading.Timer(seconds, shared.close)
        closes.start()
        with contextlib.suppress(forebay.StateError):
            assert numbers_of(shared) == list(range(30))
        closes.join()


def test_close_while_another_joins_leaves_nobody_to_wait_for(daemon, tmp_path):
    goes_on = tmp_path / "goes on"
    os.mkfifo(goes_on)

    def source():
        goes_on.read_bytes()
        return counting(200)

    key, found = keyed(), {}

    def begin(name, shared):
        try:
            found[name] = iter(shared)
        except forebay.StateError as error:
            found[name] = str(error)

    with forebay.share(source, key=key, sharing="lockstep", timeout=30) as first, \
            forebay.share(source, key=key, sharing="lockstep", timeout=30) as other:
        starts = threading.Thread(target=begin, args=("first", first))
        starts.start()
        until(lambda: iterator_processes(daemon.runtime_dir), "a process that iterates")
        joins = threading.Thread(target=begin, args=("other", other))
        joins.start()
        pause(0.3)  # the second loader waits until the first one has its place
        other.close()
        goes_on.write_bytes(b"")
        starts.join()
        joins.join()
        assert found["other"] == "what was shared is closed"
        assert [number for _, number in found["first"]] == list(range(200))
