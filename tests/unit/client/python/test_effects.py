"""Arguments without an effect on a kind of dataset are refused, or give a warning."""

import inspect
import pathlib
import warnings

import numpy
import pytest

import forebay
from forebay import _effects

WITHOUT_EFFECT = {
    "fields": ("txt",), "transform": forebay.transforms.Resize(8), "ragged": "pad",
    "padding_value": 3, "order": "coordinated", "shuffle": "block",
    "bucket_by": "length", "max_tokens": 100, "max_seconds": 1.0,
    "on_error": "substitute"}


class Iterated:
    """A dataset that can only be iterated."""

    def __iter__(self):
        return iter(range(3))


class Numbers:
    """A dataset of the user's code."""

    def __len__(self):
        return 3

    def __getitem__(self, number):
        return number


@pytest.fixture
def untold(monkeypatch):
    """Forgets which warnings were given before."""
    monkeypatch.setattr(_effects, "_told", set())


def of_own_code():
    return [[1, 2, 3], (1, 2, 3), {0: "a", 1: "b"}, range(3), numpy.arange(3),
            Numbers(), Iterated()]


@pytest.mark.parametrize("argument", WITHOUT_EFFECT)
@pytest.mark.parametrize("dataset", of_own_code(),
                         ids=lambda dataset: type(dataset).__name__)
def test_what_would_give_other_data_is_refused(dataset, argument):
    with pytest.raises(forebay.Unsupported, match=argument):
        forebay.DataLoader(dataset, **{argument: WITHOUT_EFFECT[argument]})


@pytest.mark.parametrize("argument, value", [
    ("extra_roots", ["/data"]), ("prefetch_factor", 4), ("in_order", False),
    ("pin_memory_device", "cuda")])
@pytest.mark.parametrize("dataset", of_own_code(),
                         ids=lambda dataset: type(dataset).__name__)
def test_what_changes_no_data_is_warned_of_once(untold, dataset, argument, value):
    with pytest.warns(UserWarning, match=f"without effect.*{argument}") as told:
        forebay.DataLoader(dataset, **{argument: value}).close()
    assert len(told) == 1 and told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forebay.DataLoader(dataset, **{argument: value}).close()


@pytest.mark.parametrize("argument, value", [
    ("worker_init_fn", print), ("multiprocessing_context", "spawn"), ("depth", 4),
    ("weight", 2.0), ("name", "train"), ("sharing", "lockstep")])
def test_code_that_runs_in_the_trainer_has_no_workers(untold, argument, value):
    with pytest.warns(UserWarning, match=f"without effect.*{argument}"):
        forebay.DataLoader(Numbers(), num_workers=0, **{argument: value}).close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forebay.DataLoader(Numbers(), num_workers=2, **{argument: value}).close()


def test_what_is_iterated_is_not_shared(untold):
    with pytest.warns(UserWarning, match="without effect.*sharing"):
        forebay.DataLoader(Iterated(), sharing="lockstep").close()


def test_arguments_with_their_defaults_are_not_warned_of(untold):
    given = {name: parameter.default for name, parameter in
             inspect.signature(forebay.DataLoader).parameters.items()
             if name != "dataset"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for dataset in of_own_code():
            forebay.DataLoader(dataset, **given).close()
            forebay.DataLoader(dataset, extra_roots=[], num_workers=0).close()


def test_the_table_has_all_arguments():
    parameters = inspect.signature(forebay.DataLoader).parameters
    assert sorted(_effects.TABLE) == sorted(parameters)
    for name, row in _effects.TABLE.items():
        assert bool(row.why) == bool(row.without), name


@pytest.mark.parametrize("paths, one", [
    (["0.tar", "1.tar"], "{0.tar,1.tar}"),
    (("/data/a.tar.gz", "/data/b.tar.gz"), "/data/{a.tar.gz,b.tar.gz}"),
    ([pathlib.Path("/data/x/a.tfrecord"), pathlib.Path("/data/y/b.tfrecord")],
     "/data/{x/a.tfrecord,y/b.tfrecord}"),
    (["gs://bucket/a.npy"], "gs://bucket/a.npy"),
    ([f"{number}.mds" for number in range(9)], "{0.mds,1.mds,2.mds,...}"),
    (["a.tar", "b,c.tar"], "{00000..00127}.tar")])
def test_a_list_of_files_is_refused_with_the_way_to_name_them(paths, one):
    with pytest.raises(forebay.InvalidArgument) as failure:
        forebay.DataLoader(paths)
    assert f'"{one}"' in str(failure.value) and "collate_fn" in str(failure.value)
    if str(paths[0]).endswith("tar"):
        with pytest.raises(forebay.InvalidArgument, match="braces"):
            forebay.DataLoader(paths, fields=("txt",))


def test_a_list_of_files_is_a_dataset_where_code_takes_them():
    forebay.DataLoader(["0.tar", "1.tar"], collate_fn=list).close()
    forebay.DataLoader(["a text", "0.tar"]).close()
    forebay.DataLoader(["Is this a text?", "{this} is [one], *too*"]).close()
    forebay.DataLoader([]).close()
