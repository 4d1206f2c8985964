"""Compressed files that are damaged, or that other content makes look compressed."""

import gzip
import struct
import zlib

import pytest

import forebay
from daemons import serving
from memory_limit_test import Watch
from packed_files import MIB, many_members, noise, one_member, tar_of
from tfrecord_test import epoch, frame, masked, open_records

pytestmark = pytest.mark.usefixtures("shared_daemon")

TAR = tar_of((f"{number:03}.txt", b"%d" % number * 50) for number in range(40))
RECORDS = b"".join(frame(b"%d" % number * 50) for number in range(40))


def open_tar(path):
    return forebay.DataLoader(path, fields=("txt",), batch_size=4,
                              framework="numpy", autostart=False)


def refusal(path, content, error=forebay.DataError):
    """Writes a container with this content, and returns the error message that refuses
    it."""
    path.write_bytes(content)
    with pytest.raises(error) as caught:
        with (open_tar(path) if path.name.endswith(".tar.gz") else
              open_records(path, fields="bytes")) as loader:
            list(loader)
    return str(caught.value)


@pytest.fixture(params=["a.tar.gz", "a.tfrecord.gz"])
def container(request, tmp_path):
    """The path of a container, and the content of a good file."""
    return tmp_path / request.param, (
        TAR if request.param == "a.tar.gz" else RECORDS)


def test_truncated_anywhere(container):
    path, content = container
    packed = many_members(content[:1000]) + one_member(content[1000:])
    first = len(gzip.compress(content[:1000], mtime=0))
    # The file ends in a header, in data, in a checksum, in a length, or in a later
    # header.
    for length in (4, 9, 15, len(packed) - 100, len(packed) - 6,
                   len(packed) - 1, first + 1, first + 5, first - 3):
        text = refusal(path, packed[:length])
        assert text.startswith(f"{path.parent}: {path.name}: at byte {length}: "), (
            length, text)
        assert text.endswith("is truncated in its compressed data"), (length, text)


