"""Tar shards and TFRecord files that are compressed as a whole give the same samples as
uncompressed ones."""

import base64
import time

import numpy
import pytest

import forebay
from packed_files import (MIB, PACKERS, many_members, noise, one_member, prose,
                          stored, tar_of)
from shards_test import GOLDEN as TARS
from stale_files_test import (SHARD_SAMPLES, chmodded, linked, open_shard,
                              read_shard, renamed, rewritten,
                              set_to_its_own_time, write_shard)
from tfrecord_test import (GOLDEN, epoch, frame, golden, open_records)
from trouble import ctl

SAMPLES = 300


def members():
    """Returns samples of all sizes. Some are so large that they contain several access
    points."""
    for number in range(SAMPLES):
        yield f"{number:06}.txt", f"the {number}.".encode()
        length = 3 * MIB if number % 100 == 7 else 200 * number
        make = noise if number % 2 else prose
        yield f"{number:06}.bin", make(number, length)


@pytest.fixture(scope="module")
def archive():
    return tar_of(members())


@pytest.fixture(scope="module")
def expected():
    everything = [content for _, content in members()]
    return {number: [everything[2 * number + 1],
                     everything[2 * number].decode()]
            for number in range(SAMPLES)}


def open_tars(path, **arguments):
    return forebay.DataLoader(path, **{
        "fields": ("bin", "txt"), "batch_size": 7, "framework": "numpy",
        "autostart": False, **arguments})


def as_bytes(found):
    return {number: [bytes(value) if not isinstance(value, str) else value
                     for value in values] for number, values in found.items()}


@pytest.mark.parametrize("pack", PACKERS)
@pytest.mark.parametrize("shuffle", [False, True, "block"])
def test_samples_are_those_of_the_tar(shared_daemon, tmp_path, archive, expected,
                                      pack, shuffle):
    (tmp_path / "a.tar.gz").write_bytes(pack(archive))
    with open_tars(tmp_path / "a.tar.gz", shuffle=shuffle, seed=3) as loader:
        assert len(loader.dataset) == SAMPLES
        found = epoch(loader)
    assert as_bytes(found) == expected


def test_shards_of_other_programs(shared_daemon, tmp_path):
    """The golden shards, which webdataset has also read, with and without
    compression."""
    for path in sorted(TARS.glob("*.tar")):
        content = path.read_bytes()
        if content[:2] == b"\x1f\x8b":
            continue
        (tmp_path / path.name).write_bytes(content)
        (tmp_path / f"{path.name}.gz").write_bytes(many_members(content))
        results = []
        for name in (path.name, f"{path.name}.gz"):
            try:
                with open_tars(tmp_path / name, fields=("txt",)) as loader:
                    results.append(as_bytes(epoch(loader)))
            except forebay.ForebayError as error:
                results.append(type(error))
        assert results[0] == results[1], path.name


def test_some_shards_may_be_compressed(shared_daemon, tmp_path, archive, expected):
    (tmp_path / "0.tar").write_bytes(archive)
    (tmp_path / "1.tgz").write_bytes(one_member(archive))
    (tmp_path / "2.tar.gz").write_bytes(many_members(archive))
    for pattern in ("[012].*", "{0.tar,1.tgz,2.tar.gz}"):
        with open_tars(tmp_path / pattern, shuffle=True) as loader:
            found = as_bytes(epoch(loader))
        assert found == {number: expected[number % SAMPLES]
                         for number in range(3 * SAMPLES)}


@pytest.mark.parametrize("name", ["gzip", "zlib"])
def test_records_are_those_of_tensorflow(shared_daemon, name):
    wanted = [base64.b64decode(record) for record in golden(f"{name}.tfrecord")]
    for fields in ("bytes", None):
        with open_records(GOLDEN / f"{name}.tfrecord", fields=fields,
                          shuffle=True) as loader:
            found = epoch(loader)
        assert [found[number] for number in range(len(wanted))] == [
            [record] for record in wanted]


@pytest.mark.parametrize("fields", ["bytes", "uint8[n]", None])
def test_records_of_any_length(shared_daemon, tmp_path, fields):
    records = [noise(number, number ** 3 % 300_000) for number in range(100)]
    records.append(noise(0, 9 * MIB))
    (tmp_path / "a.tfrecord.gz").write_bytes(
        one_member(b"".join(map(frame, records))))
    with open_records(tmp_path / "a.tfrecord.gz", fields=fields,
                      shuffle=True) as loader:
        found = as_bytes(epoch(loader))
    assert [found[number] for number in range(101)] == [
        [record] for record in records]


