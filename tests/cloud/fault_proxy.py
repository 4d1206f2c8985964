"""A proxy between a client and a server of objects, which injects faults.

The fault of a request depends on the seed, on the request's target, and on how often
that target was requested before. It does not depend on time, or on the order of
different requests.

    with FaultProxy(server_url, seed=1) as proxy:
        proxy.spoil(0.05)                 # 5 % of requests, faults of any kind
        ...                               # read from proxy.url
        print(proxy.faults(), proxy.asked())
"""

import collections
import contextlib
import http.client
import random
import re
import select
import socket
import threading
import urllib.parse

from http_wire import Answer, read_request, send_answer, send_part

# The faults that the proxy injects.
#   busy             503, for this request and the next BURST like it
#   slow_down        429 with Retry-After: 1
#   stall            half of the answer, then nothing, for `stall_seconds`
#   slow_first_byte  nothing for `slow_seconds`, then the answer
#   reset            half of the answer, then a TCP reset
#   truncate         half of the answer, then the end of the connection
#   bit_flip         one bit of the answer is flipped; only if it has a checksum
#   whole            200 and all of the object instead of the range
#   expired_token    401; once for each target and range, and only
#                    if the request has a token
#   broken_page      no valid page of a list; only for lists
KINDS = ("busy", "slow_down", "stall", "slow_first_byte", "reset", "truncate",
         "bit_flip", "whole", "expired_token", "broken_page")
BURST = 2


class Gcs:
    """The parts of Cloud Storage's JSON API that the proxy knows."""

    kinds = KINDS
    list_path = re.compile(r"/storage/v1/b/[^/]+/o")
    page_type = "application/json"
    broken_pages = (b"", b"<html>Sorry</html>", b"[1, 2, 3]", b'{"items": 7}',
                    b'{"items": [{"name": "a"}]}', b'{"items": [{"name": "a')
    checksum = "x-goog-hash"  # the header that has a checksum
    moments = re.compile(r"&?\b(generation|ifGenerationMatch)=\d+")

    def refuse(self, authorization):
        return Answer(401)

    def is_list(self, request):
        path = request.target.partition("?")[0]
        return self.list_path.fullmatch(path) is not None

    def judge(self, request, answer):
        """Returns `answer`, or 412 if the answer has another generation than was
        requested."""
        query = urllib.parse.parse_qs(request.target.partition("?")[2])
        wanted = {value for name in ("generation", "ifGenerationMatch")
                  for value in query.get(name, ())}
        generation = answer.headers.get("x-goog-generation")
        if generation is None or not wanted or wanted == {generation}:
            return answer
        return Answer(412, {}, b"a precondition does not hold")


class S3:
    """The parts of S3's API that the proxy knows."""

    # Expired credentials stay expired until there are new ones.
    kinds = tuple(kind for kind in KINDS if kind != "expired_token")
    page_type = "application/xml"
    broken_pages = (
        b"", b"<html>Sorry</html>", b"<ListBucketResult>", b"<Error></Error>",
        b"<ListBucketResult><Contents><Key>a</Key></Contents>"
        b"</ListBucketResult>", b"<ListBucketResult><Contents><Key>a")
    checksum = "x-amz-checksum-crc32c"
    moments = re.compile(r"&?\bcontinuation-token=[^&]*")

    def refuse(self, authorization):
        if authorization is None:
            return Answer(403, {}, b"<Error><Code>AccessDenied</Code></Error>")
        return Answer(400, {}, b"<Error><Code>ExpiredToken</Code></Error>")

    def is_list(self, request):
        return "list-type=2" in request.target.partition("?")[2]

    def judge(self, request, answer):
        return answer


