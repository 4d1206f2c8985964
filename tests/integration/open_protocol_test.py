"""Requests for ranges of files that our clients would not make, and daemons that do not
know such requests."""

import os
import signal
import socket
import threading

import pytest

import forebay
from opened_files import MIB, make_files
from raw_session import (FAILED_PRECONDITION, INVALID_ARGUMENT, MAX_MESSAGE,
                         NOT_FOUND, PERMISSION_DENIED, RawSession, in_child,
                         memfd, messages, text)
from trouble import memory_used, until

BLOCK = 65536
MOST = 2**64 - 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of files. Tests must not change it."""
    place = tmp_path_factory.mktemp("files")
    make_files(place, [0, 5, 3 * MIB])
    (place / "below").mkdir()
    (place / "outside").symlink_to("/etc/passwd")
    os.mkfifo(place / "fifo")
    return place


@pytest.fixture
def ask(session, folder):
    """A function that requests a range of a file in the folder, and returns the
    answer."""
    def call(name, root=True, **fields):
        request = messages()[1].ReadObject(
            **{"root": os.fsencode(folder), "name": os.fsencode(name),
               "length": BLOCK, "block_bytes": BLOCK, **fields})
        given = [os.open(folder, os.O_PATH)] if root else []
        answer, fds = session.call(given, read_object=request)
        for fd in [*given, *fds]:
            os.close(fd)
        return answer
    return call


def version_of(path):
    stat = path.stat()
    return messages()[1].ObjectVersion(size=stat.st_size,
                                       stamp=stat.st_mtime_ns)


def test_ranges(ask, folder):
    small = ask("5.bin")
    assert small.version.size == small.bytes == 5 and small.window_bytes > 0
    assert small.version.stamp == (folder / "5.bin").stat().st_mtime_ns
    assert ask("5.bin", length=0).bytes == 0
    assert ask("0.bin").version.size == 0
    large = f"{3 * MIB}.bin"
    assert ask(large).version.size == 3 * MIB
    version = version_of(folder / large)
    assert ask(large, version=version, offset=2 * BLOCK).bytes == BLOCK
    assert ask(large, version=version, length=3 * MIB).window_bytes >= 3 * MIB
    assert ask(large, version=version, length=BLOCK).window_bytes == 0


@pytest.mark.parametrize("fields", [
    {"offset": 1}, {"offset": MOST - BLOCK + 1}, {"length": MOST},
    {"length": 17 * MIB, "block_bytes": MIB}, {"length": BLOCK - 1},
    {"offset": 3 * MIB}, {"block_bytes": 0}, {"block_bytes": BLOCK + 1},
    {"block_bytes": 2**31}, {"block_bytes": 4096}])
def test_ranges_that_are_none(ask, folder, fields):
    version = version_of(folder / f"{3 * MIB}.bin")
    error = ask(f"{3 * MIB}.bin", version=version, **fields)
    assert error.code == INVALID_ARGUMENT, error
    assert f"{3 * MIB}.bin" in text(error)


@pytest.mark.parametrize("name, code", [
    ("", INVALID_ARGUMENT), ("x" * 4097, INVALID_ARGUMENT),
    ("none", NOT_FOUND), ("below", INVALID_ARGUMENT), (".", INVALID_ARGUMENT),
    ("fifo", INVALID_ARGUMENT), ("a\0b", INVALID_ARGUMENT),
    ("../x", PERMISSION_DENIED), ("/etc/passwd", PERMISSION_DENIED),
    ("outside", PERMISSION_DENIED)])
def test_names_that_are_none(ask, name, code):
    error = ask(name)
    assert error.code == code, error
    # The code is the same, or is about the version, whatever version the request names.
    error = ask(name, version=messages()[1].ObjectVersion(size=BLOCK, stamp=1))
    assert error.code in (code, FAILED_PRECONDITION), error


def test_versions_that_are_none(ask, folder):
    name = f"{3 * MIB}.bin"
    right = version_of(folder / name)
    for wrong in ({"size": MOST}, {"size": 3 * MIB + 1}, {"stamp": 0},
                  {"stamp": -2**63}, {"inode": 1}, {"ctime_nanos": 1}):
        version = messages()[1].ObjectVersion()
        version.CopyFrom(right)
        for field, value in wrong.items():
            setattr(version, field, value)
        for _ in range(2):  # the second time, the right version is cached
            error = ask(name, version=version)
            assert error.code == FAILED_PRECONDITION, (wrong, error)
            assert "was changed, replaced or removed" in text(error)
            assert ask(name, version=right).bytes == BLOCK


def test_roots_that_are_none(session, ask, folder):
    assert ask("5.bin", root=False).code == INVALID_ARGUMENT
    request = messages()[1].ReadObject(root=b"d", name=b"5.bin", length=BLOCK,
                                       block_bytes=BLOCK)
    for given in ([os.open(folder / "5.bin", os.O_RDONLY)],
                  [os.open(folder, os.O_RDONLY) for _ in range(2)]):
        error, _ = session.call(given, read_object=request)
        assert error.code == INVALID_ARGUMENT, error
        for fd in given:
            os.close(fd)
    request.root = b"x" * 4097
    folder_fd = os.open(folder, os.O_RDONLY)
    assert session.call([folder_fd],
                        read_object=request)[0].code == INVALID_ARGUMENT
    os.close(folder_fd)
    for uri in (b"gs://Not_a_Bucket", b"ftp://bucket", b"http://169.254.169.254"):
        request.root = uri
        assert session.call(read_object=request)[0].code == INVALID_ARGUMENT


def test_many_folders_are_not_kept(daemon, tmp_path):
    with RawSession(daemon.runtime_dir / "session.sock") as session:
        session.greet()
        for number in range(100):
            place = tmp_path / str(number)
            place.mkdir()
            (place / "a").write_bytes(b"%d" % number)
            root = os.open(place, os.O_PATH)
            answer, fds = session.call([root], read_object=messages()[1].ReadObject(
                root=os.fsencode(place), name=b"a", length=BLOCK,
                block_bytes=BLOCK))
            assert answer.bytes == len(str(number))
            for fd in [root, *fds]:
                os.close(fd)
        kept = [os.readlink(f"/proc/{daemon.process.pid}/fd/{fd}") for fd in
                os.listdir(f"/proc/{daemon.process.pid}/fd")]
        assert sum(os.path.dirname(path) == str(tmp_path) and
                   os.path.basename(path).isdigit() for path in kept) <= 16


def test_who_is_killed_in_mid_read_leaves_nothing(daemon, folder):
    before = memory_used(daemon)

    def leave():
        file = forebay.open(folder / f"{3 * MIB}.bin")
        for _ in range(20):
            file.read(BLOCK)
        os.kill(os.getpid(), signal.SIGKILL)

    for _ in range(3):
        assert in_child(leave) == -signal.SIGKILL
    # The memory of the cache itself is taken at the daemon's start.
    until(lambda: memory_used(daemon) == before, "all has been given back")


class OldDaemon:
    """A daemon that answers greetings, and does not know requests for ranges."""

    def __init__(self, folder):
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listening.bind(str(folder / "session.sock"))
        self._listening.listen()
        self._clients = []
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self):
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:  # the socket was shut down
                return
            self._clients.append(client)
            with client:
                while self._answer(client):
                    pass

    def _answer(self, client):
        data, fds, _, _ = socket.recv_fds(client, MAX_MESSAGE, 8)
        for fd in fds:
            os.close(fd)
        if not data:
            return False
        request = messages()[1].ClientMessage()
        request.ParseFromString(data)
        answer = messages()[1].DaemonMessage()
        if not request.HasField("hello"):
            return self._answer_read(client, request.request_id)
        answer.request_id = request.request_id
        answer.welcome.protocol_version = request.hello.protocol_version
        client.send(answer.SerializeToString())
        return True

    def _answer_read(self, client, request_id):
        """Answers a request for a range. Returns whether the daemon goes on listening
        to the client."""
        answer = messages()[1].DaemonMessage()
        answer.error.code = INVALID_ARGUMENT
        answer.error.message = b"a message that is none of this protocol"
        client.send(answer.SerializeToString())
        return False

    def close(self):
        self._listening.shutdown(socket.SHUT_RDWR)
        for client in self._clients:
            if client.fileno() >= 0:
                client.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listening.close()


def test_a_daemon_that_is_too_old_is_named(tmp_path, folder, monkeypatch):
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setenv("FOREBAY_RUNTIME_DIR", str(tmp_path / "run"))
    old = OldDaemon(tmp_path / "run")
    try:
        with pytest.raises(forebay.Unsupported, match="is too old"):
            forebay.open(folder / "5.bin")
    finally:
        old.close()


class LyingDaemon(OldDaemon):
    """A daemon that answers each request for a range with the same message and
    memory."""

    def __init__(self, folder, answer, sizes):
        self._reply, self._sizes = answer, sizes
        super().__init__(folder)

    def _answer_read(self, client, request_id):
        answer = messages()[1].DaemonMessage(request_id=request_id,
                                             **self._reply)
        fds = [memfd(bytes(size)) for size in self._sizes]
        socket.send_fds(client, [answer.SerializeToString()], fds)
        for fd in fds:
            os.close(fd)
        return True


@pytest.mark.parametrize("answer, sizes", [
    ({"version": {"size": 5}, "bytes": 5}, []),
    ({"version": {"size": 5}, "bytes": 5, "window_bytes": MIB}, []),
    ({"version": {"size": 5}, "bytes": 5, "window_bytes": MIB}, [4096]),
    ({"version": {"size": 5}, "bytes": 5, "window_bytes": 4096}, [4096, 4096]),
    ({"version": {"size": 5}, "bytes": 5}, [4096]),
    ({"version": {"size": 5}, "bytes": 5, "window_bytes": 2**63}, [4096]),
    ({"version": {"size": 5}, "bytes": 5, "window_bytes": 1}, [4096]),
    ({"version": {"size": 5}, "bytes": MOST, "window_bytes": 4096}, [4096]),
    ({"version": {"size": 5}, "bytes": 4, "window_bytes": 4096}, [4096]),
    ({"version": {"size": 5}, "bytes": 6, "window_bytes": 4096}, [4096]),
    ({"version": {"size": 5}}, []),
    ({"bytes": 5, "window_bytes": 4096}, [4096]),
    ({"version": {"size": MOST}, "bytes": 1, "window_bytes": 4096}, [4096]),
    ({"version": {"size": MOST}}, []),
    ({"version": {"size": 2**63}}, []),
    (None, [])])
def test_a_daemon_that_lies_is_an_error(tmp_path, folder, monkeypatch, answer,
                                        sizes):
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setenv("FOREBAY_RUNTIME_DIR", str(tmp_path / "run"))
    lying = LyingDaemon(tmp_path / "run", {"slots": {}} if answer is None
                        else {"object_read": answer}, sizes)
    try:
        for _ in range(2):
            with pytest.raises(forebay.ForebayError):
                forebay.open(folder / "5.bin").read()
    finally:
        lying.close()
