"""Tests that all containers pass alike. An epoch has each sample once, and goes on at
its position. Two jobs read what they share once. If the cache has room for only a part,
the hit ratio is the same as for a folder's files."""

import functools
import gzip
import io
import json
import struct
import subprocess
import wave
import zipfile

import h5py
import numpy
import PIL.Image
import pytest

import forebay
from forebay import transforms as T
from daemons import serving
from remote_shards_test import tar_of
from tfrecord_test import epoch, frame
from trouble import ctl

SAMPLES = 144
ROW_BYTES = 24_000  # bytes of an array's row, about as large as the images
EDGE = 112  # pixels of the images
EPOCHS = 3  # for which hits are counted
PART = 1 / 2  # part of the samples' bytes that fits in the cache
MARGIN = 0.05  # of a hit ratio, for batches that are in flight
IMAGES = {"transform": T.CenterCrop(EDGE)}
MEMBERS = {"fields": ("jpg", "cls"), **IMAGES}
CHANCE = numpy.random.RandomState(7)


@functools.lru_cache(maxsize=None)
def pictures():
    """Returns different JPEGs of noise."""
    found = []
    for _ in range(SAMPLES):
        file = io.BytesIO()
        pixels = CHANCE.randint(0, 256, (EDGE, EDGE, 3)).astype("uint8")
        PIL.Image.fromarray(pixels).save(file, "JPEG", quality=95)
        found.append(file.getvalue())
    return found


def rows():
    return CHANCE.randint(0, 256, (SAMPLES, ROW_BYTES)).astype("uint8")


def folder(place):
    for number, content in enumerate(pictures()):
        path = place / "data" / str(number % 3) / f"{number:03}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return place / "data", IMAGES


def audio_folder(place):
    for number in range(SAMPLES):
        path = place / "clips" / f"{number:03}.wav"
        path.parent.mkdir(exist_ok=True)
        with wave.open(str(path), "wb") as clip:
            clip.setparams((1, 2, 16000, 0, "NONE", ""))
            clip.writeframes(CHANCE.bytes(ROW_BYTES - 2 * number))
    return place / "clips", {}


def tfrecord(place):
    (place / "a.tfrecord").write_bytes(b"".join(map(frame, pictures())))
    return place / "a.tfrecord", IMAGES


def gzip_tfrecord(place):
    (place / "a.tfrecord.gz").write_bytes(
        gzip.compress(b"".join(map(frame, pictures())), 1))
    return place / "a.tfrecord.gz", IMAGES


def lmdb(place):
    import lmdb_files
    lmdb_files.write(place / "env", {b"%03d" % number: content for number, content
                                     in enumerate(pictures())})
    return forebay.lmdb(place / "env"), IMAGES


def hdf5_photos(place):
    with h5py.File(place / "a.h5", "w") as file:
        written = file.create_dataset("photos", (SAMPLES,), h5py.vlen_dtype("uint8"))
        for number, content in enumerate(pictures()):
            written[number] = numpy.frombuffer(content, "uint8")
    return forebay.hdf5(place / "a.h5", fields={"photos": "jpg"}), IMAGES


def hdf5_rows(place):
    with h5py.File(place / "a.h5", "w") as file:
        file["x"] = rows()
    return place / "a.h5", {}


def hdf5_chunks(place):
    with h5py.File(place / "a.h5", "w") as file:
        file.create_dataset("x", data=rows(), chunks=(2, ROW_BYTES), compression="gzip")
    return place / "a.h5", {}


def npy(place):
    numpy.save(place / "x.npy", rows())
    return place / "x.npy", {}


def npy_folder(place):
    (place / "arrays").mkdir()
    for number, row in enumerate(rows()):
        numpy.save(place / "arrays" / f"{number:03}.npy", row)
    return place / "arrays", {}


def npz_files(place):
    (place / "arrays").mkdir()
    for number, row in enumerate(rows()):
        numpy.savez(place / "arrays" / f"{number:03}.npz", x=row)
    return place / "arrays", {}


def npz_rows(place):
    numpy.savez(place / "a.npz", x=rows())
    return place / "a.npz", {}


