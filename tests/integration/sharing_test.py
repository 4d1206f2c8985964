"""Equal loaders share batches, each at its own pace."""

import os
import signal

import numpy
import pytest

from raw_session import NOT_FOUND, loader_spec, messages, text
from trouble import (PATIENCE, contents, ctl, nothing_left_behind, open_loader,
                     trainer, until)
from forebay import transforms as T

AUGMENTED = T.RandomResizedCrop(64)
SAMPLES = 48  # number of photographs

# Reads one batch, waits for a line, and reads the rest.
SLOW = """
loader = open_equal(sys.argv[1])
batches = iter(loader)
seen = [int(i) for i in next(batches).sample_ids]
print("begun", flush=True)
for batch in batches:
    seen.extend(int(i) for i in batch.sample_ids)
print(*seen, flush=True)
"""


# Reads for ever.
ENDLESS = """
with open_equal(sys.argv[1]) as loader:
    print("begun", flush=True)
    while True:
        for batch in loader:
            del batch
"""
HEAD = (f"sys.path.insert(0, {os.path.dirname(__file__)!r})\n"
        "from sharing_test import open_equal\n")


def open_equal(photos, **arguments):
    return open_loader(photos, shuffle=True, seed=3, batch_size=1,
                       transform=AUGMENTED, **arguments)


def loaders(daemon):
    """Returns all loaders as the daemon lists them."""
    return [loader for job in ctl(daemon, "jobs")["jobs"]
            for loader in job["loaders"]]


def decoded(daemon):
    return sum(int(loader["counters"]["samples_decoded"])
               for loader in loaders(daemon))


def test_equal_loaders_have_each_batch_made_once(daemon, photos):
    with open_equal(photos) as one, open_equal(photos) as other:
        pairs = list(zip(one, other))
        assert len(pairs) == SAMPLES
        for a, b in pairs:
            numpy.testing.assert_array_equal(a.image, b.image)
        assert decoded(daemon) < 1.5 * SAMPLES


def test_others_share_nothing(daemon, photos):
    with open_equal(photos) as one, \
            open_equal(photos, sharing="off") as off, \
            open_equal(photos, sharing="lockstep") as lockstep:
        for a, b, c in zip(one, off, lockstep):
            numpy.testing.assert_array_equal(a.image, b.image)
            numpy.testing.assert_array_equal(a.image, c.image)
            assert {loader["sharing"]["standing"] for loader in loaders(daemon)
                    } == {"ALONE"}


def test_slots_that_are_made_in_mid_epoch(daemon, photos):
    """In mid-epoch, the stream adds slots to keep the batches of the loader ahead. The
    loader behind finds these batches, and so does a loader that comes late."""
    with nothing_left_behind(daemon):
        with open_equal(photos) as alone:
            images, ids = contents(alone)
        with open_equal(photos) as quick, open_equal(photos) as slow:
            slow_batches, quick_batches = iter(slow), iter(quick)
            got = [contents([next(slow_batches)])]
            slots = max(loader["queues"]["slots"] for loader in loaders(daemon))
            for number, image in enumerate(images):
                numpy.testing.assert_array_equal(
                    next(quick_batches).image[0], image)
                if number % 8 == 7:  # the slow loader goes on
                    got.append(contents([next(slow_batches)]))
            grown = [loader["queues"]["slots"] for loader in loaders(daemon)]
            assert max(grown) > slots
            got.append(contents(slow_batches))
            numpy.testing.assert_array_equal(
                numpy.concatenate([some for some, _ in got]), images)
            assert sum((some for _, some in got), []) == ids
            with open_equal(photos) as late:
                numpy.testing.assert_array_equal(contents(late)[0], images)


def test_one_that_is_stopped_holds_nobody_up_and_misses_nothing(daemon,
                                                                photos):
    with open_equal(photos) as loader, trainer(HEAD + SLOW, photos) as slow:
        _, ids = contents(loader)
        assert slow.stdout.readline() == b"begun\n"
        slow.send_signal(signal.SIGSTOP)
        for _ in range(3):
            loader.set_epoch(0)
            assert contents(loader)[1] == ids
        slow.send_signal(signal.SIGCONT)
        assert [int(i) for i in slow.stdout.readline().split()] == ids
        assert slow.wait(PATIENCE) == 0


def test_what_is_closed_beside_one_that_reads_is_given_back(daemon, photos):
    """The stream takes back the closed loader's last batches while it works for the
    other loader. The closed loader does not report their release."""
    def sessions():
        return ctl(daemon, "status")["sessions"]

    with nothing_left_behind(daemon), trainer(HEAD + ENDLESS, photos) as other:
        assert other.stdout.readline() == b"begun\n"
        for _ in range(12):
            with open_equal(photos) as loader:
                batches = iter(loader)
                held = [next(batches), next(batches)]
                del held
        until(lambda: sessions() == 1, "closed loaders are given back",
              sessions)
        other.kill()


def test_what_the_tool_says_of_them(daemon, photos):
    with open_equal(photos) as quick, open_equal(photos) as slow:
        batches = iter(slow)
        held = [next(batches)]
        assert [loader["sharing"]["standing"] for loader in loaders(daemon)
                if loader["running"]] == ["ALONE"]
        ahead = iter(quick)
        for _ in range(SAMPLES // 2):
            held = [held[0], next(ahead)]
        standing = {loader["sharing"]["members"] for loader in loaders(daemon)}
        assert standing == {2}
        assert max(int(loader["sharing"]["behind"])
                   for loader in loaders(daemon)) > 4


@pytest.mark.parametrize("first", [4, 250, 256, 2**31, 2**32 - 1])
def test_slots_that_there_are_not(session, photos, first):
    kinds = messages()[1]
    opened, fds = session.open_loader(loader_spec(photos), photos)
    loader_id = opened.loader_id

    def slots(first, loader_id=loader_id):
        return session.call(get_slots=kinds.GetSlots(loader_id=loader_id,
                                                     first=first))

    assert slots(0)[1] == [], "there are none before the first epoch"
    started, slot_fds = session.start_epoch(loader_id)
    assert len(slot_fds) == started.slot_count
    for number in range(started.slot_count):
        _, some = slots(number)
        assert len(some) == started.slot_count - number
        for fd in some:
            assert os.fstat(fd).st_size >= started.slot_bytes
            os.close(fd)
    assert slots(first)[1] == []
    error, _ = slots(0, loader_id=2**64 - 1)
    assert (error.code, text(error)) == (
        NOT_FOUND, f"this session has no loader {2**64 - 1}")
    for fd in [*fds, *slot_fds]:
        os.close(fd)
