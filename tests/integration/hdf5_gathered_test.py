"""HDF5 files whose rows are gathered from pieces: rows of several large datasets, and
rows whose parts lie in chunks all over the file. A trainer gets what h5py reads."""

import zlib

import h5py
import numpy
import pytest

import forebay
from forebay import transforms as T
from hdf5_test import check, jpeg, read, read_bytes
from memory_limit_test import LIMIT, Watch, limited
from stale_files_test import chmodded
from tfrecord_test import epoch, open_records
from trouble import refusing

FILTERS = ({}, {"compression": "gzip"}, {"compression": "lzf", "shuffle": True},
           {"fletcher32": True},
           {"compression": "gzip", "shuffle": True, "fletcher32": True})
refusal = refusing(open_records)


def noise(chance, shape, kind):
    if kind.startswith("f"):
        return chance.standard_normal(shape).astype(kind)
    return chance.integers(0, 200, shape).astype(kind)


def write_large(path, rows=24, libver="earliest"):
    """Writes images, depth maps and masks, each in another layout, and small labels."""
    chance = numpy.random.default_rng(1)
    with h5py.File(path, "w", libver=libver) as file:
        file.create_dataset("images", data=noise(chance, (rows, 96, 80, 3), "u1"),
                            chunks=(1, 96, 80, 3), maxshape=(None, 96, 80, 3),
                            compression="gzip")
        file["depths"] = noise(chance, (rows, 96, 80), "f4")
        file.create_dataset("masks", data=noise(chance, (rows, 200, 170), "u1"),
                            chunks=(5, 64, 64), maxshape=(None, 200, 170),
                            compression="lzf", shuffle=True)
        file["labels"] = numpy.arange(rows)
    return path


LARGE = ("images", "depths", "masks", "labels")


@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_several_large_datasets(shared_daemon, tmp_path, libver):
    path = write_large(tmp_path / "a.h5", libver=libver)
    for shuffle in (False, True, "block"):
        with open_records(path, fields=LARGE, shuffle=shuffle, seed=3) as loader:
            check(epoch(loader), LARGE, [path])
    dataset = forebay.Dataset(forebay.hdf5(path, fields=LARGE), autostart=False)
    for number in (0, 23, 7):
        assert (dataset[number][2] == read([path], "masks")[number]).all()


def test_several_files_with_large_datasets(shared_daemon, tmp_path):
    paths = [write_large(tmp_path / f"{number}.h5", rows)
             for number, rows in enumerate((3, 0, 1, 9))]
    with open_records(tmp_path / "*.h5", fields=LARGE, shuffle=True) as loader:
        check(epoch(loader), LARGE, paths)


def test_several_images_in_a_sample(shared_daemon, tmp_path):
    path = tmp_path / "a.h5"
    sides = ("left", "right")
    photos = {side: [jpeg(number + 30 * place) for number in range(20)]
              for place, side in enumerate(sides)}
    with h5py.File(path, "w") as file:
        for side in sides:
            made = file.create_dataset(side, 20, h5py.vlen_dtype("uint8"))
            for number, photo in enumerate(photos[side]):
                made[number] = numpy.frombuffer(photo * 9, "uint8")
        file.create_dataset("pixels", data=noise(numpy.random.default_rng(2),
                                                 (20, 120, 90, 3), "u1"))
    with open_records(path, fields={"left": "bytes", "right": "bytes",
                                    "pixels": "image"},
                      transform=T.CenterCrop(50), shuffle=True) as loader:
        found = epoch(loader)
    pixels = read([path], "pixels")
    assert sorted(found) == list(range(20))
    for number, (left, right, image) in found.items():
        assert left == photos["left"][number] * 9
        assert right == photos["right"][number] * 9
        crop = pixels[number][35:85, 20:70]
        assert (numpy.asarray(image).reshape(-1) == crop.reshape(-1)).all() or (
            numpy.asarray(image).transpose(1, 2, 0) == crop).all()


def test_a_group_for_each_sample_with_large_datasets(shared_daemon, tmp_path):
    chance = numpy.random.default_rng(3)
    path = tmp_path / "a.h5"
    expected = []
    with h5py.File(path, "w") as file:
        for number in range(10):
            image = noise(chance, (90, 80, 3), "u1")
            depth = noise(chance, (90, 80), "f4")
            points = noise(chance, (number * 400, 3), "f4")
            group = file.create_group(f"data/{number}")
            group.create_dataset("image", data=image, chunks=(32, 80, 3),
                                 compression="gzip")
            group["depth"] = depth
            group.create_dataset("points", data=points, maxshape=(None, 3),
                                 chunks=(500, 2))
            expected.append((image, depth, points))
    fields = {"data/*/image": "", "data/*/depth": "", "data/*/points": "float32[n,3]"}
    with open_records(path, fields=fields, shuffle=True) as loader:
        found = epoch(loader)
    assert sorted(found) == list(range(10))
    for number, values in found.items():
        for value, array in zip(values, expected[number]):
            assert value.shape == array.shape and (value == array).all()


