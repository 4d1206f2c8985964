"""Batches of arrays whose first axis differs in length from sample to sample."""

import io
import tarfile

import numpy
import pytest
import torch

import forebay

DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
          "uint64", "float16", "float32", "float64")


def write_tar(path, arrays, name="npy"):
    """Writes an array and a text for each sample."""
    with tarfile.open(path, "w") as tar:
        for number, array in enumerate(arrays):
            file = io.BytesIO()
            numpy.save(file, array)
            for suffix, content in ((name, file.getvalue()),
                                    ("txt", b"x" * (number % 3))):
                info = tarfile.TarInfo(f"{number:04}.{suffix}")
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return path


def arrays_of(lengths, tail=(), dtype="float32", seed=0):
    random = numpy.random.default_rng(seed)
    return [random.integers(0, 2 if dtype == "bool" else 100,
                            (length, *tail)).astype(dtype) for length in lengths]


def open_tar(path, fields=("npy", "txt"), **more):
    more.setdefault("framework", "numpy")
    return forebay.DataLoader(path, fields=fields, **more)


def refusal(error, path, **more):
    with pytest.raises(error) as caught:
        with open_tar(path, **more) as loader:
            for _ in loader:
                pass
    return str(caught.value)


@pytest.fixture
def lengths():
    return [(7 * i) % 23 * 31 for i in range(41)]  # 0 to 682


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_gets_each_array(shared_daemon, tmp_path, lengths, dtype):
    arrays = arrays_of(lengths, (3,), dtype)
    with open_tar(write_tar(tmp_path / "a.tar", arrays), batch_size=16) as loader:
        batches = list(loader)
    assert [len(batch.npy) for batch in batches] == [16, 16, 9]
    got = [array for batch in batches for array in batch.npy]
    for array, wanted in zip(got, arrays):
        assert array.dtype == wanted.dtype
        numpy.testing.assert_array_equal(array, wanted)
    assert [text for batch in batches for text in batch.txt] == [
        "x" * (i % 3) for i in range(41)]


@pytest.mark.parametrize("tail", [(), (1,), (2, 3), (2, 1, 2, 2)])
def test_torch_gets_values_and_offsets(shared_daemon, tmp_path, lengths, tail):
    arrays = arrays_of(lengths, tail)
    path = write_tar(tmp_path / "a.tar", arrays)
    with open_tar(path, batch_size=41, shuffle=True, framework="torch") as loader:
        batch, = loader
    ragged = batch.npy
    assert isinstance(ragged, forebay.Ragged)
    assert ragged.offsets.dtype == torch.int64 and ragged.offsets.shape == (42,)
    assert ragged.values.shape == (sum(lengths), *tail)
    for row, sample in enumerate(batch.sample_ids):
        begin, end = ragged.offsets[row:row + 2]
        assert torch.equal(ragged.values[begin:end],
                           torch.from_numpy(arrays[sample]))


@pytest.mark.parametrize("framework", ["torch", "numpy"])
def test_arrays_are_padded(shared_daemon, tmp_path, lengths, framework):
    arrays = arrays_of(lengths, (2,), "int32")
    path = write_tar(tmp_path / "a.tar", arrays)
    first = 0
    with open_tar(path, batch_size=8, framework=framework, ragged="pad",
                  padding_value=-1) as loader:
        for values, texts in loader:
            wanted = arrays[first:first + 8]
            longest = max(map(len, wanted))
            assert isinstance(values, forebay.Padded)
            assert values.lengths.tolist() == [len(array) for array in wanted]
            assert tuple(values.values.shape) == (len(wanted), longest, 2)
            reference = torch.nn.utils.rnn.pad_sequence(
                [torch.from_numpy(array) for array in wanted], batch_first=True,
                padding_value=-1)
            numpy.testing.assert_array_equal(values.values, reference)
            assert len(texts) == len(wanted)
            first += 8


def test_forms_of_each_framework(shared_daemon, tmp_path):
    path = write_tar(tmp_path / "a.tar", arrays_of([2, 40, 0]))
    with open_tar(path, batch_size=3, framework="torch", ragged="list") as loader:
        (arrays, _), = loader
    assert [array.shape for array in arrays] == [(2,), (40,), (0,)]
    with open_tar(path, batch_size=3, ragged="offsets") as loader:
        (ragged, _), = loader
    assert ragged.offsets.tolist() == [0, 2, 42, 42]
    assert ragged.values.shape == (42,) and ragged.values.dtype == numpy.float32


