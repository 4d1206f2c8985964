"""Python datasets read each container through forebay.open: by the reference reader if
it takes files, or by reading bytes."""

import csv
import gzip
import io
import json
import pathlib
import subprocess
import tarfile
import wave
import zipfile

import h5py
import numpy
import PIL.Image
import pytest
import soundfile
import torch
from torch.utils.data import DataLoader, Dataset

import forebay
import inspected_files
import tfrecord_test
from inspected_files import GOLDEN, members, pictures
from remote_shards_test import tar_of

CHANCE = numpy.random.RandomState(5)
IMAGES = 12


class Read(Dataset):
    """A dataset in which sample i is what `read` finds for item i of the file."""

    def __init__(self, path, count, read, opened):
        self.path, self.count = path, count
        self.read, self.opened = read, opened

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        path = self.path[number] if isinstance(self.path, list) else self.path
        with self.opened(path) as file:
            return numpy.array(self.read(file, number))


def builtin(path):
    return open(path, "rb")


def pixels(content):
    return numpy.asarray(PIL.Image.open(io.BytesIO(content)).convert("RGB"))


def shards(place, photos):
    content = tar_of(members(photos)[:2 * IMAGES])

    def read(file, number, mode="r:"):
        with tarfile.open(fileobj=file, mode=mode) as archive:
            return pixels(archive.extractfile(f"{number:04}.jpg").read())

    (place / "a.tar").write_bytes(content)
    return place / "a.tar", IMAGES, read


def packed_shards(place, photos):
    path, count, read = shards(place, photos)
    (place / "a.tar.gz").write_bytes(gzip.compress(path.read_bytes(), 1))
    return place / "a.tar.gz", count, lambda *found: read(*found, mode="r:gz")