def test_truncated_before_it_was_compressed(container):
    path, content = container
    for length in (1, 100, 513, 1000, len(content) // 2 + 7):
        text = refusal(path, one_member(content[:length]))
        assert path.name in text and "is truncated" in text or (
            "only" in text), text


@pytest.mark.parametrize("at, says", [
    (-8, "incorrect data check"), (-1, "incorrect length check"),
    (3, "unknown header flags set")])
def test_checks(container, at, says):
    path, content = container
    packed = bytearray(one_member(content))
    packed[at] ^= 0xf0
    text = refusal(path, packed)
    assert f"its compressed data is damaged ({says})" in text
    assert text.startswith(f"{path.parent}: {path.name}: at byte ")


def test_garbage_behind_the_end(container):
    path, content = container
    for garbage in (b"garbage", b"\0" * 100 + b"x", b"\x1f\x8bgarbage"):
        text = refusal(path, one_member(content) + garbage)
        assert "damaged" in text or text.endswith(
            "something that is not compressed lies behind the compressed data")


def test_nothing_at_all(tmp_path):
    assert "it has only 0 bytes" in refusal(tmp_path / "a.tar.gz", b"")
    assert "it has only 0 bytes" in refusal(tmp_path / "b.tar.gz",
                                            gzip.compress(b""))
    for content in (b"", gzip.compress(b""), zlib.compress(b"")):
        assert "no samples" in refusal(tmp_path / "a.tfrecord", content,
                                       forebay.InvalidArgument)


def test_compressions_that_are_not_read(tmp_path):
    for start, name in ((b"BZh91AY&SY", "bzip2"), (b"\xfd7zXZ\0", "xz")):
        assert f"the archive is compressed ({name})" in refusal(
            tmp_path / "a.tar.gz", start.ljust(600, b"a"), forebay.Unsupported)


def test_files_that_begin_as_compressed_ones_do(tmp_path):
    """A record's length, and a member's name, can look like a gzip header."""
    record = bytes(0x8b1f)
    assert frame(record)[:2] == b"\x1f\x8b"
    (tmp_path / "a.tfrecord").write_bytes(frame(record) * 3)
    with open_records(tmp_path / "a.tfrecord", fields="bytes") as loader:
        assert next(iter(loader)).record == [record] * 3
    (tmp_path / "a.tar").write_bytes(tar_of([("x^.txt", b"abc")]))
    with open_tar(tmp_path / "a.tar") as loader:
        assert next(iter(loader)).txt == ["abc"]


def test_a_thousand_times_its_size(tmp_path):
    """The file's content is a thousand times as large. The memory for it is bounded,
    and so is the cost of a sample."""
    with serving(tmp_path) as daemon:
        (tmp_path / "a.tar.gz").write_bytes(gzip.compress(tar_of(
            [(f"{number}.txt", b"%d" % number) for number in range(10)] +
            [("zeros", bytes(400 * MIB))] +
            [(f"{number}.txt", b"%d" % number) for number in range(10, 20)])))
        with Watch(daemon) as watch, open_tar(tmp_path / "a.tar.gz") as loader:
            texts = [text for batch in loader for text in batch.txt]
        assert texts == [str(number) for number in range(20)]
        assert watch.largest < 128 * MIB


def test_samples_that_are_larger_than_the_memory(tmp_path):
    config = tmp_path / "forebayd.toml"
    config.write_text("memory.limit = '128MiB'\n")
    with serving(tmp_path, "--config", str(config)):
        text = refusal(tmp_path / "a.tar.gz", gzip.compress(tar_of(
            [("0.txt", bytes(300 * MIB)), ("1.txt", b"x")])),
            forebay.ResourceExhausted)
        assert str(tmp_path) in text
        # The daemon goes on.
        (tmp_path / "b.tar.gz").write_bytes(one_member(TAR))
        with open_tar(tmp_path / "b.tar.gz") as loader:
            assert sum(len(batch.txt) for batch in loader) == 40


def test_lengths_of_any_size(tmp_path):
    for length in (2**40, 2**62, 2**63, 2**64 - 1, 2**64 - 17):
        number = struct.pack("<Q", length)
        for fields in ("bytes", {"a": "float32[n]"}, None):
            path = tmp_path / "a.tfrecord.gz"
            path.write_bytes(one_member(number + masked(number) + bytes(100)))
            with pytest.raises(forebay.DataError) as caught:
                with open_records(path, fields=fields) as loader:
                    list(loader)
            assert "is truncated" in str(caught.value)


def test_damage_that_comes_later_is_of_samples_alone(tmp_path):
    """The damage shows only in the checksums of the records."""
    records = [noise(number, 100_000) for number in range(60)]
    path = tmp_path / "a.tfrecord.gz"
    packed = gzip.compress(b"".join(map(frame, records)), 0, mtime=0)
    path.write_bytes(packed)
    with open_records(path, fields="bytes", batch_size=1,
                      on_error="substitute") as loader:
        batches = iter(loader)
        next(batches)
        # The file's modification time then differs from the index's.
        with open(path, "r+b") as file:
            file.seek(len(packed) // 2)
            file.write(b"x")
        with pytest.raises(forebay.StateError):
            for _ in range(2):
                epoch(batches)
                batches = iter(loader)


@pytest.mark.parametrize("cache", ["0", "64MiB"])
def test_the_daemon_leaves_while_files_are_inflated(tmp_path, cache):
    config = tmp_path / "forebayd.toml"
    config.write_text(f"cache.memory = '{cache}'\n")
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(
        tar_of((f"{number:03}.bin", noise(number, 100_000))
               for number in range(200)), 1))
    with serving(tmp_path, "--config", str(config)) as daemon:
        with forebay.DataLoader(
                tmp_path / "a.tar.gz", fields=("bin",), batch_size=64,
                shuffle=True, framework="numpy", autostart=False) as loader:
            batches = iter(loader)
            next(batches)
            assert daemon.stop() == 0
            del batches
