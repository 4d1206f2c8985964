"""Orders and batches that depend on the lengths of samples."""

import collections
import ctypes
import io
import random
import tarfile

import numpy
import pytest
import torch

import forebay
from forebay import _native
from forebay import transforms as T
from ragged_test import arrays_of, write_tar

COUNT = 3000


@pytest.fixture(scope="module")
def lengths():
    """Returns lengths, few of which are large, as in most texts."""
    source = random.Random(5)
    return [1 + int(source.paretovariate(1.2) * 7) % 900 for _ in range(COUNT)]


@pytest.fixture(scope="module")
def path(tmp_path_factory, lengths):
    return write_tar(tmp_path_factory.mktemp("lengths") / "a.tar",
                     arrays_of(lengths, dtype="int32"))


def open_tar(path, fields=("npy",), **more):
    more.setdefault("framework", "numpy")
    return forebay.DataLoader(path, fields=fields, **more)


def ids_of(batches):
    return [batch.sample_ids.tolist() for batch in batches]


def padding(batches, lengths):
    """Returns the part of the padded batches that is padding, over all batches."""
    padded = sum(len(ids) * max(lengths[i] for i in ids) for ids in batches)
    return 1 - sum(lengths[i] for ids in batches for i in ids) / padded


def test_samples_of_like_lengths_come_together(shared_daemon, path, lengths):
    with open_tar(path, batch_size=16, shuffle=True) as loader:
        plain = ids_of(loader)
    with open_tar(path, batch_size=16, shuffle=True, bucket_by="length") as loader:
        assert len(loader) == len(plain)
        bucketed, second = ids_of(loader), ids_of(loader)
    assert [len(ids) for ids in bucketed] == [len(ids) for ids in plain]
    assert sorted(sum(bucketed, [])) == list(range(COUNT))
    assert sorted(sum(second, [])) == list(range(COUNT)) and second != bucketed
    assert padding(plain, lengths) > 0.5
    assert padding(bucketed, lengths) < 0.3
    # The order of the batches does not depend on their lengths.
    means = [numpy.mean([lengths[i] for i in ids]) for ids in bucketed[:60]]
    falls = sum(a > b for a, b in zip(means, means[1:]))
    assert 15 < falls < 45


def test_values_are_the_samples(shared_daemon, path, lengths):
    arrays = arrays_of(lengths, dtype="int32")
    with open_tar(path, ("npy", "txt"), batch_size=50, shuffle=True,
                  bucket_by="length", max_tokens=4000) as loader:
        for batch in loader:
            for row, sample in enumerate(batch.sample_ids):
                numpy.testing.assert_array_equal(batch.npy[row], arrays[sample])
                assert batch.txt[row] == "x" * (sample % 3)


@pytest.mark.parametrize("bucket_by", [None, "length"])
@pytest.mark.parametrize("ragged", ["offsets", "pad"])
def test_batches_have_as_many_samples_as_fit(shared_daemon, path, lengths, bucket_by,
                                             ragged):
    with open_tar(path, shuffle=True, bucket_by=bucket_by, max_tokens=2000,
                  ragged=ragged, framework="torch") as loader:
        batches = []
        for batch in loader:
            batches.append(batch.sample_ids.tolist())
            values = batch.npy.values
            assert values.numel() <= 2000
    assert sorted(sum(batches, [])) == list(range(COUNT))
    filled = [sum(lengths[i] for i in ids) if ragged == "offsets" else
              len(ids) * max(lengths[i] for i in ids) for ids in batches]
    assert max(filled) <= 2000
    if bucket_by is not None or ragged == "offsets":
        assert numpy.mean(filled) > 1600


def test_batch_size_bounds_the_samples(shared_daemon, path):
    with open_tar(path, shuffle=True, bucket_by="length", max_tokens=2000,
                  batch_size=40) as loader:
        sizes = [len(ids) for ids in ids_of(loader)]
    assert max(sizes) == 40 and sum(sizes) == COUNT


def test_nobody_knows_how_many_batches_there_are(shared_daemon, path):
    with open_tar(path, max_tokens=2000) as loader:
        with pytest.raises(TypeError, match="max_tokens"):
            len(loader)
        assert "length unknown" in repr(loader)


@pytest.mark.parametrize("more", [
    {"batch_size": 16}, {"max_tokens": 2000},
    {"max_tokens": 2000, "ragged": "pad", "shuffle": False}])
def test_an_epoch_goes_on_where_it_was(shared_daemon, path, more):
    more = {"shuffle": True, "bucket_by": "length", **more}
    with open_tar(path, **more) as loader:
        loader.set_epoch(3)
        whole = ids_of(loader)
    for taken in (1, 37, len(whole) - 1):
        with open_tar(path, **more) as loader:
            loader.set_epoch(3)
            iterator = iter(loader)
            got = [next(iterator).sample_ids.tolist() for _ in range(taken)]
            state = loader.state_dict()
        with open_tar(path, **more) as loader:
            loader.load_state_dict(state)
            assert got + ids_of(loader) == whole


