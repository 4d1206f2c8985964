"""Nonsensical requests, and garbage in shared memory."""

import mmap
import os
import random

import pytest

from raw_session import (FAILED_PRECONDITION, INVALID_ARGUMENT, NOT_FOUND,
                         OUT_OF_RANGE, RESOURCE_EXHAUSTED, RawRings, forked,
                         loader_spec, memfd, messages, refused, text)
from trouble import (ctl, neighbour, nothing_left_behind, slot_bytes,
                     until)

SEED = 20240607


@pytest.fixture(scope="module", autouse=True)
def tidy(shared_daemon):
    with nothing_left_behind(shared_daemon):
        yield


@pytest.fixture(autouse=True)
def undisturbed(shared_daemon, photos):
    with neighbour(photos):
        yield


def test_unknown_loader(session):
    kinds = messages()[1]
    for request in ({"start_epoch": kinds.StartEpoch(loader_id=7)},
                    {"stop_epoch": kinds.StopEpoch(loader_id=7)},
                    {"close_loader": kinds.CloseLoader(loader_id=7)},
                    {"get_slots": kinds.GetSlots(loader_id=7)},
                    {"get_stats": kinds.GetStats(loader_id=7)}):
        error, _ = session.call(**request)
        assert (error.code, text(error)) == (
            NOT_FOUND, "this session has no loader 7")


def spoil(path, value):
    """Returns a LoaderSpec with one field changed."""
    spec = loader_spec()
    *parents, name = path.split(".")
    message = spec
    for parent in parents:
        message = getattr(message, parent)
        if hasattr(message, "add"):
            message = message[0]
    setattr(message, name, value)
    return spec


@pytest.mark.parametrize("path,value,word", [
    ("batch.batch_size", 0, "batch_size"),
    ("batch.batch_size", 2**32 - 1, "batch_size"),
    ("batch.depth", 17, "depth"),
    ("batch.depth", 2**32 - 1, "depth"),
    ("batch.on_error", 9, "on_error"),
    ("sampler.world_size", 2**32 - 1, "world_size"),
    ("sampler.rank", 5, "rank"),
    ("sampler.order", 77, "order"),
    ("sampler.pad", 77, "pad"),
    ("dataset.v3_format", 77, "is described both"),
    ("dataset.uri", b"u" * 4097, "URI"),
    ("dataset.extra_roots", 2**32 - 1, "extra roots"),
    ("dataset.extra_roots", 1, "extra roots"),
    ("pipeline.ops.center_crop.height", 0, "CenterCrop"),
    ("pipeline.ops.center_crop.width", 2**32 - 1, "CenterCrop"),
    ("name", b"n" * 257, "name"),
])
def test_absurd_spec(session, photos, path, value, word):
    error, fds = session.open_loader(spoil(path, value), photos)
    assert error.code == INVALID_ARGUMENT and word in text(error), error
    assert fds == []
    # The session goes on.
    opened, fds = session.open_loader(loader_spec(photos), photos)
    assert opened.dataset_size == 48
    for fd in fds:
        os.close(fd)


def varint(number):
    """Returns a number encoded as a varint."""
    content = b""
    while number > 127:
        content += bytes([number & 127 | 128])
        number >>= 7
    return content + bytes([number])


