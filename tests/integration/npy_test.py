"""Datasets of .npy files, from the files to a trainer's batches. A trainer gets what
numpy.load reads."""

import os

import numpy
import pytest
import torch

import forebay
from forebay import _source
from listed_test import batches, open_listed
from trouble import ctl, memory_used

TYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
         "uint64", "float16", "float32", "float64")
SHAPES = ((), (3,), (4, 1), (2, 3, 4), (1, 2, 1, 3, 2))  # shapes of a row
CHANCE = numpy.random.RandomState(3)


def numbers(count, shape=(3,), dtype="float32"):
    return CHANCE.randint(0, 2 if dtype == "bool" else 100,
                          (count, *shape)).astype(dtype)


def open_rows(dataset, **arguments):
    return forebay.DataLoader(dataset, **{
        "batch_size": 4, "framework": "numpy", "autostart": False, **arguments})


def contents(loader):
    """Returns the rows and the sample numbers of an epoch, in the same order."""
    found = [(batch.array.copy(), batch.sample_ids.copy()) for batch in loader]
    assert all(type(rows) is numpy.ndarray for rows, _ in found)
    return (numpy.concatenate([rows for rows, _ in found]),
            numpy.concatenate([ids for _, ids in found]).tolist())


def same(one, other):
    return (one.dtype == other.dtype and one.shape == other.shape and
            one.tobytes() == other.tobytes())


@pytest.fixture
def folder(tmp_path):
    """Four files, one of which has no rows. A test may change them."""
    place = tmp_path / "rows"
    place.mkdir()
    for number, count in enumerate((7, 0, 1, 20)):
        numpy.save(place / f"part-{number:02}.npy", numbers(count))
    return place


def whole(folder):
    return numpy.concatenate([numpy.load(path)
                              for path in sorted(folder.glob("*.npy"))])


@pytest.mark.parametrize("dtype", TYPES)
def test_rows_are_those_of_numpy(shared_daemon, tmp_path, dtype):
    for number, shape in enumerate(SHAPES):
        path = tmp_path / f"{number}.npy"
        numpy.save(path, numbers(10, shape, dtype))
        with open_rows(path) as loader:
            assert len(loader.dataset) == 10 and loader.dataset.classes == []
            assert loader.dataset.uri == str(path)
            rows, ids = contents(loader)
        assert same(rows, numpy.load(path)) and ids == list(range(10))


def test_every_version_of_the_format(shared_daemon, tmp_path):
    array = numbers(5)
    for version in (1, 2, 3):
        path = tmp_path / f"{version}.npy"
        with open(path, "wb") as file:
            numpy.lib.format.write_array(file, array, version=(version, 0))
        with open_rows(path) as loader:
            assert same(contents(loader)[0], array)


def test_a_memory_map_that_numpy_wrote(shared_daemon, tmp_path):
    path = tmp_path / "map.npy"
    written = numpy.lib.format.open_memmap(path, "w+", "<i4", (6, 2))
    written[:] = numpy.arange(12).reshape(6, 2)
    written.flush()
    with open_rows(path) as loader:
        assert same(contents(loader)[0], numpy.load(path))


@pytest.mark.parametrize("pattern", [
    "part-*.npy", "part-{00..03}.npy", "part-0[0-3].npy",
    "{part-00.npy,part-01.npy,part-0{2,3}.npy}"])
def test_files_are_one_dataset(shared_daemon, folder, pattern):
    with open_rows(folder / pattern) as loader:
        assert len(loader.dataset) == 28 and len(loader) == 7
        assert loader.dataset.uri == str(folder / pattern)
        rows, ids = contents(loader)
    assert same(rows, whole(folder)) and ids == list(range(28))


def test_files_come_in_the_order_that_is_asked_for(shared_daemon, folder):
    with open_rows(folder / "part-{03,00,03}.npy") as loader:
        rows, _ = contents(loader)
    parts = [numpy.load(folder / f"part-{number}.npy")
             for number in ("03", "00", "03")]
    assert same(rows, numpy.concatenate(parts))


def test_torch_gets_tensors(shared_daemon, folder):
    with open_rows(folder / "*.npy", framework="torch") as loader:
        rows = torch.cat([batch.array.clone() for batch in loader])
        (array,), ids = next(iter(loader)), next(iter(loader)).sample_ids
    assert rows.dtype == torch.float32
    assert torch.equal(rows, torch.from_numpy(whole(folder)))
    assert len(array) == len(ids) == 4


@pytest.mark.parametrize("options", [
    {"shuffle": True}, {"shuffle": "block"},
    {"shuffle": True, "order": "coordinated"}])
def test_each_row_comes_once_in_any_order(shared_daemon, folder, options):
    expected = whole(folder)
    with open_rows(folder / "*.npy", seed=2, **options) as loader:
        orders = []
        for _ in range(2):
            rows, ids = contents(loader)
            assert same(rows, expected[ids])
            assert sorted(ids) == list(range(28))
            orders.append(ids)
    assert orders[0] != orders[1]


