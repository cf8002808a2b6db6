"""What a client is told when nothing was recorded for it."""

from __future__ import annotations

import json

from provtape.errors import Miss
from provtape.matching.nearest import Candidate, nearest
from provtape.session import misses
from provtape.wire.refusal import MISS, Refusal, missed, refusal
from provtape.wire.tap import Body, End, ResponseHead, ResponseReader

KEY = "5" * 64


def request(prompt: str) -> dict[str, object]:
    body = {"text": json.dumps({"model": "m", "prompt": prompt})}
    return {"method": "POST", "url": "https://a/v1", "headers": [], "body": body}


def a_miss() -> Miss:
    near = nearest("http", request("a red fruit"), [Candidate(7, request("a blue fruit"))])
    return misses.unknown("run.jsonl", "http", KEY, near, 1)[0]


def said(answer: Refusal) -> dict[str, dict[str, object]]:
    value: dict[str, dict[str, object]] = json.loads(answer.body)
    return value


def test_a_miss_is_shaped_like_a_providers_error_and_says_what_differs() -> None:
    answer = missed(a_miss())
    assert answer.status == MISS == 422
    error, details = said(answer)["error"], said(answer)["provtape"]
    assert (error["type"], error["param"], error["code"]) == ("provtape_miss", None, "miss")
    assert str(error["message"]).startswith("run.jsonl: no recorded http request has the key 555")
    assert (details["key"], details["record"]) == (KEY, 7)
    assert details["differences"] == ["/body/json/prompt: changed: a [-blue-]{+red+} fruit"]
    assert "record it" in str(details["hint"])


def test_an_exhausted_request_says_so() -> None:
    answer = missed(misses.used_up("run.jsonl", KEY, 2, 3, 9)[0])
    error, details = said(answer)["error"], said(answer)["provtape"]
    assert (answer.status, error["code"]) == (422, "exhausted")
    assert (details["key"], details["record"], details["differences"]) == (KEY, 9, [])


def test_a_miss_with_nothing_near_says_null() -> None:
    details = said(missed(misses.unknown("record 5.jsonl", "http", KEY, None, 0)[0]))["provtape"]
    assert (details["key"], details["record"], details["differences"]) == (KEY, None, [])


def test_any_refusal_names_its_reason() -> None:
    answer = refusal(501, "upgrade", "websockets are not recorded", hint="use plain HTTP")
    assert said(answer) == {
        "error": {
            "message": "websockets are not recorded",
            "type": "provtape_upgrade",
            "param": None,
            "code": "upgrade",
        },
        "provtape": {"hint": "use plain HTTP"},
    }


def test_its_bytes_are_one_whole_response() -> None:
    answer = missed(a_miss())
    data = answer.wire()
    head, body, end = ResponseReader("POST").feed(data)
    assert isinstance(head, ResponseHead)
    assert (head.status, head.keep_alive) == (422, True)
    assert dict(head.headers)["content-type"] == "application/json"
    assert dict(head.headers)["x-should-retry"] == "false"
    assert (body, end) == (Body(answer.body), End(len(data)))


def test_it_can_close_and_answer_a_head() -> None:
    data = refusal(400, "malformed", "not HTTP/1.1").wire(head_only=True, keep_alive=False)
    head, end = ResponseReader("HEAD").feed(data)
    assert isinstance(head, ResponseHead)
    assert not head.keep_alive
    assert end == End(len(data))
