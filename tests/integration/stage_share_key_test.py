"""Keys by which the user says which loaders are equal."""

import threading

import pytest
import torch

import forebay
from forebay._stage import share_key
from keyed_jobs import (CHECKED, checks_at_iter_alone,  # noqa: F401
                        first_loader)
from stage_sharing_test import (SAMPLES, Counted, collated, interleaved, loaders_of,
                                made)
from stage_test import leaves_nothing, reachable  # noqa: F401
from trouble import ctl


def locked(path, scale=1.0):
    """Returns a dataset that cannot be pickled."""
    dataset = Counted(path, scale)
    dataset.lock = threading.Lock()
    return dataset


@pytest.mark.parametrize("arguments", [{}, {"collate_fn": collated}])
def test_a_key_says_what_is_equal(tmp_path, arguments):
    path = tmp_path / "made"
    loaders = [first_loader(dataset, 8, shuffle=True, seed=3, num_workers=2,
                            share_key="mine", **arguments)
               for dataset in (locked(path), locked(path))]
    for _ in range(2):
        found = interleaved(loaders)
        assert found[0] == found[1]
    assert made(path) == 2 * (SAMPLES + (8 if arguments else 2 + CHECKED))
    for loader in loaders:
        loader.close()


def test_loaders_of_one_process_share_nothing(tmp_path):
    path = tmp_path / "made"
    loaders = [forebay.DataLoader(Counted(path, scale), 8, num_workers=1,
                                  share_key="both") for scale in (1.0, 2.0)]
    found = interleaved(loaders)
    assert [batches[0][0][1][0] for batches in found] == [1.0, 2.0]
    assert made(path) == 2 * (SAMPLES + 1)
    for loader in loaders:
        loader.close()


def test_the_environment_gives_a_key(tmp_path, monkeypatch):
    monkeypatch.setenv("FOREBAY_SHARE_KEY", "sweep")
    path = tmp_path / "made"
    training, validation = Counted(path), Counted(path, 2.0)
    first, other = loaders_of(training, 2, share_key=None)
    second = forebay.DataLoader(validation, 8, shuffle=True, seed=3, num_workers=2)
    found = interleaved([first, other, second])
    assert found[0] == found[1] != found[2]
    assert made(path) == 2 * SAMPLES + 3 + CHECKED
    for loader in (first, other, second):
        loader.close()


@pytest.fixture
def ignored_key(monkeypatch):
    """A key that the environment sets."""
    monkeypatch.setenv("FOREBAY_SHARE_KEY", "sweep")
    monkeypatch.setattr(share_key, "_told", set())


@pytest.mark.parametrize("arguments, why", [
    ({"num_workers": 0}, "num_workers=0 makes the samples in this process"),
    ({"sharing": "off"}, 'sharing="off" shares nothing')])
def test_the_environments_key_is_ignored_where_nothing_is_shared(
        tmp_path, ignored_key, caplog, arguments, why):
    path = tmp_path / "made"
    loaders = loaders_of(Counted(path), 2, share_key=None, **arguments)
    found = interleaved(loaders)
    assert found[0] == found[1] and made(path) >= 2 * SAMPLES
    text = f"Counted: $FOREBAY_SHARE_KEY is without effect: {why}"
    assert [record.getMessage() for record in caplog.records] == [text]
    for loader in loaders:
        # Each loader has nothing that it could share.
        assert loader.stats()["lacks_share_key"] == 0
        loader.close()


