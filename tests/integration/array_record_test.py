"""Datasets of ArrayRecord files, from the files to a trainer's batches. A trainer gets
the same records as array_record reads."""

import io
import shutil
import struct

import numpy
import PIL.Image
import pytest

import forebay
from array_record_files import (BLOCK, CODECS, OPTIONS, golden, golden_names, noise,
                                records_of, write)
from forebay import transforms as T
from tfrecord_test import (EXAMPLES, FIELDS, SMALL, epoch, examples, is_example,
                           open_records)
from trouble import ctl

PHOTO_FIELDS = {"image/encoded": "jpg", "image/class/label": "int64"}


def tfrecord_payloads():
    """Returns the Examples of TensorFlow's golden files."""
    for path in sorted(EXAMPLES.parent.glob(EXAMPLES.name)):
        content = path.read_bytes()
        while content:
            length, = struct.unpack_from("<Q", content)
            yield content[12:12 + length]
            content = content[16 + length:]


@pytest.fixture
def examples_file(tmp_path):
    return write(tmp_path / "examples.array_record", tfrecord_payloads())


def values(loader):
    """Returns the first field of each sample, in the order of the sample numbers."""
    found = epoch(loader)
    assert sorted(found) == list(range(len(found)))
    return [found[number][0] for number in range(len(found))]


def read_from_disk(daemon):
    return int(ctl(daemon, "cache")["total"]["source"]["bytes"])


def jpeg(seed, size):
    pixels = numpy.random.RandomState(seed).randint(0, 256, (*size, 3), numpy.uint8)
    out = io.BytesIO()
    PIL.Image.fromarray(pixels).save(out, "JPEG", quality=95)
    return out.getvalue()


def npy(array):
    out = io.BytesIO()
    numpy.save(out, array)
    return out.getvalue()


@pytest.mark.parametrize("name", golden_names())
def test_records_are_those_of_its_own_reader(shared_daemon, tmp_path, name):
    path = golden(tmp_path, name)
    expected = records_of(path)
    dataset = forebay.array_record(path, fields="bytes")
    assert len(forebay.Dataset(dataset, autostart=False)) == len(expected)
    if not expected:
        return
    with open_records(dataset, shuffle=True) as loader:
        assert len(loader.dataset) == len(expected)
        assert values(loader) == expected


@pytest.mark.parametrize("options", OPTIONS)
def test_features_are_those_of_tensorflow(shared_daemon, tmp_path, options):
    payloads = list(tfrecord_payloads())
    for part, begin in enumerate((0, 7)):
        write(tmp_path / f"x.array_record-{part:05}-of-00002",
              payloads[begin:begin + 7 - 4 * part], options)
    with open_records(tmp_path / "x.array_record-*-of-00002", fields=FIELDS,
                      shuffle=True) as loader:
        found = epoch(loader)
    assert all(is_example(found[number], record)
               for number, record in enumerate(examples()))
    assert len(found) == 10


@pytest.mark.parametrize("options", OPTIONS)
def test_records_of_all_lengths(shared_daemon, tmp_path, options):
    expected = noise(300, seed=3)
    path = write(tmp_path / "a.array_record", expected, options)
    with open_records(path, fields="bytes", shuffle=True, batch_size=7) as loader:
        assert values(loader) == expected


@pytest.mark.parametrize("name", [
    "*.array_record", "{a,b}.array_record", "*.arrayrecord", "c.array_record*",
    "c.array_record-*", "c.array_record-*-of-00002", "c.array_record-00000-of-00002",
    "c.array_record-{00000..00001}-of-00002"])
def test_names_that_mean_such_files(shared_daemon, tmp_path, name):
    for part in ("a.array_record", "b.array_record", "a.arrayrecord",
                 "b.arrayrecord", "c.array_record-00000-of-00002",
                 "c.array_record-00001-of-00002"):
        write(tmp_path / part, [part.encode()])
    with open_records(tmp_path / name) as loader:
        batch = next(iter(loader))
    assert batch._fields == ("record",)
    assert len(batch.record) == (1 if "-00000-" in name else 2)


