"""Tar shards and TFRecord files that zstd has compressed, in one frame or many, give
the same samples as uncompressed ones."""

import os

import pytest

import forebay
from compressed_test import SAMPLES, archive, as_bytes, expected, \
    open_tars  # noqa: F401
from daemons import serving
from memory_limit_test import Watch
from packed_files import (MIB, ZSTD_PACKERS, long_window, noise, one_frame,
                          one_member, parallel_zstd, seekable, skipped_frame,
                          tar_of)
from stale_files_test import (SHARD_SAMPLES, chmodded, linked, open_shard,
                              read_shard, renamed, rewritten,
                              set_to_its_own_time, write_shard)
from tfrecord_test import epoch, frame, open_records
from trouble import ctl

TAR = tar_of((f"{number:03}.txt", b"%d" % number * 50) for number in range(40))


@pytest.mark.parametrize("pack", ZSTD_PACKERS)
@pytest.mark.parametrize("shuffle", [False, True, "block"])
def test_samples_are_those_of_the_tar(shared_daemon, tmp_path,
                                      archive, expected,  # noqa: F811
                                      pack, shuffle):
    (tmp_path / "a.tar.zst").write_bytes(pack(archive))
    with open_tars(tmp_path / "a.tar.zst", shuffle=shuffle, seed=3) as loader:
        assert len(loader.dataset) == SAMPLES
        found = epoch(loader)
    assert as_bytes(found) == expected


def test_some_shards_may_be_compressed(shared_daemon, tmp_path,
                                       archive, expected):  # noqa: F811
    (tmp_path / "0.tar").write_bytes(archive)
    (tmp_path / "1.tar.gz").write_bytes(one_member(archive))
    (tmp_path / "2.tar.zst").write_bytes(one_frame(archive))
    (tmp_path / "3.tzst").write_bytes(parallel_zstd(archive))
    with open_tars(tmp_path / "[0-3].*", shuffle=True) as loader:
        found = as_bytes(epoch(loader))
    assert found == {number: expected[number % SAMPLES]
                     for number in range(4 * SAMPLES)}


@pytest.mark.parametrize("pack", ZSTD_PACKERS)
@pytest.mark.parametrize("fields", ["bytes", None])
def test_records(shared_daemon, tmp_path, pack, fields):
    records = [noise(number, number ** 3 % 300_000) for number in range(60)]
    records.append(noise(0, 9 * MIB))
    (tmp_path / "a.tfrecord.zst").write_bytes(pack(b"".join(map(frame, records))))
    with open_records(tmp_path / "a.tfrecord.zst", fields=fields,
                      shuffle=True) as loader:
        found = as_bytes(epoch(loader))
    assert [found[number] for number in range(61)] == [
        [record] for record in records]


@pytest.mark.parametrize("pack", [one_frame, seekable])
def test_an_epoch_goes_on_where_it_was_left(daemon, tmp_path,
                                            archive, expected,  # noqa: F811
                                            pack):
    (tmp_path / "a.tar.zst").write_bytes(pack(archive))
    with open_tars(tmp_path / "a.tar.zst", shuffle=True) as loader:
        order = [number for batch in loader
                 for number in batch.sample_ids.tolist()]
        loader.set_epoch(0)
        batches = iter(loader)
        next(batches)
        state = loader.state_dict()
        daemon.stop()
        daemon.start()
        rest = epoch(batches)
    assert list(rest) == order[7:]
    assert as_bytes(rest) == {number: expected[number] for number in order[7:]}
    with open_tars(tmp_path / "a.tar.zst", shuffle=True) as loader:
        loader.load_state_dict(state)
        assert list(epoch(loader)) == order[7:]


@pytest.mark.parametrize("pack", [one_frame, parallel_zstd])
def test_two_jobs_read_a_file_once(daemon, tmp_path,
                                   archive, expected,  # noqa: F811
                                   monkeypatch, pack):
    (tmp_path / "a.tar.zst").write_bytes(pack(archive))

    def read_from_disk():
        return int(ctl(daemon, "cache")["total"]["source"]["bytes"])

    for seed in (1, 2):
        before = read_from_disk()
        monkeypatch.setenv("FOREBAY_JOB", f"job {seed}")
        with open_tars(tmp_path / "a.tar.zst", shuffle=True, seed=seed) as loader:
            assert as_bytes(epoch(loader)) == expected
        if seed == 2:
            assert read_from_disk() == before


