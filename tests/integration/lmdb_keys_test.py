"""Entries of LMDB environments that are chosen by a list of their keys."""

import pickle

import numpy
import pytest

import forebay
from lmdb_files import contents, entries_of, noise, open_entries, write

pytestmark = pytest.mark.usefixtures("shared_daemon")


def by_keys(path, keys, fields="bytes", **arguments):
    return forebay.lmdb(path, fields=fields, keys=keys, **arguments)


def test_entries_come_in_the_order_of_the_list(tmp_path):
    entries = noise(500)
    write(tmp_path / "env", entries)
    keys = list(entries)
    numpy.random.RandomState(3).shuffle(keys)
    keys = [*keys[:200], keys[7], keys[7]]
    with open_entries(by_keys(tmp_path / "env", keys)) as loader:
        assert len(loader.dataset) == 202
        values, ids = contents(loader)
    assert values == [entries[key] for key in keys] and ids == list(range(202))
    with open_entries(by_keys(tmp_path / "env", keys), shuffle=True) as loader:
        values, ids = contents(loader)
    assert values == [entries[keys[number]] for number in ids]
    assert sorted(ids) == list(range(202))


def test_keys_of_several_environments(tmp_path):
    for part in range(3):
        write(tmp_path / f"part-{part}", {b"%d-%d" % (part, i): b"%d" % (part * 10 + i)
                                          for i in range(part * 4)})
    keys = ["2-7", "1-0", b"2-0"]
    dataset = by_keys(tmp_path / "part-*", keys, {"key": "text", "value": "int64"})
    with open_entries(dataset) as loader:
        batch, = loader
    assert batch.key == ["2-7", "1-0", "2-0"] and batch.value.tolist() == [27, 10, 20]


def test_keys_of_a_named_database_and_of_any_bytes(tmp_path):
    write(tmp_path / "env", {b"\0\xff": b"1", "\u00fc".encode(): b"2"},
          database=b"train")
    dataset = by_keys(tmp_path / "env", ["\u00fc", b"\0\xff"], database="train")
    for one in (dataset, pickle.loads(pickle.dumps(dataset))):
        with open_entries(one) as loader:
            assert contents(loader)[0] == [b"2", b"1"]
    assert repr(dataset).endswith("database=b'train', keys=<2>)")


def test_an_epoch_goes_on_where_it_was_left(tmp_path):
    entries = noise(60)
    write(tmp_path / "env", entries)
    dataset = by_keys(tmp_path / "env", list(entries)[::-2])
    with open_entries(dataset, shuffle=True, seed=5) as loader:
        values, ids = contents(loader)
        loader.set_epoch(0)
        batches = iter(loader)
        next(batches)
        state = loader.state_dict()
    with open_entries(dataset, shuffle=True, seed=5) as loader:
        loader.load_state_dict(state)
        assert contents(loader) == (values[4:], ids[4:])


def test_single_entries(tmp_path):
    write(tmp_path / "env", noise(40))
    expected = dict(entries_of(tmp_path / "env"))
    keys = [b"00000031", b"00000002"]
    dataset = forebay.Dataset(by_keys(tmp_path / "env", keys), autostart=False)
    assert [bytes(dataset[i][0]) for i in range(2)] == [expected[key] for key in keys]


@pytest.mark.parametrize("keys, error, says", [
    (["k", "x\n"], forebay.NotFound, "no entry has the key x\\n"),
    (["both"], forebay.InvalidArgument,
     "several entries have the key both, which is listed")])
def test_keys_that_are_none_are_named(tmp_path, keys, error, says):
    write(tmp_path / "a", {b"k": b"v", b"both": b"1"})
    write(tmp_path / "b", {b"both": b"2"})
    with pytest.raises(error) as caught:
        open_entries(by_keys(tmp_path / "[ab]", keys)).close()
    assert str(caught.value) == f"{tmp_path}: {says}"


@pytest.mark.parametrize("keys, says", [
    ([], "keys must name at least one entry"),
    ("k", "keys must be a sequence of keys, not 'k'"),
    (7, "keys must be a sequence of keys, not 7"),
    ([b"k", 7], "keys must be str or bytes, not 7")])
def test_arguments_that_are_wrong(tmp_path, keys, says):
    with pytest.raises(forebay.InvalidArgument) as caught:
        forebay.lmdb(tmp_path, keys=keys)
    assert str(caught.value) == says
