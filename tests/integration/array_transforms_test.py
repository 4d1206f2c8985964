"""The transforms of array fields, compared with NumPy's and torch's."""

import numpy
import pytest
import torch

import forebay
from forebay import transforms as T
from ragged_test import arrays_of, write_tar

LENGTHS = [40 + (7 * i) % 23 for i in range(41)]


def open_tar(path, transform, fields=("npy",), **more):
    more.setdefault("framework", "numpy")
    return forebay.DataLoader(path, fields=fields, transform={"npy": transform},
                              **more)


def refusal(error, path, transform, **more):
    with pytest.raises(error) as caught:
        with open_tar(path, transform, **more) as loader:
            for _ in loader:
                pass
    return str(caught.value)


def made(path, transform, **more):
    """Returns each sample's array, in the dataset's order."""
    with open_tar(path, transform, batch_size=16, **more) as loader:
        found = {}
        for batch in loader:
            found.update(zip(map(int, batch.sample_ids), batch[0]))
    return [found[number] for number in sorted(found)]


@pytest.mark.parametrize("transform, reference", [
    (T.Slice(3, 9), lambda x: x[3:9]),
    (T.Slice(-5), lambda x: x[-5:]),
    (T.Slice(stop=-30), lambda x: x[:-30]),
    (T.Slice(2, 999, axis=1), lambda x: x[:, 2:]),
    (T.Transpose((0, 2, 1)), lambda x: x.transpose(0, 2, 1)),
    (T.ToDtype("float64"), lambda x: x.astype("f8")),
    (T.ToDtype("int64"), lambda x: x.astype("i8")),
    (T.ToDtype("float32", scale=True), lambda x: x.astype("f4") / numpy.float32(32767)),
    (T.Compose([T.ToDtype("float32"), T.Normalize([3], [7])]),
     lambda x: (x.astype("f4") - numpy.float32(3)) / numpy.float32(7)),
    (T.Compose([T.ToDtype("float32"), T.Normalize([1, 2, 3], [4, 5, 6], axis=-2)]),
     lambda x: (x.astype("f4") - numpy.float32([[1], [2], [3]])) /
     numpy.float32([[4], [5], [6]])),
    (T.Compose([T.ToDtype("float16"), T.Normalize([.1], [.3])]),
     lambda x: ((torch.from_numpy(x).half() - torch.tensor(.1).half()) /
                torch.tensor(.3).half()).numpy()),
])
def test_arrays_are_numpys(shared_daemon, tmp_path, transform, reference):
    arrays = arrays_of(LENGTHS, (3, 4), "int16")
    path = write_tar(tmp_path / "a.tar", arrays)
    for got, array in zip(made(path, transform, shuffle=True), arrays):
        wanted = reference(array)
        assert got.dtype == wanted.dtype
        numpy.testing.assert_array_equal(got, wanted)


def test_axes_of_arrays_of_one_shape(shared_daemon, tmp_path):
    arrays = arrays_of([9] * 5, (3, 4), "int16")
    path = write_tar(tmp_path / "a.tar", arrays)
    transform = T.Compose([T.Slice(0, 8), T.Transpose((2, 0, 1))])
    for got, array in zip(made(path, transform), arrays):
        numpy.testing.assert_array_equal(got, array[:8].transpose(2, 0, 1))


def test_scaled_casts_are_torchvisions(shared_daemon, tmp_path):
    arrays = arrays_of([6] * 9, (5,), "uint8")
    path = write_tar(tmp_path / "a.tar", arrays)
    for name in ("float16", "float32", "float64"):
        dtype = getattr(torch, name)
        for got, array in zip(made(path, T.ToDtype(name, scale=True)), arrays):
            wanted = torch.from_numpy(array).to(dtype).div_(255)
            numpy.testing.assert_array_equal(got, wanted)