def write_apart(path, **options):
    """Writes rows that each have parts in twelve chunks. The chunks lie far apart,
    because the channels are written one after the other."""
    images = noise(numpy.random.default_rng(4), (33, 112, 112, 3), "u1")
    with h5py.File(path, "w") as file:
        made = file.create_dataset("images", images.shape, "u1", fillvalue=9,
                                   chunks=(8, 56, 56, 1), **options)
        for channel in range(3):
            made[:, :, :, channel] = images[:, :, :, channel]
            file.flush()
    return path


@pytest.mark.parametrize("options", FILTERS[:2])
def test_chunks_that_lie_far_apart(daemon, tmp_path, options):
    path = write_apart(tmp_path / "a.h5", **options)
    row = 112 * 112 * 3
    before = read_bytes(daemon)
    for shuffle in (True, False, "block"):
        with open_records(path, fields=("images",), shuffle=shuffle) as loader:
            check(epoch(loader), ("images",), [path])
    # Chunks with filters are read once for all rows that share them. Of chunks without
    # filters, no more than the row's part is read.
    assert read_bytes(daemon) - before < 40 * row * 1.6


def test_two_jobs_gather_each_row_once(daemon, tmp_path, monkeypatch):
    path = write_large(tmp_path / "a.h5")
    monkeypatch.setenv("FOREBAY_JOB", "one")
    with open_records(path, fields=LARGE, shuffle=True, seed=1) as loader:
        epoch(loader)
    before = read_bytes(daemon)
    monkeypatch.setenv("FOREBAY_JOB", "two")
    with open_records(path, fields=LARGE, shuffle=True, seed=2) as loader:
        check(epoch(loader), LARGE, [path])
    assert read_bytes(daemon) == before
    # A row of other fields consists of other bytes.
    with open_records(path, fields=("depths", "masks"), shuffle=True) as loader:
        check(epoch(loader), ("depths", "masks"), [path])


def test_an_index_of_gathered_rows_is_used_again(daemon, tmp_path):
    path = write_large(tmp_path / "a.h5")
    with open_records(path, fields=LARGE, shuffle=True) as loader:
        order = list(epoch(loader))
        loader.set_epoch(0)
        batches = iter(loader)
        next(batches)
        daemon.stop()
        daemon.start()
        assert list(epoch(batches)) == order[4:]
    with open_records(path, fields=LARGE) as loader:
        check(epoch(loader), LARGE, [path])


def test_a_file_that_is_touched_in_mid_epoch_is_no_error(shared_daemon, tmp_path):
    path = write_large(tmp_path / "a.h5", rows=200)
    with open_records(path, fields=LARGE, shuffle=True) as loader:
        batches = iter(loader)
        next(batches)
        chmodded(path)
        assert len(epoch(batches)) == 196


