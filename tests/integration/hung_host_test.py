"""Tests of the host that hangs, stalls or dies on demand, which other tests use."""

import http.server
import socket
import threading
import urllib.request

import pytest

from hung_host import HungHost

CONTENT = bytes(range(256)) * 4096
PATIENCE = 60


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("content-length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT)

    def log_message(self, *_):
        pass


@pytest.fixture
def host():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    with HungHost(f"http://127.0.0.1:{server.server_port}", "127.0.0.2") as relay:
        yield relay
    server.shutdown()
    thread.join()
    server.server_close()


class Reading(threading.Thread):
    """A thread that makes a request; `content` is the answer's body so far."""

    def __init__(self, url):
        super().__init__()
        self._url = url
        self.begun = threading.Event()
        self.content = b""
        self.start()

    def run(self):
        with urllib.request.urlopen(self._url, timeout=PATIENCE) as answer:
            self.begun.set()
            self.content = answer.read()


def read(url):
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
        return answer.read()


def test_passes_all_on(host):
    assert read(host.url) == CONTENT and host.held() == 0


def test_a_request_waits_until_it_goes_on(host):
    host.stop()
    reading = Reading(host.url)
    host.await_held()
    assert not reading.begun.is_set()
    host.go()
    reading.join(PATIENCE)
    assert reading.content == CONTENT


def test_an_answer_stalls_after_its_head(host):
    host.stall()
    reading = Reading(host.url)
    host.await_held()
    assert reading.begun.wait(PATIENCE)
    assert reading.content == b""
    host.go()
    reading.join(PATIENCE)
    assert reading.content == CONTENT


def test_a_dead_host_refuses_until_it_is_back(host):
    address = host.url.rpartition("/")[2].split(":")
    with socket.create_connection((address[0], int(address[1]))) as old:
        assert read(host.url) == CONTENT
        host.die()
        with pytest.raises(OSError):
            read(host.url)
        # The old connection was either reset or ended.
        old.settimeout(PATIENCE)
        try:
            assert old.recv(1) == b""
        except ConnectionResetError:
            pass
    host.go()
    assert read(host.url) == CONTENT


def test_many_wait_at_once(host):
    host.stop()
    readings = [Reading(host.url) for _ in range(64)]
    host.await_held(64)
    host.go()
    for reading in readings:
        reading.join(PATIENCE)
        assert reading.content == CONTENT