def test_nested_tensors(shared_daemon, tmp_path):
    arrays = arrays_of([2, 40, 1])
    path = write_tar(tmp_path / "a.tar", arrays)
    assert refusal(forebay.Unsupported, path, ragged="nested") == (
        'ragged="nested" needs framework="torch"')
    if not hasattr(torch, "jagged"):
        assert refusal(forebay.Unsupported, path, ragged="nested",
                       framework="torch") == (
            f'ragged="nested" needs torch 2.2 or newer, and this is '
            f'{torch.__version__}: use "offsets" or "pad"')
        return
    with open_tar(path, batch_size=2, shuffle=True, ragged="nested",
                  framework="torch") as loader:
        held = [batch for _ in range(3) for batch in loader]
    assert len(held) == 6
    for batch in held:  # checks that the batches have not changed
        assert batch.npy.layout == torch.jagged
        for tensor, sample in zip(batch.npy.unbind(), batch.sample_ids):
            assert torch.equal(tensor, torch.from_numpy(arrays[sample]))


def test_arguments_are_checked(shared_daemon, tmp_path):
    path = write_tar(tmp_path / "a.tar", arrays_of([2, 40]))
    assert refusal(forebay.InvalidArgument, path, ragged="jagged") == (
        'ragged must be "offsets", "nested", "pad", "list" or None, not '
        "'jagged'")
    assert refusal(forebay.InvalidArgument, path, padding_value="0") == (
        "padding_value must be a number, not '0'")
    assert refusal(forebay.InvalidArgument, path, padding_value=1) == (
        'padding_value=1 is of ragged="pad", but ragged is None')
    with pytest.raises(forebay.Unsupported, match="collate_fn makes batches"):
        forebay.DataLoader([1, 2], ragged="pad")


@pytest.mark.parametrize("dtype, padding, says", [
    ("uint8", -100, "whole numbers from 0 to 255"),
    ("int32", 2**40, "whole numbers from -2147483648 to 2147483647"),
    ("int64", 0.5, "whole numbers from"),
    ("int16", float("nan"), "whole numbers from -32768 to 32767"),
    ("float16", 70000, "numbers up to 65504"),
    ("float64", 10**400, "numbers up to 1.79769e+308"),
    ("float32", float("-inf"), None),
    ("int16", numpy.int64(-1), None),
    ("float32", numpy.float32(0.5), None),
])
def test_padding_fits_the_dtype(shared_daemon, tmp_path, dtype, padding, says):
    path = write_tar(tmp_path / "a.tar", arrays_of([2, 4], dtype=dtype))
    with open_tar(path, ("npy",), framework="numpy", ragged="pad",
                  padding_value=padding, batch_size=2) as loader:
        if says is None:
            assert next(iter(loader)).npy.values[0, 3] == padding
            return
        with pytest.raises(forebay.InvalidArgument) as caught:
            next(iter(loader))
    assert str(caught.value).startswith(
        f"padding_value={padding!r} does not fit the field npy, which has {says}")


def test_batches_are_private_and_stay(shared_daemon, tmp_path, lengths):
    arrays = arrays_of(lengths)
    path = write_tar(tmp_path / "a.tar", arrays)
    with open_tar(path, batch_size=4) as loader:
        held = []
        for batch in loader:
            for array in batch.npy:
                array += 1
            held.append(batch.npy)
        again = [array for batch in loader for array in batch.npy]
    for array, changed, wanted in zip(again, sum(held, []), arrays):
        numpy.testing.assert_array_equal(array, wanted)
        numpy.testing.assert_array_equal(changed, wanted + 1)


def test_a_loader_resumes(shared_daemon, tmp_path, lengths):
    path = write_tar(tmp_path / "a.tar", arrays_of(lengths))

    def options():
        return {"batch_size": 4, "shuffle": True, "seed": 3}

    with open_tar(path, **options()) as loader:
        whole = []
        for batch in loader:
            whole.append(batch.npy)
    with open_tar(path, **options()) as loader:
        batches = iter(loader)
        for _ in range(3):
            next(batches)
        state = loader.state_dict()
    with open_tar(path, **options()) as loader:
        loader.load_state_dict(state)
        rest = [batch.npy for batch in loader]
    assert len(rest) == len(whole) - 3
    for got, wanted in zip(sum(rest, []), sum(whole[3:], [])):
        numpy.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("lengths_of", [lambda i: 300, lambda i: i * 31 % 700])
