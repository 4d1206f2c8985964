"""A client and a daemon with different versions of the protocol. The older side is
served, or is told that one of the two needs an upgrade."""

import os
import socket
import threading

import pytest

import forebay
from raw_session import (FAILED_PRECONDITION, INVALID_ARGUMENT, MAX_MESSAGE,
                         loader_spec, messages)
from trouble import open_loader

SAMPLES = 48


class FirstDaemon:
    """A daemon of protocol version 1: answers clients' greetings by refusing them.

    Attributes:
      refusals: the reasons that it has given.
    """

    VERSION = 1

    def __init__(self, folder):
        self.refusals = []
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listening.bind(str(folder / "session.sock"))
        self._listening.listen()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self):
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:  # the socket was shut down
                return
            with client:
                data, fds, _, _ = socket.recv_fds(client, MAX_MESSAGE, 8)
                for fd in fds:
                    os.close(fd)
                client.send(self._refuse(data, len(fds)))

    def _refuse(self, data, descriptors):
        request = messages()[1].ClientMessage()
        request.ParseFromString(data)
        version = request.hello.protocol_version
        answer = messages()[1].DaemonMessage(request_id=request.request_id)
        if version == 0 or version > self.VERSION:
            answer.error.code = FAILED_PRECONDITION
            reason = (f"the client speaks protocol version {version}, the "
                      f"daemon {self.VERSION} and the one before: upgrade the "
                      "older of the two")
        else:
            assert descriptors != 1, "a greeting that it would have taken"
            answer.error.code = INVALID_ARGUMENT
            reason = "a greeting comes with the client's pidfd alone"
        answer.error.message = reason.encode()
        self.refusals.append(reason)
        return answer.SerializeToString()

    def close(self):
        self._listening.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listening.close()


@pytest.fixture
def first_daemon(tmp_path, monkeypatch):
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("FOREBAY_RUNTIME_DIR", str(folder))
    daemon = FirstDaemon(folder)
    yield daemon
    daemon.close()


@pytest.mark.parametrize("open_it", [
    open_loader, lambda folder: forebay.Dataset(folder, autostart=False)],
    ids=["loader", "dataset"])
def test_an_older_daemon_is_said_to_be_one(first_daemon, photos, open_it):
    with pytest.raises(forebay.StateError,
                       match="upgrade the older of the two"):
        open_it(photos)
    assert len(first_daemon.refusals) == 1


def test_an_older_client_is_served(connect, photos):
    """A client of protocol version 3 sends datasets that do not name their kind."""
    session = connect()
    pidfd = os.pidfd_open(os.getpid())
    welcome, _ = session.call([pidfd], hello=session.hello(version=3))
    os.close(pidfd)
    assert welcome.protocol_version == 3
    spec = loader_spec()
    spec.dataset.Clear()
    spec.dataset.uri = b"data"
    spec.dataset.v3_format = messages()[0].DatasetSpec.IMAGE_FOLDER
    opened, fds = session.open_loader(spec, photos)
    assert opened.dataset_size == SAMPLES
    started, slots = session.start_epoch(opened.loader_id)
    assert started.slot_count == len(slots) > 0
    for fd in fds + slots:
        os.close(fd)