def test_any_name_is_read_as_records_if_it_is_said(shared_daemon, examples_file):
    shutil.copy(examples_file, examples_file.with_name("train-0"))
    with open_records(forebay.array_record(
            examples_file.with_name("train-*"), fields=FIELDS)) as loader:
        assert len(loader.dataset) == 10


@pytest.mark.parametrize("options", ["group_size:1,zstd", "group_size:4,zstd",
                                     "group_size:4,uncompressed"])
def test_images_are_those_of_tfrecord_files(shared_daemon, tmp_path, options):
    """Images are decoded from the memory into which their chunk was decompressed. Other
    fields lie after them there."""
    path = write(tmp_path / "a.array_record", tfrecord_payloads(), options)
    arguments = {"fields": {**PHOTO_FIELDS, **FIELDS}, "shuffle": True, "seed": 5,
                 "transform": T.RandomResizedCrop(16)}
    with open_records(path, **arguments) as loader:
        found = epoch(loader)
    with open_records(EXAMPLES, **arguments) as loader:
        expected = epoch(loader)
    assert repr(found) == repr(expected) and len(found) == 10


@pytest.mark.parametrize("options", [f"group_size:{group},{codec}"
                                     for codec in CODECS for group in (1, 5)])
def test_photographs_over_several_blocks(shared_daemon, tmp_path, options):
    photos = [jpeg(seed, (150 + 40 * seed, 200)) for seed in range(8)]
    path = write(tmp_path / "a.array_record", photos, options)
    plain = tmp_path / "folder" / "class"
    plain.mkdir(parents=True)
    for number, photo in enumerate(photos):
        (plain / f"{number}.jpg").write_bytes(photo)
    with open_records(path, transform=SMALL) as loader:
        found = values(loader)
    with open_records(plain.parent, transform=SMALL) as loader:
        expected = values(loader)
    assert all((one == other).all() for one, other in zip(found, expected))
    assert len(found) == 8


@pytest.mark.parametrize("options", ["group_size:1,zstd", "group_size:4,zstd"])
def test_images_that_are_kept_decoded_are_their_records_own(daemon, tmp_path, options):
    """All records of a chunk have the same range of bytes in the file."""
    photos = [jpeg(seed, (600, 800)) for seed in range(12)]
    path = write(tmp_path / "a.array_record", photos, options)
    plain = tmp_path / "folder" / "class"
    plain.mkdir(parents=True)
    for number, photo in enumerate(photos):
        (plain / f"{number:02}.jpg").write_bytes(photo)
    arguments = {"transform": T.RandomResizedCrop(64), "shuffle": True, "seed": 3}
    with open_records(path, **arguments) as loader, \
            open_records(plain.parent, **arguments) as reference:
        for _ in range(6):
            found, expected = epoch(loader), epoch(reference)
            assert list(found) == list(expected)
            assert all((found[number][0] == expected[number][0]).all()
                       for number in found)


def test_fields_are_guessed(shared_daemon, examples_file):
    with open_records(examples_file, transform=SMALL) as loader:
        batch = next(iter(loader))
    assert batch._fields == (
        "embedding", "ids", "image_class_label", "image_class_text",
        "image_encoded", "image_object_bbox_xmin", "pixels", "score")