def test_batches_held_of_a_closed_loader_stop_no_other(shared_daemon, tmp_path,
                                                       lengths_of):
    path = write_tar(tmp_path / "a.tar", arrays_of(map(lengths_of, range(41))))
    options = {"batch_size": 4, "shuffle": True, "seed": 3}
    with open_tar(path, **options) as loader:
        held = [batch.npy for batch in loader]
    with open_tar(path, **options) as loader:
        batches = iter(loader)
        next(batches)
    with open_tar(path, **options) as loader:
        again = [batch.npy for batch in loader]
    assert len(again) == len(held) == 11


def test_datasets_of_other_lengths_are_one(shared_daemon, tmp_path):
    short, long = arrays_of([5] * 3), arrays_of([90] * 3)
    paths = [write_tar(tmp_path / "0.tar", short), write_tar(tmp_path / "1.tar", long)]
    with open_tar(paths[0], batch_size=3) as loader:
        (arrays, _), = loader
    assert arrays.shape == (3, 5)  # no array is longer
    with open_tar(tmp_path / "[01].tar", batch_size=6) as loader:
        (arrays, _), = loader
    assert [len(array) for array in arrays] == [5] * 3 + [90] * 3


def test_samples_by_number(shared_daemon, tmp_path, lengths):
    arrays = arrays_of(lengths, (2,))
    path = write_tar(tmp_path / "a.tar", arrays)
    dataset = forebay.Dataset(path, fields=("npy",))
    for number in (40, 0, 7):
        array, = dataset[number]
        numpy.testing.assert_array_equal(array, arrays[number])


def test_a_first_sample_may_be_empty(shared_daemon, tmp_path):
    arrays = arrays_of([0, 50, 0, 3], (4,))
    path = write_tar(tmp_path / "a.tar", arrays)
    with open_tar(path, batch_size=4) as loader:
        (got, _), = loader
    for array, wanted in zip(got, arrays):
        numpy.testing.assert_array_equal(array, wanted)


def test_only_the_first_axis_may_differ(shared_daemon, tmp_path):
    start = f"sample 1 (0001) of {tmp_path}: a.tar: npy: is an array of "
    for odd, found in ((numpy.ones((9, 4), "f4"), "float32 (9, 4)"),
                       (numpy.ones((90, 2), "f8"), "float64 (90, 2)"),
                       (numpy.ones((200,), "f4"), "float32 (200,)")):
        path = write_tar(tmp_path / "a.tar",
                         [numpy.ones((3, 2), "f4"), odd, numpy.ones((99, 2), "f4")])
        assert refusal(forebay.InvalidArgument, path) == (
            start + f"{found}, but that of the first one is of float32 (n, 2), as all "
            "must be")


def test_arrays_without_a_first_axis_are_of_one_shape(shared_daemon, tmp_path):
    for first, shown in ((numpy.float32(3), "float32 ()"),
                         (numpy.ones((4, 0), "f4"), "float32 (4, 0)")):
        path = write_tar(tmp_path / "a.tar", [first, numpy.ones((99, 2), "f4")])
        assert refusal(forebay.InvalidArgument, path) == (
            f"sample 1 (0001) of {tmp_path}: a.tar: npy: is an array of float32 "
            f"(99, 2), but that of the first one is of {shown}, as all must be")


def test_two_ragged_fields(shared_daemon, tmp_path):
    path = tmp_path / "two.tar"
    wanted = []
    with tarfile.open(path, "w") as tar:
        for number in range(10):
            pair = arrays_of([number * 20], (2,)), arrays_of([200 - number], (), "i8")
            for suffix, (array,) in zip(("x.npy", "y.npy"), pair):
                file = io.BytesIO()
                numpy.save(file, array)
                info = tarfile.TarInfo(f"{number}.{suffix}")
                info.size = file.tell()
                file.seek(0)
                tar.addfile(info, file)
            wanted.append([array for array, in pair])
    with open_tar(path, ("x.npy", "y.npy"), batch_size=10) as loader:
        (xs, ys), = loader
    for x, y, pair in zip(xs, ys, wanted):
        numpy.testing.assert_array_equal(x, pair[0])
        numpy.testing.assert_array_equal(y, pair[1])