def test_a_first_record_that_is_large(shared_daemon, tmp_path):
    records = [prose(1, 12 * MIB), b"x"]
    (tmp_path / "a.tfrecord").write_bytes(
        one_member(b"".join(map(frame, records))))
    with open_records(tmp_path / "a.tfrecord", batch_size=1) as loader:
        assert [batch.record[0] for batch in loader] == records


def test_single_samples(shared_daemon, tmp_path, archive, expected):
    (tmp_path / "a.tar.gz").write_bytes(one_member(archive))
    dataset = forebay.Dataset(tmp_path / "a.tar.gz", fields=("bin", "txt"),
                              autostart=False)
    for number in (0, 7, SAMPLES - 1):
        sample = dataset[number]
        assert [bytes(sample[0]), sample[1]] == expected[number]


def test_an_epoch_goes_on_where_it_was_left(daemon, tmp_path, archive, expected):
    (tmp_path / "a.tar.gz").write_bytes(one_member(archive))
    with open_tars(tmp_path / "a.tar.gz", shuffle=True) as loader:
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
    with open_tars(tmp_path / "a.tar.gz", shuffle=True) as loader:
        loader.load_state_dict(state)
        assert list(epoch(loader)) == order[7:]


def test_two_jobs_read_a_file_once(daemon, tmp_path, archive, expected,
                                   monkeypatch):
    (tmp_path / "a.tar.gz").write_bytes(one_member(archive))

    def read_from_disk():
        return int(ctl(daemon, "cache")["total"]["source"]["bytes"])

    for seed in (1, 2):
        before = read_from_disk()
        monkeypatch.setenv("FOREBAY_JOB", f"job {seed}")
        with open_tars(tmp_path / "a.tar.gz", shuffle=True, seed=seed) as loader:
            assert as_bytes(epoch(loader)) == expected
        if seed == 2:
            assert read_from_disk() == before


def test_an_index_is_kept_with_its_access_points(daemon, tmp_path, archive,
                                                 expected):
    (tmp_path / "a.tar.gz").write_bytes(one_member(archive))
    with open_tars(tmp_path / "a.tar.gz") as loader:
        assert len(loader.dataset) == SAMPLES
    kept = list(tmp_path.rglob("*.points"))
    assert len(kept) == 1
    # The file has 32 KiB of window for each megabyte, and little else.
    assert kept[0].stat().st_size < len(archive) // 20
    daemon.stop()
    daemon.start()
    begin = time.monotonic()
    with open_tars(tmp_path / "a.tar.gz", shuffle=True) as loader:
        assert time.monotonic() - begin < 0.3
        assert as_bytes(epoch(loader)) == expected
    # The points are useless without the index of shards, and vice versa.
    for name in ("*.points", "*.shards"):
        daemon.stop()
        next(tmp_path.rglob(name)).unlink()
        daemon.start()
        with open_tars(tmp_path / "a.tar.gz", shuffle=True) as loader:
            assert as_bytes(epoch(loader)) == expected


def packed_shard(path, photos, order):
    """Writes a gzip file of stored blocks, so that another order of samples keeps the
    file's length."""
    plain = path.with_name("plain")
    write_shard(plain, photos, order)
    path.write_bytes(stored(plain.read_bytes()))
    plain.unlink()


@pytest.fixture
def shard(tmp_path, photos):
    packed_shard(tmp_path / "a.tar.gz", photos, range(SHARD_SAMPLES))
    return tmp_path / "a.tar.gz"


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
    numpy.testing.assert_array_equal(
        numpy.concatenate([first[0], rest[0]]), before)


@pytest.mark.parametrize("change", [renamed, rewritten])
def test_a_shard_that_is_another_is_noticed(daemon, shard, photos, change):
    """The file's content changes, but its size and modification time do not."""
    other = shard.with_name("other")
    packed_shard(other, photos, [*range(1, SHARD_SAMPLES), 0])
    content = other.read_bytes()
    with open_shard(shard, shuffle=True, batch_size=2) as loader:
        before, labels = read_shard(loader)
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
