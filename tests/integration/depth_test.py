"""A daemon prepares as many batches ahead as its trainer's pace needs."""

import pytest

from trouble import ctl, memory_used, open_loader, until

DEPTH = 3  # the depth that the loader requests
SLOTS = DEPTH + 2
LEAST = 2
WINDOW = 16 << 20
SAMPLES = 48


@pytest.fixture
def loader(daemon, photos):
    """A loader of single photographs."""
    with open_loader(photos, batch_size=1, depth=DEPTH) as opened:
        yield opened


def seen(daemon):
    """Returns the daemon's information about the only loader."""
    return ctl(daemon, "queues")["jobs"][0]["loaders"][0]


def is_prepared(daemon, left):
    """Returns whether the daemon has prepared all batches that it may. `left` is the
    number of batches that the epoch still has."""
    queues = seen(daemon)["queues"]
    return queues["slots_ready"] >= min(queues["depth"], left)


def pace(daemon, batches, left):
    """Takes the last `left` batches of the epoch, each when all that may be are
    prepared."""
    for taken in range(left):
        until(lambda: is_prepared(daemon, left - taken), "batches are made",
              lambda: seen(daemon))
        next(batches)


def slow_down(daemon, loader):
    """Takes batches slowly until the daemon prepares only the least number."""
    for _ in range(4):
        pace(daemon, iter(loader), SAMPLES)
        if seen(daemon)["queues"]["depth"] == LEAST:
            return
    raise AssertionError(f"it prepares too much: {seen(daemon)}")


def hurry(daemon, loader):
    """Takes batches at full speed until all slots are used."""

    def read():
        assert len(list(loader)) == SAMPLES
        return seen(daemon)["queues"]["depth"] == SLOTS

    until(read, "all slots are used", lambda: seen(daemon))


def test_a_paced_trainer_needs_two_batches_and_never_waits(daemon, loader):
    batches = iter(loader)
    next(batches)
    assert seen(daemon)["queues"]["depth"] == SLOTS
    pace(daemon, batches, SAMPLES - 1)
    waited = seen(daemon)["counters"]["trainer_wait_nanos"]
    batches = iter(loader)
    until(lambda: is_prepared(daemon, SAMPLES), "the next epoch begins")
    pace(daemon, batches, SAMPLES)
    assert seen(daemon)["queues"]["depth"] == LEAST
    assert seen(daemon)["counters"]["trainer_wait_nanos"] == waited


def test_a_trainer_at_full_speed_has_all_slots(daemon, loader):
    hurry(daemon, loader)
    slow_down(daemon, loader)
    hurry(daemon, loader)


# The trainer keeps its batches. Only its waiting tells the daemon about the burst.
def test_a_burst_after_a_pause_gets_its_batches(daemon, loader):
    slow_down(daemon, loader)
    batches = iter(loader)
    until(lambda: is_prepared(daemon, SAMPLES), "batches are made")
    kept = [next(batches) for _ in range(SAMPLES)]
    assert sorted(int(batch.sample_ids[0]) for batch in kept) == list(
        range(SAMPLES))


def test_what_reads_may_hold_is_shown_and_given_back(daemon, photos):
    before = memory_used(daemon)
    with open_loader(photos, batch_size=1) as loader:
        for batch in loader:
            del batch  # a batch holds memory, too
            assert int(seen(daemon)["queues"]["window_bytes"]) >= WINDOW
    until(lambda: memory_used(daemon) <= before, "memory is given back",
          lambda: f"{memory_used(daemon)} {before}")
