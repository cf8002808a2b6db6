"""Requests, answers and records for the tests of the door, and how they come out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st
from scrub_examples import expand

from provtape.format.chain import GENESIS
from provtape.format.record import Scrubbed, check_record
from provtape.format.strict import read
from provtape.scrub.door import Door
from provtape.scrub.rules import default_rules

TIME = "2026-01-01T00:00:00.000Z"
SALT = "AQEBAQEBAQEBAQEBAQEBAQ"
KEY = expand("sk-proj-<U60>")
TOKEN = expand("ghp_<A36>")
PLAIN = expand("<H32>")  # a key without a form of its own
RULES = default_rules()

OPEN: dict[str, Any] = {
    "format": "provtape/1",
    "prefix": "lab.example/alice",
    "nonce": SALT,
    "created": TIME,
    "recorder": "provtape 0",
    "scrub": {"name": RULES.name, "sha256": RULES.sha256, "rules": RULES.text},
    "match": {"headers": ["openai-beta"], "ignore": []},
    "previous": None,
    "meta": {},
}
RUN: dict[str, Any] = {
    "started": TIME,
    "recorder": "provtape 0",
    "code": None,
    "command": None,
    "environment": {},
    "capture": {"road": "session", "enclosed": False, "allow": [], "pass": [], "routes": {}},
    "meta": {},
}


def door(*literals: str) -> Door:
    return Door(RULES, literals=[literal.encode() for literal in literals])


def record(scrubbed: Scrubbed) -> dict[str, Any]:
    """The record as a reader takes it: every rule of the format is checked on the way."""
    line = f'{{"prev":"{GENESIS}","seq":1,'.encode() + scrubbed.data
    assert line.endswith(b"}\n")
    value = read(line[:-1])
    assert isinstance(value, dict)
    return check_record(str(value["type"]), value)


def run(**members: object) -> dict[str, Any]:
    return record(door().record("run", {**RUN, **members}))


def llm(prompt: object, params: object = None, model: str = "m") -> dict[str, object]:
    return {"model": model, "prompt": prompt, "params": params if params is not None else {}}


def through(
    the_door: Door, kind: str, request: Mapping[str, object], response: Mapping[str, object]
) -> dict[str, Any]:
    scrubbed, findings = the_door.request(kind, request)
    return record(the_door.interaction(kind, "0" * 64, scrubbed, findings, response, TIME, 1, {}, SALT))


def http(
    url: str = "https://h/", headers: Sequence[Sequence[str]] = (), body: object = None
) -> dict[str, object]:
    return {"method": "POST", "url": url, "headers": [list(pair) for pair in headers], "body": body}


def answer(
    headers: Sequence[Sequence[str]] = (), body: object = None, chunks: object = None, error: object = None
) -> dict[str, object]:
    pairs = [list(pair) for pair in headers]
    return {
        "ended": "complete",
        "error": error,
        "status": 200,
        "headers": pairs,
        "body": body,
        "chunks": chunks,
    }


def body_of(value: object) -> str:
    """What becomes of a JSON request body."""
    text = value if isinstance(value, str) else json.dumps(value)
    request, _ = door().request(
        "http", http(headers=[("content-type", "application/json")], body={"text": text})
    )
    assert isinstance(request["body"], dict)
    return str(request["body"]["text"])


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from([KEY, TOKEN, f"x {TOKEN}\n"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["a", "user", "password", "signature", "é\n", "tools", TOKEN]), inner, max_size=4
        )
    ),
    max_leaves=12,
)
