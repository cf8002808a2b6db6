"""What a recorder does to a call: nothing that the client or the upstream could see, but for the last byte, which waits."""

from __future__ import annotations

import json
import threading
import tracemalloc
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path

import pytest
from relay_stage import Client, body_of, interactions, recording, serving
from relay_upstream import ALL_BYTES, TestUpstream

from provtape.capture.desk import Settings
from provtape.capture.dialer import Dialer, Proxies
from provtape.capture.server import Server, listen
from provtape.errors import SessionError
from provtape.format.record import Kind, Object
from provtape.session import Session
from provtape.session.recorded import Answer
from provtape.session.turns import Turn, Turns, Unanswered
from provtape.wire.route import Routes

CHAT = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}]}).encode()
STREAM = json.dumps({"model": "m", "messages": [], "stream": True}).encode()


@pytest.fixture
def upstream() -> Iterator[TestUpstream]:
    with TestUpstream() as started:
        yield started


def whole(port: int, path: str, method: str = "GET", body: bytes = b"") -> tuple[bytes, str]:
    """All the bytes of a response on a connection of its own, and how it ended."""
    with Client(port) as client:
        client.get(path, "Connection: close", method=method, body=body)
        return client.rest()


ANSWERED = [
    "/echo",
    "/bytes",
    "/gzip",
    "/204",
    "/304",
    "/head",
    "/trailers",
    "/until-close",
    "/hints",
    "/nowhere",
]
BROKEN = ["/in-a-chunk", "/in-a-chunk-reset", "/short", "/reset"]


@pytest.mark.parametrize("path", ANSWERED + BROKEN)
def test_the_client_gets_every_byte_that_the_upstream_sent(
    path: str, upstream: TestUpstream, tmp_path: Path
) -> None:
    direct = whole(upstream.port, path)
    with recording(tmp_path / "run.jsonl", upstream) as (port, session):
        assert whole(port, f"/up{path}") == direct
        assert session.summary.recorded == 1


def test_a_response_to_head_has_no_body(upstream: TestUpstream, tmp_path: Path) -> None:
    direct = whole(upstream.port, "/head", "HEAD")
    with recording(tmp_path / "run.jsonl", upstream) as (port, _):
        assert whole(port, "/up/head", "HEAD") == direct
    (made,) = interactions(tmp_path / "run.jsonl")
    assert (made["response"]["status"], made["response"]["body"]) == (200, None)


def test_the_upstream_gets_the_head_as_it_was_written(upstream: TestUpstream, tmp_path: Path) -> None:
    """But for what spoke to us: the route, and our own host."""
    with recording(tmp_path / "run.jsonl", upstream) as (port, _), Client(port) as client:
        client.send(
            b"POST /up/echo?q=%20a HTTP/1.1\r\nX-ODD:  two \r\nhOST: 127.0.0.1\r\nContent-Length: 2\r\nx-odd:2\r\n\r\nhi"
        )
        assert client.answer()[1] == b"hi"
    lines = ["POST /echo?q=%20a HTTP/1.1", "X-ODD:  two ", f"hOST: 127.0.0.1:{upstream.port}"]
    lines += ["Content-Length: 2", "x-odd:2", "", ""]
    assert upstream.seen[0].head == "\r\n".join(lines).encode()
    (made,) = interactions(tmp_path / "run.jsonl")
    assert made["request"]["url"] == f"{upstream.url}/echo?q=%20a"


