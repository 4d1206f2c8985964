"""moto, a server of S3's API that checks signatures, on this machine.

The server computes the signature of each request by Amazon's own code (botocore). It
refuses requests with another signature, and requests of unknown users. It holds its
objects in memory. It does not check clocks, nor whether sessions have ended.
"""

import base64
import http.client
import json
import os
import pathlib
import socket
import subprocess
import sys
import time

from fake_gcs import PYPI, START_SECONDS

TASKS = pathlib.Path(__file__).with_name("s3_tasks.py")


def missing():
    """Returns why the server cannot run here, or "" if it can."""
    if (PYPI / "moto").exists():
        return ""
    return "tools/setup could not install what tools/pypi.txt lists"


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class FakeS3:
    """A running server; a context manager.

    Attributes:
      url: where it serves, "http://127.0.0.1:PORT".
      pid: the server's process id.
      keys: dict by user of dicts "id", "secret" and perhaps "token". "reader" may do
        everything, "untrusted" may do nothing, and "session" may do everything.
    """

    def __init__(self, public=False):
        """If `public`, anybody may do everything, and signatures are not checked."""
        self._acl = "public-read" if public else "private"
        end = time.monotonic() + START_SECONDS
        # Debian's own modules come after the modules in .cache/pypi.
        environment = dict(os.environ, PYTHONPATH=str(PYPI),
                           INITIAL_NO_AUTH_ACTION_COUNT="1000")
        while True:  # another process may take the port meanwhile
            port = _free_port()
            self.url = f"http://127.0.0.1:{port}"
            self._process = subprocess.Popen(
                ["/usr/bin/python3", "-B", "-m", "moto.server", "-H",
                 "127.0.0.1", "-p", str(port)], env=environment,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL)
            self.pid = self._process.pid
            while self._process.poll() is None:
                if self._ask("GET", "/moto-api/data.json") == 200:
                    self.keys = self._do({"do": "accounts"})
                    # From now on, every request is checked; if the server is public,
                    # none is.
                    self._ask("POST", "/moto-api/reset-auth",
                              "inf" if public else "0")
                    return
                if time.monotonic() > end:
                    self.close()
                    raise RuntimeError("moto does not start")
                time.sleep(0.05)
            if time.monotonic() > end:
                raise RuntimeError("moto does not start")

    def _ask(self, method, target, body=None):
        asking = http.client.HTTPConnection(self.url.partition("//")[2],
                                            timeout=10)
        try:
            asking.request(method, target, body)
            return asking.getresponse().status
        except OSError:
            return 0
        finally:
            asking.close()

    def _do(self, task):
        done = subprocess.run(
            ["/usr/bin/python3", "-B", str(TASKS)],
            input=json.dumps(task).encode(), stdout=subprocess.PIPE,
            stderr=sys.stderr, check=True,
            env=dict(os.environ, PYTHONPATH=str(PYPI), S3_URL=self.url))
        return json.loads(done.stdout)

    def fill(self, bucket, contents):
        """Puts objects into a bucket by Amazon's own client. Makes the bucket if
        needed.

        Args:
          bucket: the bucket's name.
          contents: dict of bytes by key.

        Returns:
          A dict of ETags by key.
        """
        return self._do({
            "do": "fill", "keys": self.keys["reader"], "bucket": bucket,
            "acl": self._acl,
            "objects": {name: base64.b64encode(content).decode()
                        for name, content in contents.items()}})

    def close(self):
        """Ends the server."""
        self._process.kill()
        self._process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