class FaultProxy:
    """A running proxy; a context manager. Thread-safe.

    If the `generation` or `ifGenerationMatch` of a media read does not fit, the proxy
    refuses the read with 412. Cloud Storage does so, but emulators do not.

    Attributes:
      url: where it serves, "http://127.0.0.1:PORT"; the paths are those of the server.
      accepts: function that says whether the value of an Authorization header (None: no
        header) permits reads; None: anybody may read.
      stall_seconds, slow_seconds: how long faults of these kinds last.
      away: whether every request is refused, with 503 and a Retry-After that
        nobody waits for.
    """

    def __init__(self, upstream, seed=0, accepts=None, speaks=Gcs):
        """
        Args:
          upstream: the server's URL, without a path.
          seed: what the faults depend on.
          accepts: see the attribute.
          speaks: the server's protocol, Gcs or S3.
        """
        self._speaks = speaks()
        self.accepts = accepts
        self.stall_seconds = 30.0
        self.slow_seconds = 0.5
        self.away = False
        self._upstream = urllib.parse.urlparse(upstream)
        self._seed = seed
        self._lock = threading.Lock()
        self._rate = 0.0
        self._kinds = self._speaks.kinds
        self._before = None
        self._asked = collections.Counter()
        self._faults = collections.Counter()
        self._times = collections.Counter()  # number of requests by target
        self._bursts = collections.Counter()
        self._expired = set()
        self._connections = set()
        self._ending = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.url = "http://127.0.0.1:%d" % self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def spoil(self, rate, kinds=None):
        """From now on, the share `rate` of GET requests (0 to 1) fails. Among the kinds
        of faults that fit a request, each is equally frequent."""
        kinds = self._speaks.kinds if kinds is None else kinds
        unknown = set(kinds) - set(self._speaks.kinds)
        if unknown:
            raise ValueError(f"no such kind of fault: {unknown.pop()}")
        with self._lock:
            self._rate, self._kinds = rate, tuple(kinds)
            self._bursts.clear()

    def before_each(self, call):
        """From now on, a thread of the proxy calls `call(target)` before it passes on a
        request. None: nothing is called."""
        with self._lock:
            self._before = call

    def asked(self):
        """Returns a dict: how many requests came, by "media", "list" and "other"."""
        with self._lock:
            return dict(self._asked)

    def faults(self):
        """Returns a dict: how many requests failed, by kind."""
        with self._lock:
            return dict(self._faults)

    def close(self):
        """Ends all connections, and the proxy."""
        self._ending.set()
        with self._lock:
            for connection in self._connections:
                with contextlib.suppress(OSError):  # the connection may have ended
                    connection.shutdown(socket.SHUT_RDWR)
        self._listener.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                if self._ending.is_set():
                    connection.close()
                    return
                self._connections.add(connection)
            thread = threading.Thread(target=self._serve, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection):
        server = http.client.HTTPConnection(self._upstream.hostname,
                                            self._upstream.port, timeout=60)
        try:
            with connection.makefile("rb") as stream:
                while self._serve_one(connection, stream, server):
                    pass
        except OSError:
            pass  # the client has closed the connection, or the proxy has
        finally:
            server.close()
            with self._lock:
                self._connections.discard(connection)
            connection.close()

    def _serve_one(self, connection, stream, server):
        """Answers one request. Returns whether the connection goes on."""
        request = read_request(stream)
        if request is None:
            return False
        with self._lock:
            self._asked[self._class_of(request)] += 1
            before = self._before
        if before is not None:
            before(request.target)
        if self.away:
            return send_answer(connection, request, Answer(
                503, {"retry-after": "3600"}, b"closed"))
        authorization = request.headers.get("authorization")
        if self.accepts is not None and not self.accepts(authorization):
            return send_answer(connection, request,
                               self._speaks.refuse(authorization))
        answer = self._speaks.judge(request, _pass_on(server, request))
        kind = self._fault(request, answer)
        return self._send(connection, request, answer, kind, server)

    def _thing(self, request):
        """Returns a name of the request's target that is the same in every run. Parts
        that depend on the time are removed."""
        target = self._speaks.moments.sub("", request.target)
        return f"{target} {request.headers.get('range')}"

    def _class_of(self, request):
        if self._speaks.is_list(request):
            return "list"
        return "media" if request.method == "GET" else "other"

    def _fault(self, request, answer):
        """Returns the fault to inject; None: no fault."""
        if request.method != "GET" or answer.status not in (200, 206):
            return None
        thing = self._thing(request)
        with self._lock:
            fitting = [kind for kind in self._kinds
                       if kind not in ("whole", "bit_flip", "broken_page",
                                       "expired_token")
                       or self._fits(kind, thing, request, answer)]
            self._times[thing] += 1
            chance = random.Random(
                f"{self._seed} {thing} {self._times[thing]}")
            kind = None
            if self._bursts[thing] > 0:
                self._bursts[thing] -= 1
                kind = "busy"
            elif fitting and chance.random() < self._rate:
                kind = chance.choice(fitting)
                if kind == "busy":
                    self._bursts[thing] = BURST
            if kind == "expired_token":
                self._expired.add(thing)
            if kind is not None:
                self._faults[kind] += 1
        return kind

    def _fits(self, kind, thing, request, answer):
        """Whether a kind of fault that fits only some requests fits this one."""
        if kind == "broken_page":
            return self._speaks.is_list(request)
        if kind == "expired_token":
            return "authorization" in request.headers and \
                thing not in self._expired
        whole = answer.status == 200 or _is_whole(answer)
        if kind == "bit_flip":
            return whole and bool(answer.body) and \
                self._speaks.checksum in answer.headers
        return not whole  # `whole` makes a difference only if a part was requested

    def _send(self, connection, request, answer, kind, server):
        """Answers with the fault. Returns whether the connection goes on."""
        if kind == "busy":
            answer = Answer(503, {}, b"try again later")
        elif kind == "slow_down":
            answer = Answer(429, {"retry-after": "1"}, b"too many requests")
        elif kind == "expired_token":
            answer = Answer(401, {}, b"the token has expired")
        elif kind == "broken_page":
            pages = self._speaks.broken_pages
            page = pages[sum(answer.body) % len(pages)]
            answer = Answer(200, {"content-type": self._speaks.page_type}, page)
        elif kind == "bit_flip":
            spoilt = bytearray(answer.body)
            spoilt[len(spoilt) // 2] ^= 1
            answer = Answer(answer.status, answer.headers, bytes(spoilt))
        elif kind == "whole":
            headers = dict(request.headers)
            del headers["range"]
            answer = _pass_on(server, request._replace(headers=headers))
        elif kind == "slow_first_byte":
            _wait(connection, self.slow_seconds)
        elif kind in ("stall", "reset", "truncate"):
            send_part(connection, answer, len(answer.body) // 2)
            if kind == "stall":
                _wait(connection, self.stall_seconds)
            if kind != "truncate":
                _make_reset(connection)
            return False
        return send_answer(connection, request, answer)


def _wait(connection, seconds):
    """Returns when the time is up, the client is gone, or the proxy ends."""
    select.select([connection], [], [], seconds)


def _is_whole(answer):
    found = re.fullmatch(r"bytes 0-(\d+)/(\d+)",
                         answer.headers.get("content-range", ""))
    return found is not None and int(found[1]) + 1 == int(found[2])


def _pass_on(server, request):
    """Returns the server's answer."""
    for attempt in (1, 2):
        try:
            server.request(request.method, request.target, request.body,
                           request.headers)
            response = server.getresponse()
            break
        except (http.client.HTTPException, OSError):
            server.close()  # a kept connection may have ended
            if attempt == 2:
                return Answer(502, {}, b"the server cannot be reached")
    headers = {name.lower(): value for name, value in response.getheaders()}
    body = response.read()
    if request.method == "HEAD":
        return Answer(response.status, headers, b"")
    headers.pop("content-length", None)
    return Answer(response.status, headers, body)


def _make_reset(connection):
    """Lets the connection end with a TCP reset when it is closed."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                          b"\x01\0\0\0\0\0\0\0")