def field(number, content):
    """Returns the encoding of a message's field that is bytes or a message."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def nested(depth):
    """Returns the bytes of a LoaderSpec of concatenations of one dataset, nested
    `depth` deep."""
    spec = field(32, b"")  # the field `image_folder`
    for _ in range(depth):
        spec = field(49, field(1, spec))
    return field(1, spec)


@pytest.mark.parametrize("depth", [9, 20, 45, 5_000, 50_000])
def test_spec_that_nests_deep(session, photos, depth):
    content = memfd(nested(depth))
    error, _ = session.call([content], open_loader=messages()[1].OpenLoader(
        spec_in_memfd=True))
    os.close(content)
    assert error.code == INVALID_ARGUMENT, error
    assert ("8 deep" if depth < 48 else "no loader's spec") in text(error)
    # The session goes on.
    opened, fds = session.open_loader(loader_spec(photos), photos)
    assert opened.dataset_size == 48
    for fd in fds:
        os.close(fd)


def test_message_that_nests_deep(connect):
    session = connect().greet()
    session.send(b"\x08\x02" + field(3, field(1, nested(5_000))))
    refused(session, INVALID_ARGUMENT, "none of this protocol")


COLUMNS = [{"field": b"image", "column": b"path"}]


@pytest.mark.parametrize("kind,settings,word", [
    ("webdataset", {"fields": [b"cls"]}, "no files"),
    ("webdataset", {"files": [b"a.tar"]}, "1 to 15 fields"),
    ("webdataset", {"files": [b"a.tar"], "fields": [b"x"] * 16},
     "1 to 15 fields"),
    ("webdataset", {"files": [b"a.tar"], "fields": [b"a\0b"]}, "is not a field"),
    ("webdataset", {"files": [b"a\0b"], "fields": [b"x"]}, "a"),
    ("webdataset", {"files": [b"../*"], "fields": [b"x"]}, "../*"),
    ("webdataset", {"files": [b"/etc/passwd"], "fields": [b"x"]}, "passwd"),
    ("webdataset", {"files": [b"{0..999999999}"], "fields": [b"x"]}, "{0.."),
    ("webdataset", {"files": [b"{" * 60000], "fields": [b"x"]}, "{"),
    ("webdataset", {"files": [b"city"], "fields": [b"x"]}, "regular file"),
    ("npy_folder", {"layout": 3}, "or \"array\" alone"),
    ("npy_files", {}, "no files"),
    ("npz", {"files": [b"a.npz"]}, "as \"rows\", as \"files\""),
    ("npz", {"files": [b"a.npz"], "arrays": [b"a", b"b"], "samples": 4},
     "as \"rows\", as \"files\""),
    ("zip", {"files": [b"a.zip"], "content": 2}, "\"image\" or \"audio\""),
    ("tokens", {"files": [b"a"], "stride": 1}, "have no stride"),
    ("tokens", {"files": [b"a"], "length": 2**41}, "length cannot be"),
    ("tokens", {"files": [b"a"], "length": 8, "dtype": 4}, "dtype cannot be"),
    ("manifest", {"columns": COLUMNS}, "descriptor"),
    ("manifest", {"path": b"../x.csv", "columns": COLUMNS}, "../x.csv"),
    ("manifest", {"path": b"city/000.jpg"}, "column"),
    ("manifest", {"path": b"city/000.jpg", "columns": COLUMNS},
     "city/000.jpg: line "),
    ("v3_format", 77, "format 77"),
    ("v3_format", 4, "a subset is of one dataset"),
    ("v3_format", 15, "as \"rows\", as \"files\""),
    ("v3_format", 16, "need a length"),
])
def test_absurd_datasets(session, photos, kind, settings, word):
    spec = loader_spec(photos)
    spec.dataset.CopyFrom(messages()[0].DatasetSpec(
        uri=spec.dataset.uri, **{kind: settings}))
    error, fds = session.open_loader(spec, photos)
    assert error.DESCRIPTOR.name == "Error" and word in text(error), error
    assert fds == []
    # The session goes on.
    opened, fds = session.open_loader(loader_spec(photos), photos)
    assert opened.dataset_size == 48
    for fd in fds:
        os.close(fd)


def test_batches_that_no_memory_holds(session, photos):
    spec = loader_spec(photos, batch_size=65536)
    spec.pipeline.ops[0].Clear()
    spec.pipeline.ops[0].resize.height = 65535
    spec.pipeline.ops[0].resize.width = 65535
    opened, fds = session.open_loader(spec, photos)
    if opened.DESCRIPTOR.name == "Error":
        error = opened
    else:
        error, _ = session.start_epoch(opened.loader_id)
    for fd in fds:
        os.close(fd)
    assert error.code in (RESOURCE_EXHAUSTED, INVALID_ARGUMENT), error


def test_thousands_of_ops(session, photos):
    spec = loader_spec(photos)
    del spec.pipeline.ops[:]
    for _ in range(100_000):
        spec.pipeline.ops.add().random_horizontal_flip.p = 0.5
    root = os.open(photos, os.O_RDONLY)
    error, _ = session.call(
        [root, memfd(spec.SerializeToString())],
        open_loader=messages()[1].OpenLoader(spec_in_memfd=True))
    os.close(root)
    assert error.code == INVALID_ARGUMENT, error


def test_dataset_descriptors(session, photos):
    open_loader = messages()[1].OpenLoader(spec=loader_spec(photos))
    root, null = os.open(photos, os.O_RDONLY), os.open("/dev/null", os.O_RDONLY)
    for fds in ([], [null], [root, root], [root] * 250):
        error, _ = session.call(fds, open_loader=open_loader)
        assert error.code == INVALID_ARGUMENT, error
    os.close(root)
    os.close(null)


def test_spec_in_a_memfd_that_is_none(session, photos):
    request = messages()[1].OpenLoader(spec_in_memfd=True)
    root = os.open(photos, os.O_RDONLY)
    huge = memfd(b"")
    os.ftruncate(huge, 1 << 40)
    pipe = os.pipe()
    for fds in ([], [root], [root, huge], [root, pipe[0]],
                [root, memfd(b"\xff" * 100)]):
        error, _ = session.call(fds, open_loader=request)
        assert error.code == INVALID_ARGUMENT, error
        assert "memfd" in text(error)
    for fd in (root, huge, *pipe):
        os.close(fd)


@forked
def test_epochs_that_cannot_be(connect, photos):
    session = connect().greet()
    opened, fds = session.open_loader(loader_spec(photos), photos)
    error, _ = session.start_epoch(opened.loader_id, first_sample=49)
    assert error.code == OUT_OF_RANGE and "49" in text(error)
    error, _ = session.start_epoch(opened.loader_id, first_sample=2**64 - 1)
    assert error.code == OUT_OF_RANGE
    for epoch in (2**63, 2**64 - 1):
        error, _ = session.start_epoch(opened.loader_id, epoch=epoch)
        assert error.code == INVALID_ARGUMENT and str(epoch) in text(error)
    started, slots = session.start_epoch(opened.loader_id, epoch=2**63 - 1)
    assert started.slot_count == len(slots) > 0
    error, _ = session.start_epoch(opened.loader_id)
    assert error.code == FAILED_PRECONDITION and "under way" in text(error)
    for fd in fds + slots:
        os.close(fd)


def test_more_loaders_than_a_process_needs(session, photos):
    for _ in range(256):
        opened, fds = session.open_loader(loader_spec(photos), photos)
        assert opened.dataset_size == 48
        for fd in fds:
            os.close(fd)
    error, _ = session.open_loader(loader_spec(photos), photos)
    assert error.code == RESOURCE_EXHAUSTED and "256 loaders" in text(error)


def test_a_client_that_never_listens_is_hung_up_on(session):
    request = session.encode(get_stats=messages()[1].GetStats(loader_id=7))
    with pytest.raises(OSError):
        for _ in range(100_000):
            session.send(request)


def test_thousands_of_empty_epochs(session, photos):
    """A client that does not take the published entries gets no further ones."""
    opened, fds = session.open_loader(loader_spec(photos), photos)
    stop = messages()[1].StopEpoch(loader_id=opened.loader_id)
    refused = 0
    for epoch in range(2000):
        started, slots = session.start_epoch(opened.loader_id, epoch, 48)
        for fd in slots:
            os.close(fd)
        if slots:
            assert refused == 0
            session.call(stop_epoch=stop)
        else:
            assert "takes nothing" in started.message.decode()
            refused += 1
    assert 1800 < refused < 2000
    for fd in fds:
        os.close(fd)


@forked
def test_slots_and_ready_ring_cannot_be_written(connect, photos):
    session = connect().greet()
    opened, fds = session.open_loader(loader_spec(photos), photos)
    _, slots = session.start_epoch(opened.loader_id)
    for fd in [fds[0], *slots]:
        with pytest.raises(PermissionError):
            mmap.mmap(fd, 4096)
        with pytest.raises(PermissionError):
            os.pwrite(fd, b"x", 0)
        with pytest.raises(PermissionError):
            os.ftruncate(fd, 0)
        with pytest.raises(PermissionError):
            reopened = os.open(f"/proc/self/fd/{fd}", os.O_RDWR)
            try:
                mmap.mmap(reopened, 4096)
            finally:
                os.close(reopened)
    with pytest.raises(PermissionError):
        os.ftruncate(fds[1], 0)
    for fd in fds + slots:
        os.close(fd)


def absurd_tail(rings):
    rings.push(0, 0, 0)
    rings.release[0:4] = (1000).to_bytes(4, "little")


def backward_tail(rings):
    rings.release[0:4] = (2**32 - 5).to_bytes(4, "little")


def slot_out_of_range(rings):
    rings.push(0, 999_999, 1)


def wrong_generation(rings):
    _, slot, generation = rings.entry(0)
    rings.push(0, slot, generation + 1)


def twice(rings):
    _, slot, generation = rings.entry(0)
    rings.push(0, slot, generation)
    rings.push(1, slot, generation)


def noise(rings):
    rings.release[:] = random.Random(SEED).randbytes(len(rings.release))


@pytest.mark.parametrize("garbage", [
    absurd_tail, backward_tail, slot_out_of_range, wrong_generation, twice,
    noise])
def test_garbage_in_the_release_ring(shared_daemon, connect, photos, garbage):
    def only_the_neighbour_is_there():
        return ctl(shared_daemon, "status")["loaders"] == 1

    until(only_the_neighbour_is_there, "the end of those before")
    before = slot_bytes(shared_daemon)

    @forked
    def misbehave():
        client = connect().greet()
        opened, fds = client.open_loader(loader_spec(photos), photos)
        rings = RawRings(fds)
        client.start_epoch(opened.loader_id)
        until(lambda: rings.tail() > 0, "a batch")
        garbage(rings)
        rings.notify()
        refused(client, INVALID_ARGUMENT, "release")

    misbehave()
    until(only_the_neighbour_is_there, "its end")
    assert slot_bytes(shared_daemon) == before


@forked
def test_garbage_counters_harm_nobody(connect, photos):
    session = connect().greet()
    opened, fds = session.open_loader(loader_spec(photos), photos)
    rings = RawRings(fds)
    _, slots = session.start_epoch(opened.loader_id)
    # Overwrites all fields but `left`: a client that is marked as having left gets
    # nothing more.
    rings.release[4:12] = b"\xff" * 8
    rings.release[16:64] = b"\xff" * 48
    until(lambda: rings.tail() > 0, "a batch")
    _, slot, generation = rings.entry(0)
    rings.push(0, slot, generation)
    rings.notify()
    published = rings.tail()
    until(lambda: rings.tail() > published or published > 3, "another batch")
    stats, _ = session.call(get_stats=messages()[1].GetStats(
        loader_id=opened.loader_id))
    assert stats.batches_delivered <= 12
    for fd in fds + slots:
        os.close(fd)
