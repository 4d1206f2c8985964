"""Workers that stay between epochs."""

import pytest
import torch
from torch.utils.data import IterableDataset

from sample_sets import Counted, Counting, Made, Numbers, Sharded, flat, worker_info


def persistent(DataLoader, dataset, batch_size=1, workers=1, **arguments):
    return DataLoader(dataset, batch_size, num_workers=workers,
                      persistent_workers=True, **arguments)


def listed(samples):
    """A collate function of the user."""
    return torch.tensor(samples)


class Listed:
    """A sampler of the user, whose order changes between epochs."""

    def __init__(self, *orders):
        self.orders = orders
        self.epoch = -1

    def __iter__(self):
        self.epoch += 1
        return iter(self.orders[self.epoch])

    def __len__(self):
        return len(self.orders[self.epoch])


class Unsized:
    """A sampler that does not know its length."""

    def __iter__(self):
        return iter(range(3))


def test_they_need_workers(DataLoader):
    with pytest.raises(ValueError, match="persistent_workers option needs "
                       "num_workers > 0"):
        persistent(DataLoader, Numbers(3), workers=0)


@pytest.mark.parametrize("arguments", [
    {}, {"shuffle": True}, {"batch_size": None}, {"collate_fn": listed},
    {"sampler": [2, 0, 1]}, {"sampler": Unsized()},
    {"batch_sampler": [[0], [2, 1]]}],
    ids=["rows", "shuffle", "single", "collate", "sampler", "unsized", "batches"])
def test_they_keep_their_copy(DataLoader, arguments):
    if "batch_sampler" in arguments:
        loader = DataLoader(Counting(3), num_workers=1, persistent_workers=True,
                            **arguments)
    else:
        loader = persistent(DataLoader, Counting(3), **arguments)
    read = []
    for _ in range(3):
        for batch in loader:
            read += torch.as_tensor(batch).reshape(-1).tolist()
    assert read == list(range(1, len(read) + 1)) and len(read) >= 6


@pytest.mark.parametrize("arguments", [
    {}, {"sampler": [0, 1, 2, 3]}], ids=["ordered", "listed"])
def test_they_are_the_same_processes(DataLoader, arguments):
    loader = persistent(DataLoader, Made(worker_info, 4), None, **arguments)
    assert len({process for _ in range(3) for *_, process in loader}) == 1


def test_those_of_an_iterable_are_the_same_processes(DataLoader):
    class Processes(IterableDataset):
        def __iter__(self):
            return map(worker_info, range(3))
    loader = persistent(DataLoader, Processes(), None, 2)
    assert len({process for _ in range(3) for *_, process in loader}) == 2


def test_they_do_not_see_later_changes(DataLoader):
    dataset = Numbers(3)
    loader = persistent(DataLoader, dataset, 3)
    assert flat(loader) == [0, 1, 2]
    dataset.factor = 7
    assert flat(loader) == [0, 1, 2]


def test_those_of_an_iterable_do_not_see_later_changes(DataLoader):
    dataset = Counted(3)
    loader = persistent(DataLoader, dataset, 3)
    assert flat(loader) == [0, 1, 2]
    dataset.size = 7
    assert flat(loader) == [0, 1, 2]


def test_another_loader_sees_later_changes(DataLoader):
    dataset = Numbers(3)
    first = persistent(DataLoader, dataset, 3)
    assert flat(first) == [0, 1, 2]
    dataset.factor = 7
    assert flat(persistent(DataLoader, dataset, 3)) == [0, 7, 14]


def test_workers_are_initialised_once(DataLoader, tmp_path):
    def note(one):
        with open(tmp_path / "calls", "a") as file:
            file.write("x")
    loader = persistent(DataLoader, Numbers(4), 2, worker_init_fn=note)
    for _ in range(3):
        assert flat(loader) == [0, 1, 2, 3]
    assert (tmp_path / "calls").read_text() == "x"


def test_those_of_an_iterable_are_initialised_once(DataLoader, tmp_path):
    def note(one):
        with open(tmp_path / "calls", "a") as file:
            file.write("x")
    loader = persistent(DataLoader, Counted(4), 2, worker_init_fn=note)
    for _ in range(3):
        assert flat(loader) == [0, 1, 2, 3]
    assert (tmp_path / "calls").read_text() == "x"


def test_they_shuffle_anew(DataLoader):
    loader = persistent(DataLoader, Numbers(40), 4, shuffle=True)
    epochs = [flat(loader) for _ in range(2)]
    assert epochs[0] != epochs[1] and sorted(epochs[1]) == list(range(40))


def test_they_take_another_order_in_each_epoch(DataLoader):
    loader = persistent(DataLoader, Numbers(4), 2,
                        sampler=Listed([3, 1], [0, 2, 1], [2]))
    assert [flat(loader) for _ in range(3)] == [[3, 1], [0, 2, 1], [2]]


def test_they_begin_an_iterable_anew(DataLoader):
    loader = persistent(DataLoader, Sharded(6), 2, 2)
    for _ in range(3):
        assert sorted(flat(loader)) == list(range(6))


def test_they_stay_when_an_epoch_is_left(DataLoader):
    loader = persistent(DataLoader, Made(worker_info, 40), None)
    processes = set()
    for _ in range(3):
        for *_, process in loader:
            processes.add(process)
            break
    assert len(processes) == 1


def test_they_stay_when_an_epoch_of_a_list_is_left(DataLoader):
    loader = persistent(DataLoader, Numbers(40), 1, 2, sampler=range(39, -1, -1))
    for _ in range(3):
        iterator = iter(loader)
        assert [next(iterator).item() for _ in range(3)] == [39, 38, 37]
    assert flat(loader) == list(range(39, -1, -1))


def test_they_stay_when_an_epoch_of_an_iterable_is_left(DataLoader):
    loader = persistent(DataLoader, Sharded(40), 1, 2)
    for _ in range(3):
        iterator = iter(loader)
        assert [next(iterator).item() for _ in range(3)] == [0, 1, 2]
    assert flat(loader) == list(range(40))


def test_they_go_on_behind_an_error(DataLoader):
    def make(index):
        if index == 2:
            raise KeyError(index)
        return index
    loader = persistent(DataLoader, Made(make, 4))
    for _ in range(2):
        iterator = iter(loader)
        read = []
        for _ in range(4):
            try:
                read.append(next(iterator).item())
            except KeyError:
                read.append("error")
        assert read == [0, 1, "error", 3]


def test_the_loader_says_so(DataLoader):
    assert persistent(DataLoader, Numbers(3)).persistent_workers
    assert not DataLoader(Numbers(3)).persistent_workers
