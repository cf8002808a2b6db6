"""What of a message is recorded, and in which spelling."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_messages import RESPONSES

from provtape.format.record import HTTP_RESPONSE, REQUEST, body_length
from provtape.wire.exchange import ResponseCopy, body_member, no_response, request_members
from provtape.wire.player import body_bytes
from provtape.wire.tap import ResponseReader


def copied(
    method: str, reads: list[tuple[bytes, int]], *, limit: int = 1000, closes: bool = False
) -> ResponseCopy:
    reader, copy = ResponseReader(method), ResponseCopy(limit)
    for data, ms in reads:
        copy.add(reader.feed(data), ms)
    if closes:
        copy.add(reader.eof(), 99)
    return copy


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n"


def test_a_stream_keeps_what_came_when_and_how_it_was_cut() -> None:
    copy = copied(
        "POST",
        [
            (CHUNKED + b"\r\n", 10),
            (b"3\r\nabc\r\n2\r\nde", 20),
            (b"\r\n", 30),
            (b"1\r\nf\r\n", 45),
            (b"0\r\n\r\n", 46),
        ],
    )
    response = copy.members("complete")
    assert tuple(response) == HTTP_RESPONSE
    assert response == {
        "ended": "complete",
        "error": None,
        "status": 200,
        "headers": [["content-type", "text/plain"]],
        "body": {"text": "abcdef"},
        "chunks": [[5, 20], [1, 45]],
    }
    assert copy.whole


def test_an_answer_of_known_length_is_no_stream() -> None:
    response = copied("GET", [(HEAD + b"Content-Length: 3\r\n\r\na", 1), (b"bc", 2)]).members("complete")
    assert (response["body"], response["chunks"]) == ({"text": "abc"}, None)


def test_a_body_that_ends_with_the_connection_is_a_stream() -> None:
    copy = copied("GET", [(HEAD + b"\r\nab", 1), (b"c", 2)], closes=True)
    assert copy.whole
    assert copy.members("complete")["chunks"] == [[2, 1], [1, 2]]


def test_a_stream_without_bytes_is_still_one() -> None:
    response = copied("GET", [(CHUNKED + b"\r\n0\r\n\r\n", 5)]).members("complete")
    assert (response["body"], response["chunks"]) == (None, [])


def test_interim_responses_leave_no_trace() -> None:
    method, data = RESPONSES["interim"]
    response = copied(method, [(data, 3)]).members("complete")
    assert (response["status"], response["headers"], response["body"]) == (201, [], {"text": "ok"})


def test_a_cut_stream_keeps_what_the_client_got() -> None:
    copy = copied("GET", [(CHUNKED + b"\r\n5\r\nab", 7)], closes=True)
    assert not copy.whole
    assert copy.broken == "the connection was closed inside a message"
    response = copy.members("upstream_broke", "closed")
    assert (response["ended"], response["error"], response["chunks"]) == (
        "upstream_broke",
        "closed",
        [[2, 7]],
    )


def test_a_malformed_stream_keeps_what_came_before() -> None:
    copy = copied("GET", [(CHUNKED + b"\r\n2\r\nab\r\nzz\r\n", 7)])
    assert (copy.broken, copy.members("upstream_broke", "malformed")["body"]) == (
        "the chunked body is malformed",
        {"text": "ab"},
    )


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\nCont", b"HTTP/1.1 100 Continue\r\n\r\n"])
def test_without_a_head_there_was_no_response(sent: bytes) -> None:
    copy = copied("GET", [(sent, 1)], closes=True)
    assert copy.members("upstream_broke", "reset") == no_response("reset")
    assert copy.members("client_left") == no_response("reset") | {"ended": "client_left", "error": None}


def test_headers_about_one_connection_are_left_out() -> None:
    data = (
        b"HTTP/1.1 200 OK\r\nConnection: keep-alive, X-Hop\r\nKeep-Alive: timeout=5\r\nx-hop: 1\r\nX-Stays: 1\r\n"
        b"TE: trailers\r\nTrailer: x\r\nUpgrade: h2c\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n"
        b"Set-Cookie: a=1\r\nset-cookie: b=2\r\n\r\n"
    )
    assert copied("GET", [(data, 1)]).members("complete")["headers"] == [
        ["x-stays", "1"],
        ["set-cookie", "a=1"],
        ["set-cookie", "b=2"],
    ]


def test_a_body_over_the_limit_is_let_go_and_said() -> None:
    copy = copied("GET", [(CHUNKED + b"\r\n4\r\nabcd\r\n", 1), (b"2\r\nef\r\n0\r\n\r\n", 2)], limit=5)
    assert (copy.over, copy.whole) == (True, True)
    assert copied("GET", [(CHUNKED + b"\r\n5\r\nabcde\r\n0\r\n\r\n", 1)], limit=5).over is False


def encoded(coding: str, body: bytes, *, chunked: bool = False) -> list[tuple[bytes, int]]:
    start = HEAD + b"Content-Encoding: %b\r\n" % coding.encode()
    if chunked:
        framing = b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    else:
        framing = b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    return [(start + framing, 4)]


@pytest.mark.parametrize("chunked", [False, True])
def test_a_coding_is_undone_and_its_header_goes_with_it(chunked: bool) -> None:
    response = copied("GET", encoded("gzip", gzip.compress(b"hi" * 50), chunked=chunked)).members("complete")
    assert response["body"] == {"text": "hi" * 50}
    assert response["headers"] == [["content-type", "text/plain"]]
    assert response["chunks"] is None


LIES = {
    "no gzip at all": ("gzip", b"plain text"),
    "cut": ("gzip", gzip.compress(b"hi")[:-1]),
    "a wrong sum": ("gzip", gzip.compress(b"hi")[:-8] + bytes(8)),
    "more behind it": ("gzip", gzip.compress(b"hi") + b"tail"),
    "unknown": ("aes128gcm", b"\x00\x01"),
    "half known": ("gzip, snappy", gzip.compress(b"hi")),
    "a bomb": ("gzip", gzip.compress(bytes(1_000_000))),
    "a bomb in a bomb": ("deflate, gzip", gzip.compress(zlib.compress(bytes(1_000_000)))),
}


@pytest.mark.parametrize("name", LIES)
def test_a_coding_that_lies_stays_as_it_came(name: str) -> None:
    coding, body = LIES[name]
    response = copied("GET", encoded(coding, body, chunked=True), limit=10_000).members("complete")
    assert response["body"] == body_member(body)
    assert response["headers"] == [["content-type", "text/plain"], ["content-encoding", coding]]
    assert response["chunks"] == [[len(body), 4]]


def test_a_head_with_a_coding_and_no_body_keeps_it() -> None:
    data = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 70\r\n\r\n"
    response = copied("HEAD", [(data, 1)]).members("complete")
    assert (response["headers"], response["body"]) == ([["content-encoding", "gzip"]], None)


def test_a_request_has_the_members_of_a_record() -> None:
    headers = (("host", "a"), ("content-length", "22"), ("content-encoding", "gzip"), ("x", "1"))
    request = request_members("POST", "https://a/", headers, gzip.compress(b"{}"))
    assert tuple(request) == REQUEST["http"]
    assert request == {
        "method": "POST",
        "url": "https://a/",
        "headers": [["host", "a"], ["x", "1"]],
        "body": {"text": "{}"},
    }


@given(st.binary(max_size=300))
def test_a_body_has_one_spelling_and_keeps_every_byte(data: bytes) -> None:
    member = body_member(data)
    assert body_length(member, "body") == len(data)
    assert body_bytes(member) == data


def test_all_byte_values_come_back() -> None:
    every = bytes(range(256))
    assert body_bytes(request_members("POST", "http://a/", (), every)["body"]) == every
