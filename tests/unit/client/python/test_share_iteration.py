"""The batches of an iterable by their numbers, as the iterating process makes them."""

from forebay._share.iteration import Iteration
from forebay._stage import payload


def values(iteration, epoch, numbers):
    """Returns the batches with these numbers that the jobs get."""
    return [iteration.give(epoch, number)[1][4] for number in numbers]


def test_each_end_tells_the_batches_before_it():
    sizes = [3, 0, 2]
    iteration = Iteration(lambda: iter(range(sizes.pop(0))))
    assert iteration.get(0, 1)[1][:3] == (0, 1, 0)
    # The answer is the same for any number past the end.
    assert iteration.get(0, 7) == (payload.END, (0, 3, 0, 1))
    assert iteration.get(1, 0) == (payload.END, (1, 0, 3, 2))
    assert iteration.get(2, 1)[1][:3] == (2, 1, 3)
    assert iteration.get(0, 2) == (payload.END, (0, 3, 0, 1))
    assert iteration.get(1, 5) == (payload.END, (1, 0, 3, 2))


def test_one_that_begins_later_tells_where_that_was():
    iteration = Iteration([7, 8])
    iteration.first = 100
    assert iteration.get(5, 0)[1][:3] == (5, 0, 100)
    # This process does not know the batches of the third epoch.
    assert iteration.get(3, 4) == (payload.END, (3, None, 100, 5))
    iteration.get(5, 2)
    iteration.get(7, 0)
    assert iteration.get(3, 4) == (payload.END, (3, None, 100, 5))
    assert iteration.get(5, 0) == (payload.END, (5, 2, 100, 6))
    assert iteration.get(6, 0) == (payload.END, (6, None, 102, 7))


def test_an_iteration_that_jobs_read_ends_before_a_later_one_begins():
    iteration = Iteration(lambda: iter(range(10)))
    assert values(iteration, 0, range(3)) == [0, 1, 2]
    assert values(iteration, 4, range(2)) == [0, 1]
    assert iteration.give(0, 3) == (payload.END, (0, 10, 0, 1))


def test_what_was_made_for_nobody_is_of_the_epoch_that_is_asked_for():
    begun = []

    def source():
        begun.append(True)
        return iter(range(10))

    iteration = Iteration(source)
    assert iteration.get(0, 0)[1][4] == 0  # dropped because of its size
    iteration.has_place = False
    assert values(iteration, 5, [0, 1]) == [0, 1]
    assert iteration.give(5, 0)[1][:2] == (5, 0)
    assert begun == [True]
    assert iteration.give(4, 0)[1][:2] == (4, None)
    # The process iterates past the batches before the first requested one.
    iteration = Iteration(source)
    iteration.get(0, 0)
    iteration.has_place = False
    assert values(iteration, 2, [6, 7]) == [6, 7]


def test_what_a_job_goes_on_with_is_of_its_own_epoch():
    iteration = Iteration(lambda: iter(range(10)))
    assert iteration.get(5, 3)[1][4] == 3
    # Another job, which is ahead, makes its request first.
    assert values(iteration, 6, [0]) == [0]
    assert iteration.give(5, 3) == (payload.END, (5, 10, 0, 6))


def test_an_iteration_that_only_fails_holds_up_no_later_one():
    class Fails:
        def __iter__(self):
            return self

        def __next__(self):
            raise ValueError("nothing")

    iteration = Iteration(Fails())
    assert iteration.give(0, 0)[0] == payload.FAILED
    assert iteration.give(1, 0)[0] == payload.FAILED


class Stateful:
    """An iterable whose state cannot be read, or cannot be pickled."""

    def __init__(self, state):
        self._state = state

    def __iter__(self):
        return iter(range(3))

    def state_dict(self):
        return self._state()

    def load_state_dict(self, state):
        pass


def test_a_state_that_cannot_be_saved_costs_no_batch(capsys, monkeypatch):
    monkeypatch.setattr("forebay._share.iteration._STATE_SECONDS", 0)

    def fails():
        raise ValueError("no state yet")

    for state in (fails, lambda: (each for each in ())):
        iteration = Iteration(Stateful(state))
        assert values(iteration, 0, range(3)) == [0, 1, 2]
        said = capsys.readouterr().err
        assert said.count("the iterable's state cannot be saved") == 1


def test_a_state_is_of_the_epoch_that_its_batch_has():
    iteration = Iteration(Stateful(lambda: "behind"))
    iteration.get(0, 0)
    iteration.has_place = False
    state = iteration.give(5, 0)[1][3]
    assert (state.epoch, state.number, state.value) == (5, 1, "behind")


class Loader:
    """A class is not iterable, although its instances are."""

    def __iter__(self):
        return iter("ab")


def test_a_class_makes_an_iterable():
    iteration = Iteration(Loader)
    assert values(iteration, 0, range(2)) == ["a", "b"]
    assert iteration.give(0, 2)[0] == payload.END
    assert values(iteration, 1, range(2)) == ["a", "b"]
