"""Datasets of HDF5 files, from the files to a trainer's batches. A trainer gets what
h5py reads."""

import io

import h5py
import numpy
import PIL.Image
import pytest
import torch

import forebay
from forebay import transforms as T
from remote_shards_test import daemon as remote_daemon  # noqa: F401
from remote_shards_test import proxy  # noqa: F401
from tfrecord_test import epoch, open_records
from trouble import ctl

CHANCE = numpy.random.RandomState(5)
ROWS = 40


def jpeg(number):
    pixels = CHANCE.randint(0, 255, (4, 5, 3)).repeat(9, 0).repeat(9, 1)
    file = io.BytesIO()
    PIL.Image.fromarray((pixels + number).clip(0, 255).astype("uint8")).save(
        file, "JPEG")
    return file.getvalue()


def write(path, rows=ROWS, libver="earliest", first=0, **options):
    """Writes a file with datasets of most kinds."""
    with h5py.File(path, "w", libver=libver) as file:
        file.create_dataset(
            "images", data=CHANCE.randint(0, 255, (rows, 12, 10, 3)).astype("uint8"),
            chunks=(7, 12, 10, 3), maxshape=(None, 12, 10, 3), **options)
        file["labels"] = numpy.arange(first, first + rows, dtype="int32")
        file.create_dataset("scores", data=CHANCE.rand(rows, 3).astype("float32"),
                            chunks=(5, 2), maxshape=(None, 3), **options)
        file.create_dataset("names", data=[f"row {number}" for number in range(rows)],
                            dtype=h5py.string_dtype())
        table = numpy.zeros(rows, [("x", "f4"), ("box", "i2", 4)])
        table["x"] = numpy.arange(rows)
        file["group/table"] = table
    return path


def write_photos(path, rows=ROWS, libver="earliest"):
    with h5py.File(path, "w", libver=libver) as file:
        photos = file.create_dataset("photos", (rows,), h5py.vlen_dtype("uint8"))
        for number in range(rows):
            photos[number] = numpy.frombuffer(jpeg(number), "uint8")
        file["labels"] = numpy.arange(rows) % 10
    return path


def read(paths, name):
    """Returns the rows of a dataset, or of a member of it, as h5py reads them."""
    found = []
    for path in paths:
        with h5py.File(path) as file:
            if name in file:
                found += list(file[name][()])
            else:
                found += list(file[name.rpartition("/")[0]][name.rpartition("/")[2]])
    return found


def is_value(value, expected):
    if isinstance(expected, bytes):
        return value == expected.decode()
    expected = numpy.asarray(expected)
    return (numpy.array_equal(value, expected) and
            (expected.ndim == 0 or value.dtype == expected.dtype))


def check(found, names, paths):
    columns = [read(paths, name) for name in names]
    assert sorted(found) == list(range(len(columns[0])))
    for number, values in found.items():
        for value, column in zip(values, columns):
            assert is_value(value, column[number])


NAMES = ("group/table/x", "group/table/box", "images", "labels", "names", "scores")


@pytest.mark.parametrize("libver", ["earliest", "v108", "latest"])
@pytest.mark.parametrize("options", [
    {}, {"compression": "gzip"}, {"compression": "lzf", "shuffle": True},
    {"fletcher32": True}, {"compression": "gzip", "shuffle": True, "fletcher32": True}])
def test_rows_are_those_of_h5py(shared_daemon, tmp_path, libver, options):
    path = write(tmp_path / "a.h5", libver=libver, **options)
    with open_records(path, shuffle=True) as loader:
        assert len(loader.dataset) == ROWS
        check(epoch(loader), NAMES, [path])


def test_files_follow_one_another(shared_daemon, tmp_path):
    paths = [write(tmp_path / f"{number}.hdf5", rows, first=100 * number)
             for number, rows in enumerate((5, 0, 1, 17))]
    for pattern in ("*.hdf5", "{0..3}.hdf5"):
        with open_records(tmp_path / pattern, fields=("labels", "images"),
                          shuffle=True) as loader:
            assert len(loader.dataset) == 23
            check(epoch(loader), ("labels", "images"), paths)