def test_ranks_share_the_rows(shared_daemon, folder):
    seen = []
    for rank in range(3):
        with open_rows(folder / "*.npy", shuffle=True, rank=rank, world_size=3,
                       pad="none") as loader:
            seen += contents(loader)[1]
    assert sorted(seen) == list(range(28))


def test_an_epoch_goes_on_where_it_was_left(daemon, folder):
    with open_rows(folder / "*.npy", shuffle=True, seed=5) as loader:
        rows, ids = contents(loader)
        loader.set_epoch(0)
        batches = iter(loader)
        contents([next(batches), next(batches)])
        state = loader.state_dict()
        daemon.stop()
        daemon.start()
        rest = contents(batches)
        assert same(rest[0], rows[8:]) and rest[1] == ids[8:]
    with open_rows(folder / "*.npy", shuffle=True, seed=5,
                   batch_size=3) as loader:
        loader.load_state_dict(state)
        rest = contents(loader)
    assert same(rest[0], rows[8:]) and rest[1] == ids[8:]


def test_two_jobs_read_each_row_once(daemon, tmp_path, monkeypatch):
    array = numbers(4096, (64,))
    numpy.save(tmp_path / "train.npy", array)

    def read_from_disk():
        return int(ctl(daemon, "cache")["total"]["source"]["bytes"])

    before = read_from_disk()
    for seed in (1, 2):
        monkeypatch.setenv("FOREBAY_JOB", f"job {seed}")
        with open_rows(tmp_path / "train.npy", batch_size=256, shuffle=True,
                       seed=seed) as loader:
            rows, ids = contents(loader)
        assert same(rows, array[ids])
        if seed == 1:
            assert read_from_disk() - before >= array.nbytes
            before = read_from_disk()
    assert read_from_disk() == before


@pytest.mark.parametrize("shuffle", [False, True, "block"])
def test_the_number_of_rows_costs_no_memory(daemon, tmp_path, shuffle):
    """A sparse file of 2^40 rows."""
    taken = []
    for count in (100, 1 << 40):
        path = tmp_path / "a.npy"
        header = (b"{'descr': '|u1', 'fortran_order': False, 'shape': (%d,), }"
                  % count)
        start = b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header
        path.write_bytes(start)
        try:
            os.truncate(path, len(start) + count)
        except OSError:
            pytest.skip("the file system has no such files")
        with open_rows(path, shuffle=shuffle) as loader:
            batches = iter(loader)
            rows, ids = contents([next(batches)])
            assert rows.tolist() == [0] * 4 and max(ids) < count
            taken.append(memory_used(daemon))
            assert len(loader.dataset) == count
    assert abs(taken[1] - taken[0]) < 1 << 16


def test_single_rows(shared_daemon, folder):
    dataset = forebay.Dataset(folder / "*.npy", autostart=False)
    expected = whole(folder)
    assert len(dataset) == 28 and dataset.classes == []
    for number in (0, 6, 7, 8, 27, -1):
        row, = dataset[number]
        assert same(row, expected[number])
    assert all(same(row, expected[number]) for (row,), number in zip(
        dataset.__getitems__([27, 3, 3]), [27, 3, 3]))
    loader = torch.utils.data.DataLoader(dataset, batch_size=5, num_workers=1)
    rows = torch.cat([row for row, in loader])
    assert torch.equal(rows, torch.from_numpy(expected))


def test_single_numbers(shared_daemon, tmp_path):
    array = numbers(9, (), "int64")
    numpy.save(tmp_path / "a.npy", array)
    dataset = forebay.Dataset(tmp_path / "a.npy", autostart=False)
    assert all(same(numpy.asarray(dataset[number][0]), array[number])
               for number in range(9))
    rows, = torch.utils.data.DataLoader(dataset, batch_size=9)
    assert torch.equal(rows[0], torch.from_numpy(array))


def read(source):
    connection = open_listed(source, batch_size=7)
    return numpy.concatenate(
        [batch.array for batch in batches(connection,
                                          range(connection.dataset_size))])


def test_parts_of_rows_and_rows_with_others(daemon, folder):
    files = _source.Rows(folder / "*.npy")
    expected = whole(folder)
    indices = numpy.array([27, 0, 7, 7])
    memory = numbers(5)
    assert same(read(_source.Subset(files, indices)), expected[indices])
    assert same(read(_source.Concat((
        _source.Arrays((("array", "array", memory),)), files,
        _source.Rows(folder / "part-00.npy")))),
        numpy.concatenate([memory, expected, expected[:7]]))
    other = folder.parent / "other.npy"
    numpy.save(other, numbers(3, (4,)))
    with pytest.raises(forebay.InvalidArgument, match="fields"):
        read(_source.Concat((files, _source.Rows(other))))


def test_a_folder_may_have_such_a_name(shared_daemon, tmp_path):
    (tmp_path / "odd.npy").mkdir()
    with pytest.raises(forebay.NotFound, match="found no class folder"):
        open_rows(tmp_path / "odd.npy")
