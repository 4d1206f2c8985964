"""A stand-in for the metadata server of a virtual machine, which gives tokens."""

import http.server
import json
import threading

from running_server import RunningServer

ACCOUNT = "/computeMetadata/v1/instance/service-accounts/default/"
EMAIL = "trainer@forebay.iam.gserviceaccount.com"


class MetadataServer(RunningServer):
    """Serves the tokens of a machine's account; a context manager.

    Each token differs from all earlier ones. Thread-safe.

    Attributes:
      host: the value for $GCE_METADATA_HOST.
      lifetime: int, the lifetime in seconds that it tells with each token from now on.
    """

    def __init__(self, lifetime=3600):
        self.lifetime = lifetime
        self._lock = threading.Lock()
        self._given = 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            """Answers one client."""
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer._answer(self)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        super().__init__(server)

    def _answer(self, asked):
        status, body = 404, b"not found"
        if asked.headers.get("Metadata-Flavor") != "Google":
            status, body = 403, b"the header Metadata-Flavor is missing"
        elif asked.path == "/":
            status, body = 200, b"computeMetadata/\n"
        elif asked.path == ACCOUNT + "email":
            status, body = 200, EMAIL.encode()
        elif asked.path == ACCOUNT + "token":
            with self._lock:
                self._given += 1
                token = f"token-{self._given}"
            status, body = 200, json.dumps({
                "access_token": token, "expires_in": self.lifetime,
                "token_type": "Bearer"}).encode()
        asked.send_response(status)
        asked.send_header("Metadata-Flavor", "Google")
        asked.send_header("Content-Length", str(len(body)))
        asked.end_headers()
        asked.wfile.write(body)

    @property
    def given(self):
        """int: how many tokens the server has given."""
        with self._lock:
            return self._given

    def accepts(self, authorization):
        """Whether a header's value (None: no header) has a token of this server."""
        given = range(1, self.given + 1)
        return authorization in [f"Bearer token-{number}" for number in given]
