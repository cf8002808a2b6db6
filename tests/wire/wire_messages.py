"""HTTP messages by name, readers fed with them in any cut, and events put into one comparable form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from provtape.wire.tap import Body, End, Event, RequestReader, ResponseReader, Rest

REQUESTS: dict[str, bytes] = {
    "get": b"GET /v1/models?b=2&a=%20 HTTP/1.1\r\nHost: api.example\r\n\r\n",
    "post": b'POST /v1/chat HTTP/1.1\r\nHost: a\r\nContent-Length: 13\r\n\r\n{"model":"m"}',
    "empty post": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
    "chunked": b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\nA;x=1\r\n0123456789\r\n0\r\n\r\n",
    "expect": b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi",
    "old": b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    "absolute": b"GET http://api.example:8080/x HTTP/1.1\r\nHost: api.example:8080\r\n\r\n",
    "connect": b"CONNECT api.example:443 HTTP/1.1\r\nHost: api.example:443\r\n\r\n",
    "upgrade with a body": (
        b"POST / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
    ),
    "blank lines first": b"\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "latin-1": b"GET / HTTP/1.1\r\nHost: a\r\nX-Name: caf\xe9 \t\r\nx-name:\r\n\r\n",
}

RESPONSES: dict[str, tuple[str, bytes]] = {
    "plain": ("GET", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
    "stream": (
        "POST",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"9\r\ndata: 1\n\n\r\ne;ext=x\r\ndata: [DONE]\n\n\r\n0\r\nX-Checksum: 1\r\nX-Two: 2\r\n\r\n",
    ),
    "interim": (
        "POST",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
        b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok",
    ),
    "head": ("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"),
    "chunked head": ("HEAD", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
    "no content": ("DELETE", b"HTTP/1.1 204 No Content\r\n\r\n"),
    "not modified": ("GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 70\r\n\r\n"),
    "empty": ("GET", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    "tunnel": ("CONNECT", b"HTTP/1.1 200 Connection established\r\n\r\n"),
    "no phrase": ("GET", b"HTTP/1.1 599 \r\nContent-Length: 1\r\n\r\nx"),
    "all bytes": ("GET", b"HTTP/1.1 200 OK\r\nContent-Length: 256\r\n\r\n" + bytes(range(256))),
    "all bytes in chunks": (
        "GET",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        + b"".join(b"10\r\n%b\r\n" % bytes(range(at, at + 16)) for at in range(0, 256, 16))
        + b"0\r\n\r\n",
    ),
}


def read_all(reader: RequestReader | ResponseReader, pieces: Iterable[bytes]) -> list[Event]:
    """Everything a reader says about these pieces, in one form: one body, and offsets counted from the first byte."""
    events: list[Event] = []
    at = 0
    for piece in pieces:
        for event in reader.feed(piece):
            if isinstance(event, Body) and events and isinstance(events[-1], Body):
                events[-1] = Body(events[-1].data + event.data)
            else:
                events.append(End(at + event.consumed) if isinstance(event, End) else event)
        at += len(piece)
    return events


def cuts(data: bytes) -> list[Sequence[bytes]]:
    """At once, in two pieces at every place, and byte by byte."""
    return [
        [data],
        *([data[:at], data[at:]] for at in range(1, len(data))),
        [bytes([value]) for value in data],
    ]


def body_of(events: Iterable[Event]) -> bytes:
    """The bytes of all bodies among events."""
    return b"".join(event.data for event in events if isinstance(event, Body))


def rest_of(events: Iterable[Event]) -> bytes:
    """What was reported and not read."""
    return b"".join(event.data for event in events if isinstance(event, Rest))