@pytest.mark.parametrize("other", [
    {"batch_size": 8}, {"batch_size": 16, "bucket_by": None},
    {"batch_size": 16, "max_tokens": 2000}])
def test_a_state_is_of_its_batches(shared_daemon, path, other):
    with open_tar(path, shuffle=True, bucket_by="length", batch_size=16) as loader:
        next(iter(loader))
        state = loader.state_dict()
    arguments = {"bucket_by": "length", **other}
    with open_tar(path, shuffle=True, **arguments) as loader:
        with pytest.raises(forebay.errors.StateError, match="other batches"):
            loader.load_state_dict(state)


def test_ranks_may_change_if_all_take_as_many(shared_daemon, path):
    with open_tar(path, shuffle=True, bucket_by="length", batch_size=16) as loader:
        iterator = iter(loader)
        got = sum((next(iterator).sample_ids.tolist() for _ in range(20)), [])
        state = loader.state_dict()
    for rank in range(2):
        with open_tar(path, shuffle=True, bucket_by="length", batch_size=8, rank=rank,
                      world_size=2) as loader:
            loader.load_state_dict(state)
            got += sum(ids_of(loader), [])
    assert sorted(got) == list(range(COUNT))


def first_step(path, **more):
    """Returns the samples of the first batches of two ranks, and the state after
    them."""
    seen, state = [], None
    for rank in range(2):
        with open_tar(path, shuffle=True, bucket_by="length", batch_size=16, rank=rank,
                      world_size=2, **more) as loader:
            seen += next(iter(loader)).sample_ids.tolist()
            state = loader.state_dict()
    return seen, state


@pytest.mark.parametrize("pad, samples, times", [
    ("wrap", 94, 96), ("drop", 92, 92), ("none", 94, 94)])
def test_ranks_may_change_where_they_divide_nothing(shared_daemon, tmp_path, lengths,
                                                    pad, samples, times):
    path = write_tar(tmp_path / "a.tar", arrays_of(lengths[:94], dtype="int32"))
    got, state = first_step(path, pad=pad)
    for rank in range(4):
        with open_tar(path, shuffle=True, bucket_by="length", batch_size=8, rank=rank,
                      world_size=4, pad=pad) as loader:
            loader.load_state_dict(state)
            got += sum(ids_of(loader), [])
    seen = collections.Counter(got)
    assert len(seen) == samples and seen.total() == times


@pytest.mark.parametrize("large", range(5))
@pytest.mark.parametrize("rank", range(2))
def test_a_large_sample_may_come_twice(shared_daemon, tmp_path, large, rank):
    """The last step of an epoch repeats samples so that each rank has one."""
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as tar:
        for number in range(5):
            file = io.BytesIO()
            numpy.save(file, numpy.zeros(20 if number == 4 else 10, "int32"))
            text = b"x" * (3 << 20 if number == large else 1)
            for suffix, content in (("npy", file.getvalue()), ("txt", text)):
                info = tarfile.TarInfo(f"{number}.{suffix}")
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    with open_tar(path, ("npy", "txt"), batch_size=3, bucket_by="npy", rank=rank,
                  world_size=2) as loader:
        for batch in loader:
            assert [len(text) > 1 for text in batch.txt] == [
                number == large for number in batch.sample_ids.tolist()]


@pytest.mark.parametrize("bucket_by", [None, "length"])
def test_windows_differ_in_how_many_samples_make_a_batch(shared_daemon, tmp_path,
                                                         bucket_by):
    source = random.Random(0)
    lengths = [max(1, min(2000, int(source.lognormvariate(4.5, 1.2))))
               for _ in range(12000)]
    path = write_tar(tmp_path / "a.tar", arrays_of(lengths, dtype="int8"))
    with open_tar(path, shuffle=True, max_tokens=8192, ragged="pad",
                  framework="torch", bucket_by=bucket_by) as loader:
        for _ in range(3):
            assert sorted(sum(ids_of(loader), [])) == list(range(len(lengths)))


@pytest.mark.parametrize("pad", ["wrap", "drop", "none"])
@pytest.mark.parametrize("more", [{"batch_size": 7}, {"max_tokens": 1500}])
def test_ranks_have_equal_batches(shared_daemon, path, lengths, pad, more):
    world_size = 7
    ranks = []
    for rank in range(world_size):
        with open_tar(path, shuffle=True, bucket_by="length", rank=rank,
                      world_size=world_size, pad=pad, **more) as loader:
            ranks.append(ids_of(loader))
    seen = collections.Counter(i for batches in ranks for ids in batches for i in ids)
    counts = [[len(ids) for ids in batches] for batches in ranks]
    if pad == "none":
        assert sorted(seen.elements()) == list(range(COUNT))
        assert max(map(sum, counts)) - min(map(sum, counts)) <= 1
    else:
        assert all(sizes == counts[0] for sizes in counts)
        assert sum(seen.values()) == (COUNT + (world_size - COUNT % world_size)
                                      if pad == "wrap" else
                                      COUNT - COUNT % world_size)
    # In one step, all ranks have samples of about the same length.
    steps = list(zip(*ranks))[:-1]
    longest = [[max(lengths[i] for i in ids) for ids in step] for step in steps]
    assert numpy.mean([max(row) / min(row) for row in longest]) < 1.5


