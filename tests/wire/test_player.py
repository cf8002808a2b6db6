"""A recorded response is played with framing that agrees with the bytes, in the recorded pieces, and ends as it ended."""

from __future__ import annotations

import http.client
import io
import socket
from typing import cast

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_messages import body_of

from provtape.errors import FormatError
from provtape.format.record import Object
from provtape.wire.exchange import Ended, ResponseCopy, body_member
from provtape.wire.player import MAX_WAIT, Close, Pace, Reset, Send, Step, Wait, play
from provtape.wire.tap import End, ResponseReader


def recorded(
    body: bytes = b"",
    chunks: list[list[int]] | None = None,
    *,
    ended: str = "complete",
    error: str | None = None,
    status: int | None = 200,
    headers: list[list[str]] | None = None,
) -> Object:
    return {
        "ended": ended,
        "error": error,
        "status": status,
        "headers": headers or [],
        "body": body_member(body),
        "chunks": chunks,
    }


def steps(
    response: Object,
    method: str = "POST",
    version: str = "1.1",
    *,
    keep_alive: bool = True,
    pace: Pace = "none",
) -> list[Step]:
    return list(play(response, method=method, version=version, keep_alive=keep_alive, pace=pace))


def sent(played: list[Step]) -> bytes:
    return b"".join(step.data for step in played if isinstance(step, Send))


def by_http_client(data: bytes, method: str = "POST") -> http.client.HTTPResponse:
    class Wire:
        """All that it uses of a socket."""

        def makefile(self, mode: str) -> io.BytesIO:
            return io.BytesIO(data)

    response = http.client.HTTPResponse(cast(socket.socket, Wire()), method=method)
    response.begin()
    return response


STREAM = [[3, 10], [2, 15], [0, 16], [4, 40]]
SSE = [["content-type", "text/event-stream"]]


def test_a_stream_comes_in_its_pieces_at_its_pace() -> None:
    assert steps(recorded(b"abcdefghi", STREAM), pace="recorded") == [
        Wait(10),
        Send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n"),
        Wait(5),
        Send(b"2\r\nde\r\n"),
        Wait(1),
        Wait(24),
        Send(b"4\r\nfghi\r\n0\r\n\r\n"),
    ]


def test_a_pace_can_be_dropped_or_scaled() -> None:
    response = recorded(b"abcdefghi", STREAM)
    assert not any(isinstance(step, Wait) for step in steps(response))
    assert [step.ms for step in steps(response, pace=2.0) if isinstance(step, Wait)] == [5, 2.5, 0.5, 12]
    assert sent(steps(response)) == sent(steps(response, pace="recorded"))


def test_times_that_lie_neither_block_nor_run_backwards() -> None:
    response = recorded(b"abc", [[1, 2**53 - 1], [1, 5], [1, 6]])
    assert [step.ms for step in steps(response, pace="recorded") if isinstance(step, Wait)] == [MAX_WAIT]


def test_an_answer_of_known_length_comes_at_once() -> None:
    assert steps(recorded(b"{}", headers=[["x-id", "7"]])) == [
        Send(b"HTTP/1.1 200 OK\r\nx-id: 7\r\ncontent-length: 2\r\n\r\n{}")
    ]


def test_framing_is_derived_and_never_taken_from_a_record() -> None:
    """A stored length or coding of an older body must not reach a client."""
    headers = [["content-length", "40"], ["transfer-encoding", "gzip"], ["connection", "close"], ["x", "1"]]
    response = by_http_client(sent(steps(recorded(b"a" * 515, headers=headers))))
    assert response.getheaders() == [("x", "1"), ("content-length", "515")]
    assert response.read() == b"a" * 515


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("GET", 204), ("GET", 304)])
def test_what_has_no_body_gets_none(method: str, status: int) -> None:
    played = steps(recorded(b"never", [[5, 1]], status=status), method)
    assert sent(played).endswith(b"\r\n\r\n")
    assert b"length" not in sent(played)
    assert ResponseReader(method).feed(sent(played))[-1] == End(len(sent(played)))


@pytest.mark.parametrize("chunks", [None, [[5, 1]]])
def test_a_connection_closes_when_its_client_wants_that(chunks: list[list[int]] | None) -> None:
    played = steps(recorded(b"hello", chunks), keep_alive=False)
    assert played[-1] == Close()
    assert b"connection: close\r\n" in sent(played)
    assert by_http_client(sent(played)).read() == b"hello"