def tokens(place):
    rows().tofile(place / "a.bin")
    return forebay.tokens(place / "a.bin", dtype="uint16", length=ROW_BYTES // 2), {}


def zipped(place, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(place / "a.zip", "w", method) as archive:
        for number, content in enumerate(pictures()):
            archive.writestr(f"{number % 3}/{number:03}.jpg", content)
    return place / "a.zip", IMAGES


def deflated_zip(place):
    return zipped(place, zipfile.ZIP_DEFLATED)


def archive():
    return tar_of([(f"{number:03}.{ending}", value)
                   for number, content in enumerate(pictures())
                   for ending, value in (("jpg", content), ("cls", b"%d" % number))])


def tar(place):
    (place / "a.tar").write_bytes(archive())
    return place / "a.tar", MEMBERS


def tar_gz(place):
    (place / "a.tar.gz").write_bytes(gzip.compress(archive(), 1))
    return place / "a.tar.gz", MEMBERS


def tar_zst(place):
    packed = subprocess.run(["zstd", "-q", "-c"], input=archive(), check=True,
                            stdout=subprocess.PIPE).stdout
    (place / "a.tar.zst").write_bytes(packed)
    return place / "a.tar.zst", MEMBERS


def array_record(place, options="group_size:1"):
    import array_record_files  # skips the test if array_record is not installed
    array_record_files.write(place / "a.array_record", pictures(), options)
    return place / "a.array_record", IMAGES


def array_record_groups(place):
    return array_record(place, "group_size:2,zstd")


def mds(place):
    config = json.dumps({
        "format": "mds", "version": 2, "column_names": ["image"],
        "column_encodings": ["jpeg"], "column_sizes": [None]}).encode()
    samples = [struct.pack("<I", len(content)) + content
               for content in pictures()]
    begin = 4 * (SAMPLES + 2) + len(config)
    offsets = begin + numpy.cumsum([0, *map(len, samples)])
    (place / "shard.00000.mds").write_bytes(
        struct.pack("<I", SAMPLES) + offsets.astype("<u4").tobytes() + config +
        b"".join(samples))
    return place / "shard.00000.mds", IMAGES


CONTAINERS = [
    folder, audio_folder, tfrecord, gzip_tfrecord, lmdb, hdf5_photos, hdf5_rows,
    hdf5_chunks, npy, npy_folder, npz_files, npz_rows, tokens, zipped, deflated_zip,
    tar, tar_gz, tar_zst, array_record, array_record_groups, mds]
# The rows of npz_rows are in memory that is not part of the cache.
CACHED = [container for container in CONTAINERS if container is not npz_rows]


def open_container(dataset, arguments, **others):
    return forebay.DataLoader(dataset, **{
        "batch_size": 6, "shuffle": True, "framework": "numpy", "autostart": False,
        **arguments, **others})


def contents(batches):
    """Returns the bytes of each sample by its number, in the order in which the samples
    came."""
    return {number: [numpy.asarray(value).tobytes() for value in values]
            for number, values in epoch(batches).items()}


def reads(daemon):
    """Returns the number of reads so far, and how many of them were from the source."""
    total = ctl(daemon, "cache")["total"]
    counts = {tier: int(total[tier]["reads"]) for tier in total}
    return sum(counts.values()), counts["source"]


@pytest.mark.parametrize("container", CONTAINERS)
def test_epochs_have_each_sample_once(shared_daemon, tmp_path, container):
    dataset, arguments = container(tmp_path)
    found = []
    for options in ({"shuffle": False}, {}, {"rank": 0, "world_size": 2},
                    {"rank": 1, "world_size": 2}):
        with open_container(dataset, arguments, seed=4, **options) as loader:
            assert len(loader.dataset) == SAMPLES
            found.append(contents(loader))
    in_order, shuffled, even, odd = found
    assert list(in_order) == list(range(SAMPLES)) != list(shuffled)
    assert in_order == shuffled == {**even, **odd}
    assert not even.keys() & odd.keys()
    assert len({tuple(sample) for sample in in_order.values()}) == SAMPLES


@pytest.mark.parametrize("container", CONTAINERS)
def test_an_epoch_goes_on_in_its_middle(daemon, tmp_path, container):
    dataset, arguments = container(tmp_path)
    with open_container(dataset, arguments, seed=5) as loader:
        whole = contents(loader)
        loader.set_epoch(0)
        batches = iter(loader)
        first = contents([next(batches) for _ in range(7)])
        state = loader.state_dict()
    daemon.stop()
    daemon.start()
    with open_container(dataset, arguments, seed=5) as loader:
        loader.load_state_dict(state)
        rest = contents(loader)
    assert list({**first, **rest}) == list(whole) and {**first, **rest} == whole
    assert not first.keys() & rest.keys()


@pytest.mark.parametrize("container", CACHED)
def test_two_jobs_at_once_read_each_sample_once(daemon, tmp_path, monkeypatch,
                                                container):
    dataset, arguments = container(tmp_path)
    monkeypatch.setenv("FOREBAY_JOB", "one")
    with open_container(dataset, arguments, seed=1) as one:
        monkeypatch.setenv("FOREBAY_JOB", "two")
        with open_container(dataset, arguments, seed=2) as two:
            _, before = reads(daemon)
            for _ in range(2):
                found = [[], []]
                for pair in zip(one, two):
                    for batches, batch in zip(found, pair):
                        batches += batch.sample_ids.tolist()
                assert sorted(found[0]) == sorted(found[1]) == list(range(SAMPLES))
                assert found[0] != found[1]
            _, after = reads(daemon)
    assert 0 < after - before <= SAMPLES


def hit_ratio(place, container):
    """Returns the hit ratio of a shuffled loader after its first epoch."""
    dataset, arguments = container(place)
    size = sum(map(len, pictures())) if arguments else SAMPLES * ROW_BYTES
    config = place / "forebayd.toml"
    config.write_text(f"cache.memory = '{int(PART * size) >> 10}KiB'\n"
                      "cache.decoded = 'off'\n")
    with serving(place, "--config", str(config)) as daemon, \
            open_container(dataset, arguments, seed=3, batch_size=2,
                           depth=1) as loader:
        list(epoch(loader))
        before = reads(daemon)
        for _ in range(EPOCHS):
            list(epoch(loader))
        after = reads(daemon)
    read, missed = (later - earlier for later, earlier in zip(after, before))
    return 1 - missed / read


@pytest.fixture(scope="module")
def hit_ratio_of_folder(tmp_path_factory):
    return hit_ratio(tmp_path_factory.mktemp("folder"), folder)


@pytest.mark.parametrize("container", CACHED[1:])
def test_the_cache_hits_as_often_as_in_a_folder(tmp_path, hit_ratio_of_folder,
                                                container):
    ratio = hit_ratio(tmp_path, container)
    print(f"{container.__name__} {ratio:.3f}, folder {hit_ratio_of_folder:.3f}")
    assert ratio >= hit_ratio_of_folder - MARGIN
