"""One direction of a connection, cut anywhere, says the same."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_messages import REQUESTS, RESPONSES, body_of, cuts, read_all, rest_of

from provtape.wire.chunked import MAX_LINE, MAX_TRAILERS
from provtape.wire.tap import (
    MAX_HEAD,
    Body,
    Broken,
    End,
    Event,
    RequestHead,
    RequestReader,
    ResponseHead,
    ResponseReader,
    Rest,
)


def request_head(data: bytes) -> RequestHead:
    head = RequestReader().feed(data)[0]
    assert isinstance(head, RequestHead)
    return head


def response_heads(name: str) -> list[ResponseHead]:
    method, data = RESPONSES[name]
    return [event for event in ResponseReader(method).feed(data) if isinstance(event, ResponseHead)]


def reason(events: list[Event]) -> str:
    assert [type(event) for event in events].count(Broken) == 1
    broken = events[-1]
    assert isinstance(broken, Broken)
    return broken.reason


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_cut_at_any_byte_says_the_same(name: str) -> None:
    data = REQUESTS[name]
    whole = read_all(RequestReader(), [data])
    assert isinstance(whole[0], RequestHead)
    assert whole[-1] == End(len(data))
    assert [read_all(RequestReader(), pieces) for pieces in cuts(data)] == [whole] * (len(data) + 1)


@pytest.mark.parametrize("name", RESPONSES)
def test_a_response_cut_at_any_byte_says_the_same(name: str) -> None:
    method, data = RESPONSES[name]
    whole = read_all(ResponseReader(method), [data])
    assert isinstance(whole[0], ResponseHead)
    assert whole[-1] == End(len(data))
    assert [read_all(ResponseReader(method), pieces) for pieces in cuts(data)] == [whole] * (len(data) + 1)


@pytest.mark.parametrize("name", RESPONSES)
def test_the_end_comes_with_the_last_byte_and_not_before(name: str) -> None:
    """So a relay can send everything at once and hold back exactly one byte."""
    method, data = RESPONSES[name]
    reader = ResponseReader(method)
    before = reader.feed(data[:-1])
    assert not any(isinstance(event, End) for event in before)
    assert reader.feed(data[-1:])[-1] == End(1)


@pytest.mark.parametrize("name", [name for name in REQUESTS if name != "connect"])
def test_a_pipelined_request_is_reported_and_not_eaten(name: str) -> None:
    first, second = REQUESTS[name], REQUESTS["post"]
    for pieces in cuts(first + second):
        reader = RequestReader()
        waiting: list[bytes] = list(pieces)
        heads, bodies = [], b""
        while waiting:
            events = reader.feed(waiting.pop(0))
            heads += [event for event in events if isinstance(event, RequestHead)]
            bodies += body_of(events)
            if rest := rest_of(events):
                waiting.insert(0, rest)
        assert [head.target for head in heads] == [request_head(first).target, "/v1/chat"]
        assert bodies.endswith(b'{"model":"m"}')
        assert reader.between


def test_bytes_of_a_tunnel_are_handed_back() -> None:
    events = RequestReader().feed(REQUESTS["connect"] + b"\x16\x03\x01")
    assert events[1:] == [End(len(REQUESTS["connect"])), Rest(b"\x16\x03\x01")]


def test_bytes_after_a_response_are_reported() -> None:
    method, data = RESPONSES["stream"]
    assert ResponseReader(method).feed(data + b"HTTP")[-2:] == [End(len(data)), Rest(b"HTTP")]


def test_a_request_head_says_what_was_sent() -> None:
    assert request_head(REQUESTS["latin-1"]) == RequestHead(
        "GET", "/", "1.1", (("host", "a"), ("x-name", "café"), ("x-name", "")), True, False
    )
    assert request_head(REQUESTS["get"]).target == "/v1/models?b=2&a=%20"
    assert request_head(REQUESTS["absolute"]).target == "http://api.example:8080/x"
    assert request_head(REQUESTS["expect"]).expects_continue
    assert request_head(REQUESTS["connect"]).upgrade
    assert request_head(REQUESTS["upgrade with a body"]).upgrade
    assert request_head(REQUESTS["old"]).version == "1.0"


@pytest.mark.parametrize(
    ("lines", "keeps"),
    [
        (b"GET / HTTP/1.1\r\n", True),
        (b"GET / HTTP/1.1\r\nConnection: X, Close\r\n", False),
        (b"GET / HTTP/1.0\r\n", False),
        (b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n", True),
    ],
)
def test_whether_a_connection_goes_on(lines: bytes, keeps: bool) -> None:
    assert request_head(lines + b"\r\n").keep_alive is keeps


def test_interim_responses_come_before_the_one_that_counts() -> None:
    assert [(head.status, head.interim) for head in response_heads("interim")] == [
        (100, True),
        (103, True),
        (201, False),
    ]


def test_a_switch_of_protocols_ends_at_once() -> None:
    data = b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"
    head, *others = ResponseReader("GET").feed(data + b"\x81")
    assert isinstance(head, ResponseHead)
    assert (head.upgrade, head.keep_alive, head.interim) == (True, False, False)
    assert others == [End(len(data)), Rest(b"\x81")]


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_body_without_a_length_ends_with_the_connection(version: str) -> None:
    reader = ResponseReader("GET")
    head, *others = reader.feed(f"HTTP/{version} 200 OK\r\n\r\nabc".encode())
    assert isinstance(head, ResponseHead)
    assert (head.streamed, head.keep_alive) == (True, False)
    assert others + reader.feed(b"def") + reader.eof() == [Body(b"abc"), Body(b"def"), End(0)]


@pytest.mark.parametrize("name", RESPONSES)
def test_a_connection_that_closes_inside_a_message_is_broken(name: str) -> None:
    method, data = RESPONSES[name]
    ends = []
    for at in range(1, len(data)):
        reader = ResponseReader(method)
        reader.feed(data[:at])
        between = reader.between
        ends.append(
            reader.eof() == ([] if between else [Broken("the connection was closed inside a message")])
        )
        assert reader.feed(data[at:]) == [] or between
    assert all(ends)


def test_a_connection_that_closes_between_messages_is_not() -> None:
    reader = RequestReader()
    assert reader.eof() == []
    reader.feed(REQUESTS["post"] + b"\r\n")
    assert reader.eof() == []


def test_blank_lines_between_requests_are_no_pipelining() -> None:
    reader = RequestReader()
    assert reader.feed(REQUESTS["get"] + b"\r\n\r\n")[-1] == End(len(REQUESTS["get"]))
    assert reader.between


REFUSED_REQUESTS = {
    "tls": b"\x16\x03\x01\x02\x00",
    "http/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "http/2 version": b"GET / HTTP/2.0\r\n\r\n",
    "http/0.9": b"GET /\r\n\r\n",
    "bare line feeds": b"GET / HTTP/1.1\nHost: a\n\n",
    "a folded header": b"GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n",
    "a blank before the colon": b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
    "a NUL": b"GET / HTTP/1.1\r\nHost: a\x00\r\n\r\n",
    "two lengths": b"POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
    "a signed length": b"POST / HTTP/1.1\r\nContent-Length: +5\r\n\r\n",
    "a listed length": b"POST / HTTP/1.1\r\nContent-Length: 5, 5\r\n\r\n",
    "a huge length": b"POST / HTTP/1.1\r\nContent-Length: 99999999999999999\r\n\r\n",
    "length and chunked": b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
    "chunked twice": b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
    "a coding besides": b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    "an unknown coding": b"POST / HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n\r\n",
}


@pytest.mark.parametrize("name", REFUSED_REQUESTS)
def test_what_can_be_read_in_two_ways_is_not_read(name: str) -> None:
    data = REFUSED_REQUESTS[name]
    for pieces in cuts(data):
        events = read_all(RequestReader(), pieces)
        assert isinstance(events[-1], Broken)
        assert not any(isinstance(event, End | Body | RequestHead) for event in events)


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "body",
    [
        b"x\r\n",
        b"-1\r\na\r\n",
        b"0x1\r\na\r\n",
        b"1\na\n0\n\n",
        b"\r\n",
        b"2\r\nabc\r\n0\r\n\r\n",
        b"3\r\nab\r\n0\r\n\r\n",
        b"1\r\na0\r\n\r\n",
        b"fffffffffffffffff\r\na",
        b"0\r\nno colon\r\n\r\n",
        b"0\r\n\n",
    ],
)
def test_a_malformed_chunk_breaks_the_message(body: bytes) -> None:
    for pieces in cuts(CHUNKED + body):
        reader = ResponseReader("GET")
        events = read_all(reader, pieces)
        assert isinstance((events + reader.eof())[-1], Broken)
        assert not any(isinstance(event, End) for event in events)


def test_a_reason_holds_nothing_of_what_came() -> None:
    secret = b"hunter2-hunter2"
    reasons = [
        reason(RequestReader().feed(b"GET / HTTP/1.1\r\n%b : a\r\n\r\n" % secret)),
        reason(ResponseReader("GET").feed(CHUNKED + secret + b"\r\n")),
    ]
    assert all("hunter" not in each and each == each.lower() for each in reasons)


def test_large_headers_pass_and_larger_ones_do_not() -> None:
    def head(size: int) -> bytes:
        start = b"GET / HTTP/1.1\r\nX: "
        return start + b"a" * (size - len(start) - 4) + b"\r\n\r\n"

    assert [type(event) for event in RequestReader().feed(head(MAX_HEAD))] == [RequestHead, End]
    for pieces in ([head(MAX_HEAD + 1)], [head(MAX_HEAD + 1)[:1000], head(MAX_HEAD + 1)[1000:]]):
        assert read_all(RequestReader(), pieces) == [Broken(f"the headers are larger than {MAX_HEAD} bytes")]


def test_a_head_without_end_is_given_up() -> None:
    reader = RequestReader()
    events = [reader.feed(b"GET / HTTP/1.1\r\n")]
    events += [reader.feed(b"X-Line: 0123456789\r\n") for _ in range(4000)]
    assert [*chain.from_iterable(events)] == [Broken(f"the headers are larger than {MAX_HEAD} bytes")]


def test_chunk_lines_and_trailers_are_bounded() -> None:
    line = CHUNKED + b"1;" + b"x" * MAX_LINE
    assert f"longer than {MAX_LINE}" in reason(ResponseReader("GET").feed(line))
    trailers = CHUNKED + b"0\r\n" + b"X-Line: 0123456789\r\n" * (MAX_TRAILERS // 20 + 1)
    assert f"larger than {MAX_TRAILERS}" in reason(ResponseReader("GET").feed(trailers))


@given(st.binary(max_size=200), st.integers(0, 200), st.sampled_from(["GET", "HEAD", "POST"]))
def test_noise_never_raises_and_its_cut_changes_nothing(noise: bytes, at: int, method: str) -> None:
    assert read_all(RequestReader(), [noise]) == read_all(RequestReader(), [noise[:at], noise[at:]])
    assert read_all(ResponseReader(method), [noise]) == read_all(
        ResponseReader(method), [noise[:at], noise[at:]]
    )


@given(st.data())
def test_a_changed_byte_never_raises(data: st.DataObject) -> None:
    method, message = RESPONSES[data.draw(st.sampled_from(sorted(RESPONSES)))]
    at = data.draw(st.integers(0, len(message) - 1))
    changed = message[:at] + data.draw(st.binary(min_size=0, max_size=2)) + message[at + 1 :]
    cut = data.draw(st.integers(0, len(changed)))
    whole = read_all(ResponseReader(method), [changed])
    parts = read_all(ResponseReader(method), [changed[:cut], changed[cut:]])
    assert without_rest(whole) == without_rest(parts)


def without_rest(events: list[Event]) -> list[Event]:
    """Events up to the first end: what follows a message is not read at once, so its cut shows."""
    ends = [place for place, event in enumerate(events) if isinstance(event, End)]
    return events[: ends[0] + 1] if ends else events
