"""Windows of files of tokens. They are slices of what numpy.memmap reads."""

import os
import pathlib
import shutil

import numpy
import pytest
import torch

import forebay
from forebay import transforms as T
from npy_test import same
from trouble import ctl, memory_used, refusing, run_until_error

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden" / "tokens"
TYPES = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")
CHANCE = numpy.random.RandomState(9)


def ids_of(count, dtype="uint16"):
    return CHANCE.randint(0, 100, count).astype(dtype)


def open_tokens(dataset, **arguments):
    return forebay.DataLoader(dataset, **{
        "batch_size": 4, "framework": "numpy", "autostart": False, **arguments})


def contents(loader, name="tokens"):
    """Returns the windows, and the sample numbers."""
    windows, ids = [], []
    for batch in loader:
        windows += [window.copy() for window in getattr(batch, name)]
        ids += batch.sample_ids.tolist()
    return windows, ids


def windows_of(tokens, length, stride=None, more=0):
    """Returns all whole windows, and the positions at which they begin."""
    stride = stride or length
    return [tokens[at:at + length + more]
            for at in range(0, len(tokens) - length - more + 1, stride)]


def all_same(found, expected):
    assert len(found) == len(expected)
    assert all(map(same, found, expected))


@pytest.fixture
def raw(tmp_path):
    tokens = ids_of(103)
    tokens.tofile(tmp_path / "train.bin")
    return tmp_path / "train.bin", tokens


@pytest.mark.parametrize("dtype", TYPES)
def test_windows_of_every_type(shared_daemon, tmp_path, dtype):
    tokens = ids_of(53, dtype)
    tokens.tofile(tmp_path / "a.bin")
    numpy.save(tmp_path / "a.npy", tokens)
    for dataset in (forebay.tokens(tmp_path / "a.bin", dtype=dtype, length=8),
                    forebay.tokens(tmp_path / "a.npy", length=8)):
        with open_tokens(dataset) as loader:
            assert len(loader.dataset) == 6
            all_same(contents(loader)[0], windows_of(tokens, 8))


@pytest.mark.parametrize("length, stride", [(8, None), (8, 1), (8, 3), (8, 20),
                                            (1, None), (103, None), (102, 1)])
def test_windows_of_any_stride(shared_daemon, raw, length, stride):
    path, tokens = raw
    dataset = forebay.tokens(path, dtype=numpy.uint16, length=length, stride=stride)
    with open_tokens(dataset, shuffle=True, seed=1) as loader:
        windows, ids = contents(loader)
    expected = windows_of(tokens, length, stride)
    assert sorted(ids) == list(range(len(expected)))
    all_same(windows, [expected[number] for number in ids])


def test_targets_are_one_token_further_on(shared_daemon, raw):
    path, tokens = raw
    dataset = forebay.tokens(path, dtype="uint16", length=8, stride=1, targets=True)
    cast = {name: T.ToDtype("int64") for name in ("tokens", "targets")}
    with open_tokens(dataset, framework="torch", shuffle=True, transform=cast,
                     batch_size=95) as loader:
        assert len(loader.dataset) == 103 - 8
        batch = next(iter(loader))
        inputs, targets = batch
    assert inputs.dtype == targets.dtype == torch.int64
    expected = torch.from_numpy(tokens.astype("int64"))
    for row, at in enumerate(batch.sample_ids.tolist()):
        assert torch.equal(inputs[row], expected[at:at + 8])
        assert torch.equal(targets[row], expected[at + 1:at + 9])


def test_a_tail_that_is_kept(shared_daemon, raw):
    path, tokens = raw
    dataset = forebay.tokens(path, dtype="uint16", length=10, tail="keep")
    with open_tokens(dataset) as loader:
        windows, _ = contents(loader)
    all_same(windows, [tokens[at:at + 10] for at in range(0, 103, 10)])


