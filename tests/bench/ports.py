"""Finds free ports of this host, for the servers of benches."""

import contextlib
import socket


def free(count):
    """Returns `count` ports that no process listens on."""
    with contextlib.ExitStack() as stack:
        found = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in found:
            each.bind(("", 0))
        return [each.getsockname()[1] for each in found]