def test_the_environments_key_is_none_of_an_iterable(shared_daemon, ignored_key,
                                                     caplog):
    class Numbers(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(range(4))

    with forebay.DataLoader(Numbers(), num_workers=1) as loader:
        iterator = iter(loader)
        assert next(iterator).tolist() == [0]
        shown, = [one for job in ctl(shared_daemon, "jobs")["jobs"]
                  for one in job["loaders"]]
        assert shown["sharing"]["iterated_alone"] is True
        assert [batch.tolist() for batch in iterator] == [[1], [2], [3]]
        assert loader.stats()["lacks_share_key"] == 1
    assert caplog.text.count("is without effect: equal jobs share what is iterated by "
                             "forebay.share") == 1


def test_stats_say_whether_a_job_could_share(tmp_path):
    for key, lacks in ((None, 1), ("mine", 0)):
        with first_loader(Counted(tmp_path / "made"), 8, num_workers=1,
                          share_key=key) as loader:
            assert loader.stats()["lacks_share_key"] == lacks
            list(loader)
            assert loader.stats()["lacks_share_key"] == lacks


class Key:
    """A key of a sampler that cannot be compared with others."""

    def __init__(self, number):
        self.number = number

    def __int__(self):
        return self.number


@pytest.mark.parametrize("kind, shares", [
    (str, True), (lambda number: (number, "a"), True), (Key, False)])
def test_keys_of_samples_that_are_objects_share_if_plain(tmp_path, kind, shares):
    path = tmp_path / "made"

    class Keyed(Counted):
        def __getitem__(self, key):
            return super().__getitem__(int(key[0] if isinstance(key, tuple) else key))

    loaders = [loaders_of(Keyed(path), 1, shuffle=None, collate_fn=collated,
                          sampler=[kind(number) for number in range(40)])[0]
               for _ in range(2)]
    interleaved(loaders)
    assert made(path) == 40 + (8 if shares else 40)
    for loader in loaders:
        loader.close()


@pytest.mark.parametrize("other", [
    {"seed": 4}, {"batch_size": 4}, {"shuffle": False}, {"share_key": "other"},
    {"share_key": None}, {"rank": 1, "world_size": 2},
    {"collate_fn": collated, "framework": "numpy"}])
def test_with_a_key_others_share_nothing(tmp_path, other):
    path = tmp_path / "made"
    common = {"share_key": "key"}
    if "collate_fn" in other:
        common["collate_fn"] = collated
    loaders = (loaders_of(Counted(path), 1, **common) +
               loaders_of(Counted(path), 1, **{**common, **other}))
    total = sum(sum(len(batch[1]) for batch in loader) for loader in loaders)
    assert made(path) in (total, total + 1, total + 2)
    for loader in loaders:
        loader.close()


def test_samples_alone_are_no_batches_of_one(tmp_path):
    path = tmp_path / "made"
    alone, batched = (loaders_of(Counted(path), 1, batch_size=size,
                                 collate_fn=as_it_is)[0] for size in (None, 1))
    assert isinstance(next(iter(alone)), tuple)
    iterator = iter(alone)
    assert all(isinstance(sample, tuple) for sample in iterator)
    assert all(isinstance(samples, list) for samples in batched)
    pair = [iter(alone), iter(batched)]
    for _ in range(SAMPLES):
        assert isinstance(next(pair[0]), tuple)
        assert isinstance(next(pair[1]), list)
    alone.close()
    batched.close()


def as_it_is(samples):
    return samples


@pytest.mark.parametrize("arguments, text", [
    ({"share_key": ""}, "must be a text"), ({"share_key": 3}, "must be a text"),
    ({"share_key": "a", "sharing": "off"}, "give one of them"),
    ({"share_key": "a", "num_workers": 0}, "makes them here")])
def test_keys_that_make_no_sense(tmp_path, arguments, text):
    with pytest.raises(forebay.errors.InvalidArgument, match=text):
        loaders_of(Counted(tmp_path / "made"), 1, **arguments)


def test_an_iterable_takes_no_key():
    class Numbers(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(range(4))

    with pytest.raises(forebay.errors.InvalidArgument, match="forebay.share"):
        forebay.DataLoader(Numbers(), share_key="a")


@pytest.mark.parametrize("lists", [
    (list(range(40)), list(range(40))), (list(range(40)), list(range(39, -1, -1)))])
def test_lists_of_samples_count_beside_the_key(tmp_path, lists):
    path = tmp_path / "made"
    loaders = [loaders_of(locked(path), 1, shuffle=None, sampler=keys,
                          share_key="mine")[0] for keys in lists]
    found = interleaved(loaders)
    assert [[number for batch in batches for number in batch[1]]
            for batches in found] == list(lists)
    assert made(path) == 2 + (40 + CHECKED if lists[0] == lists[1] else 80)
    for loader in loaders:
        loader.close()


class Drawn(torch.utils.data.Dataset):
    """Samples that are random numbers."""

    def __init__(self, samples):
        self.samples = samples

    def __len__(self):
        return self.samples

    def __getitem__(self, number):
        return number, torch.rand(3)


@pytest.mark.parametrize("arguments", [{}, {"collate_fn": collated}])
@pytest.mark.parametrize("shuffle", [True, False])
def test_samples_that_pad_a_rank_are_shared(arguments, shuffle):
    loaders = loaders_of(Drawn(5), 2, batch_size=1, shuffle=shuffle, rank=1,
                         world_size=2, **arguments)
    with loaders[0], loaders[1]:
        found = interleaved(loaders)
        assert found[0] == found[1] and len(found[0]) == 3