def test_several_files(shared_daemon, tmp_path):
    parts = [ids_of(count) for count in (17, 3, 0, 40)]
    for number, part in enumerate(parts):
        part.tofile(tmp_path / f"part-{number}.bin")
    expected = [window for part in parts for window in windows_of(part, 5)]
    for pattern in ("part-*.bin", "part-{0..3}.bin"):
        with open_tokens(forebay.tokens(tmp_path / pattern, dtype="uint16",
                                        length=5)) as loader:
            all_same(contents(loader)[0], expected)


def golden(name):
    """Returns the tokens of a Megatron-LM file, and those of its documents."""
    for line in (GOLDEN / "golden.txt").read_text().splitlines():
        found, dtype, _, *counts = line.split()
        if found == name:
            tokens = numpy.fromfile(GOLDEN / f"{name}.bin", dtype)
            ends = numpy.cumsum([int(count) for count in counts])
            return tokens, numpy.split(tokens, ends[:-1])
    raise KeyError(name)


@pytest.mark.parametrize("name", ["plain", "sequences", "bytes", "long"])
def test_documents_of_megatrons_files(shared_daemon, name):
    tokens, documents = golden(name)
    path = GOLDEN / name
    for written in (path, f"{path}.bin", f"{path}.idx"):
        with open_tokens(forebay.tokens(written, length=None)) as loader:
            all_same(contents(loader)[0], [one for one in documents if len(one)])
    with open_tokens(forebay.tokens(path, length=3, stride=2)) as loader:
        all_same(contents(loader)[0], windows_of(tokens, 3, 2))
    each = forebay.tokens(path, length=3, documents="each")
    with open_tokens(each) as loader:
        all_same(contents(loader)[0],
                 [window for one in documents for window in windows_of(one, 3)])
    kept = forebay.tokens(path, length=3, documents="each", tail="keep")
    with open_tokens(kept) as loader:
        all_same(contents(loader)[0], [one[at:at + 3] for one in documents
                                       for at in range(0, len(one), 3)])


def test_an_epoch_goes_on_where_it_was_left(daemon, raw):
    path, _ = raw
    dataset = forebay.tokens(path, dtype="uint16", length=4, stride=1)
    with open_tokens(dataset, shuffle=True, seed=5) as loader:
        _, ids = contents(loader)
        loader.set_epoch(0)
        batches = iter(loader)
        next(batches)
        state = loader.state_dict()
        daemon.stop()
        daemon.start()
        assert contents(batches)[1] == ids[4:]
    with open_tokens(dataset, shuffle=True, seed=5, batch_size=3) as loader:
        loader.load_state_dict(state)
        assert contents(loader)[1] == ids[4:]


def test_two_jobs_read_each_window_once(daemon, tmp_path, monkeypatch):
    tokens = ids_of(1 << 18)
    tokens.tofile(tmp_path / "a.bin")

    def read_from_disk():
        return int(ctl(daemon, "cache")["total"]["source"]["bytes"])

    read = []
    for seed in (1, 2):
        monkeypatch.setenv("FOREBAY_JOB", f"job {seed}")
        before = read_from_disk()
        dataset = forebay.tokens(tmp_path / "a.bin", dtype="uint16", length=1024)
        with open_tokens(dataset, batch_size=32, shuffle=True, seed=seed) as loader:
            windows, ids = contents(loader)
        expected = windows_of(tokens, 1024)
        all_same(windows, [expected[number] for number in ids])
        read.append(read_from_disk() - before)
    assert read[0] >= tokens.nbytes and read[1] == 0


@pytest.mark.parametrize("shuffle", [False, True])
def test_the_number_of_windows_costs_no_memory(daemon, tmp_path, shuffle):
    """A sparse file of 2^40 tokens."""
    taken = []
    path = tmp_path / "a.bin"
    for count in (100, 1 << 40):
        path.write_bytes(b"")
        try:
            os.truncate(path, count)
        except OSError:
            pytest.skip("the file system has no such files")
        dataset = forebay.tokens(path, dtype="uint8", length=8, stride=1)
        with open_tokens(dataset, shuffle=shuffle) as loader:
            assert len(loader.dataset) == count - 7
            batch = next(iter(loader))
            assert batch.tokens.tolist() == [[0] * 8] * 4
            taken.append(memory_used(daemon))
    assert abs(taken[1] - taken[0]) < 1 << 16


