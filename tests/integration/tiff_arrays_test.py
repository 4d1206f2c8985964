"""TIFF images as arrays. A trainer gets what tifffile reads from them
(tests/golden/tiff_arrays/make_golden.py)."""

import io
import pathlib
import tarfile
import zlib

import numpy
import pytest
import tfrecord_test

import forebay
from forebay import transforms as T
from tfrecord_test import open_records
from trouble import refusing

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "tiff_arrays"
KINDS = [line.split() for line in (GOLDEN / "golden.txt").read_text().splitlines()]


def write_shard(path, members):
    with tarfile.open(path, "w") as shard:
        for number, fields in enumerate(members):
            for extension, content in fields.items():
                member = tarfile.TarInfo(f"{number:04}.{extension}")
                member.size = len(content)
                shard.addfile(member, io.BytesIO(content))


def is_golden(array, dtype, shape, crc):
    assert array.dtype == dtype
    assert array.shape == tuple(map(int, shape.split(",")))
    assert f"{zlib.crc32(numpy.ascontiguousarray(array).tobytes()):08x}" == crc


@pytest.mark.parametrize("name, dtype, shape, crc", KINDS,
                         ids=[kind[0] for kind in KINDS])
def test_samples_are_tifffiles(shared_daemon, tmp_path, name, dtype, shape, crc):
    image = (GOLDEN / name).read_bytes()
    write_shard(tmp_path / "a.tar", [{"tif": image, "cls": b"%d" % number}
                                     for number in range(3)])
    with open_records(tmp_path / "a.tar", fields={"tif": "array", "cls": None},
                      batch_size=3) as loader:
        batch = next(iter(loader))
    assert batch.cls.tolist() == [0, 1, 2]
    for array in batch.tif:
        is_golden(array, dtype, shape, crc)
    dataset = forebay.Dataset(tmp_path / "a.tar", fields={"tif": "array"},
                              autostart=False)
    is_golden(numpy.asarray(dataset[1][0]), dtype, shape, crc)


def test_other_ops_follow(shared_daemon, tmp_path):
    write_shard(tmp_path / "a.tar",
                [{"tif": (GOLDEN / "uint16_bands.tif").read_bytes()}] * 4)
    steps = T.Compose([T.RandomWindow(8), T.RandomWindow(8, axis=1),
                       T.Transpose((2, 0, 1)), T.ToDtype("float32")])
    with open_records(tmp_path / "a.tar", fields={"tif": "array"},
                      transform={"tif": steps}) as loader:
        batch = next(iter(loader))
    assert batch.tif.shape == (4, 5, 8, 8) and batch.tif.dtype == numpy.float32


def test_records_have_them_too(shared_daemon, tmp_path):
    path = tmp_path / "a.tfrecord"
    path.write_bytes(b"".join(
        tfrecord_test.frame((GOLDEN / name).read_bytes())
        for name in ("uint16.tif", "uint16_lzw_predicted.tif", "uint16_tiles.tif")))
    with open_records(forebay.tfrecord(path, fields="array"), batch_size=3) as loader:
        batch = next(iter(loader))
    for array in batch.record:
        is_golden(array, "uint16", "37,23", "f9caacf3")


refusal = refusing(open_records)


def test_what_is_wrong_is_named(shared_daemon, tmp_path):
    shard = tmp_path / "a.tar"
    write_shard(shard, [{"tif": (GOLDEN / "unread_zstd.tif").read_bytes()}])
    assert refusal(forebay.Unsupported, shard, fields={"tif": "array"}).endswith(
        "a.tar: tif: is a TIFF image with samples compressed by method 50000, which "
        "are not read as an array")
    assert refusal(forebay.InvalidArgument, shard, fields={"tif": "uint16"}) == (
        "fields: the extension of 'tif' says its type, which may be \"array\" or None, "
        "not 'uint16'")
    write_shard(shard, [{"tif": (GOLDEN / name).read_bytes()}
                        for name in ("uint16.tif", "uint16_rgb.tif")])
    with open_records(shard, fields={"tif": "array"}, batch_size=1) as loader:
        batches = iter(loader)
        next(batches)
        with pytest.raises(forebay.InvalidArgument) as why:
            next(batches)
    assert ("is an array of uint16 (19, 17, 3), but that of the first one is of uint16 "
            "(37, 23), as all must be") in str(why.value)
    damaged = bytearray((GOLDEN / "uint16_lzw.tif").read_bytes())
    damaged[40:60] = bytes(20)
    write_shard(shard, [{"tif": (GOLDEN / "uint16.tif").read_bytes()},
                        {"tif": bytes(damaged)}])
    with open_records(shard, fields={"tif": "array"}, batch_size=1) as loader:
        batches = iter(loader)
        next(batches)
        with pytest.raises(forebay.DataError, match="is a corrupt TIFF image"):
            next(batches)