def test_a_chunked_request_is_relayed_as_it_is_framed(upstream: TestUpstream, tmp_path: Path) -> None:
    with recording(tmp_path / "run.jsonl", upstream) as (port, _), Client(port) as client:
        client.send(b"POST /up/echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
        client.send(b"2;x=y\r\nde\r\n0\r\n\r\n")
        assert client.answer()[1] == b"abcde"
    (made,) = interactions(tmp_path / "run.jsonl")
    assert body_of(made["request"]) == b"abcde"


def test_all_byte_values_go_there_and_back(upstream: TestUpstream, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with recording(path, upstream) as (port, _), Client(port) as client:
        client.get("/up/echo", method="POST", body=ALL_BYTES)
        assert client.answer()[1] == ALL_BYTES
    with serving(path, "replay", {"up": upstream.url}) as (port, _), Client(port) as client:
        client.get("/up/echo", method="POST", body=ALL_BYTES)
        assert client.answer()[1] == ALL_BYTES


class Holding(Turns):
    """Turns whose records become durable when the test says so."""

    def __init__(self, turns: Turns) -> None:
        self.__dict__ = turns.__dict__
        self.handed_over = threading.Event()
        self.done: Future[int] = Future()

    def finish(self, turn: Turn, response: Object, meta: Object) -> Future[int]:
        written = super().finish(turn, response, meta)
        written.result()
        self.handed_over.set()
        return self.done


@pytest.mark.parametrize("body", [CHAT, STREAM], ids=["plain", "streamed"])
def test_the_last_byte_waits_until_the_record_is_durable(
    body: bytes, upstream: TestUpstream, tmp_path: Path
) -> None:
    session = Session.open(tmp_path / "run.jsonl", "record", literals=())
    turns = Holding(session.turns)
    settings = Settings(routes=Routes.of({"up": upstream.url}))
    with Server(turns, [listen()], settings) as server, Client(server.ports[0]) as client:
        client.get("/up/v1/chat/completions", method="POST", body=body)
        assert turns.handed_over.wait(20)
        got = client.until(b"choices")
        got += client.all_for_now()
        assert not got.endswith((b"]}", b"0\r\n\r\n"))
        turns.done.set_result(2)
        last = client.socket.recv(10)
        assert len(last) == 1
        assert (got + last).endswith((b"]}", b"0\r\n\r\n"))
    session.close()


def test_events_are_relayed_when_they_come(upstream: TestUpstream, tmp_path: Path) -> None:
    """The upstream stalls after two events; the client has both, and leaves. That is what is recorded."""
    path = tmp_path / "run.jsonl"
    with recording(path, upstream) as (port, _):
        with Client(port) as client:
            client.get("/up/stalls")
            client.until(b"two")
        while not upstream.left:
            threading.Event().wait(0.005)
    (made,) = interactions(path)
    assert (made["response"]["ended"], made["response"]["status"]) == ("client_left", 200)
    assert len(made["response"]["chunks"]) == 2
    assert b"two" in body_of(made["response"])


def test_a_client_that_leaves_after_done_is_replayed_a_clean_end(
    upstream: TestUpstream, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    with recording(path, upstream) as (port, _), Client(port) as client:
        client.get("/up/done-but-open")
        client.until(b"[DONE]\n\n")
    (made,) = interactions(path)
    assert made["response"]["ended"] == "client_left"
    with serving(path, "replay", {"up": upstream.url}) as (port, _), Client(port) as client:
        client.get("/up/done-but-open")
        assert client.answer()[1] == body_of(made["response"])


def test_a_client_that_leaves_before_it_asked_leaves_no_record(
    upstream: TestUpstream, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    with recording(path, upstream) as (port, _), Client(port) as client:
        client.send(b"POST /up/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf")
    assert interactions(path) == []


def test_one_connection_carries_many_calls_on_both_sides(upstream: TestUpstream, tmp_path: Path) -> None:
    with recording(tmp_path / "run.jsonl", upstream) as (port, session), Client(port) as client:
        for _ in range(5):
            client.get("/up/v1/chat/completions", method="POST", body=STREAM)
            client.answer()
            client.get("/up/v1/chat/completions", method="POST", body=CHAT)
            client.answer()
        assert session.summary.recorded == 10
    assert upstream.connections == 1


def test_when_the_upstream_closes_an_idle_connection_so_do_we(upstream: TestUpstream, tmp_path: Path) -> None:
    with recording(tmp_path / "run.jsonl", upstream) as (port, _), Client(port) as client:
        client.get("/up/drops-idle")
        client.answer()
        assert client.rest() == (b"", "closed")


def test_a_pipelined_request_is_not_passed_on(upstream: TestUpstream, tmp_path: Path) -> None:
    with recording(tmp_path / "run.jsonl", upstream) as (port, session), Client(port) as client:
        client.send(b"GET /up/echo HTTP/1.1\r\nHost: a\r\n\r\nGET /up/bytes HTTP/1.1\r\nHost: a\r\n\r\n")
        assert client.answer()[0].status == 200
        assert client.rest() == (b"", "closed")
        assert session.summary.recorded == 1
    assert [seen.path for seen in upstream.seen] == ["/echo"]


def test_a_client_may_wait_for_100_continue(upstream: TestUpstream, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with recording(path, upstream) as (port, _), Client(port) as client:
        client.get("/up/echo", "Expect: 100-continue", "Content-Length: 3", method="POST")
        assert client.until(b"\r\n\r\n").startswith(b"HTTP/1.1 100")
        client.send(b"abc")
        assert client.answer()[1] == b"abc"
        client.get("/up/no-thanks", "Expect: 100-continue", "Content-Length: 3", method="POST")
        assert client.answer()[0].status == 413
    first, second = interactions(path)
    assert (body_of(first["request"]), second["request"]["body"]) == (b"abc", None)
    with serving(path, "replay", {"up": upstream.url}) as (port, _), Client(port) as client:
        client.get("/up/echo", "Expect: 100-continue", "Content-Length: 3", method="POST")
        assert client.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.send(b"abc")
        assert client.answer()[1] == b"abc"
        client.get("/up/no-thanks", method="POST")
        assert client.answer()[0].status == 413


def test_an_answer_before_the_request_is_whole_is_recorded_with_the_whole_request(
    upstream: TestUpstream, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    with recording(path, upstream) as (port, _), Client(port) as client:
        client.get("/up/early", "Content-Length: 6", method="POST")
        client.send(b"abc")
        got = client.until(b'"large"')
        client.send(b"def")
        assert (got + client.until(b"}")).endswith(b'{"too":"large"}')
    (made,) = interactions(path)
    assert (body_of(made["request"]), made["response"]["status"]) == (b"abcdef", 413)


@pytest.mark.parametrize(
    ("request_", "status", "code"),
    [
        (
            b"GET /up/ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
            501,
            "upgrade",
        ),
        (b"GET /elsewhere HTTP/1.1\r\nHost: a\r\n\r\n", 404, "route"),
        (b"GET /up/a HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "host"),
        (b"GET /up/a HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 70_000 + b"\r\n\r\n", 431, "headers"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, "malformed"),
        (b"CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", 501, "tunnel"),
        (b"GET http://user:secret@a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "target"),
    ],
)
def test_what_can_not_be_relayed_is_refused_with_a_reason(
    request_: bytes, status: int, code: str, upstream: TestUpstream, tmp_path: Path
) -> None:
    with recording(tmp_path / "run.jsonl", upstream) as (port, _), Client(port) as client:
        client.send(request_)
        head, body = client.answer()
        assert head.status == status
        assert json.loads(body)["error"]["code"] == code
        assert b"secret" not in body
        assert client.rest() == (b"", "closed")
    assert upstream.seen == []
    assert interactions(tmp_path / "run.jsonl") == []


def test_an_upstream_that_is_not_there_is_recorded_as_no_response(tmp_path: Path) -> None:
    with listen().socket as nobody:
        port = nobody.getsockname()[1]
    path, routes = tmp_path / "run.jsonl", {"up": f"http://127.0.0.1:{port}", "no": "http://name.invalid"}
    with serving(path, "record", routes) as (port, _):
        assert whole(port, "/up/a") == (b"", "reset")
        assert whole(port, "/no/a") == (b"", "reset")
    words = [(made["response"]["ended"], made["response"]["error"]) for made in interactions(path)]
    assert words == [("no_response", "refused"), ("no_response", "unresolved")]
    with serving(path, "replay", routes) as (port, _):
        assert whole(port, "/up/a") == (b"", "reset")
        assert whole(port, "/no/a") == (b"", "reset")


def test_an_upstream_that_says_nothing_is_given_up(upstream: TestUpstream, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with recording(path, upstream, read_timeout=0.2) as (port, _):
        assert whole(port, "/up/silence") == (b"", "reset")
    assert interactions(path)[0]["response"]["error"] == "timeout"


def test_a_malformed_response_is_recorded_as_none(upstream: TestUpstream, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with recording(path, upstream) as (port, _):
        assert whole(port, "/up/garbage") == (b"", "reset")
    assert interactions(path)[0]["response"]["error"] == "malformed"


def test_a_larger_body_than_is_recorded_passes_and_is_named_at_the_end(
    upstream: TestUpstream, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    with recording(path, upstream, max_body=1000, fails=True) as (port, session), Client(port) as client:
        client.get("/up/large?100000")
        assert client.answer()[1] == bytes(100_000)
        client.get("/up/echo", method="POST", body=bytes(2000))
        assert client.answer()[1] == bytes(2000)
        client.get("/up/echo", method="POST", body=b"small")
        assert client.answer()[1] == b"small"
    with pytest.raises(SessionError, match="2 live answers are not recorded") as caught:
        session.close()
    assert caught.value.__notes__ == [
        "GET to 127.0.0.1: its response is larger than is recorded",
        "POST to 127.0.0.1: its request is larger than is recorded",
    ]
    assert len(interactions(path)) == 1


def test_a_call_that_can_not_be_written_does_not_finish(upstream: TestUpstream, tmp_path: Path) -> None:
    with recording(tmp_path / "run.jsonl", upstream, fails=True) as (port, session):
        writer = session.turns._writer
        assert writer is not None
        writer.close()
        answer, ending = whole(port, "/up/v1/chat/completions", "POST", CHAT)
        assert ending == "reset"
        assert not answer.endswith(b"]}")
    with pytest.raises(SessionError, match="1 live answer is not recorded"):
        session.close()


def test_a_host_that_is_passed_is_relayed_and_not_recorded(upstream: TestUpstream, tmp_path: Path) -> None:
    path, passed = tmp_path / "run.jsonl", frozenset(("127.0.0.1",))
    with recording(path, upstream, passed=passed) as (port, session), Client(port) as client:
        client.get("/up/echo", method="POST", body=b"telemetry")
        assert client.answer()[1] == b"telemetry"
        assert session.summary.recorded == 0
    with serving(path, "replay", {"up": upstream.url}, passed=passed) as (port, _):
        assert whole(port, "/up/echo") == (b"", "reset")


def test_the_recorder_goes_through_its_own_proxy(upstream: TestUpstream, tmp_path: Path) -> None:
    """The proxy is another recorder, so both cassettes must tell the same story."""
    far, near = tmp_path / "far.jsonl", tmp_path / "near.jsonl"
    with serving(far, "record") as (proxy, _):
        dialer = Dialer(Proxies({"http": f"http://user:pass@127.0.0.1:{proxy}"}))
        with recording(near, upstream, dialer=dialer) as (port, _), Client(port) as client:
            client.get("/up/v1/chat/completions", method="POST", body=STREAM)
            client.answer()
    (there,), (here,) = interactions(far), interactions(near)
    assert there["request"] == here["request"]
    assert there["response"]["body"] == here["response"]["body"]
    assert b"Proxy-Authorization" not in upstream.seen[0].head


def test_nothing_is_lost_when_the_server_ends_in_mid_call(upstream: TestUpstream, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with recording(path, upstream) as (port, _):
        client = Client(port)
        client.get("/up/stalls")
        client.until(b"two")
    client.close()
    assert interactions(path)[0]["response"]["ended"] == "client_left"


def test_a_large_request_is_read_even_when_its_upstream_is_not_there(tmp_path: Path) -> None:
    with listen().socket as nobody:
        port = nobody.getsockname()[1]
    path, size = tmp_path / "run.jsonl", 3_000_000
    with serving(path, "record", {"up": f"http://127.0.0.1:{port}"}) as (port, _), Client(port) as client:
        client.get("/up/a", method="POST", body=b"x" * size)
        assert client.rest() == (b"", "reset")
    (made,) = interactions(path)
    assert (len(body_of(made["request"])), made["response"]["error"]) == (size, "refused")


def test_a_slow_client_holds_its_upstream_and_nothing_else(upstream: TestUpstream, tmp_path: Path) -> None:
    """Neither piles up in the recorder: what was read is what was sent on."""
    path, size = tmp_path / "run.jsonl", 60_000_000
    with recording(path, upstream, max_body=1000, fails=True) as (port, session), Client(port) as client:
        tracemalloc.start()
        client.get(f"/up/large?{size}")
        client.until(b"\r\n\r\n")
        threading.Event().wait(0.3)
        with Client(port) as other:
            other.get("/up/echo", method="POST", body=b"meanwhile")
            assert other.answer()[1] == b"meanwhile"
        left = size - 1_000_000
        while left > 0:
            left -= len(client.socket.recv(1 << 20))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 16_000_000
    with pytest.raises(SessionError, match="1 live answer is not recorded"):
        session.close()


def test_a_client_that_waits_for_100_continue_is_told_when_there_is_nobody(tmp_path: Path) -> None:
    with listen().socket as nobody:
        port = nobody.getsockname()[1]
    path = tmp_path / "run.jsonl"
    with serving(path, "record", {"up": f"http://127.0.0.1:{port}"}) as (port, _), Client(port) as client:
        client.get("/up/a", "Expect: 100-continue", "Content-Length: 3", method="POST")
        assert client.rest() == (b"", "reset")
    assert interactions(path)[0]["response"]["error"] == "refused"


class Slow(Turns):
    """Turns in which a large request is looked at until the test says so, while nobody else is."""

    def __init__(self, turns: Turns) -> None:
        self.__dict__ = turns.__dict__
        self.looking = threading.Event()
        self.seen_enough = threading.Event()
        self.one_at_a_time = threading.Lock()

    def attempt(
        self, kind: Kind, request: Mapping[str, object], reader: str = ""
    ) -> Answer | Turn | Unanswered:
        with self.one_at_a_time:
            if len(str(request["body"])) > 100_000:
                self.looking.set()
                assert self.seen_enough.wait(20)
            return super().attempt(kind, request, reader)


def test_a_large_request_that_is_looked_at_holds_up_no_other_call(
    upstream: TestUpstream, tmp_path: Path
) -> None:
    session = Session.open(tmp_path / "run.jsonl", "record", literals=())
    turns = Slow(session.turns)
    settings = Settings(routes=Routes.of({"up": upstream.url}))
    with (
        Server(turns, [listen()], settings) as server,
        Client(server.ports[0]) as large,
        Client(server.ports[0]) as small,
    ):
        large.get("/up/echo", method="POST", body=b"x" * 200_000)
        assert turns.looking.wait(20)
        small.get("/up/v1/chat/completions", method="POST", body=STREAM)
        got = small.until(b"[DONE]")
        turns.seen_enough.set()
        while not got.endswith(b"0\r\n\r\n"):
            got += small.socket.recv(100)
        assert large.answer()[1] == b"x" * 200_000
    session.close()
    assert len(interactions(tmp_path / "run.jsonl")) == 2
