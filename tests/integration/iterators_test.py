"""Iterators that are finished, and iterators that a signal handler interrupts."""

import sys

import pytest

import forebay
from forebay import _native
from test_client_batches import SAMPLES, open_loader
from test_client_state import ids
from trouble import until

pytestmark = pytest.mark.usefixtures("batch_reader")


def before_the_next_read(iterator, meddle):
    """Makes next() call `meddle` after its checks and before it reads a batch, when
    another thread may run. Returns a list of what next() reads."""
    take, taken = iterator._next_memory, []

    def late():
        if not taken:
            meddle()
        taken.append(take())
        return taken[-1]

    iterator._next_memory = late
    return taken


def test_an_iterator_that_is_over_takes_nothing_of_the_next(daemon, photos):
    with open_loader(photos, shuffle=True) as loader:
        first, others = iter(loader), []
        begun = ids([next(first)])
        taken = before_the_next_read(
            first, lambda: others.append(iter(loader)))
        second = ids([next(first)])
        assert all(isinstance(one, int) for one in taken)
        assert sorted(ids(others[0])) == list(range(SAMPLES))
        assert sorted(begun + second + ids(first)) == list(range(SAMPLES))


def test_an_iterator_that_waits_takes_nothing_of_the_next(daemon, photos):
    with open_loader(photos) as loader:
        first, others = iter(loader), []
        waits = iter([_native.TIMEOUT])
        take = first._next_memory
        first._next_memory = lambda: next(waits, None) or take()
        await_batch = loader._await

        def meddle(epoch, status):
            del loader._await
            others.append(iter(loader))
            return await_batch(epoch, status)

        loader._await = meddle
        begun = ids([next(first)])
        assert ids(others[0]) == list(range(SAMPLES))
        assert begun + ids(first) == list(range(SAMPLES))


def test_a_state_that_was_loaded_stays_loaded(daemon, photos):
    with open_loader(photos) as loader:
        first = iter(loader)
        next(first), next(first)
        state = loader.state_dict()
        next(first)

        def meddle():
            loader.load_state_dict(state)
            assert loader.state_dict() == state

        before_the_next_read(first, meddle)
        next(first, None)  # a batch of the epoch that was in progress
        assert loader.state_dict() == state
        with pytest.raises(forebay.StateError, match="a state was loaded"):
            next(first)
        assert ids(loader) == list(range(16, SAMPLES))


def test_a_state_is_that_of_the_iteration_that_began_last(daemon, photos):
    with open_loader(photos) as loader:
        first, others = iter(loader), []
        next(first)
        take = first._next_memory

        def taken_before():
            memory = take()
            others.append(iter(loader))
            return memory

        first._next_memory = taken_before
        assert ids([next(first)]) == list(range(8, 16))
        state = loader.state_dict()
        assert (state["epoch"], state["position"]) == (1, 0)
        assert ids(others[0]) == list(range(SAMPLES))


def test_set_epoch_holds_until_the_iteration_goes_on(daemon, photos):
    with open_loader(photos) as loader:
        iterator = iter(loader)
        next(iterator)
        loader.set_epoch(7)
        state = loader.state_dict()
        assert (state["epoch"], state["position"]) == (7, 0)
        next(iterator)
        state = loader.state_dict()
        assert (state["epoch"], state["position"]) == (0, 16)
        loader.set_epoch(8)
        assert loader.state_dict()["epoch"] == 8


def test_set_epoch_holds_for_the_epoch_that_comes_anyway(daemon, photos):
    with open_loader(photos) as loader:
        next(iter(loader))
        loader.set_epoch(1)
        state = loader.state_dict()
        assert (state["epoch"], state["position"]) == (1, 0)


@pytest.mark.parametrize("options", [
    {}, {"shuffle": True}, {"order": "coordinated", "shuffle": True},
    {"sampler": list(reversed(range(SAMPLES)))},
    {"batch_transform": lambda image, label: (image, label)}],
    ids=["exact", "shuffled", "coordinated", "listed", "transformed"])
def test_two_iterators_read_a_stream_each(daemon, photos, options):
    with open_loader(photos, **options) as loader:
        both = list(zip(loader, loader))
        assert len(both) == len(loader)
        for batches in zip(*both):
            assert sorted(ids(batches)) == list(range(SAMPLES))
        assert loader.stats()["batches_delivered"] >= 2 * len(loader)
        state = loader.state_dict()
        assert (state["epoch"], state["position"]) == (1, SAMPLES)


