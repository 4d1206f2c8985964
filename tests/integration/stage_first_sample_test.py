"""The sample that is made first, to learn the layout of batches, and the workers that
are forked before the daemon asks for them."""

import os
import signal

import pytest

import forebay
from own_processes import workers
from stage_test import SAMPLES, Made, leaves_nothing, numbers_of  # noqa: F401
from stage_test import reachable  # noqa: F401


class Noting(Made):
    """A dataset that records the process of each sample that is made."""

    def __init__(self, notes, samples=SAMPLES):
        super().__init__(samples)
        self.notes = notes

    def __getitem__(self, number):
        with open(self.notes, "a") as file:
            file.write(f"{os.getpid()} {number}\n")
        return super().__getitem__(number)


def noted(notes):
    """Returns the recorded processes and samples, in order."""
    return [tuple(map(int, line.split())) for line in notes.read_text().splitlines()]


@pytest.mark.parametrize("context", ["fork", "spawn"])
@pytest.mark.parametrize("order", [{}, {"sampler": [5, 3, 3, 202, 0, 17]}])
def test_who_makes_the_first_sample_is_the_first_worker(tmp_path, context, order):
    notes = tmp_path / "notes"
    with forebay.DataLoader(Noting(notes), 4, num_workers=1,
                            multiprocessing_context=context, **order) as loader:
        assert numbers_of(loader) == order.get("sampler", list(range(SAMPLES)))
    made = noted(notes)
    assert len({pid for pid, _ in made}) == 1
    assert sorted(number for _, number in made) == sorted(
        order.get("sampler", range(SAMPLES)))


@pytest.mark.parametrize("arguments", [
    {"shuffle": True}, {"shuffle": True, "rank": 1, "world_size": 3, "pad": "none"},
    {"rank": 1, "world_size": 2}, {"shuffle": True, "persistent_workers": True}])
def test_no_sample_is_made_twice(tmp_path, arguments):
    notes = tmp_path / "notes"
    with forebay.DataLoader(Noting(notes), 8, num_workers=1, **arguments) as loader:
        numbers = numbers_of(loader)
        assert sorted(number for _, number in noted(notes)) == sorted(numbers)
        batches = iter(loader)
        next(batches)
        state = loader.state_dict()
        rest = [number for batch in batches for number in batch[1].tolist()]
        notes.unlink()
        loader.load_state_dict(state)
        assert numbers_of(loader) == rest
    assert sorted(number for _, number in noted(notes)) == sorted(rest)


@pytest.mark.parametrize("arguments", [
    {"rank": 1, "world_size": 2}, {"rank": 1, "world_size": 2, "shuffle": True},
    {"sampler": [3, 1, 3]}, {"sampler": [3, 1, 3], "persistent_workers": True}])
def test_a_first_sample_that_the_epoch_has_twice_is_made_once(tmp_path, arguments):
    notes = tmp_path / "notes"
    with forebay.DataLoader(Noting(notes, 5), 1, num_workers=1,
                            **arguments) as loader:
        batches = iter(loader)
        next(batches), next(batches)
        state = loader.state_dict()
        rest = [number for batch in batches for number in batch[1].tolist()]
    notes.unlink()
    with forebay.DataLoader(Noting(notes, 5), 1, num_workers=1,
                            **arguments) as loader:
        loader.load_state_dict(state)
        assert numbers_of(loader) == rest
    assert [number for _, number in noted(notes)] == rest


def test_a_first_sample_that_is_not_wanted_first_leaves_no_trace(tmp_path,
                                                                 monkeypatch):
    monkeypatch.setattr(forebay._stage.row_run.RowRun, "_first_number", lambda _: 9)
    notes = tmp_path / "notes"
    with forebay.DataLoader(Noting(notes), 8, num_workers=1) as loader:
        assert numbers_of(loader) == list(range(SAMPLES))
    (first, number), *rest = noted(notes)
    assert number == 9 and first not in {pid for pid, _ in rest}
    assert sorted(number for _, number in rest) == list(range(SAMPLES))


def test_who_makes_the_first_sample_of_shared_workers_is_none_of_them(tmp_path):
    notes = tmp_path / "notes"
    with forebay.DataLoader(Noting(notes), 8, num_workers=1,
                            share_key="noting") as loader:
        assert numbers_of(loader) == list(range(SAMPLES))
    (first, _), *rest = noted(notes)
    assert first not in {pid for pid, _ in rest}


def test_a_first_worker_that_is_killed_before_it_is_wanted_is_replaced(monkeypatch):
    start = forebay._connection.Connection.start_epoch

    def killing(*arguments):
        for worker in workers(os.getpid()):
            os.kill(worker, signal.SIGKILL)
        start(*arguments)

    monkeypatch.setattr(forebay._connection.Connection, "start_epoch", killing)
    with forebay.DataLoader(Made(), 8, num_workers=2) as loader:
        assert numbers_of(loader) == list(range(SAMPLES))
