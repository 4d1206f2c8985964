"""Loaders of one process that stand for equal loaders of several jobs."""

import pytest

import forebay
from forebay._stage import share_key, shared_check

# Samples that a job makes itself at each iter(), to compare with those of others.
CHECKED = 4


def another_job():
    """Makes the next loader of each key the first, as in another process."""
    share_key._loaders.clear()


def first_loader(*arguments, **keywords):
    """A loader of another job."""
    another_job()
    return forebay.DataLoader(*arguments, **keywords)


@pytest.fixture(autouse=True)
def checks_at_iter_alone(monkeypatch):
    """Makes a number of checks that no chance changes."""
    monkeypatch.setattr(shared_check, "_INTERVAL", 1 << 40)