def zipped(place, photos):
    with zipfile.ZipFile(place / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number, path in enumerate(pictures(photos)[:IMAGES]):
            archive.write(path, f"{number}.jpg")

    def read(file, number):
        with zipfile.ZipFile(file) as archive:
            return pixels(archive.read(f"{number}.jpg"))

    return place / "a.zip", IMAGES, read


def records(place, photos):
    tfrecord_test.write(place / "a.tfrecord", [
        path.read_bytes() for path in pictures(photos)[:IMAGES]])

    def read(file, number):
        for _ in range(number):
            file.seek(int.from_bytes(file.read(8), "little") + 8, 1)
        length = int.from_bytes(file.read(8), "little")
        file.seek(4, 1)
        return pixels(file.read(length))

    return place / "a.tfrecord", IMAGES, read


def packed_records(place, photos):
    path, count, read = records(place, photos)
    (place / "a.gz").write_bytes(gzip.compress(path.read_bytes()))
    return place / "a.gz", count, lambda file, number: read(
        gzip.GzipFile(fileobj=file), number)


def hdf5(place, photos):
    with h5py.File(place / "a.h5", "w") as file:
        file.create_dataset("x", data=CHANCE.rand(40, 7), chunks=(3, 7),
                            compression="gzip", shuffle=True)

    def read(file, number):
        with h5py.File(file, "r") as opened:
            return opened["x"][number]

    return place / "a.h5", 40, read


def rows(place, photos):
    numpy.save(place / "a.npy", CHANCE.rand(11, 2, 3))
    return place / "a.npy", 11, lambda file, number: numpy.load(file)[number]


def arrays(place, photos):
    numpy.savez_compressed(place / "a.npz", x=CHANCE.rand(9, 4), y=numpy.arange(9))
    return place / "a.npz", 9, lambda file, number: numpy.load(file)["x"][number]


def tokens(place, photos):
    CHANCE.randint(0, 50000, 5000).astype("int32").tofile(place / "a.bin")

    def read(file, number):
        file.seek(4000 * number)
        return numpy.frombuffer(file.read(4000), numpy.int32).copy()

    return place / "a.bin", 5, read


def audio(place, photos):
    samples = CHANCE.uniform(-1, 1, 5000).astype("float32")
    for ending in ("wav", "flac", "ogg"):
        soundfile.write(place / f"a.{ending}", samples, 16000)

    def read(file, number):
        return soundfile.read(file, 500, start=number * 300, dtype="float32")[0]

    return [place / f"a.{ending}" for ending in ("wav", "flac", "ogg")], 3, read


def clips(place, photos):
    (place / "a.wav").write_bytes(inspected_files.clip(9))

    def read(file, number):
        with wave.open(file) as opened:
            opened.setpos(10 * number)
            return numpy.frombuffer(opened.readframes(10), "int16").copy()

    return place / "a.wav", 5, read


def images(place, photos):
    paths = []
    for number, ending in enumerate(("png", "webp", "tif", "bmp", "gif", "jpg")):
        paths.append(place / f"a.{ending}")
        PIL.Image.open(pictures(photos)[number]).save(paths[-1])
    return paths, len(paths), lambda file, _: PIL.Image.open(file).convert("RGB")


def table(place, photos):
    with open(place / "a.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([("name", "number"), *((f'"{i}",\n', i) for i in range(9))])

    def read(file, number):
        lines = csv.DictReader(io.TextIOWrapper(file, newline=""))
        return int(list(lines)[number]["number"])

    return place / "a.csv", 9, read


def mosaic(place, photos):
    folder = GOLDEN / "mds" / "mixed"
    shard = json.loads((folder / "index.json").read_text())["shards"][0]

    def read(file, number):
        """Returns a sample's length, from the table of offsets at the file's
        beginning."""
        assert int.from_bytes(file.read(4), "little") == shard["samples"]
        file.seek(4 * number, 1)
        begin, end = (int.from_bytes(file.read(4), "little") for _ in range(2))
        file.seek(begin)
        return len(file.read(end - begin))

    return folder / shard["raw_data"]["basename"], shard["samples"], read


def blocks(paths):
    """Returns parts of files whose reader takes only paths."""
    def read(file, number):
        file.seek(number * 4099)
        return numpy.frombuffer(file.read(4099).ljust(4099), numpy.uint8).copy()

    return paths, len(paths), read


def zstd_shards(place, photos):
    packed = subprocess.run(["zstd", "-c"], check=True, stdout=subprocess.PIPE,
                            input=tar_of(members(photos)[:2 * IMAGES])).stdout
    (place / "a.tar.zst").write_bytes(packed)
    return blocks([place / "a.tar.zst"] * 5)


def environment(place, photos):
    path, *_ = inspected_files.environment(place, photos)
    return blocks([pathlib.Path(path) / "data.mdb"] * 9)


def array_record(place, photos):
    for path in (GOLDEN / "array_record").glob("*.gz"):
        (place / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
    return blocks(sorted(place.iterdir()))


CONTAINERS = (array_record, arrays, audio, clips, environment, hdf5, images, mosaic,
              packed_records, packed_shards, records, rows, shards, table, tokens,
              zipped, zstd_shards)


@pytest.mark.parametrize("container", CONTAINERS)
def test_workers_read_each_container(shared_daemon, tmp_path, photos, container):
    path, count, read = container(tmp_path, photos)
    wanted = list(DataLoader(Read(path, count, read, builtin), 2))
    # Each worker opens the file for each of its samples.
    with forebay.DataLoader(Read(path, count, read, forebay.open), 2,
                            num_workers=2) as loader:
        for _ in range(2):
            found = list(loader)
            assert len(found) == len(wanted)
            assert all(map(torch.equal, found, wanted))


@pytest.mark.parametrize("container", [hdf5, zipped, shards])
def test_a_file_that_is_opened_once_for_all_workers(shared_daemon, tmp_path, photos,
                                                    container):
    """Workers inherit the open file."""
    path, count, read = container(tmp_path, photos)
    wanted = list(DataLoader(Read(path, count, read, builtin), 2))
    file = forebay.open(path)
    file.read(1)

    class Once(Read):
        def __getitem__(self, number):
            file.seek(0)
            return numpy.array(self.read(file, number))

    with forebay.DataLoader(Once(path, count, read, None), 2, num_workers=2,
                            sharing="off") as loader:
        assert all(map(torch.equal, list(loader), wanted))
    assert not file.closed
