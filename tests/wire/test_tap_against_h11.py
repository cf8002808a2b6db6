"""Somebody else's reader of HTTP/1.1 says the same about messages that were made at random."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import h11
from hypothesis import given
from hypothesis import strategies as st
from wire_messages import body_of, read_all

from provtape.wire.tap import Broken, End, Event, RequestHead, RequestReader, ResponseHead, ResponseReader

Seen = tuple[object, list[tuple[str, str]], bytes, bool]

NAMES = st.sampled_from(["accept", "X-Trace", "x_y", "Content-Type", "Set-Cookie", "cookie"])
VALUES = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), max_size=12)
HEADERS = st.lists(st.tuples(NAMES, VALUES), max_size=5)
BODIES = st.lists(st.binary(min_size=1, max_size=40), max_size=4)
CUTS = st.lists(st.integers(0, 400), max_size=6)


def header_lines(headers: Sequence[tuple[str, str]]) -> bytes:
    return "".join(f"{name}: {value}\r\n" for name, value in headers).encode("latin-1")


def framed(pieces: Sequence[bytes], framing: str) -> bytes:
    """The framing header, the end of the head, and the body."""
    if framing == "chunked":
        chunks = b"".join(b"%X;e=1\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
        return b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\nx-t: 1\r\n\r\n"
    body = b"".join(pieces)
    return (b"Content-Length: %d\r\n\r\n" % len(body) if framing == "length" else b"\r\n") + body


def cut(data: bytes, places: Sequence[int]) -> list[bytes]:
    edges = [0, *sorted(min(place, len(data)) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


def by_h11(connection: h11.Connection, data: bytes, *, closes: bool) -> Seen:
    connection.receive_data(data)
    if closes:
        connection.receive_data(b"")
    first: object = None
    headers: list[tuple[str, str]] = []
    body = b""
    while True:
        event = connection.next_event()
        if isinstance(event, h11.Request):
            first = (event.method.decode(), event.target.decode(), event.http_version.decode())
        elif isinstance(event, h11.Response):
            first = (event.status_code, event.http_version.decode())
        elif isinstance(event, h11.Data):
            body += bytes(event.data)
        elif isinstance(event, h11.EndOfMessage):
            return first, headers, body, not closes and connection.their_state is not h11.MUST_CLOSE
        if isinstance(event, h11.Request | h11.Response):
            headers = [(name.decode().lower(), value.decode("latin-1")) for name, value in event.headers]


def by_us(events: Sequence[Event], length: int) -> Seen:
    head = events[0]
    assert not any(isinstance(event, Broken) for event in events)
    assert isinstance(head, RequestHead | ResponseHead)
    assert events[-1] in (End(length), End(0))
    first: object = (
        (head.method, head.target, head.version)
        if isinstance(head, RequestHead)
        else (head.status, head.version)
    )
    return first, list(head.headers), body_of(events), head.keep_alive


@given(
    st.sampled_from(["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]),
    st.from_regex(r"/[A-Za-z0-9/%?&=._~-]{0,30}", fullmatch=True),
    HEADERS,
    BODIES,
    st.sampled_from(["chunked", "length"]),
    st.sampled_from(["", "close", "keep-alive"]),
    CUTS,
)
def test_requests(
    method: str,
    target: str,
    headers: list[tuple[str, str]],
    pieces: list[bytes],
    framing: str,
    connection: str,
    places: list[int],
) -> None:
    start = f"{method} {target} HTTP/1.1\r\nHost: api.example\r\n".encode()
    start += f"Connection: {connection}\r\n".encode() if connection else b""
    message = start + header_lines(headers) + framed(pieces, framing)
    ours = by_us(read_all(RequestReader(), cut(message, places)), len(message))
    theirs = by_h11(h11.Connection(h11.SERVER), message, closes=False)
    assert normal(ours) == normal(theirs)


@given(
    st.sampled_from([200, 201, 204, 304, 400, 422, 500, 599]),
    st.sampled_from(["GET", "HEAD", "POST"]),
    HEADERS,
    BODIES,
    st.sampled_from(["chunked", "length", "close"]),
    CUTS,
)
def test_responses(
    status: int,
    method: str,
    headers: list[tuple[str, str]],
    pieces: list[bytes],
    framing: str,
    places: list[int],
) -> None:
    bare = method == "HEAD" or status in (204, 304)
    message = f"HTTP/1.1 {status} Word\r\n".encode() + header_lines(headers) + framed(pieces, framing)
    if bare:
        message = message[: message.index(b"\r\n\r\n") + 4]
    reader = ResponseReader(method)
    events = read_all(reader, cut(message, places)) + reader.eof()
    client = h11.Connection(h11.CLIENT)
    client.send(h11.Request(method=method, target="/", headers=[("host", "a")]))
    client.send(h11.EndOfMessage())
    assert normal(by_us(events, len(message))) == normal(
        by_h11(client, message, closes=not bare and framing == "close")
    )


def normal(seen: Seen) -> Seen:
    """h11 writes the value `chunked` in lower case; nothing else is evened out."""
    first, headers, body, goes_on = seen
    lowered = [(name, value.lower() if name == "transfer-encoding" else value) for name, value in headers]
    return first, lowered, body, goes_on
