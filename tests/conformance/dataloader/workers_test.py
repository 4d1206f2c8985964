"""Worker information, worker_init_fn and the datasets that workers hold."""

import os

import pytest
import torch
from torch.utils.data import get_worker_info

from sample_sets import Counting, Made, Numbers, flat, worker_info


def test_there_is_no_worker_in_the_trainer(DataLoader):
    iterator = iter(DataLoader(Numbers(4), 2, num_workers=1))
    assert get_worker_info() is None
    next(iterator)
    assert get_worker_info() is None


def test_without_workers_there_is_no_worker_info(DataLoader):
    dataset = Made(lambda i: get_worker_info() is None, 2)
    assert list(DataLoader(dataset, None, num_workers=0)) == [True, True]


def test_ids_and_their_number(DataLoader):
    read = list(DataLoader(Made(worker_info, 12), None, num_workers=2))
    assert {number for _, number, _, _ in read} == {2}
    assert {one for one, _, _, _ in read} == {0, 1}


def test_each_worker_is_a_process(DataLoader):
    read = list(DataLoader(Made(worker_info, 12), None, num_workers=2))
    processes = {(one, process) for one, _, _, process in read}
    assert len(processes) == 2
    assert os.getpid() not in {process for _, process in processes}


def test_batches_go_round_the_workers(DataLoader):
    read = list(DataLoader(Made(worker_info, 9), None, num_workers=2))
    assert [one for one, _, _, _ in read] == [0, 1, 0, 1, 0, 1, 0, 1, 0]


def test_a_batch_is_made_by_one_worker(DataLoader):
    dataset = Made(lambda i: get_worker_info().id, 12)
    for batch in DataLoader(dataset, 4, num_workers=2):
        assert len(set(batch.tolist())) == 1


def test_seeds_are_successive(DataLoader):
    read = list(DataLoader(Made(worker_info, 8), None, num_workers=2))
    seeds = {one: seed for one, _, seed, _ in read}
    assert seeds[1] == seeds[0] + 1


def test_the_dataset_of_the_worker(DataLoader):
    class Asking(Numbers):
        def __getitem__(self, index):
            return get_worker_info().dataset is self
    assert list(DataLoader(Asking(3), None, num_workers=1)) == [True] * 3


def test_worker_info_is_read_only(DataLoader):
    def make(index):
        # torch 1.13 raises RuntimeError; torch 2.15 raises an AttributeError of
        # dataclasses.
        with pytest.raises((RuntimeError, AttributeError), match="(?i)cannot assign"):
            get_worker_info().id = 5
        return index
    assert flat(DataLoader(Made(make, 3), 3, num_workers=1)) == [0, 1, 2]


def test_worker_info_shows_its_fields(DataLoader):
    dataset = Made(lambda i: repr(get_worker_info()), 1)
    text, = DataLoader(dataset, None, num_workers=1)
    assert text.startswith("WorkerInfo(id=0, num_workers=1, seed=")


def test_worker_init_fn_runs_once_in_each_worker(DataLoader, tmp_path):
    def note(one):
        with open(tmp_path / "calls", "a") as file:
            file.write(f"{one} ")
    loader = DataLoader(Numbers(20), 2, num_workers=2, worker_init_fn=note)
    assert flat(loader) == list(range(20))
    assert sorted((tmp_path / "calls").read_text().split()) == ["0", "1"]


def test_worker_init_fn_gets_the_id_that_info_has(DataLoader):
    ids = []
    dataset = Made(lambda i: tuple(ids), 4)
    loader = DataLoader(dataset, None, num_workers=2, worker_init_fn=lambda one:
                        ids.append((one, get_worker_info().id)))
    assert set(map(repr, loader)) <= {"[[0, 0]]", "[[1, 1]]"}
    assert ids == []


def test_worker_init_fn_may_change_the_dataset(DataLoader):
    dataset = Numbers(4)

    def double(one):
        get_worker_info().dataset.factor = 2
    loader = DataLoader(dataset, 4, num_workers=1, worker_init_fn=double)
    assert flat(loader) == [0, 2, 4, 6] and dataset.factor == 1


def test_worker_init_fn_may_shard_an_iterable(DataLoader):
    class Range(torch.utils.data.IterableDataset):
        numbers = range(10)

        def __iter__(self):
            return iter(self.numbers)

    def shard(one):
        info = get_worker_info()
        info.dataset.numbers = range(10)[info.id::info.num_workers]
    loader = DataLoader(Range(), 5, num_workers=2, worker_init_fn=shard)
    assert sorted(flat(loader)) == list(range(10))


def test_an_error_of_worker_init_fn_reaches_the_trainer(DataLoader):
    def broken(one):
        raise OSError("no scratch disk")
    loader = DataLoader(Numbers(4), 2, num_workers=1, worker_init_fn=broken)
    with pytest.raises(OSError, match="no scratch disk"):
        list(loader)


def test_without_workers_worker_init_fn_is_not_called(DataLoader):
    called = []
    loader = DataLoader(Numbers(2), 2, num_workers=0, worker_init_fn=called.append)
    assert flat(loader) == [0, 1] and called == []


def test_each_epoch_begins_with_a_fresh_copy(DataLoader):
    loader = DataLoader(Counting(3), 1, num_workers=1)
    assert [flat(loader), flat(loader)] == [[1, 2, 3], [1, 2, 3]]


def test_other_workers_are_new_ones_in_each_epoch(DataLoader):
    loader = DataLoader(Made(worker_info, 4), None, num_workers=1)
    epochs = [{process for *_, process in loader} for _ in range(2)]
    assert not epochs[0] & epochs[1]


def test_a_worker_sees_the_trainers_environment(DataLoader, monkeypatch, tmp_path):
    monkeypatch.setenv("CONFORMANCE_WORD", "here")
    monkeypatch.chdir(tmp_path)
    dataset = Made(lambda i: (os.environ.get("CONFORMANCE_WORD"), os.getcwd()), 1)
    assert list(DataLoader(dataset, None, collate_fn=tuple, num_workers=1)) == [
        ("here", str(tmp_path))]


def test_a_worker_uses_one_thread_of_torchs(DataLoader):
    dataset = Made(lambda i: torch.get_num_threads(), 1)
    assert list(DataLoader(dataset, None, num_workers=1)) == [1]


def test_a_loader_within_a_worker(DataLoader):
    dataset = Made(lambda i: flat(DataLoader(Numbers(i + 1), 2, num_workers=0)), 3)
    assert list(DataLoader(dataset, None, num_workers=1)) == [[0], [0, 1], [0, 1, 2]]
