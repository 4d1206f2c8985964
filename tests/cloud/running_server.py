"""A server of the module http.server, on a thread of its own."""

import threading


class RunningServer:
    """Serves from its construction on; a context manager.

    Attributes:
      host: where it serves, "127.0.0.1:PORT".
      url: the same as a URL, "http://127.0.0.1:PORT".
    """

    def __init__(self, server):
        """`server` is a socketserver.BaseServer that is bound to 127.0.0.1."""
        self._server = server
        self.host = "127.0.0.1:%d" % server.server_address[1]
        self.url = f"http://{self.host}"
        self._thread = threading.Thread(target=server.serve_forever,
                                        kwargs={"poll_interval": 0.05})
        self._thread.start()

    def close(self):
        """Ends the server."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