def test_photos(shared_daemon, tmp_path):
    path = write_photos(tmp_path / "a.h5")
    dataset = forebay.Dataset(path, autostart=False)
    for number, photo in enumerate(read([path], "photos")):
        label, image = dataset[number]
        picture = PIL.Image.open(io.BytesIO(photo.tobytes())).convert("RGB")
        assert label == number % 10
        assert abs(numpy.asarray(image).astype(int) -
                   numpy.asarray(picture)).max() <= 1
    with open_records(path, fields={"photos": "bytes"}) as loader:
        found = epoch(loader)
    assert all(found[number][0] == photo.tobytes()
               for number, photo in enumerate(read([path], "photos")))


def test_pixels_can_be_images(shared_daemon, tmp_path):
    path = write(tmp_path / "a.h5", compression="gzip")
    with open_records(forebay.hdf5(path, fields={"images": "image", "labels": ""}),
                      transform=T.CenterCrop(8), framework="torch") as loader:
        batch = next(iter(loader))
    expected = numpy.stack(read([path], "images")[:4])[:, 2:10, 1:9].transpose(
        0, 3, 1, 2)
    assert torch.equal(batch.images, torch.from_numpy(expected))
    assert batch.labels.dtype == torch.int64


def test_images_that_are_kept_decoded_are_their_rows_own(daemon, tmp_path):
    """All rows of a chunk have the same range of bytes in the file."""
    images = CHANCE.randint(0, 255, (12, 20, 15, 3)).astype("uint8")
    images = images.repeat(10, 1).repeat(10, 2)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("images", data=images, chunks=(4, 200, 150, 3),
                            compression="gzip")
    plain = tmp_path / "folder" / "class"
    plain.mkdir(parents=True)
    for number, image in enumerate(images):
        PIL.Image.fromarray(image).save(plain / f"{number:02}.png")
    data = forebay.hdf5(tmp_path / "a.h5", fields={"images": "image"})
    arguments = {"transform": T.RandomResizedCrop(64), "shuffle": True, "seed": 3}
    with open_records(data, **arguments) as loader, \
            open_records(plain.parent, **arguments) as reference:
        for _ in range(6):
            found, expected = epoch(loader), epoch(reference)
            assert list(found) == list(expected)
            assert all((found[number][0] == expected[number][0]).all()
                       for number in found)


def test_types_can_be_named(shared_daemon, tmp_path):
    path = write(tmp_path / "a.h5")
    with open_records(path, fields={"labels": "int32", "names": "bytes"}) as loader:
        batch = next(iter(loader))
    assert batch.labels.dtype == numpy.int32
    assert list(batch.names) == [b"row 0", b"row 1", b"row 2", b"row 3"]


def test_an_epoch_goes_on_where_it_was_left(daemon, tmp_path):
    path = write(tmp_path / "a.h5", compression="gzip")
    fields = ("labels", "images")
    with open_records(path, fields=fields, shuffle=True) as loader:
        order = [number for batch in loader for number in batch.sample_ids.tolist()]
        loader.set_epoch(0)
        batches = iter(loader)
        next(batches)
        state = loader.state_dict()
        daemon.stop()
        daemon.start()
        assert list(epoch(batches)) == order[4:]
    with open_records(path, fields=fields, shuffle=True, batch_size=3) as loader:
        loader.load_state_dict(state)
        assert list(epoch(loader)) == order[4:]


