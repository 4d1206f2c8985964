"""A host that hangs or dies on demand: a relay before a real server.

    with HungHost(server.url, "127.0.0.2") as host:
        ...                   # read from host.url
        host.stop()           # connections are accepted; nothing is answered
        host.stall()          # answers begin, and do not go on
        host.die()            # connections are refused
        host.go()             # all is well again
"""

import urllib.parse

from fault_process import FaultProcess


class HungHost:
    """A running relay of TCP connections, in a process of its own; a context
    manager. Calls are for one thread.

    Attributes:
      url: where it listens, "http://ADDRESS:PORT"; paths are the server's.
    """

    def __init__(self, upstream, address="127.0.0.1"):
        """
        Args:
          upstream: the server's URL, without a path.
          address: where the relay listens: one of 127.0.0.0/8, so that hosts may
            differ in more than their port.
        """
        server = urllib.parse.urlparse(upstream)
        self._relay = FaultProcess("relay_server.py", server.hostname, server.port,
                                   address)
        self.url = f"http://{address}:{self._relay.details[0]}"

    def stop(self):
        """From now on, requests are taken and not answered; nor do answers go on
        that have begun."""
        self._relay.command("stop")

    def stall(self):
        """From now on, each connection gets the next few hundred bytes of its
        answer, which end within the first block, and then nothing."""
        self._relay.command("stall")

    def die(self):
        """Resets all connections; from now on, others are refused."""
        self._relay.command("die")

    def go(self):
        """All goes on: held requests and answers, too."""
        self._relay.command("go")

    def held(self):
        """Returns how many connections wait for the relay; those whose client has
        left meanwhile count, too."""
        return self._relay.held()

    def await_held(self, count=1):
        """Returns once at least so many connections wait for the relay.

        Raises:
          TimeoutError: they do not, after long.
        """
        self._relay.await_held(count)

    def close(self):
        """Ends the relay and its connections."""
        self._relay.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