def test_pieces_are_kept_of_a_long_frame_alone(daemon, tmp_path,
                                               archive, expected):  # noqa: F811
    sizes = []
    for number, pack in enumerate([one_frame, long_window, parallel_zstd]):
        folder = tmp_path / f"folder{number}"
        folder.mkdir()
        (folder / "a.tar.zst").write_bytes(pack(archive))
        before = set(tmp_path.rglob("*.points"))
        with open_tars(folder / "a.tar.zst", shuffle=True) as loader:
            assert as_bytes(epoch(loader)) == expected
        kept, = set(tmp_path.rglob("*.points")) - before
        sizes.append(kept.stat().st_size)
    # The stored pieces are those after the frame's first 8 MiB, all pieces, and none.
    assert len(archive) // 3 < sizes[0] < len(archive) - 8 * MIB
    assert len(archive) // 2 < sizes[1] < len(archive)
    assert sizes[2] < 2000
    # Damage to stored pieces is reported, but only if their file is read.
    for path in tmp_path.rglob("*.points"):
        with open(path, "r+b") as file:
            file.write(bytes(4096))
    daemon.stop()
    daemon.start()
    with open_tars(tmp_path / "folder2" / "a.tar.zst") as loader:
        assert as_bytes(epoch(loader)) == expected
    with pytest.raises(forebay.DataError, match="access points is damaged"):
        with open_tars(tmp_path / "folder1" / "a.tar.zst") as loader:
            epoch(loader)


SHARD_BYTES = 4 * MIB  # more than any shard has


def packed_shard(path, photos, order):
    """Writes a shard that is padded, so that another order of samples keeps the file's
    length."""
    plain = path.with_name("plain")
    write_shard(plain, photos, order)
    pack = long_window if "long" in path.name else one_frame
    packed = pack(plain.read_bytes())
    path.write_bytes(packed + skipped_frame(bytes(SHARD_BYTES - len(packed))))
    plain.unlink()


@pytest.fixture(params=["long.tar.zst", "short.tar.zst"])
def shard(request, tmp_path, photos):
    packed_shard(tmp_path / request.param, photos, range(SHARD_SAMPLES))
    return tmp_path / request.param


@pytest.mark.parametrize("touch", [chmodded, linked, set_to_its_own_time])
def test_a_shard_that_is_touched_in_mid_epoch_is_no_error(shared_daemon, shard,
                                                          touch):
    with open_shard(shard, shuffle=True) as loader:
        before, labels = read_shard(loader)
        loader.set_epoch(0)
        batches = iter(loader)
        first = read_shard([next(batches)])
        touch(shard)
        rest = read_shard(batches)
    assert first[1] + rest[1] == labels


@pytest.mark.parametrize("change", [renamed, rewritten])
def test_a_shard_that_is_another_is_noticed(daemon, shard, photos, change):
    """The file's content changes, but its size and modification time do not."""
    other = shard.with_name(f"other.{shard.name}")
    packed_shard(other, photos, [*range(1, SHARD_SAMPLES), 0])
    content = other.read_bytes()
    with open_shard(shard, shuffle=True, batch_size=2) as loader:
        batches = iter(loader)
        read_shard([next(batches)])
        change(shard, content)
        with pytest.raises(forebay.StateError, match="since the dataset was"):
            for _ in range(2):
                read_shard(batches)
                batches = iter(loader)
    with open_shard(shard) as loader:
        after, labels = read_shard(loader)
    assert labels == [*range(1, SHARD_SAMPLES), 0]


def refusal(path, content, error=forebay.DataError):
    path.write_bytes(content)
    with pytest.raises(error) as caught:
        with open_tars(path, fields=("txt",)) as loader:
            list(loader)
    return str(caught.value)