def test_an_old_client_gets_no_chunks() -> None:
    played = steps(recorded(b"hello", [[2, 1], [3, 2]]), version="1.0")
    assert (played[-1], sent(played)) == (Close(), b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nhello")
    kept = steps(recorded(b"hello"), version="1.0")
    assert sent(kept) == b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: keep-alive\r\n\r\nhello"


def test_no_response_is_a_reset_before_headers() -> None:
    assert steps(recorded(ended="no_response", error="refused", status=None)) == [Reset()]


@pytest.mark.parametrize("chunks", [None, [[5, 1]]])
@pytest.mark.parametrize(("error", "last"), [("reset", Reset()), ("closed", Close()), (None, Close())])
def test_what_the_upstream_broke_is_broken_again(
    chunks: list[list[int]] | None, error: str | None, last: Step
) -> None:
    played = steps(recorded(b"hello", chunks, ended="upstream_broke", error=error))
    assert played[-1] == last
    with pytest.raises(http.client.IncompleteRead) as caught:
        by_http_client(sent(played)).read()
    assert caught.value.partial == b"hello"


def test_a_broken_body_without_bytes_does_not_look_empty() -> None:
    empty: list[list[int]] = []
    for chunks in (None, empty):
        with pytest.raises(http.client.IncompleteRead):
            by_http_client(sent(steps(recorded(b"", chunks, ended="upstream_broke")))).read()


def test_a_broken_stream_to_an_old_client_ends_in_a_reset() -> None:
    """Closing in order would be its regular end."""
    response = recorded(b"hello", [[5, 1]], ended="upstream_broke", error="closed")
    assert steps(response, version="1.0")[-1] == Reset()


def test_a_client_that_left_after_the_last_event_is_served_to_the_end() -> None:
    body = b'data: {"a":1}\n\ndata: [DONE]\n\n'
    played = steps(recorded(body, [[len(body), 1]], ended="client_left", headers=SSE))
    assert isinstance(played[-1], Send)
    assert by_http_client(sent(played)).read() == body


def test_a_client_that_left_before_it_never_sees_an_end() -> None:
    body = b'data: {"a":1}\n\n'
    played = steps(recorded(body, [[len(body), 1]], ended="client_left", headers=SSE))
    assert played[-1] == Close()
    with pytest.raises(http.client.IncompleteRead):
        by_http_client(sent(played)).read()


@pytest.mark.parametrize(
    "header",
    [
        ["x", "1\r\ny: 2"],
        ["x\r\ny", "1"],
        ["x", "\x00"],
        ["x", "€"],
        ["", "1"],
        ["x y", "1"],
        ["x:", "1"],
        ["x", "1\n"],
    ],
)
def test_a_header_that_would_say_something_else_is_refused(header: list[str]) -> None:
    with pytest.raises(FormatError, match="nothing that HTTP can say") as caught:
        play(recorded(headers=[header]), method="GET")
    assert caught.value.code == "record.members"


@pytest.mark.parametrize("status", [0, 100, 101, 199, 1000, 2**53 - 1])
def test_a_status_that_is_no_answer_is_refused(status: int) -> None:
    with pytest.raises(FormatError, match="status"):
        play(recorded(status=status), method="GET")


def test_strange_but_legal_statuses_and_headers_pass() -> None:
    response = by_http_client(sent(steps(recorded(b"x", status=599, headers=[["x", "caf\xe9"], ["x", ""]]))))
    assert (response.status, response.reason) == (599, "")
    assert response.headers.get_all("x") == ["café", ""]


HEADERS = st.lists(
    st.tuples(st.sampled_from(["x-a", "content-type", "set-cookie"]), st.text("abc =;\xe9", max_size=8)).map(
        lambda pair: [pair[0], pair[1].strip()]
    ),
    max_size=4,
)
PIECES = st.lists(st.binary(min_size=1, max_size=30), max_size=5)


@given(
    PIECES,
    st.booleans(),
    HEADERS,
    st.sampled_from([200, 201, 404, 529]),
    st.sampled_from(["complete", "upstream_broke"]),
)
def test_played_and_tapped_again_it_is_the_same_record(
    pieces: list[bytes], streamed: bool, headers: list[list[str]], status: int, ended: Ended
) -> None:
    chunks = [[len(piece), 10 * number] for number, piece in enumerate(pieces)] if streamed else None
    response = recorded(b"".join(pieces), chunks, ended=ended, status=status, headers=headers)
    reader, copy, clock = ResponseReader("POST"), ResponseCopy(), 0.0
    for step in play(response, method="POST", pace="recorded"):
        if isinstance(step, Wait):
            clock += step.ms
        elif isinstance(step, Send):
            copy.add(reader.feed(step.data), round(clock))
    assert copy.whole is (ended == "complete")
    assert copy.members(ended) == response


@given(PIECES)
def test_another_reader_sees_the_same_pieces(pieces: list[bytes]) -> None:
    """The splits of a stream reach a client that looks at them."""
    client = h11.Connection(h11.CLIENT)
    client.send(h11.Request(method="GET", target="/", headers=[("host", "a")]))
    client.send(h11.EndOfMessage())
    seen: list[bytes] = []
    ended = False
    for step in steps(recorded(b"".join(pieces), [[len(piece), 0] for piece in pieces])):
        assert isinstance(step, Send)
        client.receive_data(step.data)
        while (event := client.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
            if isinstance(event, h11.Data):
                seen.append(bytes(event.data))
            ended = ended or isinstance(event, h11.EndOfMessage)
            if ended:
                break
    assert (seen, ended) == (pieces, True)


def test_all_byte_values_go_through() -> None:
    every = bytes(range(256))
    stream = [[256, 1]]
    for chunks in (None, stream):
        played = sent(steps(recorded(every, chunks)))
        assert by_http_client(played).read() == every
        assert body_of(ResponseReader("POST").feed(played)) == every
