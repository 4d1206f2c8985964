"""Clients that do not keep to the protocol, and those that may not come in."""

import functools
import mmap
import os
import random
import socket
import traceback

import pytest

from raw_session import (FAILED_PRECONDITION, INVALID_ARGUMENT, NOT_FOUND,
                         OUT_OF_RANGE, PERMISSION_DENIED, RESOURCE_EXHAUSTED,
                         RawRings, RawSession, loader_spec, memfd, messages, text)
from trouble import (PATIENCE, ctl, descriptors, neighbour, slot_bytes,
                     until)

SEED = 20240607


@pytest.fixture(scope="module", autouse=True)
def nothing_left_behind(shared_daemon):
    """What bad clients made the daemon open must be closed in the end."""
    before = descriptors(shared_daemon)
    yield
    until(lambda: ctl(shared_daemon, "status")["sessions"] == 0,
          "all sessions end")
    until(lambda: descriptors(shared_daemon) == before,
          "the daemon closes what it opened")
    assert slot_bytes(shared_daemon) == 0


@pytest.fixture(autouse=True)
def undisturbed(shared_daemon, photos):
    with neighbour(photos):
        yield


@pytest.fixture
def connect(shared_daemon):
    """Opens raw sessions."""
    opened = []

    def new():
        opened.append(RawSession(shared_daemon.runtime_dir / "session.sock"))
        return opened[-1]

    yield new
    for session in opened:
        session.socket.close()


@pytest.fixture
def session(connect):
    return connect().greet()


