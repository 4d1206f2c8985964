"""NumPy's .npz files, by rows and by files. A trainer gets what numpy.load reads."""

import io
import os
import zipfile

import numpy
import pytest

import forebay
from memory_limit_test import LIMIT, Watch, limited
from npy_test import CHANCE, SHAPES, TYPES, numbers, same
from trouble import ctl, memory_used, refusing, run_until_error

SAVE = {"stored": numpy.savez, "deflated": numpy.savez_compressed}
save = pytest.mark.parametrize("how", SAVE)


def open_npz(dataset, **arguments):
    return forebay.DataLoader(dataset, **{
        "batch_size": 4, "framework": "numpy", "autostart": False, **arguments})


def contents(loader):
    """Returns the values of each field, by name, and the sample numbers."""
    values, ids = {}, []
    for batch in loader:
        for name in batch._fields:
            values.setdefault(name, []).extend(
                value.copy() for value in getattr(batch, name))
        ids += batch.sample_ids.tolist()
    return values, ids


def all_same(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        assert same(numpy.asarray(one), numpy.asarray(other))


def mnist(path, how):
    """Writes arrays with the names and shapes of MNIST's, as Keras stores them."""
    arrays = {"x_train": numbers(30, (5, 4), "uint8"),
              "y_train": numbers(30, (), "uint8"),
              "x_test": numbers(7, (5, 4), "uint8"), "y_test": numbers(7, (), "uint8")}
    SAVE[how](path, **arrays)
    return arrays


@save
def test_rows_of_named_arrays(shared_daemon, tmp_path, how):
    arrays = mnist(tmp_path / "mnist.npz", how)
    for part, count in (("train", 30), ("test", 7)):
        names = (f"x_{part}", f"y_{part}")
        with open_npz(tmp_path / "mnist.npz", fields=names) as loader:
            assert len(loader.dataset) == count
            values, ids = contents(loader)
        assert list(values) == list(names) and ids == list(range(count))
        for name in names:
            all_same(values[name], arrays[name])
    with pytest.raises(forebay.InvalidArgument, match="x_train has 30, y_train has "
                       "30, x_test has 7.*fields="):
        open_npz(tmp_path / "mnist.npz")


@save
def test_rows_of_every_type(shared_daemon, tmp_path, how):
    for number, dtype in enumerate(TYPES):
        arrays = {f"a{rank}": numbers(6, shape, dtype)
                  for rank, shape in enumerate(SHAPES)}
        path = tmp_path / f"{number}.npz"
        SAVE[how](path, **arrays)
        with open_npz(path) as loader:
            values, _ = contents(loader)
        for name, array in arrays.items():
            all_same(values[name], array)


@save
def test_rows_of_several_files_in_any_order(shared_daemon, tmp_path, how):
    parts = [{"x": numbers(count, (3,)), "y": numbers(count, (), "int64")}
             for count in (5, 0, 9)]
    for number, part in enumerate(parts):
        SAVE[how](tmp_path / f"part-{number}.npz", **part)
    with open_npz(tmp_path / "part-*.npz", shuffle=True, seed=3) as loader:
        values, ids = contents(loader)
    assert sorted(ids) == list(range(14))
    for name in ("x", "y"):
        whole = numpy.concatenate([part[name] for part in parts])
        all_same(values[name], whole[ids])


def test_rows_are_in_memory_once(daemon, tmp_path, monkeypatch):
    array = numbers(4096, (256,))
    numpy.savez_compressed(tmp_path / "a.npz", x=array)
    used = []
    loaders = []
    before = memory_used(daemon)
    for job in range(3):
        monkeypatch.setenv("FOREBAY_JOB", f"job {job}")
        loaders.append(open_npz(tmp_path / "a.npz", batch_size=1))
        used.append(memory_used(daemon) - before)
    # Each loader also needs memory of its own.
    assert used[0] >= array.nbytes
    assert used[2] - used[0] < 2 * (used[1] - used[0]) + array.nbytes // 2
    for loader in loaders:
        assert len(loader.dataset) == 4096
        loader.close()


def test_rows_go_on_where_they_were_left(daemon, tmp_path):
    mnist(tmp_path / "mnist.npz", "deflated")
    names = ("x_train", "y_train")
    with open_npz(tmp_path / "mnist.npz", fields=names, shuffle=True) as loader:
        _, ids = contents(loader)
        loader.set_epoch(0)
        batches = iter(loader)
        next(batches)
        state = loader.state_dict()
        daemon.stop()
        daemon.start()
        assert contents(batches)[1] == ids[4:]
    with open_npz(tmp_path / "mnist.npz", fields=names, shuffle=True) as loader:
        loader.load_state_dict(state)
        assert contents(loader)[1] == ids[4:]


def test_rows_that_change_are_read_by_later_loaders(shared_daemon, tmp_path):
    path = tmp_path / "a.npz"
    before, after = numbers(20), numbers(30)
    numpy.savez(path, x=before)
    with open_npz(path) as loader:
        numpy.savez(path, x=after)
        all_same(contents(loader)[0]["x"], before)
        with open_npz(path) as later:
            all_same(contents(later)[0]["x"], after)


def samples(folder, how, count=9, lengths=(3,)):
    folder.mkdir()
    for number in range(count):
        SAVE[how](folder / f"{number}.npz",
                  image=numbers(4, (5,), "uint8"),
                  series=numbers(lengths[number % len(lengths)], (2,)),
                  label=numpy.int64(number), name=numpy.array("text"))
    return [dict(numpy.load(folder / f"{number}.npz")) for number in range(count)]


@save
def test_each_file_of_a_folder_is_a_sample(shared_daemon, tmp_path, how):
    expected = samples(tmp_path / "f", how)
    for dataset in (tmp_path / "f", forebay.npz(tmp_path / "f"),
                    forebay.npz(tmp_path / "f" / "*.npz", rows=False)):
        with open_npz(dataset, shuffle=True, seed=1) as loader:
            assert len(loader.dataset) == 9
            values, ids = contents(loader)
        assert sorted(ids) == list(range(9))
        assert sorted(values) == ["image", "label", "series"]
        for name, found in values.items():
            all_same(found, [expected[number][name] for number in ids])


@save
def test_files_differ_in_length(shared_daemon, tmp_path, how):
    expected = samples(tmp_path / "f", how, lengths=(3, 1, 100, 7))
    dataset = forebay.npz(tmp_path / "f", fields=("series", "label"))
    with open_npz(dataset) as loader:
        values, _ = contents(loader)
    assert list(values) == ["series", "label"]
    all_same(values["series"], [sample["series"] for sample in expected])


@save
def test_long_zeros_fit_into_a_batch(shared_daemon, tmp_path, how):
    """Compressed, the arrays have a thousandth of their size."""
    (tmp_path / "f").mkdir()
    for number, length in enumerate((100000, 200000, 150000, 1)):
        SAVE[how](tmp_path / "f" / f"{number}.npz", a=numpy.zeros(length, "int16"))
    with open_npz(tmp_path / "f") as loader:
        values, _ = contents(loader)
    assert [len(value) for value in values["a"]] == [100000, 200000, 150000, 1]


def test_files_index_is_kept(daemon, tmp_path):
    expected = samples(tmp_path / "f", "deflated")
    with open_npz(tmp_path / "f") as loader:
        _, ids = contents(loader)
        state = loader.state_dict()
    daemon.stop()
    daemon.start()
    with open_npz(tmp_path / "f") as loader:
        loader.load_state_dict(state)
        loader.set_epoch(0)
        values, later = contents(loader)
    assert later == ids
    all_same(values["series"], [sample["series"] for sample in expected])


def test_two_jobs_read_each_file_once(daemon, tmp_path, monkeypatch):
    (tmp_path / "f").mkdir()
    for number in range(100):
        numpy.savez(tmp_path / "f" / f"{number}.npz", a=numbers(50, (50,)))

    def read_from_disk():
        return int(ctl(daemon, "cache")["total"]["source"]["bytes"])

    read = []
    for seed in (1, 2):
        monkeypatch.setenv("FOREBAY_JOB", f"job {seed}")
        before = read_from_disk()
        with open_npz(tmp_path / "f", batch_size=25, shuffle=True,
                      seed=seed) as loader:
            assert sorted(contents(loader)[1]) == list(range(100))
        read.append(read_from_disk() - before)
    assert read[0] >= 100 * 50 * 50 * 4 and read[1] == 0


refusal = refusing(open_npz)


def test_what_lacks_is_named(shared_daemon, tmp_path):
    samples(tmp_path / "f", "stored", 3)
    numpy.savez(tmp_path / "f" / "3.npz", image=numbers(4, (5,), "uint8"))
    assert "3.npz: there is no array series; there are image" in refusal(
        forebay.InvalidArgument, tmp_path / "f")
    numpy.savez(tmp_path / "empty.npz")
    assert "empty.npz: there are 0 arrays that can be fields" in refusal(
        forebay.InvalidArgument, tmp_path / "empty.npz")
    numpy.savez(tmp_path / "objects.npz", a=numpy.array([{}, None]))
    assert "objects.npz: a: is a .npy file of items of the type" in refusal(
        forebay.Unsupported, tmp_path / "objects.npz", fields=("a",))


@save
def test_damage_is_named(shared_daemon, tmp_path, how):
    samples(tmp_path / "f", how, 5)
    path = tmp_path / "f" / "2.npz"
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        content[archive.getinfo("series.npy").header_offset + 100] ^= 0x55
    path.write_bytes(content)
    text = refusal(forebay.DataError, tmp_path / "f")
    assert "2.npz" in text and "series" in text
    with open_npz(tmp_path / "f", on_error="substitute") as loader:
        assert len(contents(loader)[1]) == 5
    assert "2.npz: series.npy" in refusal(
        forebay.DataError, forebay.npz(path, fields=("series",), rows=True))


def test_files_that_are_cut_off(shared_daemon, tmp_path):
    (tmp_path / "f").mkdir()
    content = io.BytesIO()
    numpy.savez(content, a=numbers(3))
    for number, part in enumerate((content.getvalue()[:-30], b"", b"PK")):
        (tmp_path / "f" / "0.npz").write_bytes(part)
        assert "0.npz: " in refusal(forebay.DataError, tmp_path / "f"), number


def test_a_bomb_is_refused(shared_daemon, tmp_path):
    """The archive's directory says that a member decompresses to 1,000 times its
    bytes."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", os.urandom(2 << 20))
        archive.filelist[0].file_size = (1 << 30) + 1
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "0.npz").write_bytes(content.getvalue())
    assert "0.npz: has deflated arrays of more than 1073741824 bytes" in refusal(
        forebay.Unsupported, forebay.npz(tmp_path / "f", fields=("a",)))


def test_what_is_inflated_is_counted(tmp_path):
    """Even the first sample is counted, which is decompressed to learn the type."""
    (tmp_path / "f").mkdir()
    numpy.savez_compressed(tmp_path / "f" / "0.npz", x=numpy.zeros(100 << 20, "u1"))
    with limited(tmp_path) as daemon, Watch(daemon) as watch:
        assert "decompressing the first sample" in refusal(
            forebay.ResourceExhausted,
            forebay.npz(tmp_path / "f", fields=("x",), rows=False))
        assert watch.largest <= LIMIT


def test_no_rows_of_any_length(shared_daemon, tmp_path):
    """The four arrays have no rows. A row of all four would have 2**64 bytes."""
    start = b"\x93NUMPY\x01\0\x76\0"
    header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (0, %d), }" % (1 << 62)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        for name in "abcd":
            archive.writestr(f"{name}.npy", start + header.ljust(0x75) + b"\n")
    assert "its shape is too large" in refusal(forebay.InvalidArgument,
                                               tmp_path / "a.npz")


def test_a_file_that_changes_in_mid_epoch_is_an_error(shared_daemon, tmp_path):
    samples(tmp_path / "f", "stored", 1000)
    with open_npz(tmp_path / "f") as loader:
        batches = iter(loader)
        next(batches)
        for number in range(900, 1000):
            numpy.savez(tmp_path / "f" / f"{number}.npz", image=numbers(1))
        text, _ = run_until_error(batches, forebay.StateError)
    assert ".npz" in text


def test_arguments():
    for arguments, says in (({"rows": 1.5}, "rows must be"),
                            ({"fields": "x"}, "fields must be a sequence"),
                            ({"fields": ()}, "fields must name arrays"),
                            ({"fields": (1,)}, "fields must name arrays")):
        with pytest.raises(forebay.InvalidArgument, match=says):
            forebay.npz("/data/a.npz", **arguments)
    assert repr(forebay.npz("/data/a.npz", fields=("x",))) == (
        "npz('/data/a.npz', fields=['x'], rows=True)")


def test_a_large_array_stays_in_its_files(daemon, tmp_path):
    """The large array's rows are read from the file, and those of the other from
    memory."""
    parts = []
    for number in range(2):
        x = CHANCE.randint(0, 256, (1 << 16, 1 << 10)).astype("uint8")
        parts.append({"x": x, "y": numpy.arange(len(x)) + number * len(x)})
        numpy.savez(tmp_path / f"{number}.npz", **parts[-1])
    before = memory_used(daemon)
    with open_npz(tmp_path / "*.npz", batch_size=64, shuffle=True) as loader:
        assert memory_used(daemon) - before < parts[0]["x"].nbytes
        for batch, _ in zip(loader, range(20)):
            assert batch.y.tolist() == batch.sample_ids.tolist()
            for row, number in zip(batch.x, batch.sample_ids):
                part = parts[number >> 16]["x"]
                assert same(row, part[number & 0xffff])
