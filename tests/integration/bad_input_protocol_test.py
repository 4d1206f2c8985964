"""Clients that do not speak the protocol, and clients that are not allowed in."""

import os
import random
import socket

import pytest

import forebay
from raw_session import (FAILED_PRECONDITION, INVALID_ARGUMENT,
                         PERMISSION_DENIED, RawSession, forked, loader_spec,
                         memfd, messages, refused)
from trouble import PATIENCE, neighbour, nothing_left_behind

SEED = 20240607


@pytest.fixture(scope="module", autouse=True)
def tidy(shared_daemon):
    with nothing_left_behind(shared_daemon):
        yield


@pytest.fixture(autouse=True)
def undisturbed(shared_daemon, photos):
    with neighbour(photos):
        yield


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
    if kind == "two pipes":
        return [os.pidfd_open(os.getpid()), *os.pipe()]
    return [os.open("/dev/null", os.O_RDONLY) for _ in range(250)]


@pytest.mark.parametrize("kind", ["none", "file", "other process", "two",
                                  "two pipes", "250"])
def test_greeting_with_wrong_descriptors(connect, kind):
    session = connect()
    fds = greeting_fds(kind)
    session.send(session.encode(hello=session.hello()), fds)
    for fd in fds:
        os.close(fd)
    refused(session, INVALID_ARGUMENT, "pidfd")


@pytest.mark.parametrize("version", [0, 1, 2, 5, 2**32 - 1])
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
@pytest.mark.parametrize("owner,mode,why", [
    (65534, 0o755, "belongs to uid 65534: uid 0 trusts only its own and root's"),
    (0, 0o770, "may be written by other users: chmod go-w"),
    (0, 0o757, "may be written by other users: chmod go-w")])
def test_trainers_refuse_a_directory_that_others_control(
        tmp_path, photos, monkeypatch, owner, mode, why):
    folder = tmp_path / "run"
    folder.mkdir()
    os.chown(folder, owner, owner)
    folder.chmod(mode)
    monkeypatch.setenv("FOREBAY_RUNTIME_DIR", str(folder))
    with pytest.raises(forebay.PermissionDenied) as caught:
        forebay.DataLoader(str(photos), batch_size=4, autostart=False)
    assert f"the daemon's directory {folder} {why}" in str(caught.value)


@pytest.mark.skipif(os.path.exists("/run/forebay/session.sock"),
                    reason="a system daemon's directory comes first")
def test_without_the_sessions_directory_trainers_look_in_tmp(tmp_path, monkeypatch):
    monkeypatch.delenv("FOREBAY_RUNTIME_DIR", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert forebay._native.runtime_dir() == f"{tmp_path}/forebay"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "gone"))
    assert forebay._native.runtime_dir() == f"/tmp/forebay-{os.geteuid()}"


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
