"""Replay and serve over HTTP: what was recorded, as it was recorded, from nowhere but the cassette; and loud when it was not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from relay_stage import Client, recording, serving
from relay_upstream import TestUpstream

from provtape.capture.desk import Settings
from provtape.errors import Missed
from provtape.session import Session
from provtape.wire.route import Bases, Routes

CHAT = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}]}).encode()
STREAM = json.dumps({"model": "m", "messages": [], "stream": True}).encode()
PATH = "/up/v1/chat/completions"


@pytest.fixture
def upstream() -> Iterator[TestUpstream]:
    with TestUpstream() as started:
        yield started


def ask(port: int, path: str = PATH, body: bytes = CHAT, *headers: str) -> tuple[int, bytes]:
    with Client(port) as client:
        client.get(path, "Content-Type: application/json", *headers, method="POST", body=body)
        head, answer = client.answer()
        return head.status, answer


def ending(port: int, path: str) -> tuple[int, str]:
    """How much body came before the end, and how it ended."""
    with Client(port) as client:
        client.get(path, "Connection: close")
        got, how = client.rest()
        return len(got.partition(b"\r\n\r\n")[2]), how


@pytest.mark.parametrize("path", ["/in-a-chunk", "/in-a-chunk-reset", "/short", "/reset"])
def test_a_call_that_broke_breaks_again(path: str, upstream: TestUpstream, tmp_path: Path) -> None:
    with recording(tmp_path / "run.jsonl", upstream) as (port, _):
        _, live = ending(port, f"/up{path}")
    with serving(tmp_path / "run.jsonl", "replay", {"up": upstream.url}) as (port, _):
        assert ending(port, f"/up{path}")[1] == live
        assert (live == "reset") == path.endswith("reset")


def test_thirty_equal_calls_at_once_are_replayed_once_each(upstream: TestUpstream, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with recording(path, upstream) as (port, _), ThreadPoolExecutor(30) as pool:
        live = list(pool.map(lambda _: ask(port), range(30)))
    assert len(set(live)) == 30
    with serving(path, "replay", {"up": upstream.url}, fails=True) as (port, session):
        with ThreadPoolExecutor(30) as pool:
            replayed = list(pool.map(lambda _: ask(port), range(30)))
        assert sorted(replayed) == sorted(live)
        status, body = ask(port)
        assert (status, json.loads(body)["error"]["code"]) == (422, "exhausted")
    with pytest.raises(Missed, match="recorded 30 times"):
        session.close()
    assert len(upstream.seen) == 30


def test_replay_asks_nobody_and_a_miss_says_what_differs(upstream: TestUpstream, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with recording(path, upstream) as (port, _):
        live = ask(port)
    connections = upstream.connections
    with serving(path, "replay", {"up": upstream.url}, fails=True) as (port, session):
        assert ask(port) == live
        status, body = ask(port, PATH, CHAT.replace(b"hi", b"hello"))
        said = json.loads(body)
        assert (status, said["error"]["type"], said["error"]["code"]) == (422, "provtape_miss", "miss")
        assert said["provtape"]["record"] == 2
        assert "/body/json/messages/0/content" in said["error"]["message"]
        assert ask(port, "/nowhere")[0] == 422
        with Client(port) as client:
            client.get("/up/echo", method="HEAD")
            assert client.answer("HEAD")[0].status == 422
    assert upstream.connections == connections
    with pytest.raises(Missed, match="3 requests missed"):
        session.close()


def test_auto_gives_what_is_recorded_and_goes_live_for_the_rest(
    upstream: TestUpstream, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    with recording(path, upstream) as (port, _):
        live = ask(port)
    with serving(path, "auto", {"up": upstream.url}) as (port, session):
        assert ask(port) == live
        more = ask(port)
        new = ask(port, PATH, STREAM)
        with Client(port) as client:
            client.send(
                b"POST /up/echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            assert client.until(b"\r\n\r\n").startswith(b"HTTP/1.1 100 ")
            client.send(b"3\r\nabc\r\n0\r\n\r\n")
            assert client.answer()[1] == b"abc"
        assert session.summary.recorded == 3
    assert upstream.seen[-1].header("expect") is None
    with serving(path, "replay", {"up": upstream.url}) as (port, session):
        assert [ask(port), ask(port), ask(port, PATH, STREAM)] == [live, more, new]
        assert ask(port, "/up/echo", b"abc")[1] == b"abc"


def test_a_request_over_the_limit_is_refused_before_it_is_read(
    upstream: TestUpstream, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    with recording(path, upstream):
        pass
    with serving(path, "replay", {"up": upstream.url}, max_request=1000) as (port, _):
        with Client(port) as client:
            client.get("/up/echo", "Content-Length: 100000000", "Expect: 100-continue", method="POST")
            assert client.answer()[0].status == 413
        with Client(port) as client:
            client.get("/up/echo", "Transfer-Encoding: chunked", method="POST")
            client.send(b"800\r\n" + bytes(0x800))
            assert client.answer()[0].status == 413


def test_http_1_0_is_answered_and_closed(upstream: TestUpstream, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with recording(path, upstream) as (port, _):
        live = ask(port, PATH, STREAM)[1]
    with serving(path, "replay", {"up": upstream.url}) as (port, _), Client(port) as client:
        client.send(
            b"POST %b HTTP/1.0\r\nContent-Length: %d\r\n\r\n%b" % (PATH.encode(), len(STREAM), STREAM)
        )
        got, how = client.rest()
        assert (got.partition(b"\r\n\r\n")[2], how) == (live, "closed")


def test_the_recorded_pace_is_kept_in_order(upstream: TestUpstream, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with recording(path, upstream) as (port, _):
        live = ask(port, PATH, STREAM)
    with serving(path, "replay", {"up": upstream.url}, pace="recorded") as (port, _):
        assert ask(port, PATH, STREAM) == live
    with serving(path, "replay", {"up": upstream.url}, pace=4.0) as (port, _), Client(port) as client:
        client.get(PATH, method="POST", body=STREAM)
        client.until(b"one")  # and leave in the middle
    with serving(path, "replay", {"up": upstream.url}, pace=4.0) as (port, _):
        assert ask(port, PATH, STREAM) == live


class TestServe:
    """A server for reviewers."""

    @pytest.fixture
    def served(self, upstream: TestUpstream, tmp_path: Path) -> Iterator[tuple[int, list[tuple[int, bytes]]]]:
        path = tmp_path / "run.jsonl"
        with recording(path, upstream) as (port, session):
            live = [ask(port) for _ in range(3)]
            request = {"model": "m", "prompt": "say", "params": {"temperature": 0.5}}
            session.append("llm", request, {"output": {"text": "said"}}, {}).result()
        with Session.open(path, "replay") as reading:
            chosen = Settings.for_reviewers(Routes.of({}), Bases(reading.turns.urls()))
        served = serving(path, "replay", repeat=True, chosen=chosen, fails=True)
        with served as (port, session):
            yield port, live
        with suppress(Missed):
            session.close()

    def test_each_reviewer_has_an_order_of_its_own(self, served: tuple[int, list[tuple[int, bytes]]]) -> None:
        port, live = served
        ada, bob = "X-Provtape-Session: ada", "X-Provtape-Session: bob"
        path = "/v1/chat/completions"
        assert [ask(port, path, CHAT, ada) for _ in range(2)] == live[:2]
        assert [ask(port, path, CHAT, bob) for _ in range(3)] == live
        assert [ask(port, path, CHAT, ada) for _ in range(2)] == [live[2], live[0]], "repeats go round"
        assert ask(port, path) == live[0]
        assert ask(port, path, CHAT, "X-Provtape-Session: a b")[0] == 400

    def test_the_tutorials_requests_are_answered(self, served: tuple[int, list[tuple[int, bytes]]]) -> None:
        port, _ = served
        known = b'{"prompt":"say","model":"m","params":{"temperature":0.5}}'
        assert ask(port, "/", known) == (200, b'{"output":{"text":"said"}}')
        status, body = ask(port, "/", known.replace(b"0.5", b"0.6"))
        assert status == 422
        assert json.loads(body)["provtape"]["key"] in json.loads(body)["error"]["message"]
        assert ask(port, "/", b"[]")[0] == 400
        assert ask(port, "/", b'{"prompt":"say","other":1}')[0] == 400

    def test_no_other_page_may_read_it(self, served: tuple[int, list[tuple[int, bytes]]]) -> None:
        """Neither by its own script nor by a name that it lets point here."""
        port, _ = served
        with Client(port) as client:
            client.send(b"GET /v1/chat/completions HTTP/1.1\r\nHost: rebound.example\r\n\r\n")
            assert client.answer()[0].status == 421
        with Client(port) as client:
            client.get("/v1/chat/completions", "Origin: http://evil.example", method="POST", body=CHAT)
            head, _ = client.answer()
        assert not [name for name, _ in head.headers if name.startswith("access-control")]


def test_a_connection_too_many_waits_for_its_turn(upstream: TestUpstream, tmp_path: Path) -> None:
    with recording(tmp_path / "run.jsonl", upstream, max_connections=2) as (port, _):
        first, second, third = Client(port), Client(port), Client(port)
        first.get("/up/echo")
        second.get("/up/echo")
        assert (first.answer()[0].status, second.answer()[0].status) == (200, 200)
        third.get("/up/echo")
        first.close()
        assert third.answer()[0].status == 200
        second.close()
        third.close()


def test_an_idle_connection_is_closed_when_the_settings_say_so(
    upstream: TestUpstream, tmp_path: Path
) -> None:
    with recording(tmp_path / "run.jsonl", upstream, idle_timeout=0.1) as (port, _), Client(port) as client:
        client.send(b"GET /up/ec")
        assert client.rest() == (b"", "closed")


def test_the_session_counts_what_was_used(upstream: TestUpstream, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with recording(path, upstream) as (port, _):
        ask(port)
        ask(port, PATH, STREAM)
    with serving(path, "replay", {"up": upstream.url}) as (port, session):
        ask(port)
        assert session.summary.line() == "2 loaded, 1 served, 0 missed, 1 unused"


def test_routes_come_from_the_cassette(upstream: TestUpstream, tmp_path: Path) -> None:
    from provtape.session.opening import Capture

    path = tmp_path / "run.jsonl"
    capture = Capture(enclosed=True, routes={"up": upstream.url}, passed=("telemetry.example",))
    Session.open(path, "record", road="command", capture=capture).close()
    run = json.loads(path.read_bytes().split(b"\n")[1])
    assert run["capture"] == {
        "road": "command",
        "enclosed": True,
        "allow": [],
        "pass": ["telemetry.example"],
        "routes": {"up": upstream.url},
    }
    with Session.open(path, "replay") as session:
        assert session.routes == {"up": upstream.url}