def test_a_file_that_changes_in_mid_epoch_is_an_error(shared_daemon, tmp_path):
    path = tmp_path / "a.bin"
    ids_of(40000).tofile(path)
    dataset = forebay.tokens(path, dtype="uint16", length=4)
    with open_tokens(dataset, shuffle=True) as loader:
        batches = iter(loader)
        next(batches)
        ids_of(30000).tofile(path)
        text, _ = run_until_error(batches, forebay.StateError)
    assert "a.bin" in text
    with open_tokens(dataset) as loader:
        assert len(loader.dataset) == 7500


refusal = refusing(open_tokens)


def test_files_that_are_no_tokens(shared_daemon, tmp_path):
    (tmp_path / "a.bin").write_bytes(b"odd")
    assert "a.bin: has 3 bytes, which are not whole tokens of 2" in refusal(
        forebay.DataError, forebay.tokens(tmp_path / "a.bin", dtype="uint16", length=1))
    assert "a.idx" in refusal(forebay.NotFound,
                              forebay.tokens(tmp_path / "a.bin", length=1))
    numpy.save(tmp_path / "a.npy", numpy.zeros((3, 2), "int32"))
    assert "a.npy: has rows of int32 (2,), but tokens are integers along one" in (
        refusal(forebay.Unsupported, forebay.tokens(tmp_path / "a.npy", length=1)))
    (tmp_path / "b.bin").write_bytes(b"")
    assert "the dataset has no samples" in refusal(
        forebay.InvalidArgument,
        forebay.tokens(tmp_path / "b.bin", dtype="uint16", length=1))


def test_indexes_of_other_tokens(shared_daemon, tmp_path):
    for ending in ("bin", "idx"):
        shutil.copy(GOLDEN / f"plain.{ending}", tmp_path / f"a.{ending}")
    with open(tmp_path / "a.bin", "ab") as file:
        file.write(bytes(2))
    for options in ({"length": 5}, {"length": None},
                    {"length": 5, "documents": "each"}):
        assert "a.idx: is of 2318 tokens, but there are 2319" in refusal(
            forebay.DataError, forebay.tokens(tmp_path / "a", **options))
    content = (GOLDEN / "plain.idx").read_bytes()
    (tmp_path / "a.idx").write_bytes(content[:40])
    assert "a.idx: is truncated or damaged: it has 40 bytes for 4 sequences" in (
        refusal(forebay.DataError, forebay.tokens(tmp_path / "a", length=5)))
    (tmp_path / "a.idx").write_bytes(b"x" * 40)
    assert "a.idx: is not an index of Megatron-LM's" in refusal(
        forebay.DataError, forebay.tokens(tmp_path / "a", length=5))


def test_a_window_that_no_batch_has_room_for(shared_daemon, tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"")
    try:
        os.truncate(path, 1 << 42)
    except OSError:
        pytest.skip("the file system has no such files")
    assert str(tmp_path) in refusal(
        forebay.ResourceExhausted,
        forebay.tokens(path, dtype="uint8", length=1 << 40), batch_size=1)


def test_arguments():
    for arguments, says in (
            ({"length": 0}, "length must be"), ({"length": True}, "length must be"),
            ({"length": 1 << 41}, "length must be"),
            ({"length": 8, "stride": 0}, "stride must be"),
            ({"length": None, "stride": 1}, "stride is of windows"),
            ({"length": 8, "dtype": "float32"}, "dtype must be one of"),
            ({"length": 8, "documents": "none"}, "documents must be"),
            ({"length": 8, "tail": "cut"}, "tail must be")):
        with pytest.raises(forebay.InvalidArgument, match=says):
            forebay.tokens("/data/a.bin", **arguments)
    assert repr(forebay.tokens("/data/a", length=8)).startswith(
        "tokens('/data/a.bin', length='8'")
