"""The check of a share_key is repeated when other workers take over, be they of another
job or for another daemon."""

import re
import signal

import pytest
import torch

import forebay
from keyed_jobs import checks_at_iter_alone, first_loader  # noqa: F401
from share_key_pairs_test import Made, close, image, listed
from trouble import PATIENCE

WAYS = [{}, {"collate_fn": listed}, {"persistent_workers": True}]


@pytest.fixture(autouse=True)
def patient(daemon, monkeypatch):
    monkeypatch.setenv("FOREBAY_REATTACH_SECONDS", str(PATIENCE))


@pytest.fixture
def scale():
    """A factor in shared memory, which workers that are already forked see change."""
    return torch.ones(1).share_memory_()


def begun(makes, arguments):
    """Returns loaders of jobs with these functions, their iterators, and one batch of
    each."""
    loaders = [first_loader(Made(make), 1, seed=3, num_workers=2, share_key="renewed",
                            autostart=False, **arguments) for make in makes]
    iterators = [iter(loader) for loader in loaders]
    return loaders, iterators, [[next(one)] for one in iterators]


def is_owner(loader):
    """Returns whether a loader's own workers make its samples."""
    run, = loader._runs
    return run._is_served


def is_plain(batches):
    """Returns whether batches have the samples that `image` makes, in order."""
    return all((batch[0] == image(number)).all()
               for number, batch in enumerate(batches))


def expect_a_difference(iterator, batches):
    """Reads until the error, and checks that each earlier batch was good."""
    with pytest.raises(forebay.errors.StateError) as caught:
        for batch in iterator:
            batches.append(batch)
    assert re.search(r"samples? .* has another .* in this job, .* \(process \d+\), .*; "
                     r"job .* \(process \d+\) has started .*share_key 'renewed'",
                     str(caught.value))
    assert is_plain(batches) and len(batches) < 40


@pytest.mark.parametrize("arguments", WAYS)
def test_another_jobs_workers_are_compared_anew(scale, arguments):
    loaders, iterators, found = begun(
        [image, image, lambda n: image(n) * scale], arguments)
    scale[0] = 2.0
    loaders[0].close()
    while not is_owner(loaders[1]):
        found[1].append(next(iterators[1]))
    expect_a_difference(iterators[2], found[2])
    found[1] += iterators[1]
    assert is_plain(found[1]) and len(found[1]) == 40
    close(loaders)


@pytest.mark.parametrize("arguments", WAYS)
def test_another_daemon_has_them_compared_anew(daemon, scale, arguments):
    loaders, iterators, found = begun([image, lambda n: image(n) * scale], arguments)
    scale[0] = 2.0
    daemon.stop(signal.SIGKILL)
    daemon.start()
    while len(found[0]) < 20:
        found[0].append(next(iterators[0]))
    expect_a_difference(iterators[1], found[1])
    found[0] += iterators[0]
    assert is_plain(found[0]) and len(found[0]) == 40
    close(loaders)
