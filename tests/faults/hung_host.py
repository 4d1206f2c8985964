"""A host that hangs or dies on demand: a relay before a real server.

    with HungHost(server.url, "127.0.0.2") as host:
        ...                   # read from host.url
        host.stop()           # connections are accepted; nothing is answered
        host.stall()          # answers begin, but do not go on
        host.die()            # connections are refused
        host.go()             # everything goes on
"""

import urllib.parse

from fault_process import FaultProcess


class HungHost:
    """A relay of TCP connections that runs in a process of its own; a context manager.
    For one thread.

    Attributes:
      url: where it listens, "http://ADDRESS:PORT"; the paths are those of the server.
    """

    def __init__(self, upstream, address="127.0.0.1"):
        """
        Args:
          upstream: the server's URL, without a path.
          address: where the relay listens, an address in 127.0.0.0/8. Two relays may
            thus have different hosts, not just ports.
        """
        server = urllib.parse.urlparse(upstream)
        self._relay = FaultProcess("relay_server.py", server.hostname, server.port,
                                   address)
        self.url = f"http://{address}:{self._relay.details[0]}"

    def stop(self):
        """From now on, requests are accepted but not answered. Answers that have begun
        do not go on."""
        self._relay.command("stop")

    def stall(self):
        """From now on, each connection gets the next few hundred bytes of its answer,
        and then nothing. These bytes end within the first block."""
        self._relay.command("stall")

    def die(self):
        """Resets all connections, and refuses new ones from now on."""
        self._relay.command("die")

    def go(self):
        """Goes on with everything, including held requests and answers."""
        self._relay.command("go")

    def held(self):
        """Returns how many connections wait for the relay, including those whose client
        has left."""
        return self._relay.held()

    def await_held(self, count=1):
        """Returns once at least `count` connections wait for the relay.

        Raises:
          TimeoutError: there are fewer after a long time.
        """
        self._relay.await_held(count)

    def close(self):
        """Ends the relay and its connections."""
        self._relay.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