def in_child(check):
    """Forks; the child runs `check`. Its exit status."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            check()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def forked(test):
    """Runs a test in a child: what it holds is held until its process ends."""
    @functools.wraps(test)
    def run(*arguments, **named):
        messages()
        assert in_child(lambda: test(*arguments, **named)) == 0
    return run


def refused(session, code, *words):
    """The daemon says why, and hangs up."""
    answer, _ = session.receive()
    assert answer is not None, "no reason was given"
    assert answer.error.code == code, answer
    for word in words:
        assert word in text(answer.error)
    assert session.hung_up()


def test_random_bytes(connect):
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    for _ in range(100):
        session = connect()
        session.send(chance.randbytes(chance.randrange(1, 400)))
        refused(session, INVALID_ARGUMENT)


def test_random_bytes_after_the_greeting(connect):
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    for _ in range(50):
        session = connect().greet()
        session.send(chance.randbytes(chance.randrange(1, 400)))
        refused(session, INVALID_ARGUMENT)


def test_every_truncation_of_a_request(connect, photos):
    whole = connect().encode(open_loader=messages()[1].OpenLoader(
        spec=loader_spec(photos)))
    for length in range(1, len(whole)):
        session = connect().greet()
        session.send(whole[:length])
        answer, fds = session.receive()
        assert answer is not None and answer.WhichOneof("kind") == "error"
        assert fds == []


def test_flipped_bits_of_a_request(connect, photos):
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    whole = connect().encode(open_loader=messages()[1].OpenLoader(
        spec=loader_spec(photos)))
    for _ in range(150):
        spoilt = bytearray(whole)
        for _ in range(chance.randrange(1, 5)):
            spoilt[chance.randrange(len(spoilt))] ^= 1 << chance.randrange(8)
        session = connect().greet()
        root = os.open(photos, os.O_RDONLY)
        session.send(bytes(spoilt), [root])
        os.close(root)
        answer, fds = session.receive()
        assert answer is not None
        for fd in fds:
            os.close(fd)
        session.socket.close()


@pytest.mark.parametrize("size", [64 * 1024 + 1, 150_000])
def test_oversized_message(connect, size):
    session = connect()
    session.send(b"\x08" * size)
    refused(session, INVALID_ARGUMENT, "larger than 65536 bytes")


def test_empty_message_hangs_up(connect):
    session = connect()
    session.send(b"")
    assert session.hung_up()


def test_first_message_must_greet(connect):
    session = connect()
    session.send(session.encode(
        get_stats=messages()[1].GetStats(loader_id=1)))
    refused(session, FAILED_PRECONDITION, "greeting")


def test_one_greeting_is_enough(session):
    session.send(session.encode(hello=session.hello()))
    refused(session, FAILED_PRECONDITION, "greeting")


def greeting_fds(kind):
    if kind == "none":
        return []
    if kind == "file":
        return [memfd(b"Pid:\t" + str(os.getpid()).encode())]
    if kind == "other process":
        return [os.pidfd_open(os.getppid())]
    if kind == "two":
        return [os.pidfd_open(os.getpid()) for _ in range(2)]
    return [os.open("/dev/null", os.O_RDONLY) for _ in range(250)]


@pytest.mark.parametrize("kind", ["none", "file", "other process", "two",
                                  "250"])
def test_greeting_with_wrong_descriptors(connect, kind):
    session = connect()
    fds = greeting_fds(kind)
    session.send(session.encode(hello=session.hello()), fds)
    for fd in fds:
        os.close(fd)
    refused(session, INVALID_ARGUMENT, "pidfd")


@pytest.mark.parametrize("version", [0, 2, 2**32 - 1])
def test_greeting_of_another_version(connect, version):
    session = connect()
    pidfd = os.pidfd_open(os.getpid())
    session.send(session.encode(hello=session.hello(version)), [pidfd])
    os.close(pidfd)
    refused(session, FAILED_PRECONDITION, f"version {version}", "upgrade")


@pytest.mark.parametrize("job", [
    {"key": ""}, {"key": "k" * 257}, {"name": "n" * 257},
    {"weight": -1.0}, {"weight": float("nan")}, {"weight": float("inf")},
])
def test_greeting_of_an_impossible_job(connect, job):
    session = connect()
    pidfd = os.pidfd_open(os.getpid())
    session.send(session.encode(hello=session.hello(**job)), [pidfd])
    os.close(pidfd)
    refused(session, INVALID_ARGUMENT, "job's")


def test_unknown_loader(session):
    kinds = messages()[1]
    for request in ({"start_epoch": kinds.StartEpoch(loader_id=7)},
                    {"stop_epoch": kinds.StopEpoch(loader_id=7)},
                    {"close_loader": kinds.CloseLoader(loader_id=7)},
                    {"get_stats": kinds.GetStats(loader_id=7)}):
        error, _ = session.call(**request)
        assert (error.code, text(error)) == (
            NOT_FOUND, "this session has no loader 7")


def spoil(path, value):
    """A LoaderSpec with one field changed."""
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
    ("dataset.format", 77, "format"),
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
    started, slots = session.start_epoch(opened.loader_id, epoch=2**64 - 1)
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
    opened, fds = session.open_loader(loader_spec(photos), photos)
    stop = messages()[1].StopEpoch(loader_id=opened.loader_id)
    for epoch in range(2000):
        started, slots = session.start_epoch(opened.loader_id, epoch, 48)
        assert started.slot_count == len(slots) > 0, started
        for fd in slots:
            os.close(fd)
        session.call(stop_epoch=stop)
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
    until(lambda: slot_bytes(shared_daemon) == before, "its slots come back")


@forked
def test_garbage_counters_harm_nobody(connect, photos):
    session = connect().greet()
    opened, fds = session.open_loader(loader_spec(photos), photos)
    rings = RawRings(fds)
    _, slots = session.start_epoch(opened.loader_id)
    rings.release[4:64] = b"\xff" * 60
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


def become_nobody():
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)


@pytest.fixture
def open_to_all(shared_daemon):
    """The runtime directory, with modes that a careless administrator set."""
    folder = shared_daemon.runtime_dir
    sockets = [folder / "session.sock", folder / "admin.sock"]
    folder.chmod(0o755)
    for path in sockets:
        path.chmod(0o666)
    yield folder
    for path in sockets:
        path.chmod(0o600)
    folder.chmod(0o700)


ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0,
                               reason="only root can be another user")
SOCKETS = pytest.mark.parametrize("name,kind", [
    ("session.sock", socket.SOCK_SEQPACKET), ("admin.sock", socket.SOCK_STREAM)])


@ROOT_ONLY
@SOCKETS
@forked
def test_modes_keep_another_user_out(shared_daemon, name, kind):
    os.chdir(shared_daemon.runtime_dir)
    become_nobody()
    with pytest.raises(PermissionError):
        socket.socket(socket.AF_UNIX, kind).connect(name)


@ROOT_ONLY
@forked
def test_another_user_is_refused_a_session(open_to_all):
    os.chdir(open_to_all)
    become_nobody()
    refused(RawSession("session.sock"), PERMISSION_DENIED, "user 65534")


@ROOT_ONLY
@forked
def test_another_user_is_refused_at_the_admin_socket(open_to_all):
    os.chdir(open_to_all)
    become_nobody()
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.settimeout(PATIENCE)
    client.connect("admin.sock")
    try:
        assert client.recv(100) == b""
    except ConnectionResetError:
        pass
