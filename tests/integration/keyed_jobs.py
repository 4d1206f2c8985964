"""Loaders of one process that play equal loaders of several jobs."""

import pytest

import forebay
from forebay._stage import share_key, shared_check

# The number of samples that a job makes itself at each iter(), to compare them with
# other jobs'.
CHECKED = 4


def another_job():
    """Makes the next loader of each key count as the first one, as in another
    process."""
    share_key._loaders.clear()


def first_loader(*arguments, **keywords):
    """Opens a loader of another job."""
    another_job()
    return forebay.DataLoader(*arguments, **keywords)


@pytest.fixture(autouse=True)
def checks_at_iter_alone(monkeypatch):
    """Makes the number of comparisons independent of chance."""
    monkeypatch.setattr(shared_check, "_INTERVAL", 1 << 40)
