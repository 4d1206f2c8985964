"""The batches of an iterable by number, as the process that iterates makes them."""

from forebay._share.iteration import Iteration
from forebay._stage import payload


def test_each_end_tells_the_batches_before_it():
    sizes = [3, 0, 2]
    iteration = Iteration(lambda: iter(range(sizes.pop(0))))
    assert iteration.get(0, 1)[1][:3] == (0, 1, 0)
    # However far behind the end the question is.
    assert iteration.get(0, 7) == (payload.END, (0, 3, 0))
    assert iteration.get(1, 0) == (payload.END, (1, 0, 3))
    assert iteration.get(2, 1)[1][:3] == (2, 1, 3)
    assert iteration.get(0, 2) == (payload.END, (0, 3, 0))
    assert iteration.get(1, 5) == (payload.END, (1, 0, 3))


def test_one_that_begins_later_tells_where_that_was():
    iteration = Iteration([7, 8])
    iteration.first = 100
    assert iteration.get(5, 0)[1][:3] == (5, 0, 100)
    kind, (epoch, size, first) = iteration.get(3, 4)
    assert (kind, epoch, size + first) == (payload.END, 3, 100)