@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_a_group_for_each_sample(shared_daemon, tmp_path, libver):
    photos = [jpeg(number) for number in range(30)]
    with h5py.File(tmp_path / "a.h5", "w", libver=libver) as file:
        for number, photo in enumerate(photos):
            group = file.create_group(f"data/{number:03}")
            group["photo"] = numpy.frombuffer(photo, "uint8")
            group["label"] = number % 7
            group["caption"] = f"photo {number}"
            group["points"] = numpy.full((number, 3), number, "float32")
    fields = {"data/*/photo": "bytes", "data/*/label": "", "data/*/caption": "",
              "data/*/points": "float32[n,3]"}
    with open_records(tmp_path / "a.h5", fields=fields, shuffle=True) as loader:
        found = epoch(loader)
    assert sorted(found) == list(range(30))
    for number, (photo, label, caption, points) in found.items():
        assert photo == photos[number] and label == number % 7
        assert caption == f"photo {number}"
        assert points.shape == (number, 3) and (points == number).all()
    with open_records(tmp_path / "a.h5", fields=("data/*/photo", "data/*/label"),
                      transform=T.CenterCrop(8)) as loader:
        batch = next(iter(loader))
    assert batch.photo.shape == (4, 3, 8, 8) and batch.label.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_rows_in_pieces(shared_daemon, tmp_path, libver):
    """Chunks of the sizes that h5py chooses itself."""
    path = tmp_path / "a.h5"
    images = CHANCE.randint(0, 99, (60, 128, 96, 3)).astype("uint8")
    with h5py.File(path, "w", libver=libver) as file:
        made = file.create_dataset("images", data=images, compression="gzip")
        assert made.chunks[1:] != images.shape[1:]
        many = file.create_dataset("depths", (60, 100, 50), "f8", fillvalue=7,
                                   chunks=(4, 30, 20))
        many[:20] = CHANCE.rand(20, 100, 50)
    for shuffle in (True, "block"):
        with open_records(path, fields=("images",), shuffle=shuffle) as loader:
            check(epoch(loader), ("images",), [path])
    with open_records(path, fields=("depths",), shuffle=True) as loader:
        check(epoch(loader), ("depths",), [path])


def read_bytes(daemon):
    return int(ctl(daemon, "cache")["total"]["source"]["bytes"])


def test_two_jobs_read_each_row_once(daemon, tmp_path, monkeypatch):
    path = write_photos(tmp_path / "a.h5", rows=200)
    before = read_bytes(daemon)
    for seed in (1, 2):
        monkeypatch.setenv("FOREBAY_JOB", f"job {seed}")
        with open_records(path, fields={"photos": "bytes"}, shuffle=True,
                          seed=seed) as loader:
            assert len(epoch(loader)) == 200
        if seed == 1:
            assert read_bytes(daemon) > before
            before = read_bytes(daemon)
    assert read_bytes(daemon) == before


def test_an_index_is_used_again(daemon, tmp_path):
    """A daemon that finds the index reads only rows."""
    path = write_photos(tmp_path / "a.h5", rows=200)
    with open_records(path, fields={"photos": "bytes"}) as loader:
        found = epoch(loader)
    daemon.stop()
    daemon.start()
    with open_records(path, fields={"photos": "bytes"}) as loader:
        assert read_bytes(daemon) == 0
        assert epoch(loader) == found


@pytest.mark.usefixtures("remote_daemon")
@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_files_in_a_bucket(fake_gcs, tmp_path, libver):
    paths = [write(tmp_path / f"{number}.h5", libver=libver, compression="gzip")
             for number in range(3)]
    bucket = f"rows-{libver}"
    fake_gcs.fill(bucket, {f"a/{path.name}": path.read_bytes() for path in paths})
    with open_records(f"gs://{bucket}/a/*.h5", shuffle=True) as loader:
        check(epoch(loader), NAMES, paths)
    photos = write_photos(tmp_path / "photos.h5", libver=libver)
    fake_gcs.fill(bucket, {"photos.h5": photos.read_bytes()})
    with open_records(f"gs://{bucket}/photos.h5",
                      fields={"photos": "bytes"}) as loader:
        found = epoch(loader)
    assert all(found[number][0] == photo.tobytes()
               for number, photo in enumerate(read([photos], "photos")))


def test_rows_that_were_never_written_keep_images_of_their_own(shared_daemon, tmp_path):
    """Only the images are read. They are so small that the index tells where they
    lie."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        series = file.create_dataset("series", (24, 9000), "float32", chunks=(1, 9000))
        photos = file.create_dataset("photo", (24,), h5py.vlen_dtype("uint8"))
        for number in range(24):
            if number % 2:
                series[number] = number
            content = io.BytesIO()
            PIL.Image.new("RGB", (900, 700), (number * 10,) * 3).save(
                content, "JPEG", quality=60)
            photos[number] = numpy.frombuffer(content.getvalue(), "uint8")
    data = forebay.hdf5(path, fields={"series": "", "photo": "jpg"})
    with forebay.DataLoader(data, batch_size=4, shuffle=True, framework="numpy",
                            transform=T.RandomResizedCrop(64)) as loader:
        for _ in range(3):
            for batch in loader:
                grey = batch.photo.mean(axis=(1, 2, 3)).round()
                numpy.testing.assert_allclose(grey, batch.sample_ids * 10, atol=2)