def test_windows_are_of_one_length(shared_daemon, tmp_path):
    arrays = [numpy.arange(2 * n, dtype="i4").reshape(n, 2) for n in LENGTHS]
    path = write_tar(tmp_path / "a.tar", arrays)
    seen = set()
    for epoch in range(3):
        with open_tar(path, T.RandomWindow(12), batch_size=41, shuffle=True,
                      framework="torch") as loader:
            loader.set_epoch(epoch)
            batch, = loader
        assert batch.npy.shape == (41, 12, 2) and batch.npy.dtype == torch.int32
        starts = tuple(int(row[0, 0]) // 2 for row in batch.npy)
        for start, number, row in zip(starts, batch.sample_ids, batch.npy):
            numpy.testing.assert_array_equal(row, arrays[number][start:start + 12])
        seen.add(starts)
    assert len(seen) == 3  # each epoch draws anew


def test_windows_do_not_depend_on_the_batch(shared_daemon, tmp_path):
    path = write_tar(tmp_path / "a.tar", arrays_of(LENGTHS))
    whole = made(path, T.RandomWindow(9), seed=5)
    for other in (made(path, T.RandomWindow(9), seed=5, shuffle=True),
                  made(path, T.RandomWindow(9), seed=5, sharing="off")):
        numpy.testing.assert_array_equal(whole, other)
    assert not numpy.array_equal(whole, made(path, T.RandomWindow(9), seed=6))


def test_an_axis_may_differ_that_is_not_the_first(shared_daemon, tmp_path):
    arrays = [array.T for array in arrays_of(LENGTHS, (5,))]
    path = write_tar(tmp_path / "a.tar", [numpy.ascontiguousarray(a) for a in arrays])
    for got, array in zip(made(path, T.Transpose((1, 0))), arrays):
        numpy.testing.assert_array_equal(got, array.T)
    rows = made(path, T.RandomWindow(30, axis=-1))
    assert {row.shape for row in rows} == {(5, 30)}


def test_rows_of_npy_files(shared_daemon, tmp_path):
    rows = numpy.random.default_rng(3).integers(0, 99, (30, 8, 2)).astype("i2")
    numpy.save(tmp_path / "rows.npy", rows)
    transform = T.Compose([T.Transpose((1, 0)), T.ToDtype("float32"),
                           T.Normalize([1, 2], [3, 4], axis=0)])
    with forebay.DataLoader(tmp_path / "rows.npy", batch_size=30, framework="numpy",
                            transform={"array": transform}) as loader:
        batch, = loader
    wanted = (rows.transpose(0, 2, 1).astype("f4") - numpy.float32([[1], [2]])) / (
        numpy.float32([[3], [4]]))
    numpy.testing.assert_array_equal(batch.array, wanted)
    with forebay.DataLoader(tmp_path / "rows.npy", batch_size=30, framework="numpy",
                            transform={"array": T.RandomWindow(3)}) as loader:
        batch, = loader
    assert batch.array.shape == (30, 3, 2)


def test_short_arrays(shared_daemon, tmp_path):
    path = write_tar(tmp_path / "a.tar", arrays_of([9, 3]))
    assert refusal(forebay.InvalidArgument, path, T.RandomWindow(5)) == (
        f"sample 1 (0001) of {tmp_path}: a.tar: npy: has length 3, less than a "
        "RandomWindow of 5: set pad_if_needed")
    padded = made(path, T.RandomWindow(5, pad_if_needed=True))
    assert padded[1].shape == (5,) and not padded[1][3:].any()


def test_images_beside_arrays(shared_daemon, tmp_path, photos):
    import io
    import tarfile
    picture = next(photos.glob("*/*.jpg")).read_bytes()
    path = tmp_path / "both.tar"
    with tarfile.open(path, "w") as tar:
        for number, array in enumerate(arrays_of([7, 70])):
            file = io.BytesIO()
            numpy.save(file, array)
            for suffix, content in (("jpg", picture), ("npy", file.getvalue())):
                info = tarfile.TarInfo(f"{number}.{suffix}")
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    with forebay.DataLoader(
            path, fields=("jpg;png", "npy"), framework="numpy", batch_size=2,
            transform={"jpg;png": T.CenterCrop(8), "npy": T.Slice(0, 3)}) as loader:
        batch, = loader
    assert batch.jpg.shape == (2, 3, 8, 8)
    assert [array.shape for array in batch.npy] == [(3,), (3,)]


def test_refusals(shared_daemon, tmp_path):
    path = write_tar(tmp_path / "a.tar", arrays_of([9, 30], (2,), "int32"))
    where = f"{tmp_path}: npy: transform "
    assert refusal(forebay.InvalidArgument, path, T.Grayscale()) == (
        where + "1 (Grayscale): is for images, not for arrays")
    assert refusal(forebay.InvalidArgument, path, T.Normalize([1], [2])) == (
        where + '1 (Normalize): integers cannot be normalised: put '
        'ToDtype("float32") before it')
    assert refusal(forebay.InvalidArgument, path,
                   T.Compose([T.ToDtype("float32"), T.Slice(1)])) == (
        where + "2 (Slice): takes a part or reorders axes: put it before ToDtype "
        "and Normalize")
    assert refusal(forebay.InvalidArgument, path, T.Transpose((1, 0, 2))) == (
        where + "1 (Transpose): axes must be 0 to 2 - 1 in some order")
    assert refusal(forebay.InvalidArgument, path, T.Slice(1), fields=("txt",)) == (
        "transform: there is no field npy; there are: txt")
    assert refusal(forebay.InvalidArgument, path, T.Slice(2, axis=1)) == (
        f"{tmp_path}: npy: leaves nothing of another axis than the one in which "
        "arrays differ")
    for transform, said in (
            ({"txt": T.Slice(1)},
             f"{tmp_path}: transform: txt is neither image, audio nor array, "
             "which alone have transforms"),
            (T.Slice(1), "transform 1 (Slice): is for arrays: give it to a field by "
             "name"),
            ({"npy": abs}, "transform: that of npy must come from forebay.transforms, "
             "not <built-in function abs>"),
            ({3: T.Slice(1)}, "transform: 3 is not the name of a field"),
            ({"jpg": T.CenterCrop(3)},
             "transform: there is no field jpg; there are: npy, txt"),
            ({"npy": T.Slice(1), "npy;x": T.Slice(1)},
             "transform: npy has two of them")):
        with pytest.raises(forebay.InvalidArgument) as caught:
            forebay.DataLoader(path, fields=("npy", "txt"), transform=transform)
        assert str(caught.value) == said


@pytest.mark.parametrize("make, error", [
    (lambda: T.RandomWindow(0), ValueError), (lambda: T.RandomWindow(2.5), TypeError),
    (lambda: T.Slice("1"), TypeError), (lambda: T.Slice(1 << 63), ValueError),
    (lambda: T.Slice(0, axis=9), ValueError), (lambda: T.Transpose((0, 2)), ValueError),
    (lambda: T.Transpose(()), ValueError),
    (lambda: T.Normalize([1], [1], axis="x"), TypeError)])
def test_values_are_checked(make, error):
    with pytest.raises(error):
        make()