@pytest.mark.parametrize("group", [1, 4])
def test_whole_records_of_other_types(shared_daemon, tmp_path, group):
    arrays = [numpy.arange(6 * number, dtype="<i2").reshape(-1, 2)
              for number in range(1, 9)]
    options = f"group_size:{group}"
    path = write(tmp_path / "rows.array_record", [a.tobytes() for a in arrays],
                 options)
    with open_records(path, fields="int16[n,2]") as loader:
        assert [a.tolist() for a in values(loader)] == [a.tolist() for a in arrays]
    path = write(tmp_path / "npy.array_record", map(npy, arrays), options)
    with open_records(path, fields="npy") as loader:
        assert [a.tolist() for a in values(loader)] == [a.tolist() for a in arrays]
    path = write(tmp_path / "numbers.array_record", [b"17", b"-5"], options)
    with open_records(path, fields="int64") as loader:
        assert next(iter(loader)).record.tolist() == [17, -5]
    path = write(tmp_path / "texts.array_record", ["\u00fcber".encode(), b""], options)
    with open_records(path, fields="text") as loader:
        assert next(iter(loader)).record == ["\u00fcber", ""]


def test_ranks_share_the_records(shared_daemon, examples_file):
    seen = []
    for rank in range(3):
        with open_records(examples_file, fields=FIELDS, shuffle=True, rank=rank,
                          world_size=3, pad="none") as loader:
            seen += epoch(loader)
    assert sorted(seen) == list(range(10))


@pytest.mark.parametrize("group", [1, 4])
def test_an_epoch_goes_on_where_it_was_left(daemon, tmp_path, group):
    path = write(tmp_path / "a.array_record", noise(20), f"group_size:{group}")
    with open_records(path, fields="bytes", shuffle=True, batch_size=2) as loader:
        order = [number for batch in loader for number in batch.sample_ids.tolist()]
        loader.set_epoch(0)
        batches = iter(loader)
        next(batches)
        state = loader.state_dict()
        daemon.stop()
        daemon.start()
        rest = epoch(batches)
    assert list(rest) == order[2:]
    with open_records(path, fields="bytes", shuffle=True, batch_size=3) as loader:
        loader.load_state_dict(state)
        assert list(epoch(loader)) == order[2:]


@pytest.mark.parametrize("options", ["group_size:1,zstd", "group_size:20,snappy"])
def test_two_jobs_read_each_record_once(daemon, tmp_path, monkeypatch, options):
    records = noise(1000, longest=1000)
    path = write(tmp_path / "train.array_record", records, options)

    for seed in (1, 2):
        before = read_from_disk(daemon)
        monkeypatch.setenv("FOREBAY_JOB", f"job {seed}")
        with open_records(path, fields="bytes", batch_size=100, shuffle=True,
                          seed=seed) as loader:
            assert values(loader) == records
        if seed == 2:
            assert read_from_disk(daemon) == before


@pytest.mark.parametrize("group", [1, 4])
def test_single_samples(shared_daemon, tmp_path, group):
    path = write(tmp_path / "a.array_record", tfrecord_payloads(),
                 f"group_size:{group}")
    dataset = forebay.Dataset(forebay.array_record(path, fields=FIELDS),
                              autostart=False)
    expected = examples()
    for number in (0, 9, -1):
        assert is_example([numpy.asarray(value) if not isinstance(value, str)
                           else value for value in dataset[number]],
                          expected[number])


@pytest.mark.parametrize("options", ["group_size:1", "group_size:7,brotli"])
def test_an_index_is_kept(daemon, tmp_path, options):
    records = noise(500)
    path = write(tmp_path / "a.array_record", records, options)
    with open_records(path, fields="bytes") as loader:
        assert values(loader) == records
    daemon.stop()
    daemon.start()
    before = read_from_disk(daemon)
    with open_records(path, fields="bytes") as loader:
        assert read_from_disk(daemon) == before
        assert values(loader) == records
    assert not [line for line in daemon.log().splitlines() if "anew" in line]


def test_only_lists_of_chunks_are_read_to_open(daemon, tmp_path):
    path = write(tmp_path / "a.array_record", [b"x" * 100_000] * 100,
                 "group_size:1,uncompressed")
    with open_records(path, fields="bytes") as loader:
        assert read_from_disk(daemon) <= 3 * BLOCK
        assert values(loader) == [b"x" * 100_000] * 100
