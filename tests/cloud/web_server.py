"""A web server of files in memory, with ranges and entity tags.

    with WebServer({"a/b.jpg": content}) as server:
        ...                               # read server.url + "/a/b.jpg"
"""

import http.server
import re
import zlib

from running_server import RunningServer


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        self._answer(sends_body=False)

    def do_GET(self):
        self._answer(sends_body=True)

    def _answer(self, sends_body):
        content = self.server.files.get(self.path.lstrip("/"))
        if content is None:
            self.send_error(404)
            return
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        first, last = 0, len(content) - 1
        if asked:
            first, last = int(asked[1]), min(int(asked[2]), last)
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(last + 1 - first))
        self.send_header("ETag", f'"{zlib.crc32(content)}"')
        if asked:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
        self.end_headers()
        if sends_body:
            self.wfile.write(content[first:last + 1])

    def log_message(self, *_):
        pass


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, *_):
        pass  # the client has closed the connection


class WebServer(RunningServer):
    """A running server of files."""

    def __init__(self, files):
        """`files` is a dict of the files' bytes by their paths below the root."""
        server = _Server(("127.0.0.1", 0), _Handler)
        server.files = files
        super().__init__(server)
