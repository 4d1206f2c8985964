"""Relays TCP connections to a server, and stops, stalls or dies on demand.

    relay_server.py HOST PORT ADDRESS PARENT

HungHost starts this program. It prints "serving PORT", and obeys lines on standard
input:

    stop                 Passes nothing on any longer, in either direction.
    stall                Passes PART more bytes of answers on each connection.
    die                  Resets all connections, and refuses new ones.
    go                   Passes everything on again.
    await COUNT SECONDS  Waits until the relay holds bytes of COUNT connections.
                         The answer is the number of these connections.
"""

import asyncio
import signal
import socket
import sys

from fault_process import end_with

CHUNK = 64 << 10
PART = 600  # bytes; enough for a head, and perhaps the beginning of a body
BACKLOG = 512


class Connection:
    """A relayed connection, with a task for each direction."""

    def __init__(self, relay, client, server):
        self._relay, self._client, self._server = relay, client, server
        self.part = 0  # bytes of answers that still pass while the relay stalls
        self.held = 0  # number of its two directions that are held

    def reset(self):
        """Ends the connection at once."""
        for _, writer in (self._client, self._server):
            writer.transport.abort()

    async def pass_on(self):
        """Passes bytes in both directions until one of them ends."""
        (client, to_client), (server, to_server) = self._client, self._server
        tasks = [asyncio.ensure_future(self._pump(client, to_server, False)),
                 asyncio.ensure_future(self._pump(server, to_client, True))]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.reset()

    async def _pump(self, reader, writer, is_answer):
        while True:
            chunk = await reader.read(CHUNK)
            if not chunk:
                return
            if not is_answer:
                chunk = self._relay.addressed(chunk)
            if is_answer and self._relay.mode == "stall" and self.part > 0:
                begin, chunk = chunk[:self.part], chunk[self.part:]
                self.part -= len(begin)
                writer.write(begin)
                await writer.drain()
            if chunk:
                await self._until_free(is_answer)
                writer.write(chunk)
                await writer.drain()

    async def _until_free(self, is_answer):
        relay = self._relay
        async with relay.changed:
            self.held += 1
            relay.changed.notify_all()
            try:
                await relay.changed.wait_for(lambda: relay.passes(is_answer))
            finally:
                self.held -= 1


class Relay:
    """The relay.

    Attributes:
      mode: "go", "stop", "stall" or "die".
      changed: asyncio.Condition that is notified when the mode or a connection's `held`
        changes.
    """

    def __init__(self, upstream, address):
        self._upstream, self._address = upstream, address
        self._connections = set()
        self._listener = self._port = None
        self.mode = "go"
        self.changed = asyncio.Condition()

    def addressed(self, request):
        """Returns a request with the upstream's `Host` header, which some servers
        check."""
        ours, theirs = (f"Host: {host}:{port}".encode() for host, port in (
            (self._address, self._port), self._upstream))
        return request.replace(ours, theirs)

    def passes(self, is_answer):
        """Returns whether bytes pass now."""
        return self.mode == "go" or (self.mode == "stall" and not is_answer)

    async def listen(self):
        """Accepts connections from now on. Returns the port, which is always the
        same."""
        self._listener = await asyncio.start_server(
            self._accept, self._address, self._port or 0, backlog=BACKLOG,
            reuse_address=True)
        self._port = self._listener.sockets[0].getsockname()[1]
        return self._port

    async def obey(self, mode):
        """Changes to a mode."""
        if mode == "die":
            self._listener.close()
            self._listener = None
            for connection in self._connections:
                connection.reset()
        elif self._listener is None:
            await self.listen()
        async with self.changed:
            self.mode = mode
            for connection in self._connections:
                connection.part = PART
            self.changed.notify_all()

    async def held(self, count, seconds):
        """Waits until `count` connections are held, or `seconds` are over. Returns how
        many are held."""
        def now():
            return sum(connection.held > 0 for connection in self._connections)

        async with self.changed:
            try:
                await asyncio.wait_for(
                    self.changed.wait_for(lambda: now() >= count), seconds)
            except asyncio.TimeoutError:
                pass
            return now()

    async def _accept(self, reader, writer):
        try:
            server = await asyncio.open_connection(*self._upstream)
        except OSError:
            writer.transport.abort()
            return
        for _, each in ((reader, writer), server):
            each.get_extra_info("socket").setsockopt(
                socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = Connection(self, (reader, writer), server)
        connection.part = PART
        self._connections.add(connection)
        try:
            await connection.pass_on()
        finally:
            self._connections.discard(connection)


async def _serve(host, port, address):
    relay = Relay((host, int(port)), address)
    print("serving", await relay.listen(), flush=True)
    lines = asyncio.StreamReader()
    await asyncio.get_event_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while True:
        words = (await lines.readline()).decode().split()
        if not words:
            return
        if words[0] == "await":
            print(await relay.held(int(words[1]), float(words[2])), flush=True)
        else:
            await relay.obey(words[0])
            print("done", flush=True)


def main(host, port, address, parent):
    """Serves until standard input ends."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    end_with(int(parent))
    asyncio.run(_serve(host, port, address))


if __name__ == "__main__":
    main(*sys.argv[1:])
