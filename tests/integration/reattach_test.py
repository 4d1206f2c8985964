"""A client waits for its restarting daemon as long as the user has set."""

import contextlib
import ctypes
import os
import shutil
import signal
import threading

import pytest

import forebay
from forebay import _native
from test_client_batches import SAMPLES, open_loader
from test_client_processes import in_child
from trouble import PATIENCE


@pytest.fixture(autouse=True)
def retry_seconds(monkeypatch):
    monkeypatch.setenv("FOREBAY_REATTACH_SECONDS", str(PATIENCE))


@contextlib.contextmanager
def away(daemon):
    """Kills the daemon, and starts it again while the body of the `with` block
    waits."""
    daemon.stop(signal.SIGKILL)
    back = threading.Timer(0.5, daemon.start)
    back.start()
    try:
        yield
    finally:
        back.join()


def in_child_while_away(daemon, check):
    """Forks. The child runs `check` while the daemon is away. Returns the child's exit
    status."""
    gone, tell = os.pipe()

    def late():
        os.read(gone, 1)
        check()

    with contextlib.ExitStack() as stack:
        def go():
            stack.enter_context(away(daemon))
            os.write(tell, b"x")

        thread = threading.Timer(0.1, go)
        thread.start()
        try:
            return in_child(late)
        finally:
            thread.join()


def test_a_forked_loader_waits_to_open(daemon, photos):
    with open_loader(photos, autostart=False) as loader:
        assert in_child_while_away(daemon, lambda: list(loader)) == 0


def test_a_loader_waits_to_begin(daemon, photos):
    with open_loader(photos, autostart=False) as loader:
        with away(daemon):
            assert len(list(loader)) == len(loader)


def test_a_dataset_waits(daemon, photos):
    dataset = forebay.Dataset(photos, autostart=False)
    expected = dataset[3][0]
    for _ in range(2):
        with away(daemon):
            assert (dataset[3][0] == expected).all()


def test_a_forked_dataset_waits(daemon, photos):
    dataset = forebay.Dataset(photos, autostart=False)
    expected = dataset[3][0]

    def check():
        assert (dataset[3][0] == expected).all()

    assert in_child_while_away(daemon, check) == 0


@pytest.mark.parametrize("seconds,reason", [("0", ""), ("0.2", "for 0.2 s")])
def test_nobody_waits_longer_than_the_user_says(daemon, photos, monkeypatch,
                                                seconds, reason):
    monkeypatch.setenv("FOREBAY_REATTACH_SECONDS", seconds)
    dataset = forebay.Dataset(photos, autostart=False)
    with open_loader(photos, autostart=False) as loader:
        daemon.stop(signal.SIGKILL)

        def check():
            for use in (lambda: dataset[0], lambda: iter(loader)):
                with pytest.raises(forebay.DaemonUnavailable, match=reason):
                    use()

        check()
        assert in_child(check) == 0
        daemon.start()
        assert len(dataset.__getitems__(range(SAMPLES))) == SAMPLES


def test_a_daemon_that_came_back_without_the_samples(daemon, photos, tmp_path):
    folder = tmp_path / "data"
    os.symlink(photos, folder)
    dataset = forebay.Dataset(folder, autostart=False)
    daemon.stop(signal.SIGKILL)
    folder.unlink()
    daemon.start()
    with pytest.raises(forebay.NotFound):
        dataset[0]


def test_a_loader_whose_samples_changed_says_so_each_time(daemon, photos,
                                                          tmp_path):
    folder = shutil.copytree(photos, tmp_path / "data")
    with open_loader(folder, autostart=False) as loader:
        daemon.stop(signal.SIGKILL)
        (folder / "beach" / "000.jpg").unlink()
        daemon.start()
        for _ in range(3):
            with pytest.raises(forebay.StateError, match="has changed"):
                next(iter(loader))


def test_a_loader_that_cannot_be_opened_again_says_why_each_time(
        daemon, photos, tmp_path):
    folder = shutil.copytree(photos, tmp_path / "data")
    with open_loader(folder, autostart=False) as loader:
        daemon.stop(signal.SIGKILL)
        for kind in list(folder.iterdir()):
            shutil.rmtree(kind)
        daemon.start()
        said = set()
        for _ in range(3):
            with pytest.raises(forebay.ForebayError) as caught:
                next(iter(loader))
            said.add(str(caught.value))
        assert len(said) == 1, said


def options_of(variable, monkeypatch):
    if variable is None:
        monkeypatch.delenv("FOREBAY_REATTACH_SECONDS", raising=False)
    else:
        monkeypatch.setenv("FOREBAY_REATTACH_SECONDS", variable)
    options = _native.LoaderOptions()
    _native.lib.forebay_loader_options_init(ctypes.byref(options),
                                            ctypes.sizeof(options))
    return options


@pytest.mark.parametrize("variable,seconds", [
    (None, 60), ("", 60), ("0", 0), ("0.25", 0.25), ("1e3", 1000),
    ("inf", float("inf"))])
def test_c_programs_wait_as_long(monkeypatch, variable, seconds):
    assert options_of(variable, monkeypatch).reattach_seconds == seconds


@pytest.mark.parametrize("variable", ["soon", "-1", "1 s", "nan"])
def test_c_programs_are_told_what_is_no_number(monkeypatch, variable):
    options = options_of(variable, monkeypatch)
    options.uri = b"/"
    options.job_key = b"job"
    handle = ctypes.c_void_p()
    with pytest.raises(forebay.InvalidArgument,
                       match="FOREBAY_REATTACH_SECONDS"):
        _native.check(_native.lib.forebay_loader_create(
            ctypes.byref(options), None, ctypes.byref(handle)))