def test_two_jobs_share_the_batches(shared_daemon, path):
    arguments = {"shuffle": True, "bucket_by": "length", "max_tokens": 2000}
    with open_tar(path, **arguments) as one, open_tar(path, **arguments) as other:
        pairs = [(a.sample_ids.tolist(), b.sample_ids.tolist())
                 for a, b in zip(one, other)]
        assert all(a == b for a, b in pairs)
        made = one.stats()["samples_decoded"] + other.stats()["samples_decoded"]
    assert made <= 1.1 * COUNT


def test_a_text_has_a_length_too(shared_daemon, tmp_path):
    path = write_tar(tmp_path / "a.tar", arrays_of([5] * 90))
    with open_tar(path, ("txt",), batch_size=10, bucket_by="length") as loader:
        texts = [set(batch.txt) for batch in loader]
    # An empty text has length 1.
    assert texts[:3] == 3 * [{"xx"}] and "xx" not in set.union(*texts[3:])


def test_a_named_field_decides(shared_daemon, path, lengths):
    with open_tar(path, ("npy", "txt"), batch_size=100, bucket_by="txt") as loader:
        assert all(set(batch.txt) == {"xx"} for batch in list(loader)[:5])
    with open_tar(path, ("npy", "txt"), batch_size=100, bucket_by="npy") as loader:
        batch = next(iter(loader))
        assert len(batch.npy[0]) == max(lengths[:6400])


def test_transforms_count(shared_daemon, path):
    with pytest.raises(forebay.errors.InvalidArgument, match="longest sample"):
        open_tar(path, max_tokens=100)
    with open_tar(path, max_tokens=100,
                  transform={"npy": T.Slice(0, 100)}) as loader:
        batches = list(loader)
    assert sum(len(batch.npy) for batch in batches) == COUNT
    assert max(sum(map(len, batch.npy)) for batch in batches) <= 100


@pytest.mark.parametrize("more, message", [
    ({"bucket_by": "nothing"}, "there is no field nothing"),
    ({"bucket_by": 7}, "bucket_by must be"),
    ({"bucket_by": ""}, "bucket_by must be"),
    ({"max_tokens": 0}, "max_tokens must be a whole number"),
    ({"max_tokens": 1.5}, "max_tokens must be a whole number"),
    ({"max_tokens": True}, "max_tokens must be a whole number"),
    ({"max_tokens": 10}, "the longest sample has a length of"),
    ({"max_tokens": 2000, "drop_last": True}, "drop_last"),
    ({"max_tokens": 2000, "on_error": "substitute"}, "on_error"),
    ({"bucket_by": "length", "shuffle": "block"}, "not blocks"),
    ({"bucket_by": "length", "shuffle": True, "order": "coordinated"}, "coordinated"),
    ({"bucket_by": "length", "sampler": [3, 1, 2]}, "lists"),
    ({"bucket_by": "length", "batch_size": 65536, "world_size": 1 << 20},
     "can be planned"),
])
def test_what_does_not_go_together_is_refused(shared_daemon, path, more, message):
    with pytest.raises(forebay.errors.ForebayError, match=message):
        open_tar(path, **more)


def test_equal_lengths_are_refused(shared_daemon, tmp_path):
    numpy.save(tmp_path / "rows.npy", numpy.zeros((10, 3), "float32"))
    with pytest.raises(forebay.errors.InvalidArgument, match="no field differs"):
        forebay.DataLoader(tmp_path / "rows.npy", bucket_by="length",
                           framework="numpy")


def test_objects_have_no_lengths(shared_daemon):
    data = torch.utils.data.TensorDataset(torch.zeros(5))
    with pytest.raises(forebay.errors.Unsupported, match="batch_sampler"):
        forebay.DataLoader(data, bucket_by="length")


def test_a_batch_takes_what_its_samples_need(shared_daemon, tmp_path):
    """A sample of 10 MB does not make the places of small samples in a batch as
    large."""
    counts = [2_500_000] + [100] * 500
    path = write_tar(tmp_path / "a.tar", arrays_of(counts, dtype="float32"))
    with open_tar(path, batch_size=128, shuffle=True) as loader:
        got = [array for batch in loader for array in batch.npy]
        connection = loader._attachment.connection
        info = _native.LoaderInfo()
        _native.check(connection._lib.forebay_loader_get_info(connection._handle,
                                                              ctypes.byref(info)))
    assert sorted(map(len, got)) == sorted(counts)
    assert info.slot_bytes < 16 << 20
