"""HTTP/1.1 from the server's side, on plain sockets."""

import typing


class Request(typing.NamedTuple):
    """A client's request; headers by name in lower case."""
    method: str
    target: str
    headers: typing.Dict[str, str]
    body: bytes


class Answer(typing.NamedTuple):
    """The answer to a request; headers by name in lower case."""
    status: int
    headers: typing.Dict[str, str] = {}
    body: bytes = b""


# These headers describe one connection, or are written anew.
_HOP_HEADERS = ("connection", "keep-alive", "transfer-encoding")


def read_request(stream):
    """Returns the next request of a connection's binary stream; None: there is none."""
    words = stream.readline().decode("latin-1").split()
    if len(words) != 3:
        return None
    headers = {}
    while True:
        line = stream.readline().decode("latin-1").strip()
        if not line:
            break
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    body = stream.read(int(headers.get("content-length", 0)))
    return Request(words[0], words[1], headers, body)


def _head(answer, length):
    lines = [f"HTTP/1.1 {answer.status} Answer"]
    lines += [f"{name}: {value}" for name, value in answer.headers.items()
              if name not in _HOP_HEADERS]
    if "content-length" not in answer.headers:
        lines.append(f"content-length: {length}")
    return "\r\n".join(lines + ["", ""]).encode("latin-1")


def send_answer(connection, request, answer):
    """Sends a whole answer. Returns whether the connection goes on."""
    body = b"" if request.method == "HEAD" else answer.body
    connection.sendall(_head(answer, len(answer.body)) + body)
    return request.headers.get("connection", "").lower() != "close"


def send_part(connection, answer, length):
    """Sends the beginning of an answer: its head, and `length` bytes of its body."""
    connection.sendall(_head(answer, len(answer.body)) + answer.body[:length])
