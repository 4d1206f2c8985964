"""Runs each case on torch's DataLoader and, if its group is in `RUNNING`, on
Forebay's."""

import functools
import gc
import importlib.util
import pathlib
import signal
import sys

import pytest
import torch
import torch.utils.data

import differences

FOLDER = pathlib.Path(__file__).resolve().parent
_INTEGRATION = FOLDER.parents[1] / "integration"
LIMIT_SECONDS = 60  # for one case

_spec = importlib.util.spec_from_file_location("serving_daemons",
                                               _INTEGRATION / "daemons.py")
_daemons = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_daemons)
sys.path.insert(1, str(FOLDER.parents[2] / "client" / "python"))


def _group(module):
    return module.__name__.replace("_test", "")


def pytest_generate_tests(metafunc):
    if "DataLoader" in metafunc.fixturenames:
        ours = _group(metafunc.module) in differences.RUNNING
        metafunc.parametrize("DataLoader", ["torch", "forebay"][:1 + ours],
                             indirect=True)


def _case(item):
    """Returns the case's name without its loader, with parameters and without."""
    parts = item.callspec.id.split("-")
    parts.remove("forebay")
    name = f"{_group(item.module)}::{item.originalname}"
    return [name + f"[{'-'.join(parts)}]", name]


def _differing(test, difference):
    """Returns a test that passes if `test` fails as `difference` says."""
    @functools.wraps(test)
    def run(**arguments):
        with pytest.raises(difference.raises):
            test(**arguments)
    return run


def pytest_collection_modifyitems(items):
    for item in list(items):
        if (FOLDER not in item.path.parents or not hasattr(item, "callspec") or
                item.callspec.params.get("DataLoader") != "forebay"):
            continue
        for name in _case(item):
            difference = differences.of(name)
            if difference is not None and difference.raises is None:
                items.remove(item)
                break
            if difference is not None:
                item.obj = _differing(item.obj, difference)
                break


@pytest.fixture(scope="module")
def serving_daemon(tmp_path_factory):
    """A daemon for a module's cases."""
    with _daemons.serving(tmp_path_factory.mktemp("daemon")) as started:
        yield started


@pytest.fixture
def DataLoader(request):
    """The class of loaders under test."""
    if request.param == "torch":
        return torch.utils.data.DataLoader
    request.getfixturevalue("serving_daemon")
    import forebay
    return forebay.DataLoader


def _overdue(signum, frame):
    raise TimeoutError(f"the case runs for more than {LIMIT_SECONDS} s")


@pytest.fixture(autouse=True)
def limited(monkeypatch):
    """Ends a case that hangs, and removes workers that it leaves behind."""
    # Torch waits this long before it kills a worker that hangs at its exit.
    monkeypatch.setattr(torch.utils.data._utils, "MP_STATUS_CHECK_INTERVAL", 0.5)
    before = signal.signal(signal.SIGALRM, _overdue)
    signal.alarm(LIMIT_SECONDS)
    torch.manual_seed(11)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
    gc.collect()