def test_truncated_anywhere(shared_daemon, tmp_path):
    path = tmp_path / "a.tar.zst"
    first = skipped_frame(b"abc") + one_frame(TAR[:1000])
    packed = first + one_frame(TAR[1000:]) + skipped_frame(b"table")
    for length in (4, 9, 15, 100, len(first) + 3, len(first) + 5, len(packed) - 14,
                   len(packed) - 10, len(packed) - 1):
        text = refusal(path, packed[:length])
        assert text == (f"{tmp_path}: {path.name}: at byte {length}: is truncated in "
                        "its compressed data"), length


def test_damaged_files(shared_daemon, tmp_path):
    path = tmp_path / "a.tar.zst"
    packed = bytearray(one_frame(TAR))
    for garbage in (b"garbage", bytes(100), b"\x28\xb5\x2f"):
        text = refusal(path, packed + garbage)
        assert "behind the compressed data" in text or "truncated" in text
    packed[-1] ^= 1
    text = refusal(path, packed)
    assert text.startswith(f"{tmp_path}: {path.name}: at byte ")
    assert "its compressed data is damaged (" in text and "checksum" in text
    assert "it has only 0 bytes" in refusal(path, one_frame(b""))


def test_frames_that_take_too_much(shared_daemon, tmp_path):
    path = tmp_path / "a.tar.zst"
    header = b"\x28\xb5\x2f\xfd\0"
    text = refusal(path, header + bytes([18 << 3]) + bytes(600),
                   forebay.Unsupported)
    assert "a window of 268435456 bytes" in text and "--long=27" in text
    text = refusal(path, b"\x28\xb5\x2f\xfd\1\x50\7" + bytes(600),
                   forebay.Unsupported)
    assert "dictionary" in text


def test_a_thousand_times_its_size(tmp_path):
    """The file's content is a thousand times as large. The memory for it is bounded,
    and so is the cost of a sample."""
    content = tar_of(
        [(f"{number}.txt", b"%d" % number) for number in range(10)] +
        [("zeros", bytes(400 * MIB))] +
        [(f"{number}.txt", b"%d" % number) for number in range(10, 20)])
    with serving(tmp_path) as daemon:
        for pack in (one_frame, parallel_zstd):
            (tmp_path / f"{pack.__name__}.tar.zst").write_bytes(pack(content))
            with Watch(daemon) as watch, open_tars(
                    tmp_path / f"{pack.__name__}.tar.zst",
                    fields=("txt",)) as loader:
                texts = [text for batch in loader for text in batch.txt]
            assert texts == [str(number) for number in range(20)]
            assert watch.largest < 128 * MIB


def test_windows_count_as_memory(tmp_path):
    config = tmp_path / "forebayd.toml"
    config.write_text("memory.limit = '128MiB'\n")
    with serving(tmp_path, "--config", str(config)):
        text = refusal(tmp_path / "a.tar.zst", long_window(TAR),
                       forebay.ResourceExhausted)
        assert str(tmp_path) in text
        # The daemon goes on.
        (tmp_path / "b.tar.zst").write_bytes(one_frame(TAR))
        with open_tars(tmp_path / "b.tar.zst", fields=("txt",)) as loader:
            assert sum(len(batch.txt) for batch in loader) == 40


def test_the_daemon_leaves_while_files_are_inflated(tmp_path):
    config = tmp_path / "forebayd.toml"
    config.write_text("cache.memory = '0'\n")
    (tmp_path / "a.tar.zst").write_bytes(one_frame(
        tar_of((f"{number:03}.bin", noise(number, 100_000))
               for number in range(200))))
    with serving(tmp_path, "--config", str(config)) as daemon:
        with forebay.DataLoader(
                tmp_path / "a.tar.zst", fields=("bin",), batch_size=64,
                shuffle=True, framework="numpy", autostart=False) as loader:
            batches = iter(loader)
            next(batches)
            assert daemon.stop() == 0
            del batches


def test_names_mean_shards(shared_daemon, tmp_path):
    for name in ("a.tar.zst", "a.tzst"):
        (tmp_path / name).write_bytes(one_frame(TAR))
        dataset = forebay.Dataset(os.fspath(tmp_path / name), fields=("txt",),
                                  autostart=False)
        assert len(dataset) == 40