@pytest.mark.parametrize("seed", range(10))
def test_random_shapes_are_those_of_h5py(shared_daemon, tmp_path, seed):
    chance = numpy.random.default_rng(seed)
    print("seed", seed)
    path = tmp_path / "a.h5"
    rows = int(chance.integers(1, 40))
    names = []
    libver = ["earliest", "v108", "latest"][seed % 3]
    with h5py.File(path, "w", libver=libver) as file:
        for number in range(int(chance.integers(1, 5))):
            rank = int(chance.integers(1, 4))
            most = [400, 60, 20][rank - 1]
            inner = [int(extent) for extent in chance.integers(1, most, rank)]
            # A smaller row would be stored in the index.
            inner[0] += 20_000 // int(numpy.prod(inner))
            shape = (rows, *inner)
            kind = str(chance.choice(["u1", "i2", "f4", ">f4", "f8"]))
            options = {}
            if chance.random() < 0.8:
                chunk = [int(chance.integers(max(1, extent // 6), extent + 1))
                         for extent in shape]
                options = {"chunks": tuple(chunk), "fillvalue": 3,
                           **FILTERS[int(chance.integers(len(FILTERS)))]}
                if chance.random() < 0.4:
                    options["maxshape"] = (None, *inner[:-1],
                                           None if chance.random() < 0.5 else inner[-1])
            name = f"field {number}"
            made = file.create_dataset(name, shape, kind, **options)
            # Leaves some parts of the dataset unwritten.
            for _ in range(int(chance.integers(1, 5))):
                begin = int(chance.integers(rows))
                cut = int(chance.integers(inner[-1]))
                some = made[begin:, ..., cut:].shape
                made[begin:, ..., cut:] = noise(chance, some, kind.strip(">"))
                file.flush()
            names.append(name)
    for fields in (names, names[:1]):
        with open_records(path, fields=fields, shuffle=True, seed=seed) as loader:
            found = epoch(loader)
        columns = [read([path], name) for name in fields]
        assert sorted(found) == list(range(rows))
        for number, values in found.items():
            for value, column in zip(values, columns):
                assert value.shape == column[number].shape
                assert (value == column[number]).all()


def write_packed(path, chunks):
    """Writes rows of a megabyte into each of `chunks` chunks, which decompress to 100
    MB each."""
    packed = zlib.compress(bytes(100 * 1000 * 1000), 9)
    with h5py.File(path, "w") as file:
        made = file.create_dataset("x", (100, 1000, 1000 * chunks), "u1",
                                   chunks=(100, 1000, 1000), compression="gzip")
        for number in range(chunks):
            made.id.write_direct_chunk((0, 0, 1000 * number), packed)
    return path


def test_rows_that_take_too_much_to_unpack(tmp_path):
    path = write_packed(tmp_path / "a.h5", 1000)
    with limited(tmp_path, 4 * LIMIT) as daemon, Watch(daemon) as watch:
        text = refusal(forebay.Unsupported, path, batch_size=1)
        assert ("a.h5: x: has chunks of (100, 1000, 1000), of which row 0 has parts in "
                "1000 with 100000000 bytes each, more than can be read for one row; "
                "write it anew with chunks=(1, 1000, 1000000)") in text
        assert watch.largest <= 4 * LIMIT


def test_chunks_that_no_scratch_is_large_enough_for(tmp_path):
    path = write_packed(tmp_path / "a.h5", 20)
    with limited(tmp_path, 6 * LIMIT) as daemon, Watch(daemon) as watch:
        text = refusal(forebay.ResourceExhausted, path, batch_size=1)
        assert str(tmp_path) in text
        assert watch.largest <= 6 * LIMIT


def test_chunks_that_lie_on_one_another(shared_daemon, tmp_path):
    """All chunks of a file are at the same place. The rows are then wrong, but nothing
    else happens."""
    path = write_apart(tmp_path / "a.h5")
    with h5py.File(path) as file:
        places = [file["images"].id.get_chunk_info(number).byte_offset
                  for number in range(file["images"].id.get_num_chunks())]
    content = path.read_bytes()
    for place in places[1:]:
        content = content.replace(place.to_bytes(8, "little"),
                                  places[0].to_bytes(8, "little"))
    path.write_bytes(content)
    with open_records(path, fields=("images",), shuffle=True) as loader:
        found = epoch(loader)
    with h5py.File(path) as file:
        for number, (image,) in found.items():
            assert (image == file["images"][number]).all()


@pytest.mark.parametrize("shape", [0, 1 << 31, 1 << 63])
def test_shapes_that_are_none(shared_daemon, tmp_path, shape):
    """The file's width of the dataset, and of its chunks, is overwritten."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", libver="earliest") as file:
        file.create_dataset("x", (6, 20_011), "u1", chunks=(2, 5003))
    content = path.read_bytes()
    for was, width in ((20_011, 8), (5003, 4)):
        number = was.to_bytes(width, "little")
        assert number in content
        changed = (shape % (1 << 8 * width)).to_bytes(width, "little")
        path.write_bytes(content.replace(number, changed))
        text = refusal(forebay.ForebayError, path, fields=("x",), batch_size=1)
        assert "a.h5" in text or str(tmp_path) in text or "memory.limit" in text


def test_a_piece_that_cannot_be_read_is_an_error_of_its_rows(shared_daemon, tmp_path):
    path = write_large(tmp_path / "a.h5")
    with h5py.File(path) as file:
        place = file["images"].id.get_chunk_info(5).byte_offset
    content = bytearray(path.read_bytes())
    content[place + 100:place + 200] = bytes(100)
    path.write_bytes(content)
    text = refusal(forebay.DataError, path, fields=LARGE)
    assert text.startswith(f"sample 5 (row 5) of {tmp_path}: a.h5: images: its "
                           "deflated data is damaged")
    with open_records(path, fields=LARGE, on_error="substitute") as loader:
        assert len(list(loader)) == 6