def test_an_iterator_beside_another_gives_the_batches_of_its_epoch(daemon, photos):
    with open_loader(photos, shuffle=True) as loader, \
            open_loader(photos, shuffle=True) as alone:
        first = iter(loader)
        begun = ids([next(first)])
        second = iter(loader)
        mixed = [(ids([next(first)]), ids([next(second)])) for _ in range(3)]
        seen = [begun + sum((one for one, _ in mixed), []) + ids(first),
                sum((other for _, other in mixed), []) + ids(second)]
        assert seen == [ids(alone), ids(alone)]


def test_closing_ends_all_iterators(daemon, photos):
    loader = open_loader(photos)
    first, second = iter(loader), iter(loader)
    next(first), next(second)
    loader.close()
    for iterator in (first, second):
        with pytest.raises(forebay.StateError, match="the loader is closed"):
            next(iterator)


class Rang(Exception):
    """The exception that a signal handler raises."""


def ringing(step, call):
    """Runs `call`, and raises Rang at the step with the number `step`. Each call and
    each return of a function is a step, because CPython runs signal handlers there. If
    there are fewer steps, returns the result of `call`."""
    left = step

    def ring(frame, event, argument):
        nonlocal left
        if event in ("call", "c_return") and argument is not sys.setprofile:
            left -= 1
            if left < 0:
                raise Rang

    sys.setprofile(ring)
    try:
        return call()
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("options", [
    {}, {"order": "coordinated", "shuffle": True},
    {"sampler": list(reversed(range(SAMPLES)))},
    {"batch_transform": lambda image, label: (image, label)}],
    ids=["exact", "coordinated", "listed", "transformed"])
def test_a_handler_that_raises_loses_no_batch(daemon, photos, options):
    with open_loader(photos, **options) as loader, \
            open_loader(photos, **options) as other:
        interrupted = lost = 0
        for step in range(1000):
            iterator = iter(loader)
            seen = ids([next(iterator)])
            try:
                batch = ringing(step, lambda: next(iterator))
            except Rang:
                interrupted += 1
            else:
                break
            state = loader.state_dict()
            rest = ids(iterator)
            assert len(seen) + len(rest) in (SAMPLES, SAMPLES - 8)
            lost += len(seen) + len(rest) < SAMPLES
            assert len(set(seen + rest)) == len(seen + rest)
            other.load_state_dict(state)
            assert sorted(ids(other)) == sorted(rest)
        assert interrupted > 5 and len(batch.sample_ids) == 8
        # Only a batch that next() had already returned may be lost.
        assert lost <= 1
        # No batch is still held without an owner.
        batch = iterator = None
        until(lambda: loader.stats()["batches_held"] == 0, "leases end")


def test_a_handler_that_raises_as_an_epoch_ends(daemon, photos):
    with open_loader(photos) as loader:
        interrupted = 0
        for step in range(1000):
            iterator = iter(loader)
            ids([next(iterator) for _ in range(len(loader))])
            try:
                assert ringing(step, lambda: next(iterator, None)) is None
            except Rang:
                interrupted += 1
            assert next(iterator, None) is None
            if interrupted == step:
                break
        assert interrupted > 5
        assert loader.state_dict()["position"] == 0


def test_a_handler_that_raises_while_an_epoch_begins(daemon, photos):
    with open_loader(photos) as loader:
        skipped = interrupted = 0
        for step in range(1000):
            before = loader.state_dict()["epoch"]
            try:
                iterator = ringing(step, lambda: iter(loader))
            except Rang:
                interrupted += 1
                iterator = iter(loader)
            skipped += loader.state_dict()["epoch"] - before
            assert ids(iterator) == list(range(SAMPLES))
            if interrupted == step:
                break
        assert interrupted > 10
        # Only epochs whose iterators were just ending are skipped.
        assert skipped <= 2


def test_an_error_is_not_lost_with_the_call_that_was_told(daemon, photos,
                                                          tmp_path):
    """The next call raises the error. Otherwise the broken epoch would look
    complete."""
    import shutil
    folder = shutil.copytree(photos, tmp_path / "data")
    (folder / "beach" / "000.jpg").write_bytes(b"\xff\xd8\xff no photograph")
    with open_loader(folder) as loader:
        iterator = iter(loader)
        take = iterator._next_memory

        def interrupted():
            until(lambda: take() not in (_native.INTERRUPTED, _native.TIMEOUT),
                  "the epoch breaks")
            raise Rang

        iterator._next_memory = interrupted
        with pytest.raises(Rang):
            next(iterator)
        iterator._next_memory = take
        with pytest.raises(forebay.DataError, match="000.jpg"):
            next(iterator)
