"""Feeds, payloads and states that a trainer and its workers exchange."""

import random

import numpy
import pytest
import torch

from forebay import errors
from forebay._stage import payload, seeds, shard_state
from forebay._stage.feed import Batch, Feed
from forebay._stage.shard_state import Kept, ShardState, States


def test_an_epoch_follows_another_in_a_feed():
    feed = Feed()
    for number in range(3):
        feed.put(Batch(0, [number]))
    with pytest.raises(LookupError):
        feed.get(3)
    feed.put(None)
    assert feed.get(2).keys == [2] and feed.get(3) is None is feed.get(40)
    feed.begin()
    first = feed.first
    assert first > 1000
    # A late worker still finds the end of the previous epoch.
    assert feed.get(3) is None is feed.get(first - 1)
    with pytest.raises(LookupError):
        feed.get(first)
    feed.put(Batch(1, ["a"]))
    assert feed.get(first).keys == ["a"]
    with pytest.raises(LookupError):
        feed.get(first + 1)
    feed.put(None)
    assert feed.get(first + 1) is None
    feed.close()


def test_a_feed_frees_what_was_taken_also_in_later_epochs():
    feed = Feed()
    for epoch in range(3):
        if epoch:
            feed.begin()
        for number in range(4):
            feed.put(Batch(epoch, ["x" * (1 << 20)]))
            feed.drop_before(feed.first + number)
        last = feed.first + 3
        assert feed.get(last).epoch == epoch
    feed.close()


@pytest.mark.parametrize("kind, value", [
    (payload.BATCH, {"a": numpy.arange(5000), "b": "text"}),
    (payload.BATCH, [1, 2, 3]), (payload.FAILED, "why"), (payload.END, None)])
def test_a_state_comes_behind_each_kind_of_payload(kind, value):
    for state in (b"", b"state" * 100):
        memory = memoryview(bytearray(1 << 16))
        payload.write(memory, kind, value, state)
        found = payload.read(memory)
        assert (found.kind, found.state) == (kind, state)
        assert repr(found.value) == repr(value)


@pytest.mark.parametrize("kind, value", [
    (payload.BATCH, [0]), (payload.FAILED, "why" * 50), (payload.END, None)])
def test_a_state_without_room_asks_for_some(kind, value):
    memory = memoryview(bytearray(200))
    payload.write(memory, kind, value, b"s" * 300)
    found = payload.read(memory)
    needed, apart = found.value
    assert found.kind == payload.TOO_LARGE and needed > 300 and apart == 0
    memory = memoryview(bytearray(needed))
    payload.write(memory, kind, value, b"s" * 300)
    assert payload.read(memory)[:2] == (kind, value)


def test_a_long_error_leaves_room_for_a_state():
    memory = memoryview(bytearray(1000))
    payload.write(memory, payload.FAILED, "long" * 1000, b"s" * 300)
    found = payload.read(memory)
    assert found.kind == payload.FAILED and found.state == b"s" * 300
    assert found.value and ("long" * 1000).startswith(found.value)


def test_a_damaged_state_is_no_payload():
    memory = memoryview(bytearray(1000))
    payload.write(memory, payload.END, None, b"s")
    memory[16:24] = (1 << 40).to_bytes(8, "little")
    with pytest.raises(payload.Damaged):
        payload.read(memory)


def test_generators_go_on_from_plain_values():
    def drawn():
        return (random.random(), random.gauss(0, 1), numpy.random.rand(),
                numpy.random.randn(), torch.rand(3).tolist(),
                torch.randn(3).tolist())

    with seeds.Kept():
        seeds.seed_generators(3)
        drawn()
        values = seeds.State().plain()
        expected = [drawn(), drawn()]
        seeds.seed_generators(4)
        seeds.set_generators(values)
        assert [drawn(), drawn()] == expected


def test_workers_of_an_epoch_have_one_seed_in_common():
    found = {seeds.of_epoch(seed, epoch) for seed in range(3) for epoch in range(3)}
    assert len(found) == 9 and all(0 <= value < 1 << 63 for value in found)


def state_of(epoch, batches, dataset=None):
    return ShardState(epoch, batches, False, True, dataset, None, None)


def test_the_last_two_states_are_kept():
    kept = Kept()
    assert kept.of(0) == []
    for batches in range(5):
        kept.put(3, 7, batches, state_of(7, batches, "x" * batches).to_bytes())
    kept.put(4, 7, 1, b"other")
    found = {shard_state.of_bytes(data).batches for data in kept.of(3)}
    assert found == {3, 4}
    assert kept.of(4) == [b"other"]


def test_states_are_put_back():
    states = States({0: b"a"})
    copied = states.copy()
    states.put(0, b"b")
    states.put(1, b"c")
    assert states.by_worker() == {0: b"b", 1: b"c"}
    states.put(1, None)
    states.put(1, None)
    assert states.by_worker() == {0: b"b"} and copied.get(0) == b"a"


def test_of_an_epoch_that_is_over_the_datasets_remain():
    states = States({0: state_of(2, 5, {"seen": 9})._replace(
        iterator="i", generators="g").to_bytes(), 1: state_of(2, 5).to_bytes()})
    left = states.behind_epoch().by_worker()
    assert list(left) == [0]
    assert shard_state.of_bytes(left[0]) == state_of(2, 5, {"seen": 9})


def test_plain_states_come_back():
    states = {1: state_of(2, 3, "d").to_bytes()}
    saved = shard_state.to_plain(states, 3)
    assert saved["workers"] == 3 and saved["worker_states"][0] is None
    assert shard_state.of_plain(saved, 2, 10, 3) == states
    assert shard_state.of_plain(shard_state.to_plain({}, 3), 2, 10, 3) == {}
    for epoch, first in ((1, 10), (2, 7)):  # epochs before that of the state
        with pytest.raises(errors.StateError, match="does not fit"):
            shard_state.of_plain(saved, epoch, first, 3)
    # The state of an earlier epoch.
    assert shard_state.of_plain(saved, 3, 0, 3) == states
